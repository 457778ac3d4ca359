#pragma once

#include <sagabox/message.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/event_writer.hpp>
#include <sagabox/spi/inbox.hpp>
#include <sagabox/spi/saga_inbox.hpp>

#include <memory>
#include <span>
#include <vector>

namespace sagabox {

/// The result of writing a message.
struct Written {
  MessageId id;
  /// 0 if not requested, see `OutboxOptions::sequences`; then `shard` and `in_savepoint` are not
  /// set either. Always set for duplicates.
  Sequence sequence{};
  Shard shard{};
  /// The id existed already: nothing was inserted, and `sequence` is that of the first message.
  bool duplicate = false;
  /// Written inside a savepoint: it may be rolled back although the transaction commits.
  bool in_savepoint = false;
};

/// Notified once when a transaction ends.
class TransactionObserver {
 public:
  virtual ~TransactionObserver() = default;
  virtual void committed() noexcept = 0;
  virtual void rolled_back() noexcept = 0;
  /// The result was not reported, or the commit is in doubt.
  virtual void abandoned() noexcept = 0;
};

/// The role of a transaction that inserts messages. Owned by the transaction.
class OutboxWriter {
 public:
  virtual ~OutboxWriter() = default;
  /// Inserts all in one round trip, or none. An existing id is returned as a duplicate.
  virtual Result<std::vector<Written>> insert(
      const TableName& table, std::span<const std::shared_ptr<const Message>> messages) = 0;
  /// The same for a caller that only needs to know which messages were duplicates. The other fields
  /// of inserted messages may be left empty, because returning them is slow on some servers.
  virtual Result<std::vector<Written>> insert_blind(
      const TableName& table, std::span<const std::shared_ptr<const Message>> messages) {
    return insert(table, messages);
  }

 protected:
  OutboxWriter() = default;
  OutboxWriter(const OutboxWriter&) = default;
  OutboxWriter& operator=(const OutboxWriter&) = default;
};

/// An open transaction with one role for each engine that writes into it. Not thread-safe, like its
/// connection.
class Transaction {
 public:
  Transaction() = default;
  Transaction(Transaction&&) noexcept = default;
  Transaction& operator=(Transaction&&) = delete;
  /// If no result was reported, observers get `abandoned`.
  virtual ~Transaction();

  /// Begun, and neither committed nor rolled back.
  [[nodiscard]] virtual bool is_open() const = 0;

  /// Valid as long as the transaction, and moves with it.
  virtual OutboxWriter& outbox() = 0;

  /// The same. If the store has no inbox, its calls return TX.INVALID_STATE.
  virtual Inbox& inbox();

  /// The same for the commands of sagas.
  virtual SagaInbox& sagas();

  /// The same for the events of the delivery hub.
  virtual EventWriter& events();

  void observe(std::unique_ptr<TransactionObserver> observer);

  /// For borrowed transactions: call one of these after your COMMIT or ROLLBACK. Only the first
  /// call counts.
  void committed() noexcept;
  void rolled_back() noexcept;
  void abandoned() noexcept;

 private:
  std::vector<std::unique_ptr<TransactionObserver>> observers_;
};

/// A transaction that sagabox began and ends. It notifies the observers itself.
class OwnedTransaction : public Transaction {
 public:
  /// `storage_in_doubt`: the commit may or may not have happened; write again by the same ids.
  virtual Status commit() = 0;
  virtual Status rollback() = 0;
};

}  // namespace sagabox
