#include "conformance/hub/hub_conformance.hpp"

#include <algorithm>
#include <array>
#include <thread>

namespace sagabox::conformance {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using In = DeliveryState;
using Ids = std::vector<std::string>;
using Attempts = std::vector<spi::AttemptOf>;

TEST_P(HubConformance, DeliveryComesBackAsItWasAdded) {
  const auto happened = stored_event("k");
  auto sent = delivery_to(happened, "s1", shards(), "k");
  const auto before = now();
  EXPECT_EQ(deliveries().add(std::array{sent}).value(), 1U);
  const auto got = look_at(sent.id);
  EXPECT_EQ(got.id, sent.id);
  EXPECT_EQ(got.event, sent.event);
  EXPECT_EQ(got.subscription, sent.subscription);
  EXPECT_EQ(got.generation, 0U);
  EXPECT_EQ(got.tenant, "acme");
  EXPECT_EQ(got.type, order_placed);
  EXPECT_EQ(got.key, "k");
  EXPECT_EQ(got.shard, sent.shard);
  EXPECT_GT(got.sequence, Sequence{});
  EXPECT_EQ(got.state, In::pending);
  EXPECT_EQ(got.attempt, 0U);
  EXPECT_EQ(got.failures, 0U);
  EXPECT_GE(got.created_at, before);
  EXPECT_EQ(got.next_attempt_at, got.created_at);
  EXPECT_EQ(got.ended_at, std::nullopt);
  EXPECT_EQ(got.correlation_id, "c-1");
  EXPECT_EQ(got.code, std::nullopt);
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(got.status, 0);
}

TEST_P(HubConformance, DeliveryIsAddedOnceHoweverOftenItIsRouted) {
  const auto happened = stored_event();
  const std::array both{delivery_to(happened, "s1", shards()),
                        delivery_to(happened, "s2", shards())};
  EXPECT_EQ(deliveries().add(std::span(both).first(1)).value(), 1U);
  EXPECT_EQ(deliveries().add(both).value(), 1U);
  EXPECT_EQ(deliveries().add(both).value(), 0U);
  const std::array twice{delivery_to(happened, "s3", shards()),
                         delivery_to(happened, "s3", shards())};
  EXPECT_EQ(deliveries().add(twice).value(), 1U);
  // What has ended is not added again either.
  const auto owner = own_deliveries();
  ended_in(owner, look_at(both[0].id), In::completed);
  EXPECT_EQ(deliveries().add(both).value(), 0U);
  EXPECT_EQ(look_at(both[0].id).state, In::completed);
  EXPECT_EQ(hub_admin().deliveries({}).value().size(), 3U);
}

TEST_P(HubConformance, OpenSubscriptionsAreThoseWithPendingDeliveries) {
  const auto owner = own_deliveries();
  const auto first = added(3, "a");
  const auto shard = first[0].shard;
  const auto opened = [&](std::string_view after = {}, std::uint32_t rows_max = 100) {
    const auto behind = after.empty() ? SubscriptionId{} : subscription_id(after);
    return deliveries().open(shard, behind, rows_max).value();
  };
  ASSERT_EQ(opened().size(), 1U);
  EXPECT_EQ(opened()[0].subscription.view(), "a");
  EXPECT_EQ(opened()[0].due, first[0].next_attempt_at);
  EXPECT_TRUE(opened("a").empty());
  for (const auto& one : first) begun(owner, one);
  EXPECT_TRUE(opened().empty());
  // Enough subscriptions for one shard to have several.
  std::vector<std::string> here;
  for (int i = 0; here.size() < 3 && i < 1000; ++i) {
    const auto name = "sub-" + std::to_string(1000 + i);
    if (delivery_to(stored_event(), name, shards()).shard != shard) continue;
    added(name);
    here.push_back(name);
  }
  ASSERT_EQ(here.size(), 3U);
  const auto page = opened({}, 2);
  ASSERT_EQ(page.size(), 2U);
  EXPECT_EQ(page[0].subscription.view(), here[0]);
  EXPECT_EQ(page[1].subscription.view(), here[1]);
  const auto rest = opened(here[1], 2);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].subscription.view(), here[2]);
}

