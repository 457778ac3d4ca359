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

/// What a runtime works with. All of it outlives the engines: those that share a runtime are given
/// the same.
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
/// come and go while it runs. With the last one the worker leaves, and the runtime ends for good.
/// Thread-safe; called by none of its own threads.
class Runtime {
 public:
  using EngineId = std::uint64_t;

  Runtime(const RuntimeParts& parts, Duration lease);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] const RuntimeParts& parts() const noexcept { return parts_; }

  /// nullopt if the runtime has ended, or if a scope of this name takes part: in one process two
  /// engines with the same scope need two workers.
  [[nodiscard]] std::optional<EngineId> add(const Engine& engine);
  /// Hands over the engine's scopes: each shard as it becomes idle.
  void begin_removal(EngineId id);
  /// The limit of the hand-over is reached: what is busy is given away, unclean.
  void abandon(EngineId id);
  /// Whether others can have all that the engine had. With the last engine the worker leaves, too.
  [[nodiscard]] bool handed_over(EngineId id);
  /// Forgets the engine. Afterwards neither its holders nor its work are called any more, whether
  /// or not it has been handed over.
  void end(EngineId id);

  void pause(EngineId id);
  void resume(EngineId id);
  /// Paused, and nothing is held of its first scope any more.
  [[nodiscard]] bool paused(EngineId id) const;

  /// Sleeps until the worker has stopped, a moment at most.
  void await_worker();

 private:
  struct Member {
    Engine engine;
    bool leaving = false;      ///< `begin_removal` has been called
    bool handed_over = false;  ///< the worker has forgotten its scopes
    std::set<spi::Scope> hanging;
  };

  [[nodiscard]] bool is_taken(const spi::Scope& name) const;
  /// The worker calls none of its holders any more.
  [[nodiscard]] bool quiet(EngineId id) const;
  void keep_lease();
  void watch_stages(BootTime now);
  /// Of all engines, which are some.
  [[nodiscard]] Duration shortest_lease() const;
  void wake() { wakeup_.notify_all(); }

  const RuntimeParts parts_;
  UlidSource ids_;
  ownership::Worker worker_;
  PeriodicThreads periodic_;
  Wakeup wakeup_;
  Wakeup progress_;  ///< notified once the worker has stopped
  std::atomic<bool> ending_{false};

  mutable std::mutex mutex_;  // of all below
  std::map<EngineId, Member> engines_;
  EngineId next_ = 0;
  bool closed_ = false;
  std::thread lease_thread_;
};

}  // namespace sagabox::runtime
