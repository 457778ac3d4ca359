#pragma once

#include "assembly/configuration.hpp"

#include <sagabox/random.hpp>
#include <sagabox/router.hpp>
#include <sagabox/store.hpp>

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sagabox::assembly {

/// What routes need from their process.
struct RouteDependencies {
  Listener show{};
  Store* saga_store = nullptr;  ///< null: nothing is sent to sagas
  std::vector<std::string> saga_definitions{};
  Store* hub_store = nullptr;  ///< null: nothing is published to the hub
  SpanSink* spans = nullptr;   ///< null: attempts of the hub have no spans
  /// The credentials for tenants' requests; null: requests are sent without.
  std::shared_ptr<const CredentialBook> credentials{};
  Metrics* metrics = &no_metrics();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
  Random* random = &system_random();
};

/// The transport of that name, with its settings. Connects to nothing. `path` is that of the
/// setting that names it.
Result<std::shared_ptr<spi::Transport>> open_named_transport(const std::string& name,
                                                             const std::string& path,
                                                             const Configuration& configuration,
                                                             const RouteDependencies& dependencies);

/// The transports that the routes name, by the part before the colon of a target. Connects to
/// nothing.
using OpenTransports = std::map<std::string, std::shared_ptr<spi::Transport>, std::less<>>;
Result<OpenTransports> open_transports(const Configuration& configuration,
                                       const RouteDependencies& dependencies);
/// The name of the transport of a target.
std::string transport_of(const TargetOptions& target);

/// Every error of routes and of the transports they name, in no order; each text begins with the
/// path of a setting. Connects to nothing. Targets of the transports `not_looked_at` are not
/// checked.
std::vector<Error> route_problems(const Configuration& configuration,
                                  const RouteDependencies& dependencies,
                                  std::span<const std::string> not_looked_at = {});

/// A router with its own transports, those that the routes name. Connects to nothing.
Result<std::shared_ptr<Router>> open_routes(const Configuration& configuration,
                                            const RouteDependencies& dependencies);

}  // namespace sagabox::assembly
