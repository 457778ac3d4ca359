#pragma once

#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>

namespace sagabox {

/// At most `messages` in each window. A window begins with its first message.
struct Budget {
  std::uint64_t messages = 0;
  Duration window{};
};

/// How fast messages may be sent. Messages over a limit wait in the database; nothing is written
/// for them and no attempt is spent.
struct Limits {
  std::optional<std::uint32_t> rate{};  ///< messages per second, evenly distributed
  std::optional<std::uint32_t>
      burst{};  ///< messages at once after an idle time; default: those of 0.1 s
  std::optional<std::uint32_t> concurrency{};  ///< under way at the same time
  std::optional<Budget> budget{};

  [[nodiscard]] bool any() const noexcept { return rate || concurrency || budget; }
  /// Names the limit that is wrong and what would be right.
  [[nodiscard]] Status check() const;
};

/// When a destination is considered down, and how it is probed.
struct BreakerOptions {
  /// It is down after this many consecutive sends without an answer. One send is enough if the
  /// destination cannot be reached or is busy, or three in a row if it accepted a message within
  /// the last second.
  std::uint32_t timeouts_max = 3;
  Duration probe_min = std::chrono::milliseconds(100);
  Duration probe_max = std::chrono::seconds(15);
  /// The longest Retry-After of a destination that is obeyed, once several messages received one.
  Duration pause_max = std::chrono::minutes(5);

  [[nodiscard]] Status check() const;
};

}  // namespace sagabox
