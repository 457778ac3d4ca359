#pragma once

#include "outbox/bell.hpp"
#include "outbox/upkeep.hpp"
#include "ownership/worker.hpp"

#include <atomic>
#include <thread>

namespace sagabox::outbox {

/// Two threads: one keeps the worker's lease and shards, one does the upkeep. A store that hangs
/// in the second does not cost the lease.
class Keeper {
 public:
  /// All of it outlives the keeper.
  Keeper(ownership::Worker& worker, Upkeep& upkeep, const Clock& clock)
      : worker_(worker), upkeep_(upkeep), clock_(clock) {}
  ~Keeper() { end(); }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  void start();
  /// The worker has been told something: it should hear it now.
  void ring() { bell_.ring_all(); }
  /// Waits until the worker has stopped. False: it has not by then.
  bool worker_stopped_by(BootTime limit);
  /// Drains up to the limit, gives the shards back, leaves.
  void stop(Duration drain_timeout);
  /// Joins the threads, whatever the worker does.
  void end();

 private:
  void keep_lease();
  void keep_up();
  [[nodiscard]] bool ending() const noexcept { return ending_.load(std::memory_order_relaxed); }

  ownership::Worker& worker_;
  Upkeep& upkeep_;
  const Clock& clock_;
  std::atomic<bool> ending_{false};
  Bell bell_;
  std::thread lease_;
  std::thread upkeep_thread_;
};

}  // namespace sagabox::outbox
