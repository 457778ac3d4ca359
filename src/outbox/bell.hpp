#pragma once

#include <sagabox/time.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace sagabox::outbox {

/// Wakes threads that found nothing to do. Ringing costs one load while nobody sleeps.
class Bell {
 public:
  void ring_one() {
    if (!anybody_asleep()) return;
    const std::scoped_lock lock(mutex_);
    rung_.notify_one();
  }
  void ring_all() {
    if (!anybody_asleep()) return;
    const std::scoped_lock lock(mutex_);
    rung_.notify_all();
  }

  /// Sleeps until rung, `ready()`, or the timeout. `ready` is asked with the bell's lock held.
  template <class Ready>
  void wait_for(Duration timeout, Ready&& ready) {
    std::unique_lock lock(mutex_);
    sleepers_.fetch_add(1);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!ready()) rung_.wait_for(lock, timeout);
    sleepers_.fetch_sub(1);
  }

 private:
  bool anybody_asleep() const {
    // Pairs with the fence of the sleeper: either it sees the work, or it is seen here.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return sleepers_.load(std::memory_order_relaxed) > 0;
  }

  std::mutex mutex_;
  std::condition_variable rung_;
  std::atomic<int> sleepers_{0};
};

}  // namespace sagabox::outbox
