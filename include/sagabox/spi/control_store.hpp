#pragma once

#include <sagabox/records.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/fencing.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sagabox::spi {

/// Requests of operators to all relays of a table.
struct Controls {
  std::vector<Pause> pauses;
  /// Changes whenever an operator removed pending messages (quarantine, purge): the message that a
  /// key waits for may be gone.
  std::uint64_t taken = 0;
};

struct PauseRequest {
  const TableName& table;
  std::string topic{};  ///< empty: the table
  bool paused = true;
  std::string actor{};
  std::string note{};
};

struct NewReplayJob {
  const TableName& table;
  MessageState from = MessageState::dead;  ///< dead, quarantined or done
  MessageFilter filter{};
  std::uint32_t rate_max = 0;
  bool as_new = false;  ///< as `MoveRequest::as_new`
  std::string actor{};
};

struct JobChange {
  const TableName& table;
  ReplayJobId job{};
  ReplayJob::State to = ReplayJob::State::stopped;  ///< stopped, running (resume) or failed
  std::string actor{};
  std::string error{};  ///< failed: why
};

struct JobAdvance {
  const TableName& table;
  ReplayJobId job{};
  Fencing fencing;  ///< for the process that runs replays of this table: one fence, shard 0
  std::uint32_t rows_max = 0;
};

struct JobAdvanceReply {
  bool held = false;       ///< false: the fence did not hold, and nothing was changed
  std::uint32_t rows = 0;  ///< replayed
  ReplayJob job{};
};

/// Pauses and replay jobs of an outbox table. Every act is one transaction, which also appends an
/// event to the audit log. Calls block; safe from any thread.
class ControlStore {
 public:
  virtual ~ControlStore() = default;
  /// Cheap enough to call every second.
  virtual Result<Controls> controls(const TableName& table) = 0;
  /// Returns false if the table or topic was in that state already.
  virtual Result<bool> set_pause(const PauseRequest& request) = 0;

  /// `matched` and `last` are determined at the time of the call.
  virtual Result<ReplayJob> create_job(const NewReplayJob& request) = 0;
  /// Ordered by id, ascending.
  virtual Result<std::vector<ReplayJob>> jobs(const TableName& table) = 0;
  /// TX.INVALID_STATE if the job's state does not allow it: only running jobs can be stopped or
  /// failed, only stopped and failed ones can be resumed.
  virtual Result<ReplayJob> change_job(const JobChange& change) = 0;
  /// Replays the next messages of a running job, as `Move::replay` does, and moves its cursor in
  /// the same transaction; the job becomes finished when no message is left. No-op if the job is
  /// not running. A message is left unchanged and counts as skipped if another one of its tenant
  /// and id is pending.
  virtual Result<JobAdvanceReply> advance_job(const JobAdvance& request) = 0;
};

}  // namespace sagabox::spi
