#include "conformance/hub/hub_conformance.hpp"

#include <algorithm>
#include <array>

namespace sagabox::conformance {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using In = DeliveryState;
using Ids = std::vector<std::string>;
using Outcome = spi::Requeued::Outcome;

TEST_P(HubConformance, EventsAreListedNewestFirstByEveryFilter) {
  auto a = event("k"), b = event("l"), c = event("k", "1", "umbrella");
  a.source = "shop";
  a.external_id = "17";
  b.message = build({.topic = "shop.order.paid.v1", .key = "l", .tenant = "acme"});
  publish(a);
  fixture_->advance_time(hours(1));
  publish(b);
  fixture_->advance_time(hours(1));
  publish(c);
  const auto from = hub_admin().event(b.id).value()->published_at;
  const auto listed = [&](spi::EventFilter filter) {
    return ids_of(hub_admin().events({.filter = std::move(filter)}).value());
  };
  const auto ids = [](auto&&... some) { return Ids{some.id.str()...}; };
  EXPECT_EQ(listed({}), ids(c, b, a));
  EXPECT_EQ(listed({.tenant = "acme"}), ids(b, a));
  EXPECT_EQ(listed({.type = "shop.order.paid.v1"}), ids(b));
  EXPECT_EQ(listed({.key = "k"}), ids(c, a));
  EXPECT_EQ(listed({.source = "shop"}), ids(a));
  EXPECT_EQ(listed({.external_id = "17"}), ids(a));
  EXPECT_EQ(listed({.tenant = "umbrella", .external_id = "17"}), Ids{});
  EXPECT_EQ(listed({.source = "shop", .external_id = "17"}), ids(a));
  EXPECT_EQ(listed({.source = "other", .external_id = "17"}), Ids{});
  EXPECT_EQ(listed({.external_id = "18"}), Ids{});
  EXPECT_EQ(listed({.from = from}), ids(c, b));
  EXPECT_EQ(listed({.to = from}), ids(a));
  EXPECT_EQ(listed({.key = "k", .to = from}), ids(a));
  const auto page = hub_admin().events({.rows_max = 2}).value();
  EXPECT_EQ(ids_of(page), ids(c, b));
  const auto rest = hub_admin().events({.before = page[1].sequence, .rows_max = 2}).value();
  EXPECT_EQ(ids_of(rest), ids(a));
  EXPECT_EQ(rest[0].payload_bytes, a.message->payload().size()) << "a list needs no payloads";
  EXPECT_EQ(hub_admin().event(EventId::parse("unknown").value()).value(), std::nullopt);
}

TEST_P(HubConformance, DeliveriesAreListedNewestFirstByEveryFilter) {
  const auto owner = own_deliveries();
  put(subscription("s1"));
  put(subscription("s2"));
  const auto a = added("s1");
  fixture_->advance_time(hours(1));
  const auto b = added("s2");
  const auto c = added("s1");
  ended_in(owner, a, In::dead);
  const auto listed = [&](spi::DeliveryFilter filter) {
    return ids_of(hub_admin().deliveries({.filter = std::move(filter)}).value());
  };
  const auto ids = [](auto&&... some) { return Ids{some.id.str()...}; };
  EXPECT_EQ(listed({}), ids(c, b, a));
  EXPECT_EQ(listed({.tenant = "acme"}), ids(c, b, a));
  EXPECT_EQ(listed({.tenant = "umbrella"}), Ids{});
  EXPECT_EQ(listed({.subscription = a.subscription}), ids(c, a));
  EXPECT_EQ(listed({.event = b.event}), ids(b));
  EXPECT_EQ(listed({.state = In::dead}), ids(a));
  EXPECT_EQ(listed({.subscription = a.subscription, .state = In::dead}), ids(a));
  EXPECT_EQ(listed({.subscription = b.subscription, .state = In::dead}), Ids{});
  EXPECT_EQ(listed({.tenant = "acme", .state = In::dead}), ids(a));
  EXPECT_EQ(listed({.tenant = "umbrella", .state = In::dead}), Ids{});
  EXPECT_EQ(listed({.state = In::dead, .code = Code::tx_deadletter}), Ids{});
  EXPECT_EQ(listed({.state = In::pending}), ids(c, b));
  EXPECT_EQ(listed({.type = std::string(order_placed)}), ids(c, b, a));
  EXPECT_EQ(listed({.type = "other"}), Ids{});
  EXPECT_EQ(listed({.code = Code::tx_timeout}), ids(a));
  EXPECT_EQ(listed({.from = b.created_at}), ids(c, b));
  EXPECT_EQ(listed({.to = b.created_at}), ids(a));
  EXPECT_EQ(listed({.subscription = a.subscription, .state = In::pending}), ids(c));
  const auto page = hub_admin().deliveries({.rows_max = 2}).value();
  EXPECT_EQ(ids_of(page), ids(c, b));
  EXPECT_EQ(ids_of(hub_admin().deliveries({.before = page[1].sequence}).value()), ids(a));
  EXPECT_EQ(hub_admin().delivery(DeliveryId::parse("unknown").value()).value(), std::nullopt);
}

TEST_P(HubConformance, DeliveriesOfATenantAreThoseOfAllItsSubscriptions) {
  for (const auto* id : {"s1", "s2", "s3"}) put(subscription(id));
  auto others = subscription("t1");
  others.tenant = "umbrella";
  put(others);
  Ids all;
  for (int i = 0; i < 3; ++i) {
    for (const auto* id : {"s2", "s1", "s3"}) all.push_back(added(id).id.str());
  }
  std::ranges::reverse(all);
  const auto page = [&](std::optional<Sequence> before, std::uint32_t rows_max) {
    return hub_admin()
        .deliveries({.filter = {.tenant = "acme"}, .before = before, .rows_max = rows_max})
        .value();
  };
  EXPECT_EQ(ids_of(page({}, 100)), all);
  const auto first = page({}, 4);
  EXPECT_EQ(ids_of(first), Ids(all.begin(), all.begin() + 4));
  EXPECT_EQ(ids_of(page(first.back().sequence, 100)), Ids(all.begin() + 4, all.end()));
  EXPECT_TRUE(hub_admin().deliveries({.filter = {.tenant = "umbrella"}}).value().empty());
}

TEST_P(HubConformance, DeliveriesAreListedByTheirEndAndByWhatWasRequeued) {
  const auto owner = own_deliveries();
  put(subscription("s1"));
  put(subscription("s2"));
  const auto a = ended_in(owner, added("s1"), In::dead);
  fixture_->advance_time(hours(1));
  const auto b = ended_in(owner, added("s2"), In::dead);
  fixture_->advance_time(hours(1));
  const auto c = ended_in(owner, added("s1"), In::completed);
  const auto open = added("s1");
  const auto made =
      look_at(hub_admin().requeue(std::array{a.id}, std::nullopt, {}).value().at(0).made);
  const auto listed = [&](const spi::DeliveryList& request) {
    return ids_of(hub_admin().deliveries(request).value());
  };
  const auto ids = [](auto&&... some) { return Ids{some.id.str()...}; };
  // By tenant, of one subscription and of one event: each has a statement of its own.
  const spi::DeliveryFilter acme{.tenant = "acme"};
  const spi::DeliveryFilter of_s1{.subscription = a.subscription};
  const spi::DeliveryFilter about_a{.event = a.event};
  EXPECT_EQ(listed({.ended_from = b.ended_at}), ids(c, b));
  EXPECT_EQ(listed({.ended_to = b.ended_at}), ids(a)) << "not at this time itself";
  EXPECT_EQ(listed({.filter = acme, .ended_from = a.ended_at, .ended_to = c.ended_at}), ids(b, a));
  EXPECT_EQ(listed({.filter = of_s1, .ended_from = b.ended_at}), ids(c));
  EXPECT_EQ(listed({.filter = of_s1, .ended_to = b.ended_at}), ids(a));
  EXPECT_EQ(listed({.filter = about_a, .ended_from = b.ended_at}), Ids{});
  EXPECT_EQ(listed({.filter = about_a, .ended_to = b.ended_at}), ids(a));
  EXPECT_EQ(listed({.requeued = true}), ids(a));
  EXPECT_EQ(listed({.requeued = false}), ids(made, open, c, b));
  EXPECT_EQ(listed({.filter = {.state = In::dead}, .requeued = false}), ids(b));
  EXPECT_EQ(listed({.filter = acme, .requeued = true}), ids(a));
  EXPECT_EQ(listed({.filter = of_s1, .requeued = true}), ids(a));
  EXPECT_EQ(listed({.filter = of_s1, .requeued = false}), ids(made, open, c));
  EXPECT_EQ(listed({.filter = about_a, .requeued = true}), ids(a));
  EXPECT_EQ(listed({.filter = about_a, .requeued = false}), ids(made));
  // A page is filled from behind what does not match.
  EXPECT_EQ(listed({.ended_to = c.ended_at, .rows_max = 2}), ids(b, a));
  EXPECT_EQ(listed({.requeued = true, .before = b.sequence, .rows_max = 1}), ids(a));
}

TEST_P(HubConformance, AttemptsOfADeliveryAreShownInTheirOrder) {
  const auto owner = own_deliveries();
  auto one = added("a");
  one = delivered(owner, one, failure(503), In::pending);
  one = delivered(owner, one, success(), In::completed);
  const auto attempts = hub_admin().attempts(one.id).value();
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].attempt, 1U);
  EXPECT_EQ(attempts[0].result.status, 503);
  EXPECT_EQ(attempts[1].attempt, 2U);
  EXPECT_TRUE(attempts[1].result.completed);
  EXPECT_EQ(attempts[1].result.answer, "ok");
  EXPECT_TRUE(hub_admin().attempts(DeliveryId::parse("unknown").value()).value().empty());
}

