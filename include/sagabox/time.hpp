#pragma once

#include <chrono>

namespace sagabox {

using Duration = std::chrono::nanoseconds;

/// A point in UTC, as used by users and databases. May jump.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

/// Time since boot, including suspend. Never jumps; has no meaning in another process.
struct BootClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};
using BootTime = BootClock::time_point;

/// The source of time. Safe to call from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual WallTime wall_now() const = 0;
  /// CLOCK_BOOTTIME: used for leases and deadlines.
  [[nodiscard]] virtual BootTime boot_now() const = 0;
};

/// The machine's clocks.
const Clock& system_clock();

}  // namespace sagabox
