#include "simulation/hub/variants.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::simulation {
namespace {

using delivery::DeliveryDecision;
using delivery::DeliveryEvent;
using delivery::Endpoint;

DeliveryDecision counts_results_twice(const DeliveryRecord& delivery, const DeliveryEvent& event,
                                      const Endpoint& endpoint, WallTime now, Random& random) {
  auto decision = delivery::decide(delivery, event, endpoint, now, random);
  if (!std::holds_alternative<delivery::AttemptEnded>(event) || !decision.changed) return decision;
  auto again = decision.delivery;
  again.state = DeliveryState::in_progress;
  return delivery::decide(again, event, endpoint, now, random);
}

/// The fences of whoever owns these shards now.
struct PresentFences {
  WorkerId owner;
  std::vector<spi::Fence> of;
};

PresentFences fences_of(spi::OwnershipStore& ownership, const std::string& scope) {
  PresentFences present;
  const auto census = ownership.census(scope);
  if (!census.ok()) return present;
  for (std::size_t shard = 0; shard < census->shards.size(); ++shard) {
    const auto& is = census->shards[shard];
    if (is.owner == WorkerId{}) continue;
    if (present.of.empty()) present.owner = is.owner;
    if (present.owner != is.owner) continue;
    present.of.push_back({.shard = Shard{static_cast<std::uint16_t>(shard)}, .epoch = is.epoch});
  }
  return present;
}

}  // namespace

delivery::Decider hub_decider_of(HubVariant variant) {
  if (variant == HubVariant::result_counted_twice) return &counts_results_twice;
  return &delivery::decide;
}

bool HubWatch::holds(const spi::Fencing& fencing) const {
  const auto census = ownership.census(spi::Scope(fencing.scope));
  if (!census.ok()) return true;  // not known
  return std::ranges::all_of(fencing.fences, [&](const spi::Fence& fence) {
    const auto& is = census->shards[fence.shard.value];
    return is.owner == fencing.owner && is.epoch == fence.epoch;
  });
}

Result<spi::RoutingReply> WatchedEvents::read(std::span<const spi::FeedRange> ranges,
                                              std::size_t bytes_max,
                                              std::uint64_t subscriptions_after) {
  auto reply = store_.read(ranges, bytes_max, subscriptions_after);
  if (watch_.variant != HubVariant::position_moved_before_deliveries || !reply.ok()) return reply;
  const auto fences = fences_of(watch_.ownership, "hub:router");
  for (const auto& event : reply->events.rows) {
    const spi::RoutingPosition position{.shard = event.shard, .position = event.sequence};
    (void)store_.move({"hub:router", fences.owner, fences.of}, std::span(&position, 1));
  }
  return reply;
}

Result<std::vector<bool>> WatchedEvents::move(const spi::Fencing& fencing,
                                              std::span<const spi::RoutingPosition> positions) {
  auto held = store_.move(fencing, positions);
  if (held.ok()) watch_.count("positions moved");
  return held;
}

Result<std::uint64_t> WatchedDeliveries::add(std::span<const DeliveryRecord> deliveries) {
  if (watch_.variant != HubVariant::router_without_unique_key) {
    auto added = store_.add(deliveries);
    if (added.ok() && *added < deliveries.size()) watch_.count("routed again");
    return added;
  }
  std::vector<DeliveryRecord> fresh(deliveries.begin(), deliveries.end());
  for (auto& delivery : fresh) delivery.id = watch_.ids.next<DeliveryId>();
  return store_.add(fresh);
}

Result<spi::DeliveryStore::BeginReply> WatchedDeliveries::begin(
    const spi::Fencing& fencing, std::span<const spi::AttemptOf> attempts) {
  if (watch_.variant == HubVariant::jobs_without_begin) {
    return BeginReply{.held = std::vector<bool>(fencing.fences.size(), true),
                      .begun = {attempts.begin(), attempts.end()},
                      .waiting = {}};
  }
  const bool held = watch_.holds(fencing);
  auto reply = store_.begin(fencing, attempts);
  if (!reply.ok()) return reply;
  if (!reply->waiting.empty()) watch_.count("waits for its key");
  if (!held && !reply->begun.empty()) watch_.violated("a stale owner has begun attempts");
  return reply;
}

void WatchedDeliveries::watch_change(const spi::Fencing&, const Result<ChangeReply>& reply,
                                     bool held) {
  if (!reply.ok()) return watch_.count("change " + std::string(code_name(reply.error().code)));
  if (std::ranges::find(reply->held, false) != reply->held.end()) {
    watch_.count("change refused by a fence");
  }
  if (!held && !reply->changed.empty()) watch_.violated("a stale owner has changed deliveries");
}

Result<spi::DeliveryStore::ChangeReply> WatchedDeliveries::change(
    const spi::Fencing& fencing, std::span<const spi::DeliveryChange> changes) {
  const bool held = watch_.holds(fencing);
  auto reply = store_.change(fencing, changes);
  watch_change(fencing, reply, held);
  return reply;
}

Result<spi::DeliveryStore::ChangeReply> WatchedDeliveries::end_unsent(
    const spi::Fencing& fencing, std::span<const spi::DeliveryChange> changes) {
  const bool held = watch_.holds(fencing);
  auto reply = store_.end_unsent(fencing, changes);
  watch_change(fencing, reply, held);
  if (reply.ok() && !reply->changed.empty()) watch_.count("died unsent");
  return reply;
}

Result<std::vector<spi::EndedJob>> WatchedDeliveries::ended(Shard shard, std::uint32_t rows_max) {
  auto jobs = store_.ended(shard, rows_max);
  if (watch_.variant != HubVariant::seen_before_it_is_applied || !jobs.ok()) return jobs;
  std::vector<spi::AttemptOf> all;
  for (const auto& job : *jobs) all.push_back(job.of);
  (void)store_.seen(all);
  return jobs;
}

Result<spi::DeliveryStore::DisableReply> WatchedDeliveries::disable(
    const spi::Fencing& fencing, const SubscriptionId& subscription, std::uint64_t change,
    std::string_view reason, std::span<const AuditEvent> audit) {
  const bool held = watch_.holds(fencing);
  auto reply = store_.disable(fencing, subscription, change, reason, audit);
  if (!reply.ok()) return reply;
  if (std::ranges::find(reply->held, false) != reply->held.end()) {
    watch_.count("disable refused by a fence");
  }
  if (!held && reply->disabled) watch_.violated("a stale owner has disabled a subscription");
  return reply;
}

Result<spi::JobStore::ResetReply> WatchedJobs::reset(std::uint32_t rows_max) {
  auto reply = store_.reset(rows_max);
  if (!reply.ok() || reply->reset + reply->failed == 0) return reply;
  watch_.count("leases lost");
  if (watch_.variant != HubVariant::cleaner_touches_deliveries) return reply;
  // It "helps" by making deliveries pending again whose job is pending.
  const auto fences = fences_of(watch_.ownership, "hub:deliveries");
  for (const auto& fence : fences.of) {
    const auto rows = watch_.roles.deliveries.in_progress(fence.shard, {}, 1000);
    if (!rows.ok()) continue;
    for (const auto& row : *rows) {
      const spi::DeliveryChange change{.of = {.delivery = row.id, .attempt = row.attempt},
                                       .state = DeliveryState::pending,
                                       .failures = row.failures,
                                       .next_attempt_at = row.next_attempt_at};
      (void)watch_.roles.deliveries.change({"hub:deliveries", fences.owner, fences.of},
                                           std::span(&change, 1));
    }
  }
  return reply;
}

}  // namespace sagabox::simulation
