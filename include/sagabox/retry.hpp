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

  static RetryPolicy s0();
  static RetryPolicy s2();
  static RetryPolicy s4();  ///< the default
  static RetryPolicy saga();
  /// "s0", "s2", "s4", "saga". The delivery hub lists its delays one by one: docs/hub.md.
  static Result<RetryPolicy> preset(std::string_view name);
};

}  // namespace sagabox
