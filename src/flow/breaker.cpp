#include "flow/breaker.hpp"

#include <algorithm>
#include <limits>

namespace sagabox::flow {
namespace {

constexpr std::uint32_t unlimited = std::numeric_limits<std::uint32_t>::max();
/// When the ramp reaches this number, the breaker closes.
constexpr std::uint32_t ramp_max = 256;
/// One fresh message and one retry, so that neither blocks the other.
constexpr std::uint32_t ramp_min = 2;
/// After a delivery within this time, a destination is considered up until several sends in a row
/// have failed.
constexpr Duration alive_for = std::chrono::seconds(1);
constexpr std::uint32_t refusals_max = 3;
/// The limit if later messages have recently overtaken the failing ones.
constexpr std::uint32_t refusals_overtaken_max = 64;
/// After this many failures in a row, a requested pause applies to all messages.
constexpr std::uint32_t pause_after = 8;
/// Rounds grow because messages that always fail may come before good ones: with one probe per
/// round, each of them would take a round.
constexpr std::uint32_t round_growth = 4;
constexpr std::uint32_t retries_share = 4;

bool is_recent(BootTime arrival, BootTime now) {
  return arrival != BootTime::min() && now - arrival < alive_for;
}

}  // namespace

std::uint32_t Breaker::allowed(BootTime now, Lane lane) const {
  switch (state_) {
    case State::closed:
      return unlimited;
    case State::open:
      if (now < probe_at_) return 0;
      // If no fresh message comes, retries may end the round.
      return lane == Lane::fresh || retries_left_ > 0 || now >= probe_at_ + probe_delay_ ? 1 : 0;
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
  in_a_row_ = 0;
  // Halve the delay, so that tripping again after each delivery does not increase it every time.
  probe_delay_ = probe_delay_ > options_.probe_min ? probe_delay_ / 2 : Duration{};
  switch (state_) {
    case State::closed:
      return;
    case State::open:
      state_ = State::ramping;
      ramp_ = ramp_min;
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
}

void Breaker::overtaken(BootTime now) {
  delivered(now);
  last_overtaken_ = now;
}

bool Breaker::alive(BootTime now) const { return is_recent(last_delivered_, now); }

std::uint32_t Breaker::enough_of_refusals(BootTime now) const {
  if (is_recent(last_overtaken_, now)) return refusals_overtaken_max;
  return alive(now) ? refusals_max : 1;
}

void Breaker::unreachable(BootTime sent, BootTime now, Lane lane) {
  if (is_news(sent)) failed(enough_of_refusals(now), {}, now, lane);
}

void Breaker::timed_out(BootTime sent, BootTime now, Lane lane) {
  if (!is_news(sent) || alive_since(sent)) return;
  // While ramping, one timeout is enough: nothing has arrived since the send began.
  failed(state_ == State::closed ? options_.timeouts_max : 1, {}, now, lane);
}

void Breaker::busy(Duration pause, BootTime sent, BootTime now, Lane lane) {
  if (!is_news(sent)) return;
  failed(enough_of_refusals(now), std::min(pause, options_.pause_max), now, lane);
  if (!open()) slow_down(sent, now);
}

void Breaker::failed(std::uint32_t enough, Duration pause, BootTime now, Lane lane) {
  ++in_a_row_;
  if (state_ == State::open) {
    pause_ = std::max(pause_, pause);
    if (!ends_round(lane)) return;
    round_ = std::min(round_max_, round_ * round_growth);
    return trip(now);
  }
  if (in_a_row_ < enough) return;
  // The round keeps its size until the destination has recovered, because the same messages come
  // first.
  round_ = state_ == State::closed ? 1 : std::max(1U, round_);
  pause_ = pause;
  trip(now);
}

bool Breaker::ends_round(Lane lane) {
  if (lane == Lane::fresh) return --probes_left_ == 0;
  if (retries_left_ == 0) return true;
  --retries_left_;
  return false;
}

void Breaker::trip(BootTime now) {
  if (probe_delay_ == Duration{}) down_since_ = now;
  state_ = State::open;
  tripped_at_ = now;
  probe_delay_ = probe_delay_ == Duration{} ? options_.probe_min
                                            : std::min(options_.probe_max, probe_delay_ * 2);
  probe_at_ = now + std::max(probe_delay_, in_a_row_ >= pause_after ? pause_ : Duration{});
  probes_left_ = round_;
  retries_left_ = std::max(1U, round_ / retries_share);
  pause_ = {};
}

void Breaker::slow_down(BootTime sent, BootTime now) {
  // Slow down only once for all sends that were under way at the same time.
  if (sent <= slowed_at_) return;
  slowed_at_ = now;
  ramp_ = state_ == State::closed ? ramp_max / 2 : std::max(ramp_min, ramp_ / 2);
  state_ = State::ramping;
  arrived_ = 0;
}

}  // namespace sagabox::flow