TEST_P(HubConformance, DeliveriesAreCountedBySubscriptionAndState) {
  const auto owner = own_deliveries();
  const auto first = added("a");
  fixture_->advance_time(hours(1));
  added("a");
  ended_in(owner, added("a"), In::dead);
  ended_in(owner, added("b"), In::completed);
  begun(owner, added("b"));
  auto counts = hub_admin().count({}).value();
  std::ranges::sort(counts, {}, [](const spi::DeliveryCount& count) {
    return std::pair(count.subscription, count.state);
  });
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_EQ(counts[0].subscription, first.subscription);
  EXPECT_EQ(counts[0].state, In::pending);
  EXPECT_EQ(counts[0].deliveries, 2U);
  EXPECT_EQ(counts[0].oldest, first.created_at);
  EXPECT_EQ(counts[1].state, In::dead);
  EXPECT_EQ(counts[1].deliveries, 1U);
  EXPECT_EQ(counts[2].subscription.view(), "b");
  EXPECT_EQ(counts[2].state, In::in_progress);
  EXPECT_EQ(hub_admin().count({.tenant = "acme"}).value().size(), 3U);
  EXPECT_TRUE(hub_admin().count({.tenant = "umbrella"}).value().empty());
}

TEST_P(HubConformance, NoMoreThanAskedForAreCounted) {
  const auto owner = own_deliveries();
  for (int i = 0; i < 3; ++i) ended_in(owner, added("a"), In::dead);
  added(2, "a");
  begun(owner, added("b"));
  const auto counts = hub_admin().count({.rows_max = 2}).value();
  const auto of = [&](std::string_view subscription, DeliveryState state) {
    const auto found = std::ranges::find_if(counts, [&](const spi::DeliveryCount& count) {
      return count.subscription.view() == subscription && count.state == state;
    });
    return found == counts.end() ? spi::DeliveryCount{} : *found;
  };
  EXPECT_EQ(counts.size(), 3U);
  EXPECT_EQ(of("a", In::dead).deliveries, 2U);
  EXPECT_TRUE(of("a", In::dead).more);
  EXPECT_EQ(of("a", In::pending).deliveries, 2U);
  EXPECT_FALSE(of("a", In::pending).more);
  auto one = hub_admin().count({.subscription = subscription_id("a"), .rows_max = 2}).value();
  std::ranges::sort(one, {}, &spi::DeliveryCount::state);
  ASSERT_EQ(one.size(), 2U);
  EXPECT_EQ(one[0].state, In::pending);
  EXPECT_EQ(one[0].deliveries, 2U);
  EXPECT_FALSE(one[0].more);
  EXPECT_EQ(one[1].state, In::dead);
  EXPECT_EQ(one[1].deliveries, 2U);
  EXPECT_TRUE(one[1].more);
  EXPECT_EQ(hub_admin().count({.subscription = subscription_id("b")}).value().at(0).state,
            In::in_progress);
  EXPECT_TRUE(hub_admin()
                  .count({.tenant = "umbrella", .subscription = subscription_id("a")})
                  .value()
                  .empty());
}

