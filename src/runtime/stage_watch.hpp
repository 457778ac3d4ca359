#pragma once

#include <sagabox/time.hpp>

#include <atomic>

namespace sagabox::runtime {

/// Measures how long a stage of an engine has been in its current step. One thread begins and ends
/// steps, other threads read.
class StageWatch {
 public:
  void begin(BootTime now) noexcept { since_.store(now); }
  void end() noexcept { since_.store(BootTime::max()); }

  [[nodiscard]] bool longer_than(Duration limit, BootTime now) const noexcept {
    const auto since = since_.load(std::memory_order_relaxed);
    return since < now && now - since > limit;
  }

 private:
  std::atomic<BootTime> since_{BootTime::max()};
};

}  // namespace sagabox::runtime
