#pragma once

#include "assembly/configuration.hpp"

#include <sagabox/router.hpp>

#include <memory>

namespace sagabox::assembly {

/// What the router tells, and `fn:show`.
struct RouteSurroundings {
  Listener show{};
  Metrics* metrics = &no_metrics();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
};

/// A router with transports of its own, those that the routes name. Connects to nothing.
Result<std::shared_ptr<Router>> open_routes(const Configuration& configuration,
                                            const RouteSurroundings& surroundings);

}  // namespace sagabox::assembly
