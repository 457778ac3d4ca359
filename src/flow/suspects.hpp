#pragma once

#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace sagabox::flow {

/// Remembers the messages that a destination did not take (busy, unreachable, no answer), to tell
/// a message that is itself the cause from a destination that takes nothing. Bounded: when it is
/// full of recent ones, further messages are not remembered until some of those are forgotten, so
/// that at least these are judged. Pure.
class Suspects {
 public:
  static constexpr std::size_t messages_max = 16'384;
  /// When full, what was not seen for so long makes room.
  static constexpr Duration remembered_for = std::chrono::minutes(10);

  struct Judged {
    bool blamed = false;      ///< the message is the cause
    std::uint32_t times = 1;  ///< how often it has failed, this time included
  };

  /// A message has arrived. If it had failed before, that was not its own fault, and counts
  /// against the destination.
  void arrived(std::uint64_t message);
  /// The same where none is suspected.
  void arrived() noexcept { ++arrived_; }
  /// A message was not taken. It is to blame if it failed before and, since then, something has
  /// arrived and at least as many have arrived as failed that never had before; after that also
  /// while nothing else is sent. `down`: the destination counts as down, and no message is blamed.
  /// `known`: it is known to have failed before, also where it is not remembered.
  Judged failed(std::uint64_t message, bool down, BootTime now, bool known = false);
  /// A message was not taken while others arrived: it is to blame.
  Judged failed_alone(std::uint64_t message, BootTime now);
  /// The message has its answer, whatever it is.
  void forget(std::uint64_t message) { known_.erase(message); }

  [[nodiscard]] bool empty() const noexcept { return known_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }

 private:
  struct Suspect {
    std::uint64_t arrived = 0;  ///< in all, when it failed last
    std::uint64_t failed = 0;
    BootTime seen{};
    std::uint32_t times = 0;
    bool blamed = false;
  };
  /// Null: there is no room.
  Suspect* find_or_add(std::uint64_t message, BootTime now);

  std::unordered_map<std::uint64_t, Suspect> known_;
  std::uint64_t arrived_ = 0;  ///< at once
  /// For the first time, or before they arrived after all: a destination that takes little of
  /// everything is told from messages that never arrive.
  std::uint64_t failed_ = 0;
  BootTime swept_{BootTime::min()};
};

}  // namespace sagabox::flow
