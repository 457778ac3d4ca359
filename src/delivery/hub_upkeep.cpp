#include "delivery/hub_upkeep.hpp"

#include "observe/hub_metric_names.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

namespace sagabox::delivery {
namespace {

constexpr double unknown_figure = std::numeric_limits<double>::quiet_NaN();
constexpr std::array shown_delivery_states{DeliveryState::pending, DeliveryState::waiting,
                                           DeliveryState::in_progress, DeliveryState::dead};

}  // namespace

bool HubPurger::purge(const Result<spi::HubPurged>& purged) {
  if (purged.ok()) {
    const auto most =
        std::max({purged->jobs, purged->deliveries, purged->events, purged->dead, purged->secrets});
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

HubFigureReader::HubFigureReader(Parts parts, std::string_view of)
    : parts_(std::move(parts)),
      of_(of),
      errors_(parts_.metrics),
      shows_(&parts_.metrics != &no_metrics()) {}

bool HubFigureReader::step() {
  const auto now = parts_.clock.boot_now();
  if (!shows_ || now < due_) return false;
  due_ = now + interval;
  auto& known = parts_.metrics.gauge(metric::hub_figures_known, {{"of", of_}});
  if (!parts_.mine()) {
    if (!std::exchange(shown_, false)) return false;
    clear();
    known.set(unknown_figure);
    return false;
  }
  shown_ = true;
  const auto done = read();
  known.set(done.ok() ? 1 : 0);
  if (done.ok()) return false;
  clear();
  errors_.count(done.error().code);
  parts_.log.log(LogLevel::warning, "figures of the hub could not be read",
                 {{"figures", std::string_view(of_)},
                  {"code", code_name(done.error().code)},
                  {"error", std::string_view(done.error().message)}});
  return false;
}

double HubFigureReader::age_of(std::optional<WallTime> oldest) const {
  if (!oldest) return 0;
  const auto age = std::chrono::duration<double>(parts_.clock.wall_now() - *oldest).count();
  return std::max(0.0, age);
}

Status HubBacklog::read() {
  const auto stats = parts_.store.stats(counted_max);
  if (!stats.ok()) return stats.error();
  for (const auto state : shown_delivery_states) {
    parts_.metrics.gauge(metric::hub_open, {{"state", delivery_state_name(state)}})
        .set(static_cast<double>(stats->states.at(static_cast<std::size_t>(state)).deliveries));
  }
  parts_.metrics.gauge(metric::hub_oldest_seconds, {}).set(age_of(stats->oldest));
  return {};
}

void HubBacklog::clear() {
  for (const auto state : shown_delivery_states) {
    parts_.metrics.gauge(metric::hub_open, {{"state", delivery_state_name(state)}})
        .set(unknown_figure);
  }
  parts_.metrics.gauge(metric::hub_oldest_seconds, {}).set(unknown_figure);
}

Status HubRoutingLag::read() {
  const auto unrouted = parts_.store.unrouted(counted_max);
  if (!unrouted.ok()) return unrouted.error();
  parts_.metrics.gauge(metric::hub_unrouted, {}).set(static_cast<double>(unrouted->events));
  parts_.metrics.gauge(metric::hub_unrouted_seconds, {}).set(age_of(unrouted->oldest));
  return {};
}

void HubRoutingLag::clear() {
  parts_.metrics.gauge(metric::hub_unrouted, {}).set(unknown_figure);
  parts_.metrics.gauge(metric::hub_unrouted_seconds, {}).set(unknown_figure);
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
