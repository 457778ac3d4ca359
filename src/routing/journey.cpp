#include "routing/journey.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::routing {

void Journey::refused(Code code, std::string why) { refusal_ = {code, std::move(why)}; }

void Journey::failed(Code code, std::string why, Attempt attempt, std::optional<Duration> delay) {
  failure_ = {code, std::move(why)};
  spent_ = spent_ || attempt == Attempt::spent;
  if (delay) delay_ = std::max(*delay, delay_.value_or(Duration{}));
}

void Journey::not_now(Duration delay) {
  later_ = true;
  // Whoever else failed has a delay of its own; the sooner one may find both well.
  if (!failure_) delay_ = delay_ ? std::min(*delay_, delay) : delay;
}

spi::Dispatched Journey::result() const {
  auto result = spi::Dispatched{.outcome = sagabox::done(),
                                .done = route->as_done(done),
                                .retry = route->retry ? &*route->retry : nullptr};
  if (failure_ || later_) {
    // Only what has a class can wait with it.
    result.put_off = !failure_ && route->targets.size() == 1;
    result.outcome =
        retry_after(delay_.value_or(Duration{}), spent_ ? Attempt::spent : Attempt::not_spent);
    if (!delay_) result.outcome.delay.reset();
    if (failure_) {
      result.outcome.code = failure_->code;
      result.outcome.error = failure_->why;
    }
    return result;
  }
  if (!refusal_) return result;
  result.outcome = reject(refusal_->why);
  result.outcome.code = refusal_->code;
  return result;
}

}  // namespace sagabox::routing