TEST_P(HubConformance, StatsAreExactUpToTheirBound) {
  const auto owner = own_deliveries();
  const auto state = [](const spi::HubStats& stats, DeliveryState of) {
    return stats.states.at(static_cast<std::size_t>(of));
  };
  const auto none = hub_admin().stats(100).value();
  EXPECT_EQ(state(none, In::dead).deliveries, 0U);
  EXPECT_EQ(none.oldest, std::nullopt);
  const auto dead = ended_in(owner, added("a"), In::dead);
  fixture_->advance_time(hours(1));
  const auto first = added("b");
  fixture_->advance_time(hours(1));
  added(3, "a");
  begun(owner, added("c"));
  ended_in(owner, added("c"), In::completed);
  const auto all = hub_admin().stats(100).value();
  EXPECT_EQ(state(all, In::pending).deliveries, 4U);
  EXPECT_FALSE(state(all, In::pending).estimated);
  EXPECT_EQ(state(all, In::waiting).deliveries, 0U);
  EXPECT_EQ(state(all, In::in_progress).deliveries, 1U);
  EXPECT_EQ(state(all, In::dead).deliveries, 1U);
  EXPECT_EQ(all.oldest, first.created_at) << "the dead have ended";
  const auto bounded = hub_admin().stats(2).value();
  EXPECT_TRUE(state(bounded, In::pending).estimated);
  EXPECT_GE(state(bounded, In::pending).deliveries, 2U);
  EXPECT_EQ(bounded.oldest, first.created_at) << "it is the first of its subscription";
}

