#include "routing/journey.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::routing {
namespace {

/// The delay of a message that has no room and cannot wait with its class.
constexpr Duration no_room_delay = std::chrono::seconds(1);

TargetBits bit(std::size_t target) { return static_cast<TargetBits>(1U << target); }

}  // namespace

void Journey::arrived(std::size_t target) {
  answers.arrived = static_cast<TargetBits>(answers.arrived | bit(target));
  answered_now_ = true;
}

void Journey::refused(std::size_t target, Code code, std::string why) {
  answers.refused = static_cast<TargetBits>(answers.refused | bit(target));
  answered_now_ = true;
  refusal_ = {code, std::move(why)};
}

void Journey::failed(Code code, std::string why, Attempt attempt, std::optional<Duration> delay) {
  failure_ = {code, std::move(why)};
  spent_ = spent_ || attempt == Attempt::spent;
  if (delay) failure_delay_ = std::max(*delay, failure_delay_.value_or(Duration{}));
}

void Journey::down(std::string why, Duration delay) {
  down_ = {Code::provider_unavailable, std::move(why)};
  down_delay_ = std::max(delay, down_delay_.value_or(Duration{}));
}

spi::Dispatched Journey::result() const {
  auto result = spi::Dispatched{.outcome = sagabox::done(),
                                .done = route->as_done(answers),
                                .retry = route->retry ? &*route->retry : nullptr};
  if (failure_ || down_ || no_room_) {
    result.outcome = retry_after({}, spent_ ? Attempt::spent : Attempt::not_spent);
    // After a failure the policy sets the delay, unless the destination requested one.
    result.outcome.delay = failure_ ? failure_delay_ : down_ ? down_delay_ : no_room_delay;
    const auto& trouble = failure_ ? failure_ : down_;
    result.outcome.code = trouble ? trouble->code : Code::provider_unavailable;
    result.outcome.error = trouble ? trouble->why : "waits for its turn at its targets";
    const bool only_full = !failure_ && !down_;
    const bool one_target = route->targets.size() == 1;
    result.deferred = !failure_ && !answered_now_ && (only_full || one_target);
    return result;
  }
  if (answers.refused == 0) return result;
  result.outcome = reject(refusal_ ? refusal_->why : "refused at an earlier attempt");
  result.outcome.code = refusal_ ? refusal_->code : Code::provider_rejected;
  return result;
}

}  // namespace sagabox::routing
