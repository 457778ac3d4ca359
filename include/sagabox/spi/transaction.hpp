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

/// What a written message became.
struct Written {
  MessageId id;
  /// 0 where nobody asked, and then neither shard nor savepoint are told: see
  /// `OutboxOptions::sequences`. Of duplicates it is always told.
  Sequence sequence{};
  Shard shard{};
  /// The id was there already: `sequence` is the first one's, nothing was inserted.
  bool duplicate = false;
  /// Written inside a savepoint: it may be undone though the transaction commits.
  bool in_savepoint = false;
};

/// Told once how a transaction ended.
class TransactionObserver {
 public:
  virtual ~TransactionObserver() = default;
  virtual void committed() noexcept = 0;
  virtual void rolled_back() noexcept = 0;
  /// Nobody said how it ended, or the commit is in doubt.
  virtual void abandoned() noexcept = 0;
};

/// The role of a transaction that inserts messages. Owned by the transaction.
class OutboxWriter {
 public:
  virtual ~OutboxWriter() = default;
  /// Inserts all in one round trip, or none. A known id comes back as a duplicate.
  virtual Result<std::vector<Written>> insert(
      const TableName& table, std::span<const std::shared_ptr<const Message>> messages) = 0;
  /// The same for a caller who only needs to know which were duplicates. The other fields of what
  /// was inserted may be left empty: some servers take their time to tell them.
  virtual Result<std::vector<Written>> insert_blind(
      const TableName& table, std::span<const std::shared_ptr<const Message>> messages) {
    return insert(table, messages);
  }

 protected:
  OutboxWriter() = default;
  OutboxWriter(const OutboxWriter&) = default;
  OutboxWriter& operator=(const OutboxWriter&) = default;
};

/// An open transaction, which engines write into: a role each. Not thread-safe, like the
/// connection beneath it.
class Transaction {
 public:
  Transaction() = default;
  Transaction(Transaction&&) noexcept = default;
  Transaction& operator=(Transaction&&) = delete;
  /// Without a verdict, observers are told `abandoned`.
  virtual ~Transaction();

  /// Begun, and neither committed nor rolled back.
  [[nodiscard]] virtual bool is_open() const = 0;

  /// Valid as long as the transaction, and moves with it.
  virtual OutboxWriter& outbox() = 0;

  /// The same. Where a store has no inbox, its calls are TX.INVALID_STATE.
  virtual Inbox& inbox();

  /// The same for the commands of sagas.
  virtual SagaInbox& sagas();

  /// The same for the events of the delivery hub.
  virtual EventWriter& events();

  void observe(std::unique_ptr<TransactionObserver> observer);

  /// Borrowed transactions: say so after your COMMIT or ROLLBACK. Only the first verdict counts.
  void committed() noexcept;
  void rolled_back() noexcept;
  void abandoned() noexcept;

 private:
  std::vector<std::unique_ptr<TransactionObserver>> observers_;
};

/// A transaction that is ours to end. Gives the verdict itself.
class OwnedTransaction : public Transaction {
 public:
  /// `storage_in_doubt`: the commit may or may not have happened; write again by the same ids.
  virtual Status commit() = 0;
  virtual Status rollback() = 0;
};

}  // namespace sagabox