TEST_P(HubConformance, UnroutedEventsAreThoseBehindThePositions) {
  EXPECT_EQ(hub_admin().unrouted(10).value().events, 0U);
  EXPECT_EQ(hub_admin().unrouted(10).value().oldest, std::nullopt);
  const auto first = stored_event("k");
  fixture_->advance_time(hours(1));
  const auto second = stored_event("k");
  stored_event("k");
  EXPECT_EQ(hub_admin().unrouted(10).value().events, 3U);
  EXPECT_EQ(hub_admin().unrouted(2).value().events, 2U);
  EXPECT_EQ(hub_admin().unrouted(10).value().oldest, first.published_at);
  const auto owner = own_routing();
  const spi::RoutingPosition routed{first.shard, first.sequence};
  ASSERT_TRUE(events().move(fencing(owner), std::span(&routed, 1)).ok());
  EXPECT_EQ(hub_admin().unrouted(10).value().events, 2U);
  EXPECT_EQ(hub_admin().unrouted(10).value().oldest, second.published_at);
}

TEST_P(HubConformance, HealthLooksAtTheNewestAttemptsAlone) {
  const auto owner = own_deliveries();
  const auto id = subscription_id("a");
  for (int i = 1; i <= 3; ++i) {
    auto result = i == 1 ? failure(500) : success();
    result.took = milliseconds(i);
    delivered(owner, added("a"), result, i == 1 ? In::dead : In::completed);
    fixture_->advance_time(seconds(1));
  }
  EXPECT_EQ(hub_admin().health(id, hours(1), 4).value().sampled_from, std::nullopt);
  const auto health = hub_admin().health(id, hours(1), 2).value();
  EXPECT_EQ(health.completed, 2U);
  EXPECT_EQ(health.failed, 0U);
  EXPECT_EQ(health.p50, Duration(milliseconds(2)));
  ASSERT_TRUE(health.sampled_from);
  EXPECT_LT(*health.sampled_from, *health.last_completed_at);
}

TEST_P(HubConformance, AnEndpointFailsSinceItsFirstFailureAfterItsLastSuccess) {
  const auto owner = own_deliveries();
  const auto id = subscription_id("a");
  const auto since = [&](Duration within) { return hub_admin().failing_since(id, within).value(); };
  const auto ended = [&](const JobResult& result) {
    fixture_->advance_time(hours(1));
    const auto done =
        delivered(owner, added("a"), result, result.completed ? In::completed : In::dead);
    return hub_admin().attempts(done.id).value().at(0).ended_at;
  };
  EXPECT_EQ(since(hours(24)), std::nullopt);
  ended(failure(500));
  ended(success());
  EXPECT_EQ(since(hours(24)), std::nullopt);
  auto unsent = failure(0);
  unsent.took = {};
  ended(unsent);
  EXPECT_EQ(since(hours(24)), std::nullopt) << "it says nothing about the endpoint";
  const auto first = ended(failure(500));
  const auto second = ended(failure(500));
  EXPECT_EQ(since(hours(24)), first);
  EXPECT_EQ(since(seconds(3000)), second) << "looking back less far, it errs towards later";
  ended(success());
  EXPECT_EQ(since(hours(24)), std::nullopt);
}

