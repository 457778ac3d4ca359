#include "stores/sqlite/turn.hpp"

#include <algorithm>
#include <chrono>

namespace sagabox::sqlite {

bool Turn::try_take() {
  const std::lock_guard lock(mutex_);
  if (taken_) return false;
  taken_ = true;
  return true;
}

bool Turn::take(Duration wait_max) {
  // A longer wait would overflow the steady clock.
  const Duration bounded = std::min<Duration>(wait_max, std::chrono::hours(24));
  std::unique_lock lock(mutex_);
  if (!taken_) {
    taken_ = true;
    return true;
  }
  const auto me = queue_.emplace(queue_.end());
  me->called.wait_for(lock, bounded, [&] { return me->granted; });
  const bool granted = me->granted;
  queue_.erase(me);
  return granted;
}

void Turn::release() {
  const std::lock_guard lock(mutex_);
  const auto next = std::ranges::find(queue_, false, &Waiter::granted);
  if (next == queue_.end()) {
    taken_ = false;
    return;
  }
  next->granted = true;
  // Notified under the lock: the waiter destroys the condition variable when it runs.
  next->called.notify_one();
}

}  // namespace sagabox::sqlite
