#pragma once

#include <sagabox/limits.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <string>

namespace sagabox::flow {

/// Whether a destination is up, judged by what became of the last sends. While it is down one send
/// at a time probes it, at growing intervals; when one arrives, twice as many may be under way
/// after each round, until nothing is held back any more. Pure.
class Breaker {
 public:
  explicit Breaker(const BreakerOptions& options) : options_(options) {}

  /// How many may be under way now.
  [[nodiscard]] std::uint32_t allowed(BootTime now) const;
  /// When `allowed` rises by itself; `BootTime::max()`: it does not.
  [[nodiscard]] BootTime next(BootTime now) const;

  void delivered(BootTime now);
  /// It did not come so far. `sent`: when that send began; what began before the last verdict says
  /// nothing new.
  void unreachable(BootTime sent, BootTime now);
  void timed_out(BootTime sent, BootTime now);
  /// It asks for a pause: it gets at least as long as one that is down, and comes back as gently.
  void busy(Duration pause, BootTime sent, BootTime now);

  /// Something has arrived there since `sent`: what failed meanwhile is not the destination's
  /// fault.
  [[nodiscard]] bool alive_since(BootTime sent) const noexcept { return last_delivered_ > sent; }
  [[nodiscard]] bool open() const noexcept { return state_ == State::open; }
  /// Since when it has been down; meaningless otherwise.
  [[nodiscard]] BootTime down_since() const noexcept { return down_since_; }

 private:
  enum class State : std::uint8_t { closed, open, ramping };
  void trip(BootTime sent, BootTime now);

  BreakerOptions options_;
  State state_ = State::closed;
  BootTime down_since_{};
  BootTime probe_at_{};
  Duration probe_delay_{};
  BootTime last_delivered_{BootTime::min()};
  BootTime tripped_at_{BootTime::min()};
  std::uint32_t timeouts_ = 0;  ///< in a row
  std::uint32_t ramp_ = 0;      ///< may be under way while ramping
  std::uint32_t arrived_ = 0;   ///< in this round of the ramp
};

}  // namespace sagabox::flow
