#include "routing/route_table.hpp"

#include "core/masked_url.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace sagabox::routing {
namespace {

/// The limit of cached topics. Topics above it are searched each time.
constexpr std::size_t topics_known_max = 10'000;
constexpr unsigned fingerprint_shift = 32;
constexpr unsigned refused_shift = 16;

Error in_route(std::size_t number, const RouteOptions& route, const std::string& what) {
  return {Code::config_invalid,
          "routes[" + std::to_string(number) + "] (" + route.topic + "): " + what};
}

/// "http" for "https://…", "bus" for "bus:orders".
std::string_view transport_of(std::string_view target) {
  const auto name = target.substr(0, target.find(':'));
  return name == "https" ? std::string_view("http") : name;
}

/// The URL without user, password and query.
std::string shown(std::string_view target) {
  const auto scheme = target.find("://");
  if (scheme == std::string_view::npos) return std::string(target);
  auto masked = masked_url(target.substr(0, target.find('?')));
  const auto host = scheme + 3;
  if (const auto at = masked.find('@'); at != std::string::npos) masked.erase(host, at + 1 - host);
  return masked;
}

std::string names_of(const RouterOptions& options) {
  std::string names;
  for (const auto& [name, transport] : options.transports) {
    names += (names.empty() ? "" : ", ") + name + ":";
  }
  return names.empty() ? "none" : names;
}

Result<Target> target_of(const TargetOptions& target, const RouterOptions& options) {
  const auto name = transport_of(target.to);
  const auto colon = target.to.find(':');
  if (colon == std::string::npos || name.empty()) {
    return Error{Code::config_invalid,
                 "target " + quoted(masked_url(target.to)) +
                     " names no transport; write it as transport:address, or https://host/path"};
  }
  const auto found = options.transports.find(name);
  if (found == options.transports.end()) {
    return Error{Code::config_invalid, "target " + quoted(masked_url(target.to)) +
                                           ": there is no transport " + quoted(name) +
                                           "; there are: " + names_of(options)};
  }
  auto address = found->second->address(target.to, target.settings);
  if (!address.ok()) {
    return Error{address.error().code,
                 "target " + quoted(masked_url(target.to)) + ": " + address.error().message};
  }
  return Target{.text = target.to,
                .shown = shown(target.to),
                .transport = found->second.get(),
                .transport_name = std::string(name),
                .address = std::move(address).value()};
}

Result<Route> route_of(const RouteOptions& route, const RouterOptions& options) {
  auto topic = TopicPattern::parse(route.topic);
  if (!topic.ok()) return topic.error();
  if (route.to.empty()) return Error{Code::config_invalid, "has no target; give at least one"};
  if (route.to.size() > targets_max)
    return Error{Code::config_invalid, "has over 16 targets; send to a broker that hands on"};
  if (auto limits = route.limits.check(); !limits.ok()) return limits.error();
  if (route.retry) {
    if (auto retry = route.retry->check(); !retry.ok()) return retry.error();
  }
  if (route.timeout && *route.timeout <= Duration{}) {
    return Error{Code::config_invalid, "timeout must be above 0"};
  }
  auto made = Route{.topic = std::move(topic).value(),
                    .targets = {},
                    .retry = route.retry,
                    .timeout = route.timeout.value_or(options.timeout),
                    .limits = route.limits,
                    .tenants = route.tenants,
                    .schema = route.schema};
  std::sort(made.tenants.begin(), made.tenants.end());
  std::string names;
  for (const auto& to : route.to) {
    auto target = target_of(to, options);
    if (!target.ok()) return target.error();
    const bool twice = std::any_of(made.targets.begin(), made.targets.end(),
                                   [&](const Target& other) { return other.text == to.to; });
    if (twice)
      return Error{Code::config_invalid, "target " + quoted(masked_url(to.to)) + " is there twice"};
    names += to.to + "\n";
    made.targets.push_back(std::move(target).value());
  }
  made.fingerprint = static_cast<std::uint32_t>(stable_hash(names));
  return made;
}

}  // namespace

std::optional<Error> Route::objection(const Message& message) const {
  if (!tenants.empty() && !std::binary_search(tenants.begin(), tenants.end(), message.tenant())) {
    return Error{Code::auth_denied, "the route of topic \"" + message.topic() +
                                        "\" does not serve this message's tenant"};
  }
  return misfit(message.payload());
}

std::optional<Error> Route::misfit(const Payload& payload) const {
  if (!schema || payload.form() != PayloadForm::json) return std::nullopt;
  const auto problem = schema->problem(payload.view());
  if (problem.empty()) return std::nullopt;
  return Error{Code::schema_validation_failed, "payload " + problem};
}

TargetAnswers Route::answers(TargetsDone done) const noexcept {
  if (static_cast<std::uint32_t>(done.value >> fingerprint_shift) != fingerprint) return {};
  return {.arrived = static_cast<TargetBits>(done.value),
          .refused = static_cast<TargetBits>(done.value >> refused_shift)};
}

TargetsDone Route::as_done(const TargetAnswers& answers) const noexcept {
  if (answers.arrived == 0 && answers.refused == 0) return {};
  return TargetsDone{std::uint64_t{fingerprint} << fingerprint_shift |
                     std::uint64_t{answers.refused} << refused_shift | answers.arrived};
}

Status RouteTable::add(const RouteOptions& described, std::size_t number,
                       const RouterOptions& options) {
  auto route = route_of(described, options);
  if (!route.ok()) return in_route(number, described, route.error().message);
  for (const auto& earlier : routes_) {
    if (!earlier.topic.covers(route->topic)) continue;
    return in_route(number, described,
                    "is never used: routes[" + std::to_string(earlier.number) + "] (" +
                        earlier.topic.text() +
                        ") takes all of its topics; put the narrower one first");
  }
  route->number = static_cast<std::uint32_t>(number);
  routes_.push_back(std::move(route).value());
  return {};
}

std::vector<Error> RouteTable::problems(const RouterOptions& options) {
  RouteTable table;
  std::vector<Error> problems;
  for (std::size_t number = 0; number < options.routes.size(); ++number) {
    auto added = table.add(options.routes[number], number, options);
    if (!added.ok()) problems.push_back(added.error());
  }
  return problems;
}

Result<std::unique_ptr<RouteTable>> RouteTable::build(const RouterOptions& options) {
  auto table = std::make_unique<RouteTable>();
  for (std::size_t number = 0; number < options.routes.size(); ++number) {
    if (auto added = table->add(options.routes[number], number, options); !added.ok()) {
      return added.error();
    }
  }
  return table;
}

const Route* RouteTable::find(const std::string& topic) const {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = known_.find(topic); found != known_.end()) return found->second;
  }
  const auto at = std::find_if(routes_.begin(), routes_.end(),
                               [&](const Route& route) { return route.topic.fits(topic); });
  const auto* const found = at == routes_.end() ? nullptr : &*at;
  const std::unique_lock lock(mutex_);
  if (known_.size() < topics_known_max) known_.emplace(topic, found);
  return found;
}

}  // namespace sagabox::routing
