#pragma once

#include "runtime/periodic_work.hpp"

#include <sagabox/time.hpp>

#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace sagabox::runtime {

/// A few threads for the periodic work of all engines, which can be added and removed. One thread
/// does all work, in the order of due times. More threads are started, up to `threads_max`, only if
/// a call of the store takes so long that other work would be late.
class PeriodicThreads {
 public:
  static constexpr std::size_t threads_max = 4;
  /// The longest time between two steps of any work, so that it notices events.
  static constexpr Duration look_interval = std::chrono::milliseconds(100);

  explicit PeriodicThreads(const Clock& clock) : clock_(clock) {}
  ~PeriodicThreads() { end(); }
  PeriodicThreads(const PeriodicThreads&) = delete;
  PeriodicThreads& operator=(const PeriodicThreads&) = delete;

  /// `work` is due at once and outlives its `remove`.
  void add(PeriodicWork& work);
  /// Waits for a running step of this work. Must not be called by these threads.
  void remove(PeriodicWork& work);
  /// Called several times a second: starts or wakes another thread if work is late.
  void relieve(BootTime now);
  /// Joins the threads; no work is done any more.
  void end();

  [[nodiscard]] std::size_t threads() const;

 private:
  struct Task {
    PeriodicWork* work;
    BootTime due = BootTime::min();
    bool running = false;
    bool leaving = false;
  };

  void run();
  void step(Task& task, std::unique_lock<std::mutex>& lock);
  /// The earliest task that a thread may begin; null if there is none.
  [[nodiscard]] Task* earliest();
  void start_thread();

  const Clock& clock_;
  mutable std::mutex mutex_;       // protects all members below
  std::condition_variable due_;    ///< the thread that watches the time waits for it
  std::condition_variable late_;   ///< the other threads wait for it
  std::condition_variable ended_;  ///< notified when a step has ended
  std::list<Task> tasks_;
  std::vector<std::thread> threads_;
  bool watched_ = false;
  bool ending_ = false;
};

}  // namespace sagabox::runtime
