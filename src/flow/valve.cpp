#include "flow/valve.hpp"

#include <algorithm>
#include <limits>

namespace sagabox::flow {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t no_bound = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t bursts_a_second = 10;
/// Reading more messages from the store takes about 1/5 s.
constexpr std::uint32_t fetches_a_second = 5;

}  // namespace

Valve::Valve(const Limits& limits, BootTime now)
    : limits_(limits), free_from_(now), window_from_(now), worth_holding_(no_bound) {
  if (limits_.rate) {
    interval_ = Duration(seconds(1)) / *limits_.rate;
    const auto burst = limits_.burst.value_or(std::max(1U, *limits_.rate / bursts_a_second));
    burst_ = interval_ * (burst - 1);
    worth_holding_ = std::max(burst, *limits_.rate / fetches_a_second);
  }
  if (limits_.concurrency) worth_holding_ = std::min(worth_holding_, *limits_.concurrency);
}

BootTime Valve::token_at(BootTime now) const {
  return limits_.rate ? std::max(free_from_, now - burst_) : now;
}

bool Valve::budget_spent(BootTime now) const {
  return limits_.budget && now < window_from_ + limits_.budget->window &&
         in_window_ >= limits_.budget->messages;
}

bool Valve::admits(BootTime now) const { return reached(now) == Limit::none; }

Valve::Limit Valve::reached(BootTime now) const {
  if (limits_.concurrency && under_way_ >= *limits_.concurrency) return Limit::concurrency;
  if (budget_spent(now)) return Limit::budget;
  return token_at(now) <= now ? Limit::none : Limit::rate;
}

BootTime Valve::next(BootTime now) const {
  if (limits_.concurrency && under_way_ >= *limits_.concurrency) return BootTime::max();
  return std::max(token_at(now), budget_spent(now) ? window_from_ + limits_.budget->window : now);
}

void Valve::begin(BootTime now) {
  ++under_way_;
  if (limits_.rate) free_from_ = token_at(now) + interval_;
  if (!limits_.budget) return;
  if (in_window_ == 0 || now >= window_from_ + limits_.budget->window) {
    window_from_ = now;
    in_window_ = 0;
  }
  ++in_window_;
}

void Valve::end_in_vain() {
  end();
  if (limits_.budget && in_window_ > 0) --in_window_;
}

}  // namespace sagabox::flow
