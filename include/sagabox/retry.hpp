#pragma once

#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <string_view>

namespace sagabox {

/// The number of attempts and the delays between them. delay(n) = min(backoff_max, backoff_min ×
/// factor^(n−1)) × uniform(jitter_min, jitter_max)
///            + uniform(0, jitter_added_max), never below `floor`.
struct RetryPolicy {
  std::uint32_t attempts_max = 10;
  Duration backoff_min = std::chrono::milliseconds(200);
  Duration backoff_max = std::chrono::seconds(60);
  double factor = 2.0;
  double jitter_min = 0.5;
  double jitter_max = 1.5;
  Duration jitter_added_max{};
  Duration floor{};

  /// The wait after the `attempt`-th failed attempt (1 is the first).
  [[nodiscard]] Duration delay(std::uint32_t attempt, Random& random) const;

  /// Names the setting that is wrong and what would be right.
  [[nodiscard]] Status check() const;

  static RetryPolicy patient();     ///< few attempts, waits up to five minutes
  static RetryPolicy persistent();  ///< many attempts, waits up to a minute
  static RetryPolicy quick();       ///< the default: soon again, waits up to a minute
  static RetryPolicy saga();        ///< of a call of a saga
  /// "patient", "persistent", "quick", "saga". The delivery hub names its waits one by one:
  /// docs/hub.md.
  static Result<RetryPolicy> preset(std::string_view name);
};

}  // namespace sagabox
