#include "server/api/reply_gate.hpp"

#include "core/text.hpp"

#include <utility>

namespace sagabox::server {
namespace {

Limits at_rate(std::uint32_t rate, std::uint32_t burst) { return {.rate = rate, .burst = burst}; }

}  // namespace

ReplyGate::ReplyGate(SagaReplyOptions options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      // Starts with a full allowance: a burst may come at once.
      all_(at_rate(options_.rate, options_.rate), BootTime{}),
      of_steps_(places,
                flow::Valve(at_rate(options_.rate_of_step, options_.burst_of_step), BootTime{})) {}

Result<saga::ReplyClaim> ReplyGate::claim(std::string_view token) const {
  const saga::ReplySecrets secrets =
      options_.store == nullptr ? saga::ReplySecrets()
                                : saga::ReplySecrets{options_.secret, options_.secret_before};
  return saga::read_reply_token(token, secrets, clock_.wall_now());
}

bool ReplyGate::enter(const saga::ReplyClaim& claim) {
  const auto place = stable_hash(claim.saga.str() + "\n" + claim.step) % places;
  const auto now = clock_.boot_now();
  const std::scoped_lock lock(mutex_);
  auto& step = of_steps_[place];
  if (!step.admits(now) || !all_.admits(now)) return false;
  for (auto* const valve : {&step, &all_}) {
    valve->begin(now);
    valve->end();
  }
  return true;
}

}  // namespace sagabox::server
