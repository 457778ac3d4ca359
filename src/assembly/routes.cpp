#include "assembly/routes.hpp"

#include "core/text.hpp"
#include "routing/route_table.hpp"

#include <sagabox/transports/custom.hpp>
#include <sagabox/transports/file.hpp>
#include <sagabox/transports/hub.hpp>
#include <sagabox/transports/saga.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace sagabox::assembly {
namespace {

using Opened = Result<std::unique_ptr<spi::Transport>>;

Opened open_functions(const Configuration&, const RouteDependencies& dependencies) {
  auto functions = std::make_unique<Functions>(FunctionsOptions{.clock = dependencies.clock});
  if (dependencies.show) {
    if (auto added = functions->add("show", dependencies.show); !added.ok()) return added.error();
  }
  return std::unique_ptr<spi::Transport>(std::move(functions));
}

Opened open_file(const Configuration&, const RouteDependencies& dependencies) {
  return file::open({.clock = dependencies.clock});
}

Opened open_sagas(const Configuration& configuration, const RouteDependencies& dependencies) {
  if (dependencies.saga_definitions.empty()) {
    return Error{Code::config_invalid,
                 "a route to sagas needs the definitions of this daemon; name their files under "
                 "sagas.definitions"};
  }
  return saga::open({.store = dependencies.saga_store,
                     .definitions = dependencies.saga_definitions,
                     .reply_secret = configuration.sagas.options.reply_secret,
                     .reply_secret_before = configuration.sagas.options.reply_secret_before,
                     .log = dependencies.log,
                     .clock = dependencies.clock,
                     .random = dependencies.random});
}

Opened open_hub(const Configuration& configuration, const RouteDependencies& dependencies) {
  if (!configuration.hub.enabled) {
    return Error{Code::config_invalid,
                 "a route to the hub needs the hub of this daemon; set hub.enabled"};
  }
  return hub::open({.store = dependencies.hub_store,
                    .event_types = configuration.hub.catalogue(),
                    .log = dependencies.log,
                    .clock = dependencies.clock,
                    .random = dependencies.random});
}

template <auto member, auto open>
Opened open_as_said(const Configuration& configuration, const RouteDependencies& dependencies) {
  auto options = configuration.transports.*member;
  options.clock = dependencies.clock;
  return open(std::move(options));
}

#ifdef SAGABOX_HTTP
Opened open_http(const Configuration& configuration, const RouteDependencies& dependencies) {
  http::Options options = configuration.transports.http;
  options.clock = dependencies.clock;
  if (dependencies.credentials) {
    options.credentials = [book = dependencies.credentials](const std::string& tenant,
                                                            const std::string& host) {
      return book->find(tenant, host);
    };
  }
  return http::open(std::move(options));
}
#endif

struct Way {
  std::string_view name;
  Opened (*open)(const Configuration&, const RouteDependencies&);
};

constexpr std::array ways{
    Way{"fn", open_functions},
    Way{"file", open_file},
    Way{"stdout", open_file},
    Way{"hub", open_hub},
    Way{"saga", open_sagas},
    Way{"saga-reply", open_sagas},
#ifdef SAGABOX_HTTP
    Way{"http", open_http},
#endif
#ifdef SAGABOX_KAFKA
    Way{"kafka", open_as_said<&TransportSettings::kafka, kafka::open>},
#endif
#ifdef SAGABOX_NATS
    Way{"nats", open_as_said<&TransportSettings::nats, nats::open>},
#endif
#ifdef SAGABOX_REDIS
    Way{"redis", open_as_said<&TransportSettings::redis, redis::open>},
#endif
#ifdef SAGABOX_AMQP
    Way{"amqp", open_as_said<&TransportSettings::amqp, amqp::open>},
#endif
#ifdef SAGABOX_MQTT
    Way{"mqtt", open_as_said<&TransportSettings::mqtt, mqtt::open>},
#endif
};

std::string target_path(std::size_t route, std::size_t at) {
  return "routes[" + std::to_string(route) + "].to[" + std::to_string(at) + "]";
}

/// Null if this build has no transport of that name.
const Way* find_way(std::string_view name) {
  const auto* const way = std::ranges::find(ways, name, &Way::name);
  return way == ways.end() ? nullptr : way;
}

/// The names of transports, which are the part before the colon of a target (`https` counts as
/// `http`), each with the path of a setting that names it.
std::map<std::string, std::string> names_in(const Configuration& configuration) {
  std::map<std::string, std::string> names;
  for (std::size_t route = 0; route < configuration.routes.size(); ++route) {
    const auto& targets = configuration.routes[route].options.to;
    for (std::size_t at = 0; at < targets.size(); ++at) {
      names.emplace(transport_of(targets[at]), target_path(route, at));
    }
  }
  for (const auto& [name, limits] : configuration.traffic.transport_limits) {
    names.emplace(name, "limits.transports." + name);
  }
  return names;
}

Error unknown_transport(const std::string& name, const std::string& path) {
  std::string list;
  for (const auto& way : ways) list += (list.empty() ? "" : ", ") + std::string(way.name) + ":";
  return {Code::config_invalid,
          path + ": there is no transport " + quoted(name) + "; this build has " + list};
}

}  // namespace

