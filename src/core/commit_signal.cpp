#include "core/commit_signal.hpp"

#include <algorithm>
#include <chrono>

namespace sagabox {

void CommitSignal::notify() {
  {
    const std::lock_guard lock(mutex_);
    ++notifications_;
  }
  notified_.notify_all();
}

bool CommitSignal::wait(Duration timeout) {
  // A longer wait would overflow the steady clock.
  const Duration bounded = std::min<Duration>(timeout, std::chrono::hours(24));
  const auto me = std::this_thread::get_id();
  std::unique_lock lock(mutex_);
  const std::uint64_t before = seen_[me];
  const bool rung = notified_.wait_for(lock, bounded, [&] { return notifications_ != before; });
  // Removing a thread's count only makes its next wait return early once.
  if (seen_.size() > threads_max) seen_.clear();
  seen_[me] = notifications_;
  return rung;
}

}  // namespace sagabox
