#pragma once

#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>

namespace sagabox {

/// So many in each stretch of time, which begins with the first of them.
struct Budget {
  std::uint64_t messages = 0;
  Duration window{};
};

/// How fast messages may go. What is over a limit waits in the database; nothing is written for it
/// and no attempt is spent.
struct Limits {
  std::optional<std::uint32_t> rate{};         ///< messages a second, evenly
  std::optional<std::uint32_t> burst{};        ///< at once after a rest; default: 0.1 s worth
  std::optional<std::uint32_t> concurrency{};  ///< under way at the same time
  std::optional<Budget> budget{};

  [[nodiscard]] bool any() const noexcept { return rate || concurrency || budget; }
  /// Names the limit that is wrong and what would be right.
  [[nodiscard]] Status check() const;
};

/// When a destination counts as down, and how it is tried again.
struct BreakerOptions {
  /// After so many sends without an answer in a row. One that cannot be reached or is busy is
  /// enough, or three in a row where something has arrived within the last second.
  std::uint32_t timeouts_max = 3;
  Duration probe_min = std::chrono::milliseconds(100);
  Duration probe_max = std::chrono::seconds(15);
  /// What a destination may ask for with Retry-After at most, once several messages were told so.
  Duration pause_max = std::chrono::minutes(5);

  [[nodiscard]] Status check() const;
};

}  // namespace sagabox
