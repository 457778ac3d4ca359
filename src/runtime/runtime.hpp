#pragma once

#include "ownership/worker.hpp"
#include "runtime/engine.hpp"
#include "runtime/periodic_threads.hpp"
#include "runtime/wakeup.hpp"

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/random.hpp>
#include <sagabox/spi/ownership_store.hpp>
#include <sagabox/time.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace sagabox::runtime {

/// The dependencies of a runtime. They outlive the engines; engines that share a runtime have the
/// same dependencies.
struct RuntimeParts {
  spi::OwnershipStore* ownership;
  const Clock* clock;
  Random* random;
  Metrics* metrics;
  Logger* log;

  friend bool operator==(const RuntimeParts&, const RuntimeParts&) = default;
};

/// One worker for the engines of a process on one store: one lease, one thread that renews it and
/// balances the shards of all scopes, and a bounded number of threads for periodic work. Engines
/// can be added and removed while it runs. After the last one is removed the worker leaves, and the
/// runtime ends permanently. Thread-safe; must not be called by its own threads.
class Runtime {
 public:
  using EngineId = std::uint64_t;

  Runtime(const RuntimeParts& parts, Duration lease);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] const RuntimeParts& parts() const noexcept { return parts_; }

  /// nullopt if the runtime has ended, or if it has a scope with the same name: two engines with
  /// the same scope in one process need two workers.
  [[nodiscard]] std::optional<EngineId> add(const Engine& engine);
  /// Begins to hand over the engine's scopes, each shard as it becomes idle.
  void begin_removal(EngineId id);
  /// The time limit of the hand-over is reached: releases busy shards as unclean.
  void abandon(EngineId id);
  /// Whether other processes can take all shards of the engine. For the last engine, whether the
  /// worker has left, too.
  [[nodiscard]] bool handed_over(EngineId id);
  /// Removes the engine. Afterwards neither its holders nor its work are called any more, even if
  /// it was not handed over.
  void end(EngineId id);

  void pause(EngineId id);
  void resume(EngineId id);
  /// Whether it is paused and no shard of its first scope is held any more.
  [[nodiscard]] bool paused(EngineId id) const;

  /// Sleeps until the worker has stopped, for a few milliseconds at most.
  void await_worker();

 private:
  struct Member {
    Engine engine;
    bool leaving = false;      ///< `begin_removal` was called
    bool handed_over = false;  ///< the worker has removed its scopes
    std::set<spi::Scope> hanging;
  };

  [[nodiscard]] bool is_taken(const spi::Scope& name) const;
  /// Whether the worker does not call its holders any more.
  [[nodiscard]] bool quiet(EngineId id) const;
  void keep_lease();
  void watch_stages(BootTime now);
  /// The shortest lease of all engines; there must be at least one.
  [[nodiscard]] Duration shortest_lease() const;
  void wake() { wakeup_.notify_all(); }

  const RuntimeParts parts_;
  UlidSource ids_;
  ownership::Worker worker_;
  PeriodicThreads periodic_;
  Wakeup wakeup_;
  Wakeup progress_;  ///< notified once the worker has stopped
  std::atomic<bool> ending_{false};

  mutable std::mutex mutex_;  // protects all members below
  std::map<EngineId, Member> engines_;
  EngineId next_ = 0;
  bool closed_ = false;
  std::thread lease_thread_;
};

}  // namespace sagabox::runtime
