#include "core/commit_bell.hpp"

#include <algorithm>
#include <chrono>

namespace sagabox {

void CommitBell::ring() {
  {
    const std::lock_guard lock(mutex_);
    ++rings_;
  }
  rung_.notify_all();
}

bool CommitBell::wait(Duration timeout) {
  // A longer wait would overflow the steady clock.
  const Duration bounded = std::min<Duration>(timeout, std::chrono::hours(24));
  const auto me = std::this_thread::get_id();
  std::unique_lock lock(mutex_);
  const std::uint64_t before = heard_[me];
  const bool rung = rung_.wait_for(lock, bounded, [&] { return rings_ != before; });
  // Removing a thread's count only makes its next wait return early once.
  if (heard_.size() > threads_max) heard_.clear();
  heard_[me] = rings_;
  return rung;
}

}  // namespace sagabox
