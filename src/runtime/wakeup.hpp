#pragma once

#include <sagabox/time.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace sagabox::runtime {

/// Wakes idle threads. While no thread sleeps, a notification costs only one load.
class Wakeup {
 public:
  void notify_one() {
    if (!any_asleep()) return;
    const std::scoped_lock lock(mutex_);
    notified_.notify_one();
  }
  void notify_all() {
    if (!any_asleep()) return;
    const std::scoped_lock lock(mutex_);
    notified_.notify_all();
  }

  /// Sleeps until notified, `ready()`, or the timeout. `ready` is called with the lock held.
  template <class Ready>
  void wait_for(Duration timeout, Ready&& ready) {
    std::unique_lock lock(mutex_);
    sleepers_.fetch_add(1);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!ready()) notified_.wait_for(lock, timeout);
    sleepers_.fetch_sub(1);
  }

 private:
  bool any_asleep() const {
    // Pairs with the fence of the sleeping thread: either that thread sees the work, or it is seen
    // here.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return sleepers_.load(std::memory_order_relaxed) > 0;
  }

  std::mutex mutex_;
  std::condition_variable notified_;
  std::atomic<int> sleepers_{0};
};

}  // namespace sagabox::runtime
