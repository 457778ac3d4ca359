#pragma once

#include <sagabox/spi/doctor_store.hpp>
#include <sagabox/spi/hub_admin_store.hpp>
#include <sagabox/time.hpp>

#include <optional>
#include <vector>

namespace sagabox::admin {

/// The state of the delivery hub as it was read. Null members could not be asked from here.
struct HubFacts {
  WallTime now{};
  std::optional<spi::UnroutedEvents> unrouted{};
  std::optional<spi::HubStats> stats{};
  std::optional<bool> routed{};     ///< whether all shards of events have an owner
  std::optional<bool> delivered{};  ///< the same of deliveries
};

/// An event that is younger is on its way.
inline constexpr Duration unrouted_max = std::chrono::minutes(5);

/// Lists what is wrong with it, for `sagabox doctor`.
std::vector<spi::Finding> findings_of(const HubFacts& facts);

}  // namespace sagabox::admin
