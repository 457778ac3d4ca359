#include "core/immortal.hpp"

#include <sagabox/time.hpp>

#include <ctime>

namespace sagabox {
namespace {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall_now() const override {
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  }
  [[nodiscard]] BootTime boot_now() const override {
    timespec now{};
    // Cannot fail: the clock exists since Linux 2.6.39 and the pointer is good.
    clock_gettime(CLOCK_BOOTTIME, &now);
    return BootTime{std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec)};
  }
};

}  // namespace

const Clock& system_clock() { return immortal<SystemClock>(); }

}  // namespace sagabox
