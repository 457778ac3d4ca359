#include "delivery/hub_upkeep.hpp"

#include "observe/hub_metric_names.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace sagabox::delivery {

bool HubPurger::purge(const Result<spi::HubPurged>& purged) {
  if (purged.ok()) {
    const auto most = std::max({purged->jobs, purged->deliveries, purged->events, purged->dead});
    return purged->more || most >= rows_max;
  }
  errors_.count(purged.error().code);
  parts_.log.log(LogLevel::warning, "purge of the hub failed, will be tried again",
                 {{"code", code_name(purged.error().code)},
                  {"error", std::string_view(purged.error().message)}});
  return false;
}

bool HubPurger::step() {
  const auto now = parts_.clock.boot_now();
  if (!begun_) {
    begun_ = true;
    due_ = now + interval;
    return false;
  }
  if (turn_ == Turn::none) {
    if (now < due_) return false;
    due_ = now + interval;
    if (!parts_.mine()) return false;
    turn_ = Turn::ended;
  }
  if (turn_ == Turn::ended) {
    const bool wanted = parts_.retention > Duration{};
    if (wanted && purge(parts_.store.purge({parts_.retention, rows_max}))) return true;
    turn_ = Turn::dead;
    return true;
  }
  const bool wanted = parts_.dead_retention > Duration{};
  if (wanted && purge(parts_.store.purge_dead({parts_.dead_retention, rows_max}))) return true;
  turn_ = Turn::none;
  return false;
}

BootTime HubPurger::next(BootTime now) const { return begun_ && turn_ == Turn::none ? due_ : now; }

HubBacklog::HubBacklog(spi::HubAdminStore& store, const Clock& clock, Metrics& metrics, Logger& log)
    : store_(store),
      clock_(clock),
      metrics_(metrics),
      log_(log),
      errors_(metrics),
      shows_(&metrics != &no_metrics()) {}

bool HubBacklog::step() {
  const auto now = clock_.boot_now();
  if (!shows_ || now < due_) return false;
  due_ = now + interval;
  const auto counts = store_.count(std::nullopt);
  if (counts.ok()) {
    show(*counts);
    return false;
  }
  errors_.count(counts.error().code);
  log_.log(LogLevel::warning, "figures of the hub could not be read; they stay as they are",
           {{"code", code_name(counts.error().code)},
            {"error", std::string_view(counts.error().message)}});
  return false;
}

BootTime HubBacklog::next(BootTime) const { return shows_ ? due_ : BootTime::max(); }

void HubBacklog::show(const std::vector<spi::DeliveryCount>& counts) {
  std::array<std::uint64_t, delivery_state_count> of{};
  std::optional<WallTime> oldest;
  for (const auto& one : counts) {
    of[static_cast<std::size_t>(one.state)] += one.deliveries;
    if (has_ended(one.state) || !one.oldest) continue;
    oldest = oldest ? std::min(*oldest, *one.oldest) : *one.oldest;
  }
  for (const auto state : {DeliveryState::pending, DeliveryState::waiting,
                           DeliveryState::in_progress, DeliveryState::dead}) {
    metrics_.gauge(metric::hub_open, {{"state", delivery_state_name(state)}})
        .set(static_cast<double>(of[static_cast<std::size_t>(state)]));
  }
  const auto age = oldest ? std::chrono::duration<double>(clock_.wall_now() - *oldest).count() : 0;
  metrics_.gauge(metric::hub_oldest_seconds, {}).set(std::max(0.0, age));
}

bool DisabledNotices::step() {
  const auto now = parts_.clock.boot_now();
  if (now < due_) return false;
  if (waiting_.empty()) {
    auto disabled = parts_.orchestrator.take_disabled();
    std::ranges::move(disabled, std::back_inserter(waiting_));
  }
  if (waiting_.empty()) {
    due_ = now + interval;
    return false;
  }
  const auto published = parts_.publish(waiting_.front());
  if (!published.ok()) {
    due_ = now + interval;
    parts_.log.log(LogLevel::warning, "no event says that a subscription is disabled",
                   {{"subscription_id", waiting_.front().id.view()},
                    {"code", code_name(published.error().code)},
                    {"error", std::string_view(published.error().message)}});
    if (may_be_repeated(published.error().code)) return false;
  }
  waiting_.pop_front();
  return true;
}

std::optional<WorkerId> HubStandBy::other_owner() const {
  const auto census = parts_.ownership.census(spi::Scope(Orchestrator::scope));
  if (!census.ok()) return std::nullopt;
  for (const auto& shard : census->shards) {
    const bool held = !shard.owner.empty() && shard.lease_left > Duration{};
    // Those who live here are of this process.
    if (held && std::ranges::find(census->live, shard.owner) == census->live.end()) {
      return shard.owner;
    }
  }
  return WorkerId{};
}

bool HubStandBy::step() {
  const auto now = parts_.clock.boot_now();
  if (now < due_) return false;
  due_ = now + interval;
  const auto owner = other_owner();
  if (!owner || stands_by_.exchange(!owner->empty()) == !owner->empty()) return false;
  if (!owner->empty()) {
    parts_.log.log(LogLevel::warning,
                   "another process has the delivery hub of this store, and only one can: this one "
                   "stands by, and sends nothing until that one ends",
                   {{"store", std::string_view(parts_.store)}, {"owner", owner->view()}});
    return false;
  }
  parts_.log.log(LogLevel::info, "the other process has ended: this one has the delivery hub now",
                 {{"store", std::string_view(parts_.store)}});
  parts_.free();
  return false;
}

}  // namespace sagabox::delivery
