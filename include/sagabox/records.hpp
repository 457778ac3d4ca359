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

/// Where a message is in its life. A retry is pending with attempts.
enum class MessageState : std::uint8_t {
  pending,
  done,  ///< delivered, and kept in the archive
  dead,
  quarantined,  ///< set aside by an operator or a policy until released
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

/// The newest failures of a message are kept, so many of them.
inline constexpr std::size_t history_attempts_max = 20;

/// A message as an operator sees it.
struct MessageRecord {
  MessageState state = MessageState::pending;
  MessageId id;
  Sequence sequence{};
  Shard shard{};

  /// Empty where the row cannot be decoded: `decode_error` says why.
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
  std::optional<WallTime> due{};       ///< pending: waits for this time
  bool retrying = false;               ///< pending: failed, and waits for another attempt
  std::optional<WallTime> ended_at{};  ///< when it became done, dead or quarantined

  /// Of the last failure.
  std::optional<Code> code{};
  std::string error{};
  std::string note{};  ///< quarantined: why, in its operator's words

  std::vector<FailedAttempt> history{};      ///< when asked for; oldest first
  std::shared_ptr<const Message> message{};  ///< when the payload was asked for
};

/// Which messages are meant. Everything given must fit.
struct MessageFilter {
  std::optional<std::string> tenant{};
  std::optional<std::string> topic{};
  std::optional<std::string> aggregate_type{};
  std::optional<std::string> key{};
  std::optional<Code> code{};
  /// When it ended (pending: was written): not before `from`, and before `until`.
  std::optional<WallTime> from{};
  std::optional<WallTime> until{};
  std::optional<Sequence> first{};
  std::optional<Sequence> last{};
  bool retrying = false;  ///< only pending messages that wait for another attempt
  friend bool operator==(const MessageFilter&, const MessageFilter&) = default;
};

/// Nothing is delivered while it holds: of a whole table, or of one topic.
struct Pause {
  std::string topic{};  ///< empty: the table
  std::string actor{};
  std::string note{};
  WallTime since{};
  friend bool operator==(const Pause&, const Pause&) = default;
};

using ReplayJobId = Number<struct ReplayJobIdTag, std::uint64_t>;

/// A replay of many, kept in the store, so that it goes on after a crash.
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
  Sequence cursor{};           ///< everything up to here has been looked at
  Sequence last{};             ///< fixed at the start: what dies again is not replayed again
  std::uint32_t rate_max = 0;  ///< messages a second; 0: as fast as it goes
  bool as_new = false;         ///< consumers handle what they have handled before, too
  std::uint64_t matched = 0;   ///< at the start
  std::uint64_t replayed = 0;
  std::uint64_t skipped = 0;  ///< left as they are: another message of the id was pending
  std::string actor{};
  std::string error{};  ///< failed: why
  WallTime created_at{};
  WallTime changed_at{};
  friend bool operator==(const ReplayJob&, const ReplayJob&) = default;
};

/// "running", "stopped", "finished", "failed".
std::string_view job_state_name(ReplayJob::State state) noexcept;
/// Why somebody may not bring the job into this state; nothing: he may. Only running jobs stop or
/// fail, only stopped and failed ones are resumed, and none is finished by hand.
std::optional<Error> change_problem(const ReplayJob& job, ReplayJob::State to);

}  // namespace sagabox
