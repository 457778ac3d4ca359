#pragma once

#include "stores/postgres/driver/context.hpp"
#include "stores/postgres/driver/pool.hpp"
#include "stores/sql/inbox.hpp"

#include <sagabox/spi/transaction.hpp>

#include <memory>
#include <span>
#include <vector>

namespace sagabox::postgres {

/// A transaction of the store, on a connection that returns to the pool when it ends.
class StoreTransaction final : public OwnedTransaction, private OutboxWriter {
 public:
  static Result<std::unique_ptr<OwnedTransaction>> begin(Context& context);
  /// Rolls back if the transaction is open.
  ~StoreTransaction() override;

  [[nodiscard]] bool is_open() const override { return open_; }
  OutboxWriter& outbox() override { return *this; }
  Inbox& inbox() override { return inbox_; }
  SagaInbox& sagas() override { return sagas_; }
  EventWriter& events() override { return events_; }
  Status commit() override;
  Status rollback() override;

  /// Only valid while the transaction is open.
  [[nodiscard]] std::unique_ptr<sql::Session> session() {
    return std::make_unique<LinkSession>(lease_->link());
  }
  [[nodiscard]] PGconn* handle() const noexcept { return open_ ? lease_->handle() : nullptr; }

 private:
  Result<std::vector<Written>> insert(
      const TableName& table, std::span<const std::shared_ptr<const Message>> messages) override;
  Result<std::vector<Written>> insert_blind(
      const TableName& table, std::span<const std::shared_ptr<const Message>> messages) override;

  StoreTransaction(Context& context, Pool::Lease lease)
      : context_(context),
        lease_(std::move(lease)),
        inbox_(context.inbox, nullptr, [this] { return session_of(*this); }),
        sagas_(context.saga_inbox, nullptr, [this] { return session_of(*this); }),
        events_(context.hub_publish, nullptr, context.shards,
                [this] { return session_of(*this); }) {}

  Context& context_;
  Pool::Lease lease_;
  bool open_ = true;
  sql::TransactionInbox inbox_;
  sql::TransactionSagas sagas_;
  sql::TransactionEvents events_;
};

}  // namespace sagabox::postgres