TEST_P(HubConformance, DueDeliveriesComeInPagesByTimeAndSequence) {
  const auto owner = own_deliveries();
  const auto all = added(5, "a");
  added(2, "b");
  EXPECT_EQ(due_ids(all[0]), ids_of(all));
  const auto& head = all[1];
  const auto page = deliveries()
                        .due(std::array{spi::PendingPage{.shard = head.shard,
                                                         .subscription = head.subscription,
                                                         .after_due = head.next_attempt_at,
                                                         .after = head.sequence,
                                                         .rows_max = 2}})
                        .value();
  EXPECT_EQ(ids_of(page), (Ids{all[2].id.str(), all[3].id.str()}));
  // A retry is due when its time has come, after those that were due before.
  const auto running = begun(owner, all[0]);
  auto again = ends(running, In::pending);
  again.next_attempt_at = now() + minutes(5);
  change(owner, {again});
  const Ids others{all[1].id.str(), all[2].id.str(), all[3].id.str(), all[4].id.str()};
  EXPECT_EQ(due_ids(all[0]), others);
  fixture_->advance_time(minutes(6));
  auto then = others;
  then.push_back(all[0].id.str());
  EXPECT_EQ(due_ids(all[0]), then);
  EXPECT_TRUE(deliveries()
                  .due(std::array{spi::PendingPage{
                      .shard = Shard{static_cast<std::uint16_t>(head.shard.value + 1)},
                      .subscription = head.subscription,
                      .rows_max = 10}})
                  .value()
                  .empty());
}

TEST_P(HubConformance, BeginStartsTheNextAttemptOnce) {
  const auto owner = own_deliveries();
  const auto one = added("a");
  const auto reply = begin(owner, {{one.id, 1}});
  EXPECT_EQ(reply.held, std::vector<bool>(shards(), true));
  EXPECT_EQ(reply.begun, (Attempts{{one.id, 1}}));
  EXPECT_TRUE(reply.waiting.empty());
  auto running = look_at(one.id);
  EXPECT_EQ(running.state, In::in_progress);
  EXPECT_EQ(running.attempt, 1U);
  // Repeated, as after a lost reply.
  EXPECT_EQ(begin(owner, {{one.id, 1}}).begun, (Attempts{{one.id, 1}}));
  EXPECT_EQ(look_at(one.id).attempt, 1U);
  // Others do not fit.
  const auto unknown = DeliveryId::parse("unknown").value();
  EXPECT_TRUE(begin(owner, {{one.id, 2}, {one.id, 3}, {unknown, 1}}).begun.empty());
  change(owner, {ends(running, In::completed)});
  EXPECT_TRUE(begin(owner, {{one.id, 1}, {one.id, 2}}).begun.empty());
  EXPECT_EQ(look_at(one.id).state, In::completed);
}

TEST_P(HubConformance, DeliveriesInProgressAreFoundByShard) {
  const auto owner = own_deliveries();
  const auto all = added(3, "a");
  for (const auto& one : all) begun(owner, one);
  added("a");
  auto expected = ids_of(all);
  std::ranges::sort(expected);
  const auto shard = all[0].shard;
  EXPECT_EQ(ids_of(deliveries().in_progress(shard, {}, 100).value()), expected);
  const auto page = deliveries().in_progress(shard, {}, 2).value();
  EXPECT_EQ(ids_of(page), (Ids{expected[0], expected[1]}));
  EXPECT_EQ(ids_of(deliveries().in_progress(shard, page[1].id, 2).value()), Ids{expected[2]});
}

