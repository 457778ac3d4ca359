#pragma once

#include "ownership/worker.hpp"
#include "runtime/periodic_work.hpp"
#include "runtime/stage_watch.hpp"

#include <functional>
#include <vector>

namespace sagabox::runtime {

/// A scope of an engine.
struct EngineScope {
  ownership::ScopeOptions options;
  /// The stages of the engine that work on this scope. While a step of one of them takes longer
  /// than a lease, the scope's shards are released, so that another process takes over.
  std::vector<const StageWatch*> stages{};
};

/// The registration of an engine in a runtime. All objects it refers to outlive the registration.
struct Engine {
  std::vector<EngineScope> scopes;
  PeriodicWork* work = nullptr;  ///< null: none
  /// The time after which shards of a crashed process are taken over. Engines that share a worker
  /// use the shortest of their leases.
  Duration lease{};
  /// Called with the worker before the scopes are added to it.
  std::function<void(ownership::Worker&)> attach;
};

}  // namespace sagabox::runtime
