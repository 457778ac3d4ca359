#pragma once

#include "delivery/filter.hpp"
#include "delivery/retry_schedule.hpp"
#include "routing/topic_pattern.hpp"

#include <sagabox/hub_record.hpp>
#include <sagabox/limits.hpp>
#include <sagabox/message.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::delivery {

/// In which order the deliveries of a subscription go out.
enum class DeliveryOrder : std::uint8_t {
  any,
  key,  ///< one at a time per key, in the order of the events
};

/// How a webhook carries its event.
enum class WebhookMode : std::uint8_t { binary, structured };

/// `SubscriptionRecord::settings`, read and checked. Everything may be left out.
struct SubscriptionSettings {
  Filter filter{};
  RetrySchedule retry{};
  DeliveryOrder order = DeliveryOrder::any;
  Limits limits{};
  Headers headers{};  ///< sent along, after the event's own
  WebhookMode mode = WebhookMode::binary;
  Duration timeout = std::chrono::seconds(15);  ///< of one attempt
  /// A subscription whose attempts have all failed for so long is disabled; 0: never.
  Duration disable_after = std::chrono::hours(24 * 5);

  static constexpr std::size_t bytes_max = 16UL * 1024;
  static constexpr std::size_t headers_max = 20;
  static constexpr std::size_t header_bytes_max = 4096;  ///< of one
  static constexpr Duration timeout_min = std::chrono::milliseconds(100);
  static constexpr Duration timeout_max = std::chrono::minutes(2);
  static constexpr Duration disable_after_min = std::chrono::hours(1);
  static constexpr Duration disable_after_max = std::chrono::hours(24 * 90);
};

/// SCHEMA.VALIDATION_FAILED with the place of the first mistake: `retry.waits[2]: …`.
/// Empty text is as `{}`.
Result<SubscriptionSettings> read_settings(std::string_view json);

inline constexpr std::size_t subscription_types_max = 50;
/// SCHEMA.VALIDATION_FAILED: `types[1]: …`. At least one; `**` is every type.
Result<std::vector<routing::TopicPattern>> read_types(std::span<const std::string> types);

/// A stored subscription with what its texts say.
struct Subscription {
  SubscriptionRecord record{};
  std::vector<routing::TopicPattern> types{};
  SubscriptionSettings settings{};
  /// Its settings or types cannot be read here, as a newer version may have written them: it
  /// matches all events of its tenant or of the types that can be read, and its deliveries wait.
  std::string problem{};

  explicit Subscription(SubscriptionRecord stored);
  [[nodiscard]] bool waits() const noexcept {
    return record.state == SubscriptionState::paused || !problem.empty();
  }
};

/// Whether an event published now would be matched if it fitted.
constexpr bool takes_events(SubscriptionState state) noexcept {
  return state == SubscriptionState::active || state == SubscriptionState::paused;
}

}  // namespace sagabox::delivery