TEST_P(HubConformance, AttemptEndsADeliveryOrNot) {
  const auto owner = own_deliveries();
  const auto all = added(3, "a");
  std::vector<DeliveryRecord> running;
  for (const auto& one : all) running.push_back(begun(owner, one));
  auto retried = ends(running[1], In::pending);
  retried.next_attempt_at = now() + hours(1);
  const auto before = now();
  deliveries().bury(std::array{all[2].id}).value();
  const std::vector changes{ends(running[0], In::completed), retried, ends(running[2], In::dead)};
  const auto reply = change(owner, changes);
  EXPECT_EQ(reply.held, std::vector<bool>(shards(), true));
  EXPECT_EQ(reply.changed, (Attempts{of(running[0]), of(running[1]), of(running[2])}));

  const auto completed = look_at(all[0].id);
  EXPECT_EQ(completed.state, In::completed);
  EXPECT_EQ(completed.code, std::nullopt);
  EXPECT_EQ(completed.error, "");
  ASSERT_TRUE(completed.ended_at);
  EXPECT_GE(*completed.ended_at, before);
  const auto pending = look_at(all[1].id);
  EXPECT_EQ(pending.state, In::pending);
  EXPECT_EQ(pending.attempt, 1U);
  EXPECT_EQ(pending.failures, 1U);
  EXPECT_EQ(pending.next_attempt_at, retried.next_attempt_at);
  EXPECT_EQ(pending.code, Code::tx_timeout);
  EXPECT_EQ(pending.error, "no answer within 15s");
  EXPECT_EQ(pending.status, 504);
  EXPECT_EQ(pending.ended_at, std::nullopt);
  EXPECT_EQ(pending.sequence, all[1].sequence);
  const auto dead = look_at(all[2].id);
  EXPECT_EQ(dead.state, In::dead);
  EXPECT_EQ(dead.failures, 1U);
  EXPECT_EQ(dead.code, Code::tx_timeout);
  EXPECT_TRUE(dead.ended_at);

  // Repeated, nothing changes; the answer is the same.
  fixture_->advance_time(seconds(5));
  EXPECT_EQ(change(owner, changes).changed, reply.changed);
  EXPECT_EQ(look_at(all[2].id).ended_at, dead.ended_at);
  // A result of another attempt counts no more, and another end of this one does not either.
  auto late = ends(running[0], In::dead);
  auto other = ends(running[1], In::completed);
  other.of.attempt = 2;
  EXPECT_TRUE(change(owner, {late, other}).changed.empty());
  EXPECT_EQ(look_at(all[0].id).state, In::completed);
  EXPECT_EQ(look_at(all[1].id).state, In::pending);
}

TEST_P(HubConformance, CompletionAfterFailuresClearsTheirErrors) {
  const auto owner = own_deliveries();
  auto failed = ended_in(owner, added("a"), In::pending);
  EXPECT_EQ(failed.code, Code::tx_timeout);
  const auto completed = ended_in(owner, failed, In::completed);
  EXPECT_EQ(completed.attempt, 2U);
  EXPECT_EQ(completed.failures, 1U);
  EXPECT_EQ(completed.code, std::nullopt);
  EXPECT_EQ(completed.error, "");
}

TEST_P(HubConformance, AttemptsEndInStatesThatTheyCanEndIn) {
  const auto owner = own_deliveries();
  const auto running = begun(owner, added("a"));
  for (const auto state : {In::waiting, In::in_progress}) {
    const std::array wrong{ends(running, state)};
    EXPECT_EQ(deliveries().change(fencing(owner), wrong).error().code, Code::tx_invalid_state);
  }
  const std::array unsent{ends(running, In::completed)};
  EXPECT_EQ(deliveries().end_unsent(fencing(owner), unsent).error().code, Code::tx_invalid_state);
  EXPECT_EQ(look_at(running.id).state, In::in_progress);
}

/// The owner may have read the subscription before it was enabled again.
TEST_P(HubConformance, DeliveriesOfAnEnabledSubscriptionDoNotDie) {
  const auto owner = own_deliveries();
  auto record = put(subscription("a"));
  const auto pending = added(record.id.view());
  const auto doomed = [&] {
    return deliveries().doomed(pending.shard, pending.subscription, 10).value();
  };
  const std::array death{ends(pending, In::dead)};
  EXPECT_TRUE(doomed().empty());
  EXPECT_TRUE(deliveries().end_unsent(fencing(owner), death).value().changed.empty());
  EXPECT_EQ(look_at(pending.id).state, In::pending);
  deliveries().disable(fencing(owner), record.id, record.change, "for this test", {}).value();
  EXPECT_EQ(ids_of(doomed()), Ids{pending.id.str()});
  EXPECT_EQ(deliveries().end_unsent(fencing(owner), death).value().changed.size(), 1U);
  EXPECT_EQ(look_at(pending.id).state, In::dead);
}

TEST_P(HubConformance, StaleOwnersChangeNothing) {
  const auto owner = own_deliveries();
  const auto running = begun(owner, added("a"));
  const auto pending = added("a");
  auto stale = owner;
  const auto place = running.shard.value;
  ++stale.fences[place].epoch.value;
  auto held = std::vector<bool>(shards(), true);
  held[place] = false;
  const auto began = begin(stale, {next_attempt(pending)});
  EXPECT_EQ(began.held, held);
  EXPECT_TRUE(began.begun.empty());
  const auto changed = change(stale, {ends(running, In::completed)});
  EXPECT_EQ(changed.held, held);
  EXPECT_TRUE(changed.changed.empty());
  const std::array death{ends(pending, In::dead)};
  EXPECT_EQ(deliveries().end_unsent(fencing(stale), death).value().held, held);
  EXPECT_EQ(look_at(running.id).state, In::in_progress);
  EXPECT_EQ(look_at(pending.id).state, In::pending);
  EXPECT_EQ(look_at(pending.id).attempt, 0U);
  // A worker that holds the shard of another scope does not hold this one.
  auto other = own_routing();
  other.scope = owner.scope;
  EXPECT_TRUE(begin(other, {next_attempt(pending)}).begun.empty());
}

