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

/// A few threads for the periodic work of all engines, which may come and go. One thread does it
/// all, whatever is due for the longest time first. Others are started, up to `threads_max`, only
/// while a call of the store takes so long that the rest would be late.
class PeriodicThreads {
 public:
  static constexpr std::size_t threads_max = 4;
  /// No work waits longer for its next look, so that it notices what happened meanwhile.
  static constexpr Duration look_interval = std::chrono::milliseconds(100);

  explicit PeriodicThreads(const Clock& clock) : clock_(clock) {}
  ~PeriodicThreads() { end(); }
  PeriodicThreads(const PeriodicThreads&) = delete;
  PeriodicThreads& operator=(const PeriodicThreads&) = delete;

  /// `work` is due at once and outlives its `remove`.
  void add(PeriodicWork& work);
  /// Waits for a step of this work that is under way. Called by none of these threads.
  void remove(PeriodicWork& work);
  /// Called several times a second: brings in another thread if work is late.
  void relieve(BootTime now);
  /// Joins the threads; nothing is done any more.
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
  /// Of those that a thread may begin; null: there is none.
  [[nodiscard]] Task* earliest();
  void start_thread();

  const Clock& clock_;
  mutable std::mutex mutex_;       // of all below
  std::condition_variable due_;    ///< waited for by the one thread that watches the time
  std::condition_variable late_;   ///< waited for by the others
  std::condition_variable ended_;  ///< a step has
  std::list<Task> tasks_;
  std::vector<std::thread> threads_;
  bool watched_ = false;
  bool ending_ = false;
};

}  // namespace sagabox::runtime
