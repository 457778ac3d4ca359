#pragma once

#include "stores/sqlite/context.hpp"

#include <sagabox/spi/transaction.hpp>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace sagabox::sqlite {

/// A transaction of the store, on the connection that writes.
class StoreTransaction final : public OwnedTransaction, private OutboxWriter {
 public:
  static Result<std::unique_ptr<OwnedTransaction>> begin(Context& context);
  /// Rolls back if the transaction is open.
  ~StoreTransaction() override;

  [[nodiscard]] bool is_open() const override { return transaction_.is_open(); }
  OutboxWriter& outbox() override { return *this; }
  Inbox& inbox() override { return inbox_; }
  SagaInbox& sagas() override { return sagas_; }
  EventWriter& events() override { return events_; }
  Status commit() override;
  Status rollback() override;

  /// Only valid while the transaction is open.
  [[nodiscard]] std::unique_ptr<sql::Session> session() {
    return std::make_unique<LinkSession>(transaction_.connection().link(), context_.clock);
  }
  /// Lends the connection to code that writes business rows, and may set savepoints: SQLite does
  /// not report whether one is open, so rows written from now on may be undone though the
  /// transaction commits.
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

  /// Finds the last sequences, whatever savepoints have undone: this commit assigns none above
  /// them.
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
  std::map<TableName, Sequence> last_;  // assigned by this commit
};

}  // namespace sagabox::sqlite
