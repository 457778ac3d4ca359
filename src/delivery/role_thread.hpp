#pragma once

#include "runtime/stage_watch.hpp"

#include <sagabox/time.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <utility>

namespace sagabox::delivery {

/// The thread of a role that is one sequence of steps, and sleeps in its store.
class RoleThread {
 public:
  struct Parts {
    std::function<bool()> step;
    std::function<BootTime(BootTime)> next;
    /// Returns when something may have been committed, on `wake`, or after the timeout.
    std::function<void(Duration)> wait;
    std::function<void()> wake;
    /// After `wait`.
    std::function<void()> look;
    const Clock& clock;
  };
  explicit RoleThread(Parts parts) : parts_(std::move(parts)) {}
  ~RoleThread() { stop(); }
  RoleThread(const RoleThread&) = delete;
  RoleThread& operator=(const RoleThread&) = delete;

  [[nodiscard]] const runtime::StageWatch& watch() const noexcept { return watch_; }
  void start() {
    thread_ = std::thread([this] { run(); });
  }
  void stop() {
    ending_.store(true);
    if (!thread_.joinable()) return;
    parts_.wake();
    thread_.join();
  }

 private:
  static constexpr Duration wait_min = std::chrono::milliseconds(1);
  static constexpr Duration wait_max = std::chrono::milliseconds(100);

  void run() {
    while (!ending_.load()) {
      const auto now = parts_.clock.boot_now();
      watch_.begin(now);
      const bool worked = parts_.step();
      watch_.end();
      if (worked) continue;
      parts_.wait(std::clamp(parts_.next(now) - now, wait_min, wait_max));
      parts_.look();
    }
  }

  const Parts parts_;
  runtime::StageWatch watch_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace sagabox::delivery