std::string transport_of(const TargetOptions& target) {
  auto name = target.to.substr(0, target.to.find(':'));
  return name == "https" ? "http" : name;
}

Result<std::shared_ptr<spi::Transport>> open_named_transport(
    const std::string& name, const std::string& path, const Configuration& configuration,
    const RouteDependencies& dependencies) {
  const auto* const way = find_way(name);
  if (way == nullptr) return unknown_transport(name, path);
  auto transport = way->open(configuration, dependencies);
  if (!transport.ok()) {
    return Error{transport.error().code, "transports." + name + ": " + transport.error().message};
  }
  return std::shared_ptr<spi::Transport>(std::move(transport).value());
}

Result<OpenTransports> open_transports(const Configuration& configuration,
                                       const RouteDependencies& dependencies) {
  OpenTransports transports;
  for (const auto& [name, path] : names_in(configuration)) {
    auto transport = open_named_transport(name, path, configuration, dependencies);
    if (!transport.ok()) return transport.error();
    transports.emplace(name, *std::move(transport));
  }
  return transports;
}

std::vector<Error> route_problems(const Configuration& configuration,
                                  const RouteDependencies& dependencies,
                                  std::span<const std::string> not_looked_at) {
  const auto looked_at = [&](const std::string& name) {
    return std::ranges::find(not_looked_at, name) == not_looked_at.end();
  };
  std::vector<Error> problems;
  auto options = configuration.traffic;
  for (const auto& [name, path] : names_in(configuration)) {
    if (!looked_at(name)) continue;
    auto transport = open_named_transport(name, path, configuration, dependencies);
    if (transport.ok()) {
      options.transports.emplace(name, *std::move(transport));
    } else if (find_way(name) != nullptr) {
      problems.push_back(transport.error());
    }
  }
  for (const auto& [name, limits] : configuration.traffic.transport_limits) {
    if (find_way(name) != nullptr) continue;
    problems.push_back(unknown_transport(name, "limits.transports." + name));
    options.transport_limits.erase(name);
  }
  // A target with an unknown transport is reported once, with its path.
  for (std::size_t route = 0; route < configuration.routes.size(); ++route) {
    bool whole = true;
    const auto& targets = configuration.routes[route].options.to;
    for (std::size_t at = 0; at < targets.size(); ++at) {
      const auto name = transport_of(targets[at]);
      if (find_way(name) == nullptr) {
        problems.push_back(unknown_transport(name, target_path(route, at)));
      }
      whole = whole && options.transports.contains(name);
    }
    options.routes.push_back(configuration.routes[route].options);
    if (!whole) options.routes.back().to.clear();
  }
  for (auto& problem : routing::RouteTable::problems(options)) {
    const auto number = std::stoul(problem.message.substr(std::string_view("routes[").size()));
    const bool emptied =
        options.routes[number].to.empty() && !configuration.routes[number].options.to.empty();
    if (emptied && problem.message.find("has no target") != std::string::npos) continue;
    problems.push_back(std::move(problem));
  }
  if (!problems.empty() || !not_looked_at.empty()) return problems;
  if (const auto router = open_routes(configuration, dependencies); !router.ok()) {
    problems.push_back(router.error());
  }
  return problems;
}

Result<std::shared_ptr<Router>> open_routes(const Configuration& configuration,
                                            const RouteDependencies& dependencies) {
  auto options = configuration.traffic;
  options.metrics = dependencies.metrics;
  options.log = dependencies.log;
  options.clock = dependencies.clock;
  for (const auto& route : configuration.routes) options.routes.push_back(route.options);
  auto transports = open_transports(configuration, dependencies);
  if (!transports.ok()) return transports.error();
  options.transports = std::move(*transports);
  return Router::open(std::move(options));
}

}  // namespace sagabox::assembly
