#pragma once

#include <sagabox/time.hpp>

#include <algorithm>
#include <cstdint>

namespace sagabox::outbox {

/// Sets the capacity of the cold queue. Rows that will be dispatched within `moment` may be read
/// ahead, because large pages cost less per row. Other rows stay in the database, where a pause,
/// another relay or an operator takes effect on them.
class ReadAhead {
 public:
  static constexpr Duration moment = std::chrono::milliseconds(50);
  static constexpr std::uint32_t few = 64;

  /// At least `capacity`, and up to `ahead` more.
  ReadAhead(std::uint32_t capacity, std::uint32_t ahead)
      : capacity_min_(capacity), capacity_max_(capacity + ahead), capacity_(capacity) {}

  /// Call it after a read with the length of the queue.
  void filled(std::uint32_t depth, BootTime now) {
    depth_ = depth;
    at_ = now;
  }

  /// Returns the capacity; call it before the next read with the length of the queue.
  std::uint32_t capacity(std::uint32_t depth, BootTime now) {
    const std::uint64_t gone = depth_ - std::min(depth, depth_);
    const auto took = std::max(now - at_, Duration{1});
    // Too few rows in too short a time give no estimate: starting handlers take that many at once.
    if (took < moment && gone < std::max(capacity_min_ / 4, few)) return capacity_;
    const auto in_a_moment = gone * static_cast<std::uint64_t>(moment.count()) /
                             static_cast<std::uint64_t>(took.count());
    capacity_ = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(in_a_moment, capacity_min_, capacity_max_));
    return capacity_;
  }

 private:
  std::uint32_t capacity_min_;
  std::uint32_t capacity_max_;
  std::uint32_t capacity_;
  std::uint32_t depth_ = 0;
  BootTime at_{};
};

}  // namespace sagabox::outbox