TEST_P(HubConformance, HealthOfAnEndpointIsThatOfItsRecentAttempts) {
  const auto owner = own_deliveries();
  const auto id = subscription_id("a");
  const auto none = hub_admin().health(id, hours(1), 1000).value();
  EXPECT_EQ(none.completed + none.failed, 0U);
  EXPECT_EQ(none.p50, std::nullopt);
  EXPECT_EQ(none.last_error, "");
  auto old = failure(500);
  old.error = "an old one";
  delivered(owner, added("a"), old, In::dead);
  fixture_->advance_time(hours(2));
  for (int i = 1; i <= 4; ++i) {
    auto result = success();
    result.took = milliseconds(i);
    delivered(owner, added("a"), result, In::completed);
    fixture_->advance_time(seconds(1));
  }
  auto unreachable = failure(0);
  unreachable.error = "cannot be reached";
  delivered(owner, added("a"), unreachable, In::dead);
  delivered(owner, added("b"), success(), In::completed);
  with_job(owner, added("a"));
  const auto health = hub_admin().health(id, hours(1), 1000).value();
  EXPECT_EQ(health.completed, 4U);
  EXPECT_EQ(health.failed, 1U);
  EXPECT_EQ(health.p50, Duration(milliseconds(2)));
  EXPECT_EQ(health.p95, Duration(milliseconds(4)));
  EXPECT_EQ(health.last_error, "cannot be reached");
  ASSERT_TRUE(health.last_completed_at);
  ASSERT_TRUE(health.last_failed_at);
  EXPECT_LT(*health.last_completed_at, *health.last_failed_at);
  EXPECT_EQ(hub_admin().health(id, hours(3), 1000).value().failed, 2U);
}

TEST_P(HubConformance, RequeueMakesTheNextGenerationOnce) {
  const auto owner = own_deliveries();
  auto dead = ended_in(owner, added("a"), In::pending);
  dead = ended_in(owner, dead, In::dead);
  const std::array ids{dead.id};
  const std::array audit{act("requeued")};
  const auto requeue = [&] { return hub_admin().requeue(ids, std::nullopt, audit).value().at(0); };
  const auto answer = requeue();
  EXPECT_EQ(answer.from, dead.id);
  EXPECT_EQ(answer.outcome, Outcome::made);
  EXPECT_EQ(answer.made, delivery_id_of(dead.event, dead.subscription, 1));
  const auto made = look_at(answer.made);
  EXPECT_EQ(made.generation, 1U);
  EXPECT_EQ(made.state, In::pending);
  EXPECT_EQ(made.attempt, 0U);
  EXPECT_EQ(made.failures, 0U);
  EXPECT_EQ(made.code, std::nullopt);
  EXPECT_EQ(made.error, "");
  EXPECT_EQ(made.status, 0);
  EXPECT_EQ(made.event, dead.event);
  EXPECT_EQ(made.tenant, dead.tenant);
  EXPECT_EQ(made.type, dead.type);
  EXPECT_EQ(made.shard, dead.shard);
  EXPECT_EQ(made.correlation_id, dead.correlation_id);
  EXPECT_GT(made.sequence, dead.sequence);
  EXPECT_EQ(due_ids(made), Ids{made.id.str()});
  // What is dead stays as it is.
  const auto frozen = look_at(dead.id);
  EXPECT_EQ(frozen.state, In::dead);
  EXPECT_EQ(frozen.attempt, 2U);
  EXPECT_EQ(frozen.ended_at, dead.ended_at);
  EXPECT_EQ(log().size(), 1U);
  // Repeated, also when the new one has completed.
  EXPECT_EQ(requeue().outcome, Outcome::repeated);
  EXPECT_EQ(requeue().made, made.id);
  delivered(owner, made, success(), In::completed);
  EXPECT_EQ(requeue().outcome, Outcome::repeated);
  EXPECT_EQ(log().size(), 1U);
  EXPECT_EQ(hub_admin().deliveries({}).value().size(), 2U);
}

