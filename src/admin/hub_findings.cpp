#include "admin/hub_findings.hpp"

#include "admin/checks.hpp"
#include "admin/hub_explain.hpp"
#include "core/text.hpp"

#include <sagabox/hub_admin.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace sagabox::admin {
namespace {

std::string events_of(std::uint64_t count, bool more) {
  return std::to_string(count) + (more         ? " or more events are"
                                  : count == 1 ? " event is"
                                               : " events are");
}

std::string deliveries_of(std::uint64_t count, bool more) {
  return std::to_string(count) + (more ? " or more" : "") +
         (count == 1 && !more ? " delivery" : " deliveries");
}

std::uint64_t open_of(const spi::HubStats& stats) {
  std::uint64_t open = 0;
  for (const auto state :
       {DeliveryState::pending, DeliveryState::waiting, DeliveryState::in_progress}) {
    open += stats.states.at(static_cast<std::size_t>(state)).deliveries;
  }
  return open;
}

bool all_owned(const spi::Census& census) {
  return !census.shards.empty() &&
         std::ranges::all_of(census.shards, [](const spi::ShardOwner& shard) {
           return !shard.owner.empty() && shard.lease_left > Duration::zero();
         });
}

}  // namespace

std::vector<spi::Finding> findings_of(const HubFacts& facts) {
  std::vector<spi::Finding> found;
  const std::string start = "start a daemon with hub.enabled";
  if (facts.unrouted && facts.unrouted->oldest) {
    const Duration age = facts.now - *facts.unrouted->oldest;
    const bool owned = facts.routed.value_or(true);
    if (!owned || age > unrouted_max) {
      const auto count = facts.unrouted->events;
      found.push_back({Severity::error,
                       events_of(count, count >= HubAdmin::count_rows_max) +
                           " not routed, the oldest for " + age_text(age) +
                           (owned ? "" : ": no process has the role router"),
                       owned ? "the log of the daemon with the role router; a transaction that "
                               "publishes and stays open holds up later events"
                             : start + " and the role router"});
    }
  }
  if (!facts.stats) return found;
  if (const auto open = open_of(*facts.stats); open > 0 && !facts.delivered.value_or(true)) {
    found.push_back({Severity::error,
                     deliveries_of(open, false) + (open == 1 ? " waits" : " wait") +
                         ": no process has the role orchestrator",
                     start + " and the role orchestrator"});
  }
  const auto& dead = facts.stats->states.at(static_cast<std::size_t>(DeliveryState::dead));
  if (dead.deliveries > 0) {
    found.push_back({Severity::warning, "dead: " + deliveries_of(dead.deliveries, dead.estimated),
                     "sagabox dead list --kind delivery"});
  }
  return found;
}

}  // namespace sagabox::admin

namespace sagabox {

Result<std::vector<spi::Finding>> HubAdmin::findings() const {
  auto allowed = admin::everybodys(options_.admin, "what is wrong with the hub");
  if (!allowed.ok()) return allowed.error();
  const auto unrouted = hub_.admin.unrouted(count_rows_max);
  if (!unrouted.ok()) return unrouted.error();
  const auto stats = hub_.admin.stats(count_rows_max);
  if (!stats.ok()) return stats.error();
  const auto routers = store_->ownership().census(spi::Scope(admin::routing_scope));
  if (!routers.ok()) return routers.error();
  const auto owners = store_->ownership().census(spi::Scope(admin::deliveries_scope));
  if (!owners.ok()) return owners.error();
  return admin::findings_of(admin::HubFacts{.now = options_.admin.clock->wall_now(),
                                            .unrouted = *unrouted,
                                            .stats = *stats,
                                            .routed = admin::all_owned(*routers),
                                            .delivered = admin::all_owned(*owners)});
}

}  // namespace sagabox
