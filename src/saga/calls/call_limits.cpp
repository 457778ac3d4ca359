#include "saga/calls/call_limits.hpp"

#include <sagabox/payload.hpp>

#include <algorithm>

namespace sagabox::saga {
namespace {

using Limit = flow::Valve::Limit;

/// Calls that take long are looked for in shorter steps: others may end sooner.
constexpr Duration took_min = std::chrono::milliseconds(1);
constexpr Duration took_max = std::chrono::seconds(1);
constexpr Duration took_first = std::chrono::milliseconds(100);
constexpr std::uint64_t tenant_places = 1024;

bool has_limits(const SagaLimits::Named& named) {
  return std::ranges::any_of(named, [](const auto& one) { return one.second.any(); });
}

bool has_limits(const SagaLimits& limits) {
  return limits.participant.any() || limits.definition.any() || limits.tenant.any() ||
         has_limits(limits.transports) || has_limits(limits.participants) ||
         has_limits(limits.definitions) || has_limits(limits.tenants);
}

const Limits& limits_for(std::string_view name, const Limits& common,
                         const SagaLimits::Named& own) {
  const auto found = own.find(name);
  return found == own.end() ? common : found->second;
}

}  // namespace

std::string CallLimits::Gate::name_of(Limit limit) const {
  switch (limit) {
    case Limit::rate:
      return "the rate of " + whose;
    case Limit::budget:
      return "the budget of " + whose;
    case Limit::concurrency:
    case Limit::none:
      break;
  }
  return "the concurrency of " + whose;
}

std::optional<Limit> CallLimits::Gate::held(bool came_back, BootTime now) const {
  const auto reached = valve.reached(now);
  if (reached != Limit::none) return reached;
  if (came_back || promised_to <= now) return std::nullopt;
  if (limits.rate) return Limit::rate;
  return limits.concurrency ? Limit::concurrency : Limit::budget;
}

Duration CallLimits::Gate::spacing() const {
  Duration apart{};
  if (limits.rate) apart = Duration(std::chrono::seconds(1)) / *limits.rate;
  if (limits.concurrency) {
    const auto about = std::clamp(took == Duration{} ? took_first : took, took_min, took_max);
    apart = std::max(apart, about / *limits.concurrency);
  }
  return apart;
}

BootTime CallLimits::Gate::promise(BootTime now) {
  const auto apart = spacing();
  auto at = valve.next(now);
  if (valve.reached(now) == Limit::budget) {
    if (window < at) {
      window = at;
      promised = 0;
    } else if (promised >= limits.budget->messages) {
      window += limits.budget->window;
      promised = 0;
    }
    ++promised;
    at = window;
  }
  // Until one of those under way ends.
  if (at == BootTime::max()) at = now + apart;
  if (promised_to > now) at = std::max(at, promised_to + apart);
  at = std::min(at, now + wait_max);
  promised_to = std::max(promised_to, at);
  return at;
}

CallLimits::CallLimits(SagaLimits limits) : limits_(std::move(limits)), any_(has_limits(limits_)) {}

std::string CallLimits::gate_name(Kind kind, std::string_view name) const {
  if (kind != Kind::tenant || gates_.size() < tenants_max ||
      gates_.contains({kind, std::string(name)})) {
    return std::string(name);
  }
  return "#" + std::to_string(stable_hash(name) % tenant_places);
}

void CallLimits::add_gate(Kind kind, std::string_view name, BootTime now,
                          std::vector<Gate*>& gates) {
  static const Limits none{};
  struct Row {
    std::string_view what;
    const Limits& common;
    const SagaLimits::Named& own;
  };
  const auto row = [&]() -> Row {
    switch (kind) {
      case Kind::transport:
        return {"transport ", none, limits_.transports};
      case Kind::participant:
        return {"participant ", limits_.participant, limits_.participants};
      case Kind::definition:
        return {"definition ", limits_.definition, limits_.definitions};
      case Kind::tenant:
        break;
    }
    return {"tenant ", limits_.tenant, limits_.tenants};
  }();
  const auto& limits = limits_for(name, row.common, row.own);
  if (!limits.any()) return;
  const auto known_as = gate_name(kind, name);
  auto& known = gates_[{kind, known_as}];
  if (!known) known = std::make_unique<Gate>(limits, std::string(row.what) + known_as, now);
  gates.push_back(known.get());
}

std::optional<CallLimits::Held> CallLimits::begin(const Call& call, Passage& passage,
                                                  BootTime now) {
  if (!any_) return std::nullopt;
  auto& gates = passage.gates_;
  gates.clear();
  passage.began_ = now;
  add_gate(Kind::transport, call.transport, now, gates);
  add_gate(Kind::participant, call.participant, now, gates);
  add_gate(Kind::definition, call.definition, now, gates);
  add_gate(Kind::tenant, call.tenant, now, gates);
  std::optional<Held> held;
  for (auto* const gate : gates) {
    const auto limit = gate->held(call.came_back, now);
    if (!limit) continue;
    const auto wait = std::max(gate->promise(now) - now, took_min);
    if (!held || wait > held->wait) held = Held{gate->name_of(*limit), wait};
  }
  if (held) {
    gates.clear();
    return held;
  }
  for (auto* const gate : gates) gate->valve.begin(now);
  return std::nullopt;
}

void CallLimits::end(const Passage& passage, bool in_vain, BootTime now) {
  for (auto* const gate : passage.gates_) {
    if (in_vain) {
      gate->valve.end_in_vain();
      continue;
    }
    gate->valve.end();
    const auto this_one = now - passage.began_;
    gate->took = gate->took == Duration{} ? this_one : (7 * gate->took + this_one) / 8;
  }
}

}  // namespace sagabox::saga