TEST_P(HubConformance, RequeueTwiceInACallIsMadeAndAuditedOnce) {
  const auto owner = own_deliveries();
  const auto dead = ended_in(owner, added("a"), In::dead);
  const std::array ids{dead.id, dead.id};
  const std::array audit{act("first"), act("second")};
  const auto answers = hub_admin().requeue(ids, std::nullopt, audit).value();
  EXPECT_EQ(answers[0].outcome, Outcome::made);
  EXPECT_EQ(answers[1].outcome, Outcome::repeated);
  EXPECT_EQ(answers[1].made, answers[0].made);
  ASSERT_EQ(log().size(), 1U);
  EXPECT_EQ(log()[0].event.detail, "first");
}

TEST_P(HubConformance, RequeuedDeliveryHasItsEventHoweverOldThatIs) {
  const auto owner = own_deliveries();
  const auto routing = own_routing();
  const auto dead = delivered(owner, added("a"), failure(), In::dead);
  const auto unmatched = stored_event();
  std::vector<spi::RoutingPosition> positions;
  for (std::uint16_t s = 0; s < shards(); ++s) {
    positions.push_back({Shard{s}, unmatched.sequence});
  }
  events().move(fencing(routing), positions).value();
  fixture_->advance_time(hours(1));
  for (int i = 0; i < 3; ++i) (void)hub_admin().purge({.older_than = seconds(1)}).value();
  EXPECT_FALSE(hub_admin().event(unmatched.id).value());
  ASSERT_TRUE(hub_admin().event(dead.event).value()) << "the dead one holds it";
  const auto answer = hub_admin().requeue(std::array{dead.id}, std::nullopt, {}).value().at(0);
  (void)with_job(owner, look_at(answer.made));
  const auto leased = lease(token());
  ASSERT_EQ(leased.size(), 1U);
  ASSERT_NE(leased[0].event.message, nullptr);
  const auto snapshot = hub_admin().dead(dead.id).value().value();
  EXPECT_EQ(leased[0].event.id, snapshot.event.id);
  EXPECT_EQ(leased[0].event.message->payload().view(), snapshot.event.message->payload().view());
}

TEST_P(HubConformance, OnlyTheNewestDeadGenerationIsRequeued) {
  const auto owner = own_deliveries();
  const auto first = ended_in(owner, added("a"), In::dead);
  const auto requeue = [&](const DeliveryId& id) {
    return hub_admin().requeue(std::array{id}, std::nullopt, {}).value().at(0);
  };
  const auto second = ended_in(owner, look_at(requeue(first.id).made), In::dead);
  EXPECT_EQ(requeue(first.id).outcome, Outcome::not_newest);
  const auto third = requeue(second.id);
  EXPECT_EQ(third.outcome, Outcome::made);
  EXPECT_EQ(look_at(third.made).generation, 2U);
  EXPECT_EQ(requeue(first.id).outcome, Outcome::not_newest);
  EXPECT_EQ(requeue(second.id).outcome, Outcome::repeated);
}

TEST_P(HubConformance, OnlyDeadDeliveriesOfTheTenantAreRequeued) {
  const auto owner = own_deliveries();
  const auto dead = ended_in(owner, added("a"), In::dead);
  const auto open = added("a");
  const auto completed = ended_in(owner, added("a"), In::completed);
  const std::array ids{open.id, dead.id, completed.id, DeliveryId::parse("unknown").value()};
  const auto outcomes = [&](const std::optional<std::string>& tenant) {
    std::vector<Outcome> all;
    for (const auto& one : hub_admin().requeue(ids, tenant, {}).value()) all.push_back(one.outcome);
    return all;
  };
  constexpr auto no = Outcome::not_dead;
  EXPECT_EQ(outcomes("umbrella"), (std::vector{no, no, no, no}));
  EXPECT_EQ(outcomes("acme"), (std::vector{no, Outcome::made, no, no}));
  const std::array one_act{act("x")};
  EXPECT_EQ(hub_admin().requeue(ids, std::nullopt, one_act).error().code, Code::config_invalid);
}