TEST_P(HubConformance, DeliveriesOfShardsThatAreNotFencedAreLeftAlone) {
  if (shards() == 1) GTEST_SKIP() << "this store has one shard";
  const auto owner = own_deliveries();
  const auto running = begun(owner, added("a"));
  const auto pending = added("a");
  const auto place = static_cast<std::uint16_t>((running.shard.value + 1) % shards());
  const Owner elsewhere{owner.scope, owner.id, {owner.fences[place]}};
  const auto began = begin(elsewhere, {next_attempt(pending), of(running)});
  EXPECT_EQ(began.held, std::vector<bool>{true});
  EXPECT_TRUE(began.begun.empty());
  EXPECT_TRUE(change(elsewhere, {ends(running, In::completed)}).changed.empty());
  const std::array death{ends(pending, In::dead)};
  EXPECT_TRUE(deliveries().end_unsent(fencing(elsewhere), death).value().changed.empty());
  EXPECT_EQ(look_at(running.id).state, In::in_progress);
  EXPECT_EQ(look_at(pending.id).state, In::pending);
}

TEST_P(HubConformance, OfAKeyOnlyTheFirstOpenDeliveryBegins) {
  const auto owner = own_deliveries();
  const auto of_key = added(3, "a", "k");
  const auto other_key = added("a", "l");
  const auto other_subscription = added("b", "k");
  // Whatever their order in the call.
  const auto reply =
      begin(owner, {next_attempt(of_key[2]), next_attempt(of_key[0]), next_attempt(of_key[1]),
                    next_attempt(other_key), next_attempt(other_subscription)});
  EXPECT_EQ(reply.begun, (Attempts{next_attempt(of_key[0]), next_attempt(other_key),
                                   next_attempt(other_subscription)}));
  EXPECT_EQ(reply.waiting, (Attempts{next_attempt(of_key[2]), next_attempt(of_key[1])}));
  EXPECT_EQ(look_at(of_key[1].id).state, In::waiting);
  EXPECT_EQ(look_at(of_key[1].id).attempt, 0U);
  // What waits is not due, and is told again that it waits.
  EXPECT_TRUE(due_ids(of_key[0]).empty());
  const auto again = begin(owner, {next_attempt(of_key[1])});
  EXPECT_TRUE(again.begun.empty());
  EXPECT_EQ(again.waiting, (Attempts{next_attempt(of_key[1])}));
}

TEST_P(HubConformance, DeliveriesWithoutAKeyDoNotWait) {
  const auto owner = own_deliveries();
  const auto all = added(3, "a");
  EXPECT_EQ(begin(owner, {next_attempt(all[2]), next_attempt(all[1])}).begun.size(), 2U);
}

TEST_P(HubConformance, EndOfADeliveryFreesTheNextOfItsKey) {
  const auto owner = own_deliveries();
  const auto of_key = added(4, "a", "k");
  begin(owner, {next_attempt(of_key[0]), next_attempt(of_key[1]), next_attempt(of_key[2])});
  auto running = look_at(of_key[0].id);
  // A retry frees nobody.
  auto again = ends(running, In::pending);
  again.next_attempt_at = now();
  change(owner, {again});
  EXPECT_EQ(look_at(of_key[1].id).state, In::waiting);
  // One that was not asked for meanwhile meets the retried one.
  EXPECT_EQ(begin(owner, {next_attempt(of_key[3])}).waiting.size(), 1U);
  ended_in(owner, look_at(of_key[0].id), In::completed);
  EXPECT_EQ(look_at(of_key[1].id).state, In::pending);
  EXPECT_EQ(look_at(of_key[2].id).state, In::waiting);
  EXPECT_EQ(due_ids(of_key[1]), Ids{of_key[1].id.str()});
  ended_in(owner, look_at(of_key[1].id), In::dead);
  EXPECT_EQ(look_at(of_key[2].id).state, In::pending);
  EXPECT_EQ(look_at(of_key[3].id).state, In::waiting);
  ended_in(owner, look_at(of_key[2].id), In::completed);
  ended_in(owner, look_at(of_key[3].id), In::completed);
}

