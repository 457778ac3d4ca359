#pragma once

#include <sagabox/records.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/fencing.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sagabox::spi {

/// What operators ask of all relays of a table.
struct Controls {
  std::vector<Pause> pauses;
  /// Another one whenever an operator took pending messages away (quarantine, purge): keys may
  /// have lost the message they wait for.
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
  Fencing fencing;  ///< of the process that runs replays of this table: one fence, shard 0
  std::uint32_t rows_max = 0;
};

struct JobAdvanceReply {
  bool held = false;       ///< the fence held; nothing happened otherwise
  std::uint32_t rows = 0;  ///< replayed
  ReplayJob job{};
};

/// Pauses and replay jobs of an outbox table. Every act is one transaction and appends an audit
/// event to the audit log in it. Calls block; safe from any thread.
class ControlStore {
 public:
  virtual ~ControlStore() = default;
  /// Cheap enough to ask every second.
  virtual Result<Controls> controls(const TableName& table) = 0;
  /// False: it was so already.
  virtual Result<bool> set_pause(const PauseRequest& request) = 0;

  /// `matched` and `last` are those of this moment.
  virtual Result<ReplayJob> create_job(const NewReplayJob& request) = 0;
  /// By id, ascending.
  virtual Result<std::vector<ReplayJob>> jobs(const TableName& table) = 0;
  /// TX.INVALID_STATE when the job's state does not allow it: only running jobs stop or fail, only
  /// stopped and failed ones are resumed.
  virtual Result<ReplayJob> change_job(const JobChange& change) = 0;
  /// Replays the next messages of a running job, as `Move::replay` does, and moves its cursor in
  /// the same transaction; the job is finished when nothing is left. Nothing when it does not run.
  /// A message whose tenant and id are pending stays where it is and counts as skipped.
  virtual Result<JobAdvanceReply> advance_job(const JobAdvance& request) = 0;
};

}  // namespace sagabox::spi