TEST_P(HubConformance, RequeuedDeliveryIsTheLastOfItsKey) {
  const auto owner = own_deliveries();
  const auto of_key = added(2, "a", "k");
  const auto dead = ended_in(owner, of_key[0], In::dead);
  const auto answer = hub_admin().requeue(std::array{dead.id}, std::nullopt, {}).value().at(0);
  const auto made = look_at(answer.made);
  EXPECT_EQ(made.key, "k");
  const auto reply = begin(owner, {next_attempt(made), next_attempt(look_at(of_key[1].id))});
  EXPECT_EQ(reply.waiting, std::vector{next_attempt(made)});
  EXPECT_EQ(reply.begun.size(), 1U);
  change(owner, {ends(look_at(of_key[1].id), In::completed)});
  EXPECT_EQ(look_at(made.id).state, In::pending);
  EXPECT_EQ(delivered(owner, look_at(made.id), success(), In::completed).state, In::completed);
}

TEST_P(HubConformance, PurgeRemovesWhatEndedWellStepByStep) {
  const auto owner = own_deliveries();
  const auto routing = own_routing();
  const auto done = delivered(owner, added("a"), success(), In::completed);
  const auto dead = delivered(owner, added("a"), failure(), In::dead);
  const auto open = added("a");
  const auto unmatched = stored_event();
  std::vector<spi::RoutingPosition> positions;
  for (std::uint16_t s = 0; s < shards(); ++s) {
    positions.push_back({Shard{s}, unmatched.sequence});
  }
  fixture_->advance_time(hours(8));
  const auto unrouted = stored_event();
  const auto recent = delivered(owner, added("a"), success(), In::completed);
  const auto purge = [&](Duration older_than, std::uint32_t rows_max = 100) {
    return hub_admin().purge({older_than, rows_max}).value();
  };
  EXPECT_EQ(purge(hours(9)).jobs, 0U);
  const auto first = purge(hours(7));
  EXPECT_EQ(first.jobs, 1U);
  EXPECT_EQ(first.events, 0U);  // nothing is routed
  EXPECT_EQ(first.dead, 0U);
  events().move(fencing(routing), positions).value();
  purge(hours(7));
  purge(hours(7));
  EXPECT_EQ(hub_admin().delivery(done.id).value(), std::nullopt);
  EXPECT_TRUE(hub_admin().attempts(done.id).value().empty());
  EXPECT_EQ(hub_admin().event(done.event).value(), std::nullopt);
  EXPECT_EQ(hub_admin().event(unmatched.id).value(), std::nullopt);
  for (const auto& kept : {dead, open, recent}) {
    EXPECT_TRUE(hub_admin().delivery(kept.id).value().has_value());
    EXPECT_TRUE(hub_admin().event(kept.event).value().has_value());
  }
  EXPECT_TRUE(hub_admin().event(unrouted.id).value().has_value());
  EXPECT_EQ(hub_admin().attempts(dead.id).value().size(), 1U);
  const auto last = purge(hours(7));
  EXPECT_EQ(last.jobs + last.deliveries + last.events + last.dead, 0U);
}

TEST_P(HubConformance, PurgeIsBoundedAndOldestFirst) {
  const auto owner = own_deliveries();
  std::vector<DeliveryRecord> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(ended_in(owner, added("a"), In::completed));
    fixture_->advance_time(seconds(1));
  }
  fixture_->advance_time(hours(1));
  EXPECT_EQ(hub_admin().purge({hours(1), 2}).value().deliveries, 2U);
  EXPECT_EQ(ids_of(hub_admin().deliveries({}).value()), Ids{all[2].id.str()});
  EXPECT_EQ(hub_admin().purge({hours(1), 2}).value().deliveries, 1U);
}

