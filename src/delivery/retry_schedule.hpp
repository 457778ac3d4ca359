#pragma once

#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace sagabox::delivery {

/// When a delivery whose attempt failed goes out again. The waits are named one by one: webhooks
/// are tried again for days, and a person wants to see when.
struct RetrySchedule {
  /// After the first failed attempt, the second … When they are used up, the delivery is dead.
  std::vector<Duration> waits{
      std::chrono::seconds(5), std::chrono::minutes(5), std::chrono::minutes(30),
      std::chrono::hours(2),   std::chrono::hours(5),   std::chrono::hours(10),
      std::chrono::hours(14),  std::chrono::hours(20),  std::chrono::hours(24)};
  /// Each wait is longer by a random part of it, up to this one.
  double jitter = 0.1;
  /// An endpoint that cannot be reached spends none of `waits`: attempts go on at intervals that
  /// double from `unreachable_wait_min` to `unreachable_wait_max`, for as long as this in all.
  Duration unreachable_max = std::chrono::hours(72);

  static constexpr Duration unreachable_wait_min = std::chrono::seconds(5);
  static constexpr Duration unreachable_wait_max = std::chrono::hours(1);
  static constexpr std::size_t waits_max = 50;
  static constexpr Duration wait_ceiling = std::chrono::hours(24 * 7);
  static constexpr double jitter_ceiling = 1;
  /// What an endpoint may ask for with Retry-After.
  static constexpr Duration retry_after_max = std::chrono::hours(24);

  /// After the `failures`-th failed attempt that counts (1 is the first). Nullopt: no more.
  [[nodiscard]] std::optional<Duration> after_failure(std::uint32_t failures, Random& random) const;
  /// After the `times`-th attempt that did not reach the endpoint (1 is the first). Nullopt: no
  /// more.
  [[nodiscard]] std::optional<Duration> after_unreachable(std::uint32_t times,
                                                          Random& random) const;

  friend bool operator==(const RetrySchedule&, const RetrySchedule&) = default;
};

}  // namespace sagabox::delivery