TEST_P(HubConformance, SeveralOfAKeyMayEndInOneCall) {
  const auto owner = own_deliveries();
  const auto k = added(2, "a", "k");
  const auto l = added(2, "a", "l");
  begin(owner, {next_attempt(k[0]), next_attempt(l[0]), next_attempt(k[1]), next_attempt(l[1])});
  change(owner, {ends(look_at(k[0].id), In::completed), ends(look_at(l[0].id), In::completed)});
  EXPECT_EQ(look_at(k[1].id).state, In::pending);
  EXPECT_EQ(look_at(l[1].id).state, In::pending);
}

TEST_P(HubConformance, NothingStraysWhereEveryKeyHasAHead) {
  const auto owner = own_deliveries();
  const auto of_key = added(2, "a", "k");
  begin(owner, {next_attempt(of_key[0]), next_attempt(of_key[1])});
  const spi::WaitingPage page{.shard = of_key[0].shard, .rows_max = 100};
  const auto reply = deliveries().release_strays(fencing(owner), page).value();
  EXPECT_EQ(reply.released, 0U);
  EXPECT_FALSE(reply.next);
  EXPECT_EQ(look_at(of_key[1].id).state, In::waiting);
}

TEST_P(HubConformance, WaitingDeliveriesAreLookedThroughInPages) {
  const auto owner = own_deliveries();
  std::vector<DeliveryRecord> of_key;
  for (const auto* id : {"a", "b"}) {
    const auto some = added(4, id, "k");
    of_key.insert(of_key.end(), some.begin(), some.end());
  }
  for (const auto& one : of_key) begin(owner, {next_attempt(one)});
  for (const auto& head : {of_key[0], of_key[4]}) {
    spi::WaitingPage page{.shard = head.shard, .rows_max = 2};
    // Three wait, or six where the two have one shard.
    std::uint32_t pages = 1;
    for (;; ++pages) {
      const auto reply = deliveries().release_strays(fencing(owner), page).value();
      EXPECT_EQ(reply.released, 0U);
      if (!reply.next) break;
      EXPECT_EQ(reply.next->shard, head.shard);
      EXPECT_EQ(reply.next->rows_max, 2U);
      page = *reply.next;
    }
    EXPECT_EQ(pages, of_key[0].shard == of_key[4].shard ? 4U : 2U);
  }
  auto stale = owner;
  stale.id = ids_.next<WorkerId>();
  const auto reply =
      deliveries().release_strays(fencing(stale), {.shard = of_key[0].shard, .rows_max = 2});
  EXPECT_FALSE(reply.value().next);
}

TEST_P(HubConformance, DueDeliveriesOfSeveralSubscriptionsComeAtOnce) {
  const auto a = added(3, "a");
  const auto b = added(2, "b");
  const auto c = added(1, "c");
  const auto page = [](const DeliveryRecord& of, std::uint32_t rows_max) {
    return spi::PendingPage{
        .shard = of.shard, .subscription = of.subscription, .rows_max = rows_max};
  };
  auto none = page(a[0], 10);
  none.subscription = subscription_id("nobody");
  auto rest = page(a[0], 10);
  rest.after_due = a[1].next_attempt_at;
  rest.after = a[1].sequence;
  const auto ids = [](auto&&... some) { return Ids{some.id.str()...}; };
  const auto due = [&](const std::vector<spi::PendingPage>& pages) {
    return ids_of(deliveries().due(pages).value());
  };
  EXPECT_EQ(due({page(b[0], 10), none, page(a[0], 2), page(c[0], 10)}),
            ids(b[0], b[1], a[0], a[1], c[0]));
  EXPECT_EQ(due({rest, page(b[0], 1)}), ids(a[2], b[0]));
  EXPECT_TRUE(due({}).empty());
}

