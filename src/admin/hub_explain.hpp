#pragma once

#include <sagabox/hub_admin.hpp>
#include <sagabox/spi/ownership_store.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace sagabox::admin {

/// The scope whose owners decide about deliveries.
inline constexpr std::string_view deliveries_scope = "hub:deliveries";
inline constexpr std::string_view routing_scope = "hub:router";

/// All facts about one delivery.
struct DeliveryFacts {
  DeliveryRecord delivery{};
  std::optional<SubscriptionRecord> subscription{};
  std::vector<JobRecord> attempts{};
  std::vector<DeliveryRecord> earlier{};  ///< open ones of its key, by sequence
  std::optional<DeliveryRecord> next_generation{};
  std::optional<spi::Census> owners{};      ///< of all shards; nullopt: not asked
  std::optional<EndpointState> endpoint{};  ///< nullopt: its owner was not asked
  WallTime now{};
};

/// All facts about one subscription.
struct SubscriptionFacts {
  SubscriptionRecord subscription{};
  SubscriptionHealth health{};
  Shard shard{};                            ///< of its deliveries
  std::optional<spi::Census> owners{};      ///< nullopt: not asked
  std::optional<EndpointState> endpoint{};  ///< nullopt: its owner was not asked
  WallTime now{};
};

/// Pure.
DeliveryExplanation explain(const DeliveryFacts& facts);
/// Explains why nothing is sent for it, if that is so.
DeliveryExplanation explain(const SubscriptionFacts& facts);

}  // namespace sagabox::admin
