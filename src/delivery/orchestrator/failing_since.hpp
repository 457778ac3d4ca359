#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/spi/hub_admin_store.hpp>
#include <sagabox/time.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace sagabox::delivery {

/// Finds out since when all attempts of a subscription have failed, from how many have failed
/// within a time. An owner asks at the first failure it sees: memory of earlier ones is lost with
/// each take-over, and an endpoint is disabled after days. Exact to a 64th of `longest`; errs
/// towards later. Pure.
class FailingSince {
 public:
  /// Most endpoints had a success within this time; it costs little to look.
  static constexpr Duration recent = std::chrono::minutes(15);

  FailingSince(const SubscriptionId& subscription, Duration longest);

  [[nodiscard]] const SubscriptionId& subscription() const noexcept { return subscription_; }
  /// How far back to ask next; nullopt: `answer` is there.
  [[nodiscard]] std::optional<Duration> ask() const {
    return done_ ? std::nullopt : std::optional(asked_);
  }
  void told(const spi::EndpointHealth& health, WallTime now);
  /// Nullopt: the failure that is just looked at is the first.
  [[nodiscard]] std::optional<WallTime> answer() const noexcept { return answer_; }

 private:
  static constexpr std::uint32_t halvings_max = 6;
  void told_all(const spi::EndpointHealth& health, WallTime now);
  void halve(WallTime now);

  SubscriptionId subscription_;
  Duration longest_;
  Duration asked_;
  Duration lo_{};
  Duration hi_{};                          ///< all that failed did so within this time
  std::optional<std::uint64_t> failed_{};  ///< so many
  std::uint32_t halvings_ = 0;
  bool shortened_ = false;
  bool done_ = false;
  std::optional<WallTime> answer_{};
};

}  // namespace sagabox::delivery
