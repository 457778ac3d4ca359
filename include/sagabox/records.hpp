#pragma once

#include <sagabox/error.hpp>
#include <sagabox/id.hpp>
#include <sagabox/message.hpp>
#include <sagabox/payload.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox {

/// The state of a message. A message that waits for a retry is pending.
enum class MessageState : std::uint8_t {
  pending,
  done,  ///< delivered, and kept until the retention ends
  dead,
  quarantined,  ///< not delivered until released, by an operator's or a policy's decision
};
inline constexpr std::size_t message_state_count = 4;

/// "pending", "done", "dead", "quarantined".
std::string_view state_name(MessageState state) noexcept;
std::optional<MessageState> state_from_name(std::string_view name) noexcept;

/// One attempt that failed.
struct FailedAttempt {
  std::uint32_t number = 0;  ///< from 1
  WallTime at{};
  Code code = Code::unknown_internal;
  std::string error{};
  friend bool operator==(const FailedAttempt&, const FailedAttempt&) = default;
};

/// The number of failures of a message that are kept, the newest ones.
inline constexpr std::size_t history_attempts_max = 20;

/// A message as operators see it.
struct MessageRecord {
  MessageState state = MessageState::pending;
  MessageId id;
  Sequence sequence{};
  Shard shard{};

  /// Empty if the row cannot be decoded; `decode_error` says why.
  std::string tenant{};
  std::string topic{};
  std::string aggregate_type{};
  std::string aggregate_id{};
  std::string key{};
  Digest digest{};
  std::size_t payload_bytes = 0;
  std::string decode_error{};

  std::uint32_t attempts = 0;  ///< since it was written or last replayed
  std::uint32_t replays = 0;
  WallTime written_at{};               ///< or last replayed
  std::optional<WallTime> due{};       ///< pending: waits until this time
  bool retrying = false;               ///< pending: failed, and waits for another attempt
  std::optional<WallTime> ended_at{};  ///< when it became done, dead or quarantined

  /// The code of the last failure.
  std::optional<Code> code{};
  std::string error{};
  std::string note{};  ///< quarantined: the operator's reason

  std::vector<FailedAttempt> history{};      ///< if requested; oldest first
  std::shared_ptr<const Message> message{};  ///< if the payload was requested
};

/// Selects messages. All fields that are set must match.
struct MessageFilter {
  std::optional<std::string> tenant{};
  std::optional<std::string> topic{};
  std::optional<std::string> aggregate_type{};
  std::optional<std::string> key{};
  std::optional<Code> code{};
  /// The time when it ended (pending: was written): not before `from`, and before `until`.
  std::optional<WallTime> from{};
  std::optional<WallTime> until{};
  std::optional<Sequence> first{};
  std::optional<Sequence> last{};
  bool retrying = false;  ///< only pending messages that wait for another attempt
  friend bool operator==(const MessageFilter&, const MessageFilter&) = default;
};

/// While it exists, no message of the table or of one topic is delivered.
struct Pause {
  std::string topic{};  ///< empty: the table
  std::string actor{};
  std::string note{};
  WallTime since{};
  friend bool operator==(const Pause&, const Pause&) = default;
};

using ReplayJobId = Number<struct ReplayJobIdTag, std::uint64_t>;

/// A replay of many messages. It is stored, so that it continues after a crash.
struct ReplayJob {
  enum class State : std::uint8_t {
    running,
    stopped,  ///< by an operator; can be resumed
    finished,
    failed,  ///< a batch could not be replayed; can be resumed
  };
  ReplayJobId id{};
  std::string table{};
  State state = State::running;
  MessageState from = MessageState::dead;
  MessageFilter filter{};
  Sequence cursor{};  ///< messages up to here have been processed
  Sequence last{};  ///< fixed at the start: a message that becomes dead again is not replayed again
  std::uint32_t rate_max = 0;  ///< messages a second; 0: no limit
  bool as_new = false;         ///< consumers also handle messages that they have handled before
  std::uint64_t matched = 0;   ///< at the start
  std::uint64_t replayed = 0;
  std::uint64_t skipped = 0;  ///< left unchanged: another message with the id was pending
  std::string actor{};
  std::string error{};  ///< failed: why
  WallTime created_at{};
  WallTime changed_at{};
  friend bool operator==(const ReplayJob&, const ReplayJob&) = default;
};

/// "running", "stopped", "finished", "failed".
std::string_view job_state_name(ReplayJob::State state) noexcept;
/// Returns why the job may not be changed to this state; nullopt if it may. Only running jobs can
/// be stopped or failed, only stopped and failed ones can be resumed, and no caller can finish a
/// job.
std::optional<Error> change_problem(const ReplayJob& job, ReplayJob::State to);

}  // namespace sagabox
