#pragma once

#include "ownership/worker.hpp"
#include "runtime/periodic_work.hpp"
#include "runtime/wakeup.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace sagabox::runtime {

/// Two threads: one keeps the worker's lease and shards, one does the periodic work. A store that
/// hangs in the second does not cost the lease; one that hangs in a stage of the pipeline does, so
/// that another process delivers.
class WorkerThreads {
 public:
  enum class Stage : std::uint8_t { reads, settles };

  /// All of it outlives the threads.
  WorkerThreads(ownership::Worker& worker, PeriodicWork& work, const Clock& clock, Duration lease)
      : worker_(worker), work_(work), clock_(clock), step_max_(lease / 2) {}
  ~WorkerThreads() { end(); }
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  void start();
  /// The worker has been told something: it should hear it now.
  void wake() { wakeup_.notify_all(); }
  /// A stage begins a step, or has ended it. While a step takes longer than half a lease, nothing
  /// is renewed: one that hangs for a lease has lost its shards, or soon will.
  void begins(Stage stage, BootTime now) noexcept { since(stage).store(now); }
  void ends(Stage stage) noexcept { since(stage).store(BootTime::max()); }

  /// Waits until the worker has stopped. False: it has not by then.
  bool worker_stopped_by(BootTime limit);
  /// Drains up to the limit, gives the shards back, leaves.
  void stop(Duration drain_timeout);
  /// Joins the threads, whatever the worker does.
  void end();

 private:
  void keep_lease();
  void do_work();
  [[nodiscard]] std::atomic<BootTime>& since(Stage stage) noexcept {
    return since_[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] bool stage_hangs(BootTime now) const noexcept;
  [[nodiscard]] bool ending() const noexcept { return ending_.load(std::memory_order_relaxed); }

  ownership::Worker& worker_;
  PeriodicWork& work_;
  const Clock& clock_;
  const Duration step_max_;
  std::array<std::atomic<BootTime>, 2> since_{BootTime::max(), BootTime::max()};
  std::atomic<bool> ending_{false};
  Wakeup wakeup_;
  std::thread lease_;
  std::thread work_thread_;
};

}  // namespace sagabox::runtime
