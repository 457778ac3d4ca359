#include "flow/breaker.hpp"

#include <algorithm>
#include <limits>

namespace sagabox::flow {
namespace {

constexpr std::uint32_t unlimited = std::numeric_limits<std::uint32_t>::max();
/// With so many under way nothing is held back any more.
constexpr std::uint32_t ramp_max = 256;

}  // namespace

std::uint32_t Breaker::allowed(BootTime now) const {
  switch (state_) {
    case State::closed:
      return unlimited;
    case State::open:
      return now < probe_at_ ? 0 : 1;
    case State::ramping:
      break;
  }
  return ramp_;
}

BootTime Breaker::next(BootTime now) const {
  return state_ == State::open && now < probe_at_ ? probe_at_ : BootTime::max();
}

void Breaker::delivered(BootTime now) {
  last_delivered_ = now;
  timeouts_ = 0;
  switch (state_) {
    case State::closed:
      return;
    case State::open:
      state_ = State::ramping;
      ramp_ = 2;
      arrived_ = 0;
      return;
    case State::ramping:
      break;
  }
  if (++arrived_ < ramp_) return;
  arrived_ = 0;
  ramp_ *= 2;
  if (ramp_ < ramp_max) return;
  state_ = State::closed;
  probe_delay_ = {};
}

void Breaker::unreachable(BootTime sent, BootTime now) { trip(sent, now); }

void Breaker::timed_out(BootTime sent, BootTime now) {
  if (alive_since(sent)) return;
  // Down or ramping, one is enough: nothing has shown yet that it is up.
  if (state_ != State::closed || ++timeouts_ >= options_.timeouts_max) trip(sent, now);
}

void Breaker::busy(Duration pause, BootTime sent, BootTime now) {
  trip(sent, now);
  probe_at_ = std::max(probe_at_, now + std::min(pause, options_.pause_max));
}

void Breaker::trip(BootTime sent, BootTime now) {
  if (sent <= tripped_at_) return;
  if (state_ == State::closed) down_since_ = now;
  state_ = State::open;
  timeouts_ = 0;
  tripped_at_ = now;
  probe_delay_ = probe_delay_ == Duration{} ? options_.probe_min
                                            : std::min(options_.probe_max, probe_delay_ * 2);
  probe_at_ = now + probe_delay_;
}

}  // namespace sagabox::flow
