#pragma once

#include <sagabox/time.hpp>

#include <cstdint>

namespace sagabox::outbox {

/// Tells a handler thread when it is one too many. Handlers that take next to no time are served
/// faster by one thread than by several, which only pass the same few cache lines to and fro. Pure.
class Crowd {
 public:
  /// Judged after so many messages.
  static constexpr std::uint32_t window = 64;
  /// A message in less than this, all in all, is not worth a second thread.
  static constexpr Duration brief = std::chrono::nanoseconds(1500);
  /// How much has to move for those at work to be brief.
  static constexpr std::uint64_t brisk(Duration time) {
    return static_cast<std::uint64_t>(time / (2 * brief));
  }

  /// The caller begins to take messages; all threads together have taken `taken`.
  void begin(BootTime now, std::uint64_t taken) {
    handled_ = 0;
    begun_ = now;
    taken_ = taken;
  }

  /// The caller had nothing to do for so long, which is nobody's handling.
  void rested(Duration time) { begun_ += time; }

  /// The caller has handled one more. True: they are brief, and somebody else takes them, too.
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
