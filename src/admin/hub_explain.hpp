#pragma once

#include <sagabox/hub_admin.hpp>
#include <sagabox/spi/ownership_store.hpp>

#include <optional>
#include <vector>

namespace sagabox::admin {

/// What is known of one delivery.
struct DeliveryFacts {
  DeliveryRecord delivery{};
  std::optional<SubscriptionRecord> subscription{};
  std::vector<JobRecord> attempts{};
  std::vector<DeliveryRecord> earlier{};  ///< open ones of its key, by sequence
  std::optional<DeliveryRecord> next_generation{};
  std::optional<spi::Census> owners{};  ///< of all shards; null: nobody asked
  WallTime now{};
};

/// Pure.
DeliveryExplanation explain(const DeliveryFacts& facts);

}  // namespace sagabox::admin
