#pragma once

#include "ownership/worker.hpp"
#include "runtime/periodic_work.hpp"
#include "runtime/stage_watch.hpp"

#include <functional>
#include <vector>

namespace sagabox::runtime {

/// A scope that an engine takes part in.
struct EngineScope {
  ownership::ScopeOptions options;
  /// Stages of the engine that work on this scope. While a step of one of them takes longer than
  /// a lease, the scope's shards are given away, so that another process goes on with them.
  std::vector<const StageWatch*> stages{};
};

/// What an engine registers in a runtime. All that it names outlives the registration.
struct Engine {
  std::vector<EngineScope> scopes;
  PeriodicWork* work = nullptr;  ///< null: none
  /// Shards of a process that died are taken over after this. Engines that share a worker have
  /// the shortest of their leases.
  Duration lease{};
  /// Called with the worker before it knows the scopes.
  std::function<void(ownership::Worker&)> attach;
};

}  // namespace sagabox::runtime
