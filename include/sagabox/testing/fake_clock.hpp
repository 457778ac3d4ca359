#pragma once

#include <sagabox/time.hpp>

#include <mutex>

namespace sagabox::testing {

/// A clock that only a test advances. `advance` changes wall and boot time together; the other
/// functions change one of them, as when an operator sets the clock. Thread-safe.
class FakeClock final : public Clock {
 public:
  /// 2026-01-01 00:00:00 UTC, one hour after boot.
  FakeClock() = default;
  explicit FakeClock(WallTime wall, BootTime boot = BootTime{std::chrono::hours(1)})
      : wall_(wall), boot_(boot) {}

  [[nodiscard]] WallTime wall_now() const override {
    const std::lock_guard lock(mutex_);
    return WallTime{std::chrono::floor<std::chrono::microseconds>(wall_.time_since_epoch())};
  }
  [[nodiscard]] BootTime boot_now() const override {
    const std::lock_guard lock(mutex_);
    return boot_;
  }

  /// Advances wall and boot time.
  void advance(Duration by) {
    const std::lock_guard lock(mutex_);
    wall_ += by;
    boot_ += by;
  }
  /// Changes only the wall clock; `by` may be negative.
  void advance_wall(Duration by) {
    const std::lock_guard lock(mutex_);
    wall_ += by;
  }
  void advance_boot(Duration by) {
    const std::lock_guard lock(mutex_);
    boot_ += by;
  }
  void set_wall(WallTime to) {
    const std::lock_guard lock(mutex_);
    wall_ = to;
  }
  void set_boot(BootTime to) {
    const std::lock_guard lock(mutex_);
    boot_ = to;
  }

 private:
  // Finer than WallTime, so that many small steps add up.
  using FineWallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

  mutable std::mutex mutex_;
  FineWallTime wall_{std::chrono::seconds(1'767'225'600)};
  BootTime boot_{std::chrono::hours(1)};
};

}  // namespace sagabox::testing
