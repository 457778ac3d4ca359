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

/// Active sagas of one shard that are due, by (due, id), after this one.
struct SagaDueRange {
  Shard shard{};
  WallTime after_due{};
  SagaId after{};
  std::uint32_t rows_max = 0;
};

/// One saga's part of a batch.
struct SagaWrite {
  SagaRecord record;  ///< as it is afterwards; `record.version` is one more than what is stored
  std::vector<SagaHistoryEntry> history{};  ///< new entries
  /// History beyond the first `saga_history_first` entries is removed up to this number; 0: nothing
  /// is.
  std::uint32_t history_removed_to = 0;
};

/// A message that a saga's step emits. Its id was drawn before, so that the batch may be repeated.
struct SagaMessage {
  TableName table;
  std::shared_ptr<const Message> message;
};

/// What an owner did, for many sagas of one definition at once.
struct SagaBatch {
  Fencing fencing;  ///< of the scope `saga:<definition>`; every shard that the rest names
  std::string_view definition;
  std::span<const SagaWrite> writes;  ///< no saga twice
  struct Taken {
    Shard shard{};
    Sequence sequence{};
  };
  std::span<const Taken> taken;  ///< rows of the inbox that are done with
  std::span<const SagaCommandResult> results;
  std::span<const SagaMessage> messages;
  std::span<const AuditEvent> audit;
};

struct SagaBatchReply {
  /// One a fence, in their order. If one did not hold, nothing of the batch was written.
  std::vector<bool> held;
  /// Sagas whose stored version was neither the one expected nor the one to be written, or whose
  /// isolation key another active saga has: nothing of the batch was written. Empty if a fence did
  /// not hold.
  std::vector<SagaId> conflicting;
  /// The same, in words of the store: which key, whose.
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
  std::optional<WallTime> started_to{};  ///< not at this time itself
};

struct SagaListRequest {
  SagaFilter filter{};
  SagaId after{};  ///< the last id of the page before
  std::uint32_t rows_max = 100;
  bool bodies = true;
};

struct SagaCount {
  std::string definition{};
  SagaState state = SagaState::running;
  std::uint64_t sagas = 0;
  std::optional<WallTime> oldest{};  ///< `started_at`
};

/// What waits of one definition, cheap at any size: of more than a million in a state, a million
/// are counted.
struct SagaBacklog {
  std::uint64_t running = 0;
  std::uint64_t compensating = 0;
  std::uint64_t paused = 0;
  std::uint64_t dead = 0;               ///< without those that are quarantined
  std::uint64_t wait_for_decision = 0;  ///< active ones, as `SagaRecord::person` says
  std::uint64_t wait_for_approval = 0;
  std::optional<WallTime> oldest{};  ///< `started_at` of an active one
  /// The first `overdue_from` that has passed, among the 20,000 active ones that are due the
  /// longest; null: none is overdue.
  std::optional<WallTime> overdue_since{};
  WallTime now{};
};

/// What an orchestrator needs of a database. Calls block, each for a time that the store limits;
/// safe from any thread. Times are the database's.
class SagaStore {
 public:
  virtual ~SagaStore() = default;
  [[nodiscard]] virtual Capabilities capabilities() const = 0;
  /// Makes the tables, or brings them up to date.
  virtual Status prepare() = 0;

  /// Stores the definition unless it is there. TX.INVALID_STATE: the same name and version is there
  /// with another digest.
  virtual Status define(const SagaDefinitionRecord& definition) = 0;
  /// By name and version; all names for an empty one.
  virtual Result<std::vector<SagaDefinitionRecord>> definitions(std::string_view name) = 0;

  /// At least one row is returned if there is any, else as many as fit into `bytes_max`.
  virtual Result<SagaInboxReply> read_inbox(std::string_view definition,
                                            std::span<const SagaInboxRange> ranges,
                                            std::size_t bytes_max) = 0;
  /// Those that are stored, by id; labels are left out.
  virtual Result<std::vector<SagaRecord>> load(std::span<const SagaId> ids) = 0;
  /// Active sagas (running, compensating, paused) whose `due` is not after now.
  virtual Result<std::vector<SagaRecord>> load_due(std::string_view definition,
                                                   const SagaDueRange& range) = 0;
  /// What became of those of these commands that were applied or refused.
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

/// What operators need.
class SagaAdminStore {
 public:
  virtual ~SagaAdminStore() = default;
  /// By id, ascending, with labels.
  virtual Result<std::vector<SagaRecord>> list(const SagaListRequest& request) = 0;
  /// With labels.
  virtual Result<std::optional<SagaRecord>> get(const SagaId& id) = 0;
  /// With a number above `after`, ascending.
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
  /// commands, the oldest first; also refused commands of that age whose saga was never stored.
  /// Returns how many sagas; dead ones are kept.
  virtual Result<std::uint64_t> purge(std::string_view definition, Duration older_than,
                                      std::uint32_t rows_max) = 0;
};

}  // namespace sagabox::spi
