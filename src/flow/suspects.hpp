#pragma once

#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace sagabox::flow {

/// Tracks the messages that a destination did not accept (busy, unreachable, no answer), to
/// distinguish a message that is the cause itself from a destination that accepts nothing. Bounded:
/// when it is full of recent entries, further messages are not tracked until some are removed, so
/// that at least the tracked ones are judged. Pure.
class Suspects {
 public:
  static constexpr std::size_t messages_max = 16'384;
  /// When full, entries that were not seen for this time are removed.
  static constexpr Duration remembered_for = std::chrono::minutes(10);

  struct Judged {
    bool blamed = false;      ///< the message is the cause
    std::uint32_t times = 1;  ///< how often it has failed, including this time
  };

  /// A message has arrived. If it had failed before, those failures were not its own fault and
  /// count against the destination.
  void arrived(std::uint64_t message);
  /// The same for a message that is not tracked.
  void arrived() noexcept { ++arrived_; }
  /// A message was not accepted. It is blamed if it failed before and, since then, at least one
  /// message has arrived and at least as many have arrived as have failed for the first time; a
  /// message blamed once is also blamed while nothing else is sent. `down`: the destination is
  /// considered down, and no message is blamed. `known`: the message has failed before, even if it
  /// is not tracked.
  Judged failed(std::uint64_t message, bool down, BootTime now, bool known = false);
  /// A message was not accepted while others arrived: it is blamed.
  Judged failed_alone(std::uint64_t message, BootTime now);
  /// The message got an answer of any kind.
  void forget(std::uint64_t message) { known_.erase(message); }

  [[nodiscard]] bool empty() const noexcept { return known_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }

 private:
  struct Suspect {
    std::uint64_t arrived = 0;  ///< `arrived_` at its last failure
    std::uint64_t failed = 0;
    BootTime seen{};
    std::uint32_t times = 0;
    bool blamed = false;
  };
  /// Null if there is no room.
  Suspect* find_or_add(std::uint64_t message, BootTime now);

  std::unordered_map<std::uint64_t, Suspect> known_;
  std::uint64_t arrived_ = 0;  ///< without an earlier failure
  /// First failures, and all failures of messages that arrived later. They distinguish a
  /// destination that accepts few messages from messages that never arrive.
  std::uint64_t failed_ = 0;
  BootTime swept_{BootTime::min()};
};

}  // namespace sagabox::flow
