#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/message.hpp>
#include <sagabox/result.hpp>
#include <sagabox/saga_record.hpp>
#include <sagabox/spi/feed.hpp>
#include <sagabox/spi/fencing.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::spi {

/// Commands of one definition and shard with a sequence above `after`, ascending.
using SagaInboxRange = FeedRange;
using SagaInboxReply = FeedReply<SagaCommand>;

/// Active sagas of one shard that are due, ordered by (due, id), after this position.
struct SagaDueRange {
  Shard shard{};
  WallTime after_due{};
  SagaId after{};
  std::uint32_t rows_max = 0;
};

/// The part of a batch for one saga.
struct SagaWrite {
  SagaRecord record;  ///< the new record; `record.version` is the stored one plus 1
  std::vector<SagaHistoryEntry> history{};  ///< new entries
  /// History entries after the first `saga_history_first` ones are removed up to this number; 0:
  /// none.
  std::uint32_t history_removed_to = 0;
};

/// A message that a saga's step emits. Its id was generated before, so that the batch may be
/// repeated.
struct SagaMessage {
  TableName table;
  std::shared_ptr<const Message> message;
};

/// The changes by an owner to several sagas of one definition.
struct SagaBatch {
  Fencing fencing;  ///< of the scope `saga:<definition>`; every shard used in the batch
  std::string_view definition;
  std::span<const SagaWrite> writes;  ///< no saga twice
  struct Taken {
    Shard shard{};
    Sequence sequence{};
  };
  std::span<const Taken> taken;  ///< processed rows of the inbox
  std::span<const SagaCommandResult> results;
  std::span<const SagaMessage> messages;
  std::span<const AuditEvent> audit;
};

struct SagaBatchReply {
  /// One for each fence, in order. If one did not hold, nothing of the batch was written.
  std::vector<bool> held;
  /// Sagas whose stored version was neither the expected nor the new one, or whose isolation key
  /// another active saga has. If there are any, nothing of the batch was written. Empty if a fence
  /// did not hold.
  std::vector<SagaId> conflicting;
  /// The store's description of each conflict: which key, and which saga has it.
  std::vector<std::string> reasons{};
  Timeline timeline{};
  [[nodiscard]] bool written() const {
    for (const bool one : held) {
      if (!one) return false;
    }
    return conflicting.empty();
  }
};

struct SagaFilter {
  std::optional<std::string> tenant{};
  std::optional<std::string> definition{};
  std::optional<SagaState> state{};
  std::optional<bool> quarantined{};
  std::optional<SagaLabel> label{};
  std::optional<std::string> key{};
  std::optional<WallTime> started_from{};
  std::optional<WallTime> started_to{};  ///< exclusive
};

struct SagaListRequest {
  SagaFilter filter{};
  SagaId after{};  ///< the last id of the previous page
  std::uint32_t rows_max = 100;
  bool bodies = true;
};

struct SagaCount {
  std::string definition{};
  SagaState state = SagaState::running;
  std::uint64_t sagas = 0;
  std::optional<WallTime> oldest{};  ///< `started_at`
};

/// The backlog of one definition. Cheap at any size: counts of a state end at a million.
struct SagaBacklog {
  std::uint64_t running = 0;
  std::uint64_t compensating = 0;
  std::uint64_t paused = 0;
  std::uint64_t dead = 0;               ///< not counting quarantined ones
  std::uint64_t wait_for_decision = 0;  ///< active ones, by `SagaRecord::person`
  std::uint64_t wait_for_approval = 0;
  std::optional<WallTime> oldest{};  ///< `started_at` of an active one
  /// The earliest `overdue_from` in the past, among the 20,000 active ones that have been due the
  /// longest; nullopt: none is overdue.
  std::optional<WallTime> overdue_since{};
  WallTime now{};
};

/// The database operations of an orchestrator. Calls block for a time that the store limits; safe
/// from any thread. All times are of the database's clock.
class SagaStore {
 public:
  virtual ~SagaStore() = default;
  [[nodiscard]] virtual Capabilities capabilities() const = 0;
  /// Creates the tables, or updates them.
  virtual Status prepare() = 0;

  /// Stores the definition unless it exists. TX.INVALID_STATE: the same name and version exists
  /// with another digest.
  virtual Status define(const SagaDefinitionRecord& definition) = 0;
  /// Ordered by name and version; an empty name returns all.
  virtual Result<std::vector<SagaDefinitionRecord>> definitions(std::string_view name) = 0;

  /// Returns as many rows as fit into `bytes_max`, but at least one if there is any.
  virtual Result<SagaInboxReply> read_inbox(std::string_view definition,
                                            std::span<const SagaInboxRange> ranges,
                                            std::size_t bytes_max) = 0;
  /// Returns the sagas that are stored, ordered by id; labels are left out.
  virtual Result<std::vector<SagaRecord>> load(std::span<const SagaId> ids) = 0;
  /// Active sagas (running, compensating, paused) whose `due` is not after now.
  virtual Result<std::vector<SagaRecord>> load_due(std::string_view definition,
                                                   const SagaDueRange& range) = 0;
  /// The results of those of the given commands that were applied or refused.
  virtual Result<std::vector<SagaCommandResult>> results(std::span<const CommandId> ids) = 0;

  /// One transaction, and all or nothing: the fence is locked until its end, versions are compared.
  /// May be repeated after STORAGE.IN_DOUBT: a saga that has the version to be written already, a
  /// result or a line of history that is there, is left as it is. If that is so for every saga of
  /// `writes`, or without `writes` for every result, the batch was written before, and neither
  /// messages nor audit events are written again. Labels are written with version 1. An isolation
  /// key may go from one saga of the batch, which ends, to another.
  virtual Result<SagaBatchReply> write(const SagaBatch& batch) = 0;

  /// Returns when a command of this definition may have been committed, on `wake`, or after
  /// `timeout`.
  virtual void wait(std::string_view definition, Duration timeout) = 0;
  virtual void wake(std::string_view definition) = 0;
};

/// The database operations for operators.
class SagaAdminStore {
 public:
  virtual ~SagaAdminStore() = default;
  /// Ordered by id, ascending, with labels.
  virtual Result<std::vector<SagaRecord>> list(const SagaListRequest& request) = 0;
  /// With labels.
  virtual Result<std::optional<SagaRecord>> get(const SagaId& id) = 0;
  /// Entries with a number above `after`, ascending.
  virtual Result<std::vector<SagaHistoryEntry>> history(const SagaId& id, std::uint32_t after,
                                                        std::uint32_t rows_max) = 0;
  virtual Result<std::vector<SagaCount>> count(const std::optional<std::string>& tenant) = 0;
  virtual Result<SagaBacklog> backlog(std::string_view definition) = 0;
  /// Running and compensating sagas without `due`, by id, after this one; labels are left out.
  virtual Result<std::vector<SagaRecord>> without_due(std::string_view definition,
                                                      const SagaId& after,
                                                      std::uint32_t rows_max) = 0;
  /// Commands of this saga that its owner has not taken yet, in their order.
  virtual Result<std::vector<SagaCommand>> pending(const SagaId& id, std::uint32_t rows_max) = 0;
  /// Removes sagas that completed or were cancelled longer ago, with history, labels and results of
  /// commands, oldest first; also refused commands of that age whose saga was never stored. Returns
  /// the number of sagas; dead ones are kept.
  virtual Result<std::uint64_t> purge(std::string_view definition, Duration older_than,
                                      std::uint32_t rows_max) = 0;
};

}  // namespace sagabox::spi
