#include "routing/forwarder.hpp"

namespace sagabox::routing {
namespace {

using Hold = flow::Traffic::Hold;

std::string_view limit_name(flow::Valve::Limit limit) {
  switch (limit) {
    case flow::Valve::Limit::rate:
      return "rate";
    case flow::Valve::Limit::budget:
      return "budget";
    case flow::Valve::Limit::concurrency:
    case flow::Valve::Limit::none:
      break;
  }
  return "concurrency";
}

}  // namespace

std::string Forwarder::limit_text(const Hold& hold) {
  const std::string whose = hold.valve == valve_of_route    ? "route"
                            : hold.valve == valve_of_tenant ? "tenant"
                                                            : "transport";
  return std::string(limit_name(hold.limit)) + " of its " + whose;
}

std::vector<DestinationState> Forwarder::destinations() const {
  const std::scoped_lock lock(mutex_);
  const auto now = clock_.boot_now();
  std::vector<DestinationState> states;
  for (std::size_t at = 0; at < destinations_.size(); ++at) {
    const auto id = flow::DestinationId{static_cast<std::uint32_t>(at)};
    const auto& breaker = traffic_.breaker(id);
    const auto next = breaker.next(now);
    states.push_back({.target = destinations_[at].target->shown,
                      .down = breaker.open(),
                      .down_for = breaker.open() ? now - breaker.down_since() : Duration{},
                      .next_probe = next == BootTime::max() ? Duration{} : next - now,
                      .under_way = traffic_.under_way(id),
                      .last_error = breaker.open() ? destinations_[at].last_error : ""});
  }
  return states;
}

std::size_t Forwarder::suspects() const {
  const std::scoped_lock lock(mutex_);
  std::size_t count = 0;
  for (const auto& destination : destinations_) count += destination.suspects.size();
  return count;
}

std::vector<HeldUp> Forwarder::held_up(const std::string& topic, const std::string& tenant) const {
  const auto* const route = table_->find(topic);
  if (route == nullptr) return {{.by = HeldUp::By::no_route}};
  std::vector<HeldUp> found;
  const std::scoped_lock lock(mutex_);
  const auto now = clock_.boot_now();
  for (const auto& target : route->targets) {
    const auto hold = traffic_.hold(known_way(*route, target, tenant), now);
    if (!hold) continue;
    HeldUp held{.by = HeldUp::By::others, .target = target.shown};
    if (hold->until != BootTime::max()) held.next = hold->until - now;
    if (hold->by == Hold::By::breaker) {
      held.by = HeldUp::By::down;
      held.what = destinations_[target.destination.value].last_error;
      held.since = now - hold->since;
    } else if (hold->by == Hold::By::valve) {
      held.by = HeldUp::By::limit;
      held.what = limit_text(*hold);
    }
    found.push_back(std::move(held));
  }
  return found;
}

}  // namespace sagabox::routing
