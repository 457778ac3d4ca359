#include "delivery/decide.hpp"

#include "core/duration_text.hpp"
#include "spi/hub_rules.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sagabox::delivery {
namespace {

using State = DeliveryState;

constexpr int status_gone = 410;
constexpr std::string_view reason_gone = "the endpoint answered 410 Gone";
constexpr std::string_view reason_failing = "every attempt has failed for ";

/// The event has not arrived, and a later attempt may succeed.
bool is_unreachable(const JobResult& result) {
  return result.status == 0 && result.code == Code::provider_unavailable;
}

/// The transport refuses it without asking the endpoint, or its event is gone: no later attempt is
/// another.
bool is_refused_for_good(const JobResult& result) {
  if (result.status != 0 || !result.code) return false;
  return *result.code == Code::provider_rejected || *result.code == Code::tx_unroutable ||
         *result.code == Code::schema_validation_failed || *result.code == Code::auth_denied ||
         *result.code == Code::request_not_found;
}

/// One event and what follows from it.
class DeliveryTurn {
 public:
  DeliveryTurn(const DeliveryRecord& delivery, const Endpoint& endpoint, WallTime now,
               Random& random)
      : endpoint_(endpoint), now_(now), random_(random) {
    decision_.delivery = delivery;
  }

  void on(const Due& due) {
    if (is(State::pending) && endpoint_.state == SubscriptionState::disabled) return unsent();
    const bool may_go = endpoint_.state == SubscriptionState::active;
    if (!is(State::pending) || !may_go || delivery().next_attempt_at > now_) return;
    if (!due.first_of_key) return become(State::waiting);
    ++delivery().attempt;
    decision_.make_job = true;
    become(State::in_progress);
  }

  void on(const KeyFreed&) {
    if (is(State::waiting)) become(State::pending);
  }

  void on(const SubscriptionChanged&) {
    const bool open = is(State::pending) || is(State::waiting);
    if (open && endpoint_.state == SubscriptionState::disabled) unsent();
  }

  void on(const AttemptEnded& ended) {
    if (!is(State::in_progress) || delivery().attempt != ended.attempt) return;
    const auto& result = ended.result;
    delivery().status = result.status;
    if (result.completed) {
      delivery().code.reset();
      delivery().error.clear();
      return end(State::completed);
    }
    delivery().code = result.code.value_or(Code::unknown_internal);
    delivery().error = result.error;
    if (result.status == status_gone && !endpoint_.changed) {
      decision_.disable = reason_gone;
    } else if (failed_too_long()) {
      decision_.disable =
          std::string(reason_failing) + exact_duration_text(endpoint_.disable_after);
    }
    fail(result);
  }

  void on(const RequeueAsked& asked) {
    if (!is(State::dead) || !asked.newest) return;
    decision_.next_generation = spi::next_generation(delivery(), now_);
  }

  DeliveryDecision finish() && { return std::move(decision_); }

 private:
  DeliveryRecord& delivery() { return decision_.delivery; }
  bool is(State state) { return delivery().state == state; }

  void become(State state) {
    delivery().state = state;
    decision_.changed = true;
  }

  void end(State state) {
    delivery().ended_at = now_;
    decision_.bury = state == State::dead;
    become(state);
  }

  /// Its subscription is disabled, and it is not under way.
  void unsent() {
    if (!delivery().code) {
      delivery().code = Code::tx_deadletter;
      delivery().error = "the subscription was disabled before it was sent";
    }
    end(State::dead);
  }

  [[nodiscard]] bool failed_too_long() const {
    return endpoint_.disable_after > Duration{} && endpoint_.failing_since &&
           endpoint_.state != SubscriptionState::disabled &&
           now_ - *endpoint_.failing_since >= endpoint_.disable_after;
  }

  void fail(const JobResult& result) {
    const bool unreachable = is_unreachable(result);
    if (!unreachable) ++delivery().failures;
    const bool disabled = decision_.disable || endpoint_.state == SubscriptionState::disabled;
    if (disabled || is_refused_for_good(result)) return end(State::dead);
    // `attempt` counts both kinds.
    const auto wait = unreachable ? endpoint_.retry.after_unreachable(
                                        delivery().attempt - delivery().failures, random_)
                                  : endpoint_.retry.after_failure(delivery().failures, random_);
    if (!wait) return end(State::dead);
    const auto asked =
        std::min(result.retry_after.value_or(Duration{}), RetrySchedule::retry_after_max);
    delivery().next_attempt_at =
        now_ + std::chrono::ceil<WallTime::duration>(std::max(*wait, asked));
    become(State::pending);
  }

  const Endpoint& endpoint_;
  const WallTime now_;
  Random& random_;
  DeliveryDecision decision_;
};

constexpr std::array<DeliveryTransition, 8> all_of_deliveries{{
    {State::pending, State::waiting},
    {State::pending, State::in_progress},
    {State::pending, State::dead},
    {State::waiting, State::pending},
    {State::waiting, State::dead},
    {State::in_progress, State::pending},
    {State::in_progress, State::completed},
    {State::in_progress, State::dead},
}};

constexpr std::array<JobTransition, 4> all_of_jobs{{
    {HubJobState::pending, HubJobState::leased},
    {HubJobState::leased, HubJobState::pending},
    {HubJobState::leased, HubJobState::completed},
    {HubJobState::leased, HubJobState::failed},
}};

using Subscribed = SubscriptionState;
constexpr std::array<SubscriptionTransition, 8> all_of_subscriptions{{
    {Subscribed::unverified, Subscribed::active},
    {Subscribed::unverified, Subscribed::disabled},
    {Subscribed::active, Subscribed::paused},
    {Subscribed::active, Subscribed::disabled},
    {Subscribed::paused, Subscribed::active},
    {Subscribed::paused, Subscribed::disabled},
    {Subscribed::disabled, Subscribed::unverified},
    {Subscribed::disabled, Subscribed::active},
}};

}  // namespace

Endpoint Endpoint::of(const Subscription& subscription, std::optional<WallTime> failing_since) {
  const auto state = subscription.record.state;
  const bool waits = state == SubscriptionState::active && subscription.waits();
  return {.state = waits ? SubscriptionState::paused : state,
          .retry = subscription.settings.retry,
          .disable_after = subscription.settings.disable_after,
          .failing_since = failing_since};
}

DeliveryDecision decide(const DeliveryRecord& delivery, const DeliveryEvent& event,
                        const Endpoint& endpoint, WallTime now, Random& random) {
  DeliveryTurn turn(delivery, endpoint, now, random);
  std::visit([&](const auto& happened) { turn.on(happened); }, event);
  return std::move(turn).finish();
}

bool is_disabled_by_owner(const SubscriptionRecord& record) noexcept {
  return record.state == SubscriptionState::disabled &&
         (record.reason == reason_gone || record.reason.starts_with(reason_failing));
}

std::span<const DeliveryTransition> delivery_transitions() noexcept { return all_of_deliveries; }
std::span<const JobTransition> job_transitions() noexcept { return all_of_jobs; }
std::span<const SubscriptionTransition> subscription_transitions() noexcept {
  return all_of_subscriptions;
}

Status check_transition(SubscriptionState from, SubscriptionState to) {
  if (from == to || std::ranges::find(all_of_subscriptions, SubscriptionTransition{from, to}) !=
                        all_of_subscriptions.end()) {
    return {};
  }
  return Error{Code::tx_invalid_state,
               "a subscription that is " + std::string(subscription_state_name(from)) +
                   " cannot become " + std::string(subscription_state_name(to))};
}

}  // namespace sagabox::delivery
