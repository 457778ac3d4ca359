#pragma once

#include <sagabox/time.hpp>

#include <cstdint>

namespace sagabox::outbox {

/// Decides whether a handler thread should pause. One thread serves very short handlers faster than
/// several, which would compete for the same cache lines. Pure.
class SurplusDetector {
 public:
  /// The number of messages between decisions.
  static constexpr std::uint32_t window = 64;
  /// If a message takes less than this in total, a second thread does not pay off.
  static constexpr Duration brief = std::chrono::nanoseconds(1500);
  /// The number of messages taken in `time` above which the working threads count as fast.
  static constexpr std::uint64_t brisk(Duration time) {
    return static_cast<std::uint64_t>(time / (2 * brief));
  }

  /// The caller starts to take messages; all threads together have taken `taken` so far.
  void begin(BootTime now, std::uint64_t taken) {
    handled_ = 0;
    begun_ = now;
    taken_ = taken;
  }

  /// The caller was idle for `time`, which does not count as handling time.
  void rested(Duration time) { begun_ += time; }

  /// The caller has handled one more message. Returns true if handlers are short and other threads
  /// take messages too.
  template <class Taken>
  [[nodiscard]] bool one_too_many(BootTime now, Taken&& taken_by_all) {
    if (++handled_ < window) return false;
    const auto taken = taken_by_all();
    const bool brief_enough = now - begun_ < window * brief;
    const bool others_take = taken - taken_ >= window + window / 4;
    begin(now, taken);
    return brief_enough && others_take;
  }

 private:
  std::uint32_t handled_ = 0;
  BootTime begun_{};
  std::uint64_t taken_ = 0;
};

}  // namespace sagabox::outbox
