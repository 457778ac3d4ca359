#pragma once

#include "delivery/subscription.hpp"

#include <sagabox/hub_record.hpp>
#include <sagabox/random.hpp>
#include <sagabox/time.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

/// What becomes of deliveries, jobs and subscriptions, decided without clock, store, thread or
/// lock. docs/hub.md has the states and transitions, `…_transitions()` below the same as data.
namespace sagabox::delivery {

/// What a delivery's subscription says at this moment.
struct Endpoint {
  SubscriptionState state = SubscriptionState::active;
  RetrySchedule retry{};
  Duration disable_after{};  ///< 0: never
  /// When the first of the attempts ended that have all failed since. Null: the last one did not.
  std::optional<WallTime> failing_since{};
  /// The subscription was changed since the attempt began: a 410 is about what was before.
  bool changed = false;

  static Endpoint of(const Subscription& subscription, std::optional<WallTime> failing_since);
};

/// Its time has come and the endpoint may take it; harmless if it has not.
struct Due {
  bool first_of_key = true;  ///< false: an earlier delivery of its key is open
};
/// No earlier delivery of its key is open any more.
struct KeyFreed {};
/// A job of it has ended. TX.LEASE_LOST among its codes: its workers were lost.
struct AttemptEnded {
  std::uint32_t attempt = 0;
  JobResult result{};
};
/// Its subscription is in another state than before, which `Endpoint::state` names.
struct SubscriptionChanged {};
/// Someone wants a dead delivery sent again.
struct RequeueAsked {
  bool newest = true;  ///< false: a later generation of it is there
};
using DeliveryEvent = std::variant<Due, KeyFreed, AttemptEnded, SubscriptionChanged, RequeueAsked>;

/// What follows from an event.
struct DeliveryDecision {
  DeliveryRecord delivery{};  ///< as it is afterwards
  bool changed = false;
  /// Make a job for the attempt that has begun, once the delivery is written.
  bool make_job = false;
  /// Keep a snapshot of the event before the delivery is written: it dies.
  bool bury = false;
  /// Disable the subscription, for this reason, before anything else of it goes out.
  std::optional<std::string> disable{};
  std::optional<DeliveryRecord> next_generation{};
};

/// Total: whatever comes, in whatever order, gives a decision.
DeliveryDecision decide(const DeliveryRecord& delivery, const DeliveryEvent& event,
                        const Endpoint& endpoint, WallTime now, Random& random);

/// Disabled because of what its endpoint answered, or did not: by what `DeliveryDecision::disable`
/// says.
bool is_disabled_by_owner(const SubscriptionRecord& record) noexcept;

struct DeliveryTransition {
  DeliveryState from = DeliveryState::pending;
  DeliveryState to = DeliveryState::pending;
  friend auto operator<=>(const DeliveryTransition&, const DeliveryTransition&) = default;
};
struct JobTransition {
  HubJobState from = HubJobState::pending;
  HubJobState to = HubJobState::pending;
  friend auto operator<=>(const JobTransition&, const JobTransition&) = default;
};
struct SubscriptionTransition {
  SubscriptionState from = SubscriptionState::unverified;
  SubscriptionState to = SubscriptionState::unverified;
  friend auto operator<=>(const SubscriptionTransition&, const SubscriptionTransition&) = default;
};
/// All there are. `spi::after_lost_lease` says what becomes of a job whose lease has run out.
std::span<const DeliveryTransition> delivery_transitions() noexcept;
std::span<const JobTransition> job_transitions() noexcept;
std::span<const SubscriptionTransition> subscription_transitions() noexcept;
/// TX.INVALID_STATE for a change of a subscription's state that is none of them.
Status check_transition(SubscriptionState from, SubscriptionState to);

}  // namespace sagabox::delivery
