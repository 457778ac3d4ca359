#include "core/text.hpp"
#include "routing/forwarder.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::routing {
namespace {

/// The limits of the delay of a stored retry. The delay is at least as long as the destination has
/// been down, and grows with each failure.
constexpr Duration wait_min = std::chrono::seconds(1);
constexpr Duration wait_max = std::chrono::seconds(40);
constexpr std::uint32_t doublings_max = 6;

using Kind = spi::SendResult::Kind;

bool is_taken(Kind kind) {
  return kind != Kind::busy && kind != Kind::unreachable && kind != Kind::timed_out;
}

/// Includes the tenant, because ids are unique within a tenant only.
std::uint64_t identity(const Message& message) {
  return stable_hash(message.id().view()) ^ (stable_hash(message.tenant()) * 31);
}

/// Whether the message becomes dead if this attempt fails.
bool is_last(const Journey& journey) {
  const auto& retry = journey.route->retry;
  return journey.dispatch.attempt >= (retry ? retry->attempts_max : journey.dispatch.attempts_max);
}

}  // namespace

flow::Suspects::Judged Forwarder::blame(const Message& message, const Part& part,
                                        const Target& target, const spi::SendResult& result,
                                        BootTime now) {
  auto& suspects = destinations_[target.destination.value].suspects;
  if (is_taken(result.kind)) {
    const bool known = !suspects.empty();
    if (result.kind == Kind::delivered) {
      known ? suspects.arrived(identity(message)) : suspects.arrived();
    } else if (known && (result.kind == Kind::rejected || result.kind == Kind::failed)) {
      suspects.forget(identity(message));
    }
    return {};
  }
  // If others arrived in the meantime, this message is the cause of the missing answer.
  const bool passed = traffic_.breaker(target.destination).alive_since(part.sent);
  if (result.kind == Kind::timed_out && passed) {
    return suspects.failed_alone(identity(message), now);
  }
  // All messages under way failed when the destination went down: none of them is blamed.
  if (!traffic_.is_news(part.going.line, part.sent)) return {};
  const bool down = traffic_.down(part.going.line, target.destination) != nullptr;
  return suspects.failed(identity(message), down, now, part.going.retry);
}

void Forwarder::judge(Journey& journey, const Part& part, const Target& target,
                      spi::SendResult&& result, const flow::Suspects::Judged& judged,
                      BootTime now) {
  if (!is_taken(result.kind)) {
    return not_taken(journey, part, target, std::move(result), judged, now);
  }
  if (result.kind == Kind::delivered) return journey.arrived(part.target);
  auto why = target.shown + ": " + result.error;
  if (result.kind == Kind::rejected) {
    return journey.refused(part.target, result.code.value_or(Code::provider_rejected),
                           std::move(why));
  }
  const auto code = result.code.value_or(Code::provider_unavailable);
  if (result.kind == Kind::later) {
    return journey.failed(code, std::move(why), Attempt::not_spent,
                          result.retry_after.value_or(wait_min));
  }
  journey.failed(code, std::move(why), Attempt::spent, result.retry_after);
}

void Forwarder::not_taken(Journey& journey, const Part& part, const Target& target,
                          spi::SendResult&& result, const flow::Suspects::Judged& judged,
                          BootTime now) {
  const auto code = result.kind == Kind::timed_out ? Code::tx_timeout : Code::provider_unavailable;
  auto why = target.shown + ": " + result.error;
  const auto asked = result.retry_after.value_or(Duration{});
  if (judged.blamed) {
    auto& suspects = destinations_[target.destination.value].suspects;
    if (is_last(journey)) suspects.forget(identity(*journey.dispatch.message));
    // A shorter delay than the policy's would only use up its attempts.
    return journey.failed(code, std::move(why), Attempt::spent,
                          asked > wait_min ? result.retry_after : std::nullopt);
  }
  const auto* const breaker = traffic_.down(part.going.line, target.destination);
  // Messages that were under way when the destination went down wait without a write.
  if (breaker != nullptr && !part.probe) return not_now(journey, part.going.line, target, now);
  // Delay this message so that others go first: it may be the cause.
  const auto lasted = breaker == nullptr ? Duration{} : now - breaker->down_since();
  const auto grown = wait_min * (1U << std::min(judged.times - 1, doublings_max));
  const auto wait = wait_for(journey, std::max(lasted, grown));
  journey.failed(code, std::move(why), Attempt::not_spent,
                 std::max(wait, std::min(asked, pause_max_)));
}

void Forwarder::not_now(Journey& journey, spi::ClassId line, const Target& target,
                        BootTime now) const {
  const auto* const breaker = traffic_.down(line, target.destination);
  if (breaker == nullptr) return journey.no_room();
  journey.down(target.shown + " is down: " + destinations_[target.destination.value].last_error,
               wait_for(journey, now - breaker->down_since()));
}

Duration Forwarder::wait_for(const Journey& journey, Duration at_least) {
  const auto delay = std::clamp(at_least, wait_min, wait_max);
  // Spread the retries over time.
  return delay + delay * static_cast<int>(journey.dispatch.sequence.value % 32) / 64;
}

}  // namespace sagabox::routing
