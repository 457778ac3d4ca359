#include "delivery/decide.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sagabox::delivery {
namespace {

using namespace std::chrono_literals;
using DeliveryIn = DeliveryState;

class DecideDelivery : public ::testing::Test {
 protected:
  DecideDelivery() { endpoint.retry.jitter = 0; }

  DeliveryRecord record(DeliveryIn state, std::uint32_t attempt = 0, std::uint32_t failures = 0) {
    DeliveryRecord record;
    record.id = DeliveryId::parse("d1").value();
    record.event = EventId::parse("e1").value();
    record.subscription = SubscriptionId::parse("s1").value();
    record.key = "k";
    record.sequence = Sequence{7};
    record.state = state;
    record.attempt = attempt;
    record.failures = failures;
    record.next_attempt_at = now;
    return record;
  }
  DeliveryDecision decide_on(const DeliveryRecord& delivery, const DeliveryEvent& event) {
    return decide(delivery, event, endpoint, now, *random);
  }
  static JobResult failure(Code code, int status = 0) {
    JobResult result;
    result.code = code;
    result.error = "it failed";
    result.status = status;
    return result;
  }
  static JobResult success() {
    JobResult result;
    result.completed = true;
    result.status = 200;
    return result;
  }

  WallTime now{std::chrono::hours(24 * 365 * 50)};
  Endpoint endpoint{};
  std::unique_ptr<Random> random = seeded_random(3);
};

TEST_F(DecideDelivery, DueOneBeginsItsNextAttempt) {
  const auto decision = decide_on(record(DeliveryIn::pending, 2, 1), Due{});
  EXPECT_TRUE(decision.changed);
  EXPECT_TRUE(decision.make_job);
  EXPECT_EQ(decision.delivery.state, DeliveryIn::in_progress);
  EXPECT_EQ(decision.delivery.attempt, 3U);
  EXPECT_EQ(decision.delivery.failures, 1U);
}

TEST_F(DecideDelivery, NothingGoesOutEarlyOrFromAnotherState) {
  auto early = record(DeliveryIn::pending);
  early.next_attempt_at = now + 1us;
  EXPECT_FALSE(decide_on(early, Due{}).changed);
  for (const auto state :
       {DeliveryIn::waiting, DeliveryIn::in_progress, DeliveryIn::completed, DeliveryIn::dead}) {
    EXPECT_FALSE(decide_on(record(state, 1), Due{}).changed);
  }
}

TEST_F(DecideDelivery, LaterOneOfAKeyWaitsUntilTheKeyIsFree) {
  const auto waits = decide_on(record(DeliveryIn::pending), Due{.first_of_key = false});
  EXPECT_EQ(waits.delivery.state, DeliveryIn::waiting);
  EXPECT_EQ(waits.delivery.attempt, 0U);
  EXPECT_FALSE(waits.make_job);
  const auto freed = decide_on(waits.delivery, KeyFreed{});
  EXPECT_EQ(freed.delivery.state, DeliveryIn::pending);
  EXPECT_FALSE(decide_on(record(DeliveryIn::completed), KeyFreed{}).changed);
}

TEST_F(DecideDelivery, PausedSubscriptionsKeepTheirDeliveries) {
  for (const auto state : {SubscriptionState::paused, SubscriptionState::unverified}) {
    endpoint.state = state;
    EXPECT_FALSE(decide_on(record(DeliveryIn::pending), Due{}).changed);
    EXPECT_FALSE(decide_on(record(DeliveryIn::pending), SubscriptionChanged{}).changed);
  }
  const auto failed = decide_on(record(DeliveryIn::in_progress, 1),
                                AttemptEnded{1, failure(Code::provider_rejected, 500)});
  EXPECT_EQ(failed.delivery.state, DeliveryIn::pending);
  EXPECT_EQ(
      decide_on(record(DeliveryIn::in_progress, 1), AttemptEnded{1, success()}).delivery.state,
      DeliveryIn::completed);
}

TEST_F(DecideDelivery, DisabledSubscriptionsEndTheirs) {
  endpoint.state = SubscriptionState::disabled;
  for (const DeliveryEvent& event : {DeliveryEvent(SubscriptionChanged{}), DeliveryEvent(Due{})}) {
    const auto decision = decide_on(record(DeliveryIn::pending), event);
    EXPECT_EQ(decision.delivery.state, DeliveryIn::dead);
    EXPECT_EQ(decision.delivery.code, Code::tx_deadletter);
    EXPECT_NE(decision.delivery.error, "");
    EXPECT_EQ(decision.delivery.ended_at, now);
    EXPECT_TRUE(decision.bury);
  }
  auto tried = record(DeliveryIn::waiting, 1, 1);
  tried.code = Code::tx_timeout;
  tried.error = "slow";
  const auto decision = decide_on(tried, SubscriptionChanged{});
  EXPECT_EQ(decision.delivery.state, DeliveryIn::dead);
  EXPECT_EQ(decision.delivery.code, Code::tx_timeout);
  EXPECT_FALSE(decide_on(record(DeliveryIn::in_progress, 1), SubscriptionChanged{}).changed);
  EXPECT_EQ(
      decide_on(record(DeliveryIn::in_progress, 1), AttemptEnded{1, success()}).delivery.state,
      DeliveryIn::completed);
  const auto failed =
      decide_on(record(DeliveryIn::in_progress, 1), AttemptEnded{1, failure(Code::tx_timeout)});
  EXPECT_EQ(failed.delivery.state, DeliveryIn::dead);
  EXPECT_TRUE(failed.bury);
  EXPECT_FALSE(failed.disable);
}

TEST_F(DecideDelivery, SuccessClearsTheErrorsBefore) {
  auto tried = record(DeliveryIn::in_progress, 3, 2);
  tried.code = Code::tx_timeout;
  tried.error = "slow";
  const auto decision = decide_on(tried, AttemptEnded{3, success()});
  EXPECT_EQ(decision.delivery.state, DeliveryIn::completed);
  EXPECT_EQ(decision.delivery.code, std::nullopt);
  EXPECT_EQ(decision.delivery.error, "");
  EXPECT_EQ(decision.delivery.status, 200);
  EXPECT_EQ(decision.delivery.failures, 2U);
  EXPECT_EQ(decision.delivery.ended_at, now);
  EXPECT_FALSE(decision.bury);
}

TEST_F(DecideDelivery, FailuresFollowTheSchedule) {
  auto delivery = record(DeliveryIn::pending);
  for (const auto& wait : endpoint.retry.waits) {
    delivery.next_attempt_at = now;
    delivery = decide_on(delivery, Due{}).delivery;
    delivery =
        decide_on(delivery, AttemptEnded{delivery.attempt, failure(Code::tx_timeout)}).delivery;
    ASSERT_EQ(delivery.state, DeliveryIn::pending);
    EXPECT_EQ(delivery.next_attempt_at, now + wait);
    EXPECT_EQ(delivery.code, Code::tx_timeout);
    EXPECT_EQ(delivery.error, "it failed");
  }
  delivery.next_attempt_at = now;
  delivery = decide_on(delivery, Due{}).delivery;
  EXPECT_EQ(delivery.attempt, 10U);
  const auto last = decide_on(delivery, AttemptEnded{10, failure(Code::tx_timeout, 503)});
  EXPECT_EQ(last.delivery.state, DeliveryIn::dead);
  EXPECT_EQ(last.delivery.status, 503);
  EXPECT_EQ(last.delivery.code, Code::tx_timeout);
  EXPECT_TRUE(last.bury);
}

TEST_F(DecideDelivery, ResultOfAnotherAttemptIsIgnored) {
  EXPECT_FALSE(decide_on(record(DeliveryIn::in_progress, 2), AttemptEnded{1, success()}).changed);
  EXPECT_FALSE(decide_on(record(DeliveryIn::in_progress, 2), AttemptEnded{3, success()}).changed);
  for (const auto state :
       {DeliveryIn::pending, DeliveryIn::waiting, DeliveryIn::completed, DeliveryIn::dead}) {
    EXPECT_FALSE(decide_on(record(state, 2), AttemptEnded{2, success()}).changed);
  }
}

TEST_F(DecideDelivery, UnreachableEndpointSpendsNoFailure) {
  const auto unreachable = failure(Code::provider_unavailable);
  const auto first = decide_on(record(DeliveryIn::in_progress, 1), AttemptEnded{1, unreachable});
  EXPECT_EQ(first.delivery.state, DeliveryIn::pending);
  EXPECT_EQ(first.delivery.failures, 0U);
  EXPECT_EQ(first.delivery.next_attempt_at, now + 5s);
  const auto third = decide_on(record(DeliveryIn::in_progress, 5, 2), AttemptEnded{5, unreachable});
  EXPECT_EQ(third.delivery.failures, 2U);
  EXPECT_EQ(third.delivery.next_attempt_at, now + 20s);
  const auto answered = decide_on(record(DeliveryIn::in_progress, 5, 2),
                                  AttemptEnded{5, failure(Code::provider_unavailable, 503)});
  EXPECT_EQ(answered.delivery.failures, 3U);
  const auto last =
      decide_on(record(DeliveryIn::in_progress, 200, 2), AttemptEnded{200, unreachable});
  EXPECT_EQ(last.delivery.state, DeliveryIn::dead);
  EXPECT_TRUE(last.bury);
}

TEST_F(DecideDelivery, RetryAfterCountsUpToADay) {
  auto busy = failure(Code::provider_unavailable, 429);
  const auto next = [&](Duration asked) {
    busy.retry_after = asked;
    const auto decision = decide_on(record(DeliveryIn::in_progress, 1), AttemptEnded{1, busy});
    return decision.delivery.next_attempt_at - now;
  };
  EXPECT_EQ(next(1s), Duration(5s));
  EXPECT_EQ(next(60s), Duration(60s));
  EXPECT_EQ(next(240h), Duration(24h));
}

TEST_F(DecideDelivery, LostLeaseIsAFailure) {
  const auto decision =
      decide_on(record(DeliveryIn::in_progress, 1), AttemptEnded{1, failure(Code::tx_lease_lost)});
  EXPECT_EQ(decision.delivery.state, DeliveryIn::pending);
  EXPECT_EQ(decision.delivery.failures, 1U);
}

TEST_F(DecideDelivery, GoneEndsTheDeliveryAndDisables) {
  const auto decision = decide_on(record(DeliveryIn::in_progress, 1),
                                  AttemptEnded{1, failure(Code::provider_rejected, 410)});
  EXPECT_EQ(decision.delivery.state, DeliveryIn::dead);
  EXPECT_TRUE(decision.bury);
  ASSERT_TRUE(decision.disable);
  EXPECT_EQ(*decision.disable, "the endpoint answered 410 Gone");
}

TEST_F(DecideDelivery, EndpointThatFailedForDaysIsDisabled) {
  endpoint.disable_after = 120h;
  const AttemptEnded ended{1, failure(Code::tx_timeout)};
  endpoint.failing_since = now - 120h + 1us;
  EXPECT_FALSE(decide_on(record(DeliveryIn::in_progress, 1), ended).disable);
  endpoint.failing_since = now - 120h;
  const auto decision = decide_on(record(DeliveryIn::in_progress, 1), ended);
  EXPECT_EQ(decision.disable, "every attempt has failed for 5d");
  EXPECT_EQ(decision.delivery.state, DeliveryIn::dead);
  EXPECT_FALSE(decide_on(record(DeliveryIn::in_progress, 1), AttemptEnded{1, success()}).disable);
  endpoint.disable_after = {};
  EXPECT_FALSE(decide_on(record(DeliveryIn::in_progress, 1), ended).disable);
}

TEST_F(DecideDelivery, WhatTheTransportRefusesForGoodIsDead) {
  for (const auto code : {Code::provider_rejected, Code::tx_unroutable,
                          Code::schema_validation_failed, Code::request_not_found}) {
    const auto refused =
        decide_on(record(DeliveryIn::in_progress, 1), AttemptEnded{1, failure(code)});
    EXPECT_EQ(refused.delivery.state, DeliveryIn::dead);
    const auto answered =
        decide_on(record(DeliveryIn::in_progress, 1), AttemptEnded{1, failure(code, 400)});
    EXPECT_EQ(answered.delivery.state, DeliveryIn::pending);
  }
}

TEST_F(DecideDelivery, RequeueMakesTheNextGeneration) {
  auto dead = record(DeliveryIn::dead, 10, 9);
  dead.generation = 1;
  dead.code = Code::tx_timeout;
  dead.ended_at = now - 1h;
  const auto decision = decide_on(dead, RequeueAsked{});
  EXPECT_FALSE(decision.changed);
  ASSERT_TRUE(decision.next_generation);
  const auto& made = *decision.next_generation;
  EXPECT_EQ(made.id, delivery_id_of(dead.event, dead.subscription, 2));
  EXPECT_EQ(made.generation, 2U);
  EXPECT_EQ(made.state, DeliveryIn::pending);
  EXPECT_EQ(made.attempt, 0U);
  EXPECT_EQ(made.failures, 0U);
  EXPECT_EQ(made.code, std::nullopt);
  EXPECT_EQ(made.ended_at, std::nullopt);
  EXPECT_EQ(made.key, "k");
  EXPECT_EQ(made.next_attempt_at, now);
  EXPECT_EQ(made.sequence, Sequence{});
  EXPECT_FALSE(decide_on(dead, RequeueAsked{.newest = false}).next_generation);
  EXPECT_FALSE(decide_on(record(DeliveryIn::completed), RequeueAsked{}).next_generation);
}

TEST_F(DecideDelivery, MakesTheTransitionsOfTheTableAndNoOthers) {
  std::set<DeliveryTransition> made;
  const std::array<DeliveryEvent, 10> events{Due{},
                                             Due{.first_of_key = false},
                                             KeyFreed{},
                                             SubscriptionChanged{},
                                             RequeueAsked{},
                                             AttemptEnded{1, success()},
                                             AttemptEnded{1, failure(Code::tx_timeout)},
                                             AttemptEnded{1, failure(Code::provider_unavailable)},
                                             AttemptEnded{1, failure(Code::provider_rejected, 410)},
                                             AttemptEnded{2, success()}};
  for (std::size_t subscribed = 0; subscribed < subscription_state_count; ++subscribed) {
    endpoint.state = static_cast<SubscriptionState>(subscribed);
    for (std::size_t state = 0; state < delivery_state_count; ++state) {
      for (const auto& event : events) {
        const auto before = record(static_cast<DeliveryIn>(state), 1);
        const auto decision = decide_on(before, event);
        if (!decision.changed) {
          EXPECT_EQ(decision.delivery.state, before.state);
          continue;
        }
        made.insert({before.state, decision.delivery.state});
        EXPECT_EQ(decision.bury, decision.delivery.state == DeliveryIn::dead);
        EXPECT_EQ(decision.make_job, decision.delivery.state == DeliveryIn::in_progress);
        EXPECT_EQ(decision.delivery.ended_at.has_value(), has_ended(decision.delivery.state));
      }
    }
  }
  const auto all = delivery_transitions();
  EXPECT_EQ(made, (std::set<DeliveryTransition>(all.begin(), all.end())));
}

TEST_F(DecideDelivery, SubscriptionsChangeAsTheTableSays) {
  using Subscribed = SubscriptionState;
  EXPECT_TRUE(check_transition(Subscribed::unverified, Subscribed::active).ok());
  EXPECT_TRUE(check_transition(Subscribed::active, Subscribed::active).ok());
  const auto refused = check_transition(Subscribed::unverified, Subscribed::paused);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::tx_invalid_state);
  EXPECT_EQ(refused.error().message, "a subscription that is unverified cannot become paused");
}

}  // namespace
}  // namespace sagabox::delivery
