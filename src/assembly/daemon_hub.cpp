#include "assembly/daemon_hub.hpp"

#include "core/secret_random.hpp"
#include "core/text.hpp"
#include "delivery/subscription.hpp"
#include "delivery/worker/probe.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::assembly {
namespace {

std::string transport_named_by(std::string_view target) {
  if (delivery::is_webhook(target)) return "http";
  return std::string(target.substr(0, target.find(':')));
}

/// Counts one operation while it exists.
class UnderWay {
 public:
  explicit UnderWay(std::atomic<std::uint32_t>& count) : count_(count), number_(++count) {}
  ~UnderWay() { --count_; }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }

 private:
  std::atomic<std::uint32_t>& count_;
  const std::uint32_t number_;
};

HubOptions engine_options(const Configuration& configuration, const RouteDependencies& dependencies,
                          const OpenTransports& transports) {
  auto options = configuration.hub.options;
  options.roles.clear();
  for (const auto& role : configuration.hub.roles) {
    options.roles.insert(hub_role_from_name(role).value());
  }
  options.secret_key = configuration.hub.secret_key;
  options.transports = transports;
  options.breaker = configuration.traffic.breaker;
  options.event_types = configuration.hub.catalogue();
  options.spans = dependencies.spans;
  options.trace_sample_ratio = configuration.tracing.sample_ratio;
  options.metrics = dependencies.metrics;
  options.log = dependencies.log;
  options.clock = dependencies.clock;
  options.random = dependencies.random;
  return options;
}

Result<OpenTransports> hub_transports(const Configuration& configuration,
                                      const RouteDependencies& dependencies) {
  OpenTransports transports;
  for (const auto& name : configuration.hub.transports) {
    auto transport = open_named_transport(name, "hub.transports", configuration, dependencies);
    if (!transport.ok()) return transport.error();
    transports.emplace(name, *std::move(transport));
  }
  return transports;
}

}  // namespace

Status HubSettings::check() const {
  for (const auto& role : roles) {
    if (hub_role_from_name(role)) continue;
    return Error{Code::config_invalid,
                 "roles: " + quoted(role) + "; write router, orchestrator, worker or cleaner"};
  }
  if (auto status = options.check(); !status.ok()) return status;
  if (!enabled || secret_key.empty()) return {};
  const auto box = delivery::SecretBox::create(secret_key);
  return box.ok() ? Status() : Status(box.error());
}

EventTypes HubSettings::catalogue() const {
  EventTypes catalogue;
  catalogue.known_only = known_types_only;
  for (const auto& type : event_types) {
    catalogue.known[type.type] = {.description = type.description, .schema = type.schema};
  }
  return catalogue;
}

Result<std::string> hub_store(const Configuration& configuration) {
  const auto& wanted = configuration.hub.store;
  std::string names;
  for (const auto& store : configuration.stores) {
    if (store.name == wanted) return store.name;
    names += (names.empty() ? "" : ", ") + store.name;
  }
  if (wanted.empty() && configuration.stores.size() == 1) return configuration.stores.front().name;
  return Error{Code::config_invalid,
               "hub.store: " + (wanted.empty() ? std::string("missing") : wanted + " is none") +
                   "; write one of " + names};
}

Status check_hub(const Configuration& configuration, const RouteDependencies& dependencies) {
  if (!configuration.hub.enabled) return {};
  if (const auto store = hub_store(configuration); !store.ok()) return store.error();
  const auto transports = hub_transports(configuration, dependencies);
  return transports.ok() ? Status() : Status(transports.error());
}

Result<std::unique_ptr<DaemonHub>> DaemonHub::open(Store& store, const Configuration& configuration,
                                                   const RouteDependencies& dependencies) {
  if (!store.hub()) {
    return Error{Code::config_invalid,
                 "hub.store: " + store.name() + " has no delivery hub; name another store"};
  }
  std::unique_ptr<DaemonHub> hub(new DaemonHub(store, configuration.hub, dependencies));
  if (!configuration.hub.secret_key.empty()) {
    auto box = delivery::SecretBox::create(configuration.hub.secret_key);
    if (!box.ok()) return Error{box.error().code, "hub.secret_key: " + box.error().message};
    hub->box_ = std::make_unique<const delivery::SecretBox>(std::move(box).value());
  }
  hub->types_ = configuration.hub.catalogue();
  auto transports = hub_transports(configuration, dependencies);
  if (!transports.ok()) return transports.error();
  hub->transports_ = std::move(transports).value();
  auto engine = Hub::create(store, engine_options(configuration, dependencies, hub->transports_));
  if (!engine.ok()) return Error{engine.error().code, "hub: " + engine.error().message};
  hub->engine_.emplace(std::move(engine).value());
  return hub;
}

Result<ProbeReport> DaemonHub::probe(const EndpointProbe& probe) {
  const UnderWay place(probes_);
  if (place.number() > probes_max) {
    return Error{Code::server_busy, "other endpoints are being asked; try again after a second"};
  }
  const delivery::ProbeParts parts{.transports = transports_,
                                   .box = box_.get(),
                                   .clock = *dependencies_.clock,
                                   .random = secret_random()};
  delivery::Subscription subscription(probe.subscription);
  subscription.settings.timeout = std::min(subscription.settings.timeout, probe_timeout_max);
  auto probed = probe.kind == EndpointProbe::Kind::challenge
                    ? delivery::prove(parts, subscription, probe.secrets)
                    : delivery::ping(parts, subscription, probe.secrets);
  return ProbeReport{.passed = probed.passed,
                     .status = probed.status,
                     .error = std::move(probed.error),
                     .answer = std::move(probed.answer),
                     .took = probed.took};
}

std::optional<std::uint64_t> DaemonHub::subscriptions() const {
  const auto all = store_.hub()->deliveries.subscriptions(0);
  return all.ok() ? std::optional<std::uint64_t>(all->size()) : std::nullopt;
}

Status DaemonHub::check_target(std::string_view target) const {
  const auto transport = transports_.find(transport_named_by(target));
  if (transport == transports_.end()) {
    std::string names;
    for (const auto& [name, opened] : transports_) names += (names.empty() ? "" : ", ") + name;
    return Error{Code::request_invalid,
                 "target: this hub sends by " + (names.empty() ? "nothing" : names) +
                     "; name one of them, or add its transport to hub.transports"};
  }
  const auto address = transport->second->address(target, {});
  if (address.ok()) return {};
  return Error{Code::request_invalid, "target: " + address.error().message};
}

}  // namespace sagabox::assembly