TEST_P(HubConformance, DeliveriesOfADisabledSubscriptionDieUnsent) {
  const auto owner = own_deliveries();
  const auto of_key = added(3, "a", "k");
  const auto retried = ended_in(owner, added("a"), In::pending);
  added("b");
  begin(owner, {next_attempt(of_key[0]), next_attempt(of_key[1])});
  const auto doomed = [&](std::uint32_t rows_max = 100) {
    auto page = deliveries().doomed(of_key[0].shard, of_key[0].subscription, rows_max).value();
    std::ranges::sort(page, {}, &DeliveryRecord::sequence);
    return page;
  };
  EXPECT_EQ(ids_of(doomed()), (Ids{of_key[1].id.str(), of_key[2].id.str(), retried.id.str()}));
  EXPECT_EQ(doomed(2).size(), 2U);
  EXPECT_EQ(doomed()[0].state, In::waiting);
  std::vector<spi::DeliveryChange> deaths;
  std::vector<DeliveryId> ids;
  for (const auto& one : doomed()) {
    deaths.push_back(ends(one, In::dead));
    ids.push_back(one.id);
  }
  deliveries().bury(ids).value();
  // One that another attempt of meanwhile began, or that is under way, stays.
  auto raced = deaths;
  raced[2].of.attempt = 0;
  raced.push_back(ends(look_at(of_key[0].id), In::dead));
  const auto reply = deliveries().end_unsent(fencing(owner), raced).value();
  EXPECT_EQ(reply.held, std::vector<bool>(shards(), true));
  EXPECT_EQ(reply.changed, (Attempts{deaths[0].of, deaths[1].of}));
  EXPECT_EQ(look_at(of_key[0].id).state, In::in_progress);
  EXPECT_EQ(look_at(of_key[1].id).state, In::dead);
  EXPECT_EQ(look_at(retried.id).state, In::pending);
  EXPECT_EQ(deliveries().end_unsent(fencing(owner), deaths).value().changed.size(), 3U);
  EXPECT_EQ(look_at(retried.id).state, In::dead);
  EXPECT_TRUE(doomed().empty());
  EXPECT_EQ(ended_in(owner, added("b"), In::completed).state, In::completed);
}

TEST_P(HubConformance, DeathOfAHeadThatWasNotSentFreesItsKey) {
  const auto owner = own_deliveries();
  const auto of_key = added(3, "a", "k");
  begin(owner, {next_attempt(of_key[1])});
  EXPECT_EQ(look_at(of_key[1].id).state, In::waiting);
  deliveries().bury(std::array{of_key[0].id}).value();
  const std::array death{ends(of_key[0], In::dead)};
  EXPECT_EQ(deliveries().end_unsent(fencing(owner), death).value().changed.size(), 1U);
  EXPECT_EQ(look_at(of_key[1].id).state, In::pending);
  EXPECT_EQ(begin(owner, {next_attempt(of_key[1]), next_attempt(of_key[2])}).begun,
            (Attempts{next_attempt(of_key[1])}));
}

TEST_P(HubConformance, DeadDeliveryIsFrozenWithASnapshotOfItsEvent) {
  const auto owner = own_deliveries();
  const auto one = added("a");
  EXPECT_EQ(hub_admin().dead(one.id).value(), std::nullopt);
  // A snapshot alone is no death.
  deliveries().bury(std::array{one.id}).value();
  EXPECT_EQ(hub_admin().dead(one.id).value(), std::nullopt);
  const auto dead = ended_in(owner, one, In::dead);
  deliveries().bury(std::array{one.id, DeliveryId::parse("unknown").value()}).value();
  const auto found = hub_admin().dead(one.id).value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->delivery.id, one.id);
  EXPECT_EQ(found->delivery.state, In::dead);
  EXPECT_EQ(found->delivery.ended_at, dead.ended_at);
  EXPECT_EQ(found->delivery.code, Code::tx_timeout);
  EXPECT_EQ(found->event.id, one.event);
  ASSERT_NE(found->event.message, nullptr);
  EXPECT_EQ(found->event.message->payload().view(), R"({"n":1})");
  EXPECT_EQ(found->event.message->topic(), order_placed);
  // For ever.
  EXPECT_TRUE(begin(owner, {next_attempt(dead)}).begun.empty());
  EXPECT_TRUE(change(owner, {ends(dead, In::completed)}).changed.empty());
  EXPECT_EQ(look_at(one.id).state, In::dead);
}

TEST_P(HubConformance, WaitingForDeliveriesEndsByAddOrWakeOrTime) {
  std::thread waker([&] { deliveries().wake(); });
  deliveries().wait(seconds(60));
  waker.join();
  added("a");
  if (events().capabilities().notifies) deliveries().wait(seconds(60));
  deliveries().wait({});
}

}  // namespace
}  // namespace sagabox::conformance