/// What dead deliveries hold stays, and what is younger is behind it.
TEST_P(HubConformance, PurgeGoesPastWhatStays) {
  const auto owner = own_deliveries();
  const auto routing = own_routing();
  for (int i = 0; i < 5; ++i) delivered(owner, added("a"), failure(), In::dead);
  const auto done = delivered(owner, added("a"), success(), In::completed);
  std::vector<spi::RoutingPosition> positions;
  const auto last = stored_event();
  for (std::uint16_t s = 0; s < shards(); ++s) positions.push_back({Shard{s}, last.sequence});
  events().move(fencing(routing), positions).value();
  fixture_->advance_time(hours(8));
  // Step by step, as the purger does it; each table makes room for the next.
  for (int pass = 0; pass < 3; ++pass) {
    for (int calls = 0; calls < 50; ++calls) {
      const auto purged = hub_admin().purge({hours(7), 2}).value();
      const auto most = std::max({purged.jobs, purged.deliveries, purged.events});
      if (!purged.more && most < 2) break;
    }
  }
  EXPECT_TRUE(hub_admin().attempts(done.id).value().empty());
  EXPECT_EQ(hub_admin().delivery(done.id).value(), std::nullopt);
  EXPECT_EQ(hub_admin().event(done.event).value(), std::nullopt);
  EXPECT_EQ(hub_admin().event(last.id).value(), std::nullopt);
  EXPECT_EQ(hub_admin().deliveries({}).value().size(), 5U);
  EXPECT_EQ(hub_admin().events({}).value().size(), 5U);
}

TEST_P(HubConformance, PurgedExternalIdMayBePublishedAgain) {
  const auto routing = own_routing();
  auto sent = event();
  sent.external_id = "17";
  publish(sent);
  const auto stored = hub_admin().event(sent.id).value().value();
  const spi::RoutingPosition routed{stored.shard, stored.sequence};
  events().move(fencing(routing), std::span(&routed, 1)).value();
  fixture_->advance_time(hours(1));
  EXPECT_EQ(hub_admin().purge({hours(1), 10}).value().events, 1U);
  auto again = event();
  again.external_id = "17";
  EXPECT_FALSE(publish(again).duplicate);
}

TEST_P(HubConformance, JobsThatWereNotSeenAreNotPurged) {
  const auto owner = own_deliveries();
  const auto running = with_job(owner, added("a"));
  const auto mine = token();
  lease(mine);
  EXPECT_TRUE(finish(mine, running, success()));
  change(owner, {ends(running, In::completed)});
  fixture_->advance_time(hours(9));
  const auto before = hub_admin().purge({hours(7), 10}).value();
  EXPECT_EQ(before.jobs + before.deliveries, 0U);
  deliveries().seen(std::array{of(running)}).value();
  EXPECT_EQ(hub_admin().purge({hours(7), 10}).value().jobs, 1U);
}

TEST_P(HubConformance, DeadDeliveriesArePurgedByThemselves) {
  const auto owner = own_deliveries();
  const auto old = delivered(owner, added("a"), failure(), In::dead);
  const auto requeued = delivered(owner, added("a"), failure(), In::dead);
  fixture_->advance_time(hours(8));
  const auto recent = delivered(owner, added("a"), failure(), In::dead);
  const auto made =
      look_at(hub_admin().requeue(std::array{requeued.id}, std::nullopt, {}).value().at(0).made);
  const auto purged = hub_admin().purge_dead({hours(7), 10}).value();
  EXPECT_EQ(purged.deliveries, 1U);
  EXPECT_EQ(purged.jobs, 1U);
  EXPECT_EQ(purged.dead, 1U);
  EXPECT_EQ(purged.events, 0U);
  EXPECT_EQ(hub_admin().delivery(old.id).value(), std::nullopt);
  EXPECT_EQ(hub_admin().dead(old.id).value(), std::nullopt);
  EXPECT_TRUE(hub_admin().attempts(old.id).value().empty());
  EXPECT_TRUE(hub_admin().dead(recent.id).value().has_value());
  // The open generation holds the one it was made from, and that one the completed generation: a
  // repeated requeue finds it.
  EXPECT_TRUE(hub_admin().dead(requeued.id).value().has_value());
  delivered(owner, made, success(), In::completed);
  fixture_->advance_time(hours(8));
  EXPECT_EQ(hub_admin().purge({hours(7), 10}).value().jobs, 1U);
  EXPECT_EQ(hub_admin().purge({hours(7), 10}).value().deliveries, 0U);
  const auto again = hub_admin().requeue(std::array{requeued.id}, std::nullopt, {}).value().at(0);
  EXPECT_EQ(again.outcome, Outcome::repeated);
  EXPECT_EQ(hub_admin().purge_dead({hours(7), 10}).value().deliveries, 2U);
  EXPECT_EQ(hub_admin().purge({hours(7), 10}).value().deliveries, 1U);
  EXPECT_TRUE(hub_admin().deliveries({}).value().empty());
}

}  // namespace
}  // namespace sagabox::conformance
