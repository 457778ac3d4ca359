#pragma once

#include "stores/sqlite/context.hpp"

#include <sagabox/spi/transaction.hpp>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace sagabox::sqlite {

/// A transaction of our own, on the connection that writes.
class StoreTransaction final : public OwnedTransaction, private OutboxWriter {
 public:
  static Result<std::unique_ptr<OwnedTransaction>> begin(Context& context);
  /// Rolls back what is open.
  ~StoreTransaction() override;

  [[nodiscard]] bool is_open() const override { return transaction_.is_open(); }
  OutboxWriter& outbox() override { return *this; }
  Inbox& inbox() override { return inbox_; }
  SagaInbox& sagas() override { return sagas_; }
  EventWriter& events() override { return events_; }
  Status commit() override;
  Status rollback() override;

  /// Only while it is open.
  [[nodiscard]] std::unique_ptr<sql::Session> session() {
    return std::make_unique<LinkSession>(transaction_.connection().link(), context_.clock);
  }
  /// To whoever writes business rows, and may set savepoints: SQLite does not say whether one is
  /// open, so what is written from now on may be undone though the transaction commits.
  [[nodiscard]] sqlite3* lend() noexcept {
    lent_ = true;
    return is_open() ? transaction_.connection().handle() : nullptr;
  }

 private:
  Result<std::vector<Written>> insert(
      const TableName& table, std::span<const std::shared_ptr<const Message>> messages) override;

  StoreTransaction(Context& context, WriteTransaction transaction)
      : context_(context),
        transaction_(std::move(transaction)),
        inbox_(context.inbox, &context.clock, [this] { return session_of(*this); }),
        sagas_(
            context.saga_inbox, &context.clock, [this] { return session_of(*this); },
            [this](const std::string& definition) { commanded_.insert(definition); }),
        events_(
            context.hub_publish, &context.clock, shard_count, [this] { return session_of(*this); },
            [this] { published_ = true; }) {}

  /// Whatever savepoints have undone: no sequence above is given out when this commits.
  void find_last();

  Context& context_;
  WriteTransaction transaction_;
  sql::TransactionInbox inbox_;
  sql::TransactionSagas sagas_;
  sql::TransactionEvents events_;
  std::set<std::string> commanded_;  // definitions
  bool published_ = false;           // events
  bool lent_ = false;
  std::set<TableName> written_to_;
  std::map<TableName, Sequence> last_;  // given out when this commits
};

}  // namespace sagabox::sqlite
