#include "delivery/router/router.hpp"

#include "support/hub_hand.hpp"
#include "support/hub_log_fields.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::delivery {
namespace {

using namespace std::chrono_literals;
using memory::Fault;
using memory::Operation;

/// Refuses the deliveries of one event for good, as a store does with what it cannot keep. All but
/// `add` is never called.
class RefusingDeliveries final : public spi::DeliveryStore {
 public:
  RefusingDeliveries(spi::DeliveryStore& store, EventId refused)
      : store_(store), refused_(refused) {}

  Result<std::uint64_t> add(std::span<const DeliveryRecord> deliveries) override {
    ++calls;
    for (const auto& delivery : deliveries) {
      if (delivery.event == refused_) return Error{Code::schema_validation_failed, "too long"};
    }
    return store_.add(deliveries);
  }
  Result<std::vector<spi::OpenSubscription>> open(Shard, const SubscriptionId&,
                                                  std::uint32_t) override {
    return not_here();
  }
  Result<std::vector<DeliveryRecord>> due(std::span<const spi::PendingPage>) override {
    return not_here();
  }
  Result<std::vector<DeliveryRecord>> in_progress(Shard, const DeliveryId&,
                                                  std::uint32_t) override {
    return not_here();
  }
  Result<BeginReply> begin(const spi::Fencing&, std::span<const spi::AttemptOf>) override {
    return not_here();
  }
  Result<ChangeReply> change(const spi::Fencing&, std::span<const spi::DeliveryChange>) override {
    return not_here();
  }
  Result<std::vector<DeliveryRecord>> doomed(Shard, const SubscriptionId&, std::uint32_t) override {
    return not_here();
  }
  Result<ChangeReply> end_unsent(const spi::Fencing&,
                                 std::span<const spi::DeliveryChange>) override {
    return not_here();
  }
  Result<StraysReply> release_strays(const spi::Fencing&, const spi::WaitingPage&) override {
    return not_here();
  }
  Status bury(std::span<const DeliveryId>) override { return not_here(); }
  Status make_jobs(std::span<const JobRecord>) override { return not_here(); }
  Result<std::vector<spi::AttemptOf>> without_job(std::span<const spi::AttemptOf>) override {
    return not_here();
  }
  Result<std::vector<spi::EndedJob>> ended(Shard, std::uint32_t) override { return not_here(); }
  Status seen(std::span<const spi::AttemptOf>) override { return not_here(); }
  Result<DisableReply> disable(const spi::Fencing&, const SubscriptionId&, std::uint64_t,
                               std::string_view, std::span<const AuditEvent>) override {
    return not_here();
  }
  Result<std::vector<SubscriptionRecord>> named(std::span<const SubscriptionId>) override {
    return not_here();
  }
  Result<std::vector<SubscriptionRecord>> subscriptions(std::uint64_t) override {
    return not_here();
  }
  void wait(Duration) override {}
  void wake() override {}

  int calls = 0;

 private:
  static Error not_here() { return {Code::unknown_internal, "not the router's"}; }

  spi::DeliveryStore& store_;
  EventId refused_;
};

class HubRouterTest : public ::testing::Test {
 protected:
  HubRouterTest() {
    store.set_faults([this](Operation operation) {
      ++calls[operation];
      const auto planned = faults.find(operation);
      if (planned == faults.end()) return Fault::none;
      return planned->second;
    });
  }

  std::unique_ptr<Router> router_with(RouterOptions options = {},
                                      spi::DeliveryStore* deliveries = nullptr) {
    auto& roles = hand.roles();
    return std::make_unique<Router>(
        RouterParts{.events = roles.events,
                    .deliveries = deliveries == nullptr ? roles.deliveries : *deliveries,
                    .types = &types,
                    .audit = &store.audit(),
                    .clock = clock,
                    .metrics = metrics,
                    .log = log},
        options);
  }
  /// Owns every shard.
  std::unique_ptr<Router> owner(RouterOptions options = {},
                                spi::DeliveryStore* deliveries = nullptr) {
    auto router = router_with(options, deliveries);
    give(*router);
    return router;
  }
  void give(Router& router) {
    if (shards.empty()) me = hand.own(spi::Scope(Router::scope), shards);
    const auto timeline = hand.roles().events.read({}, 1, 0).value().events.timeline;
    for (const auto& shard : shards) router.acquired(shard, me, timeline);
  }
  void run(Router& router) {
    router.wake();
    for (int i = 0; i < 1000; ++i) {
      if (router.step()) continue;
      const auto wait = router.next(clock.boot_now()) - clock.boot_now();
      // A pause after an error, or until positions may be moved.
      if (i > 0 && wait > 50ms) return;
      clock.advance(std::max<Duration>(wait, 1ms));
    }
    FAIL() << "does not come to rest";
  }
  Sequence position() {
    Sequence highest{};
    std::vector<Shard> all;
    for (std::uint16_t number = 0; number < hand.shards(); ++number) all.push_back(Shard{number});
    for (const auto& one : hand.roles().events.positions(all).value()) {
      highest = std::max(highest, one.position);
    }
    return highest;
  }

  testing::FakeClock clock;
  std::unique_ptr<Random> random = seeded_random(1);
  testing::RecordingMetrics metrics;
  testing::RecordingLogger log;
  EventTypes types;
  memory::MemoryStore store{{.clock = &clock}};
  testing::HubHand hand{store, clock, *random};
  std::map<Operation, Fault> faults;
  std::map<Operation, int> calls;
  std::vector<spi::OwnedShard> shards;
  WorkerId me{};
};

TEST_F(HubRouterTest, EachMatchingSubscriptionGetsOneDelivery) {
  hand.subscribe("a");
  hand.subscribe("b", R"({"filter": {"n": 2}})");
  hand.subscribe("c", R"({"order": "key"})");
  const auto event = hand.publish("k");
  auto router = owner();
  run(*router);
  const auto made = hand.deliveries();
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].id, delivery_id_of(event.id, SubscriptionId::parse("a").value(), 0));
  EXPECT_EQ(made[0].key, "");
  EXPECT_EQ(made[1].subscription.str(), "c");
  EXPECT_EQ(made[1].key, "k");
  EXPECT_EQ(made[1].state, DeliveryState::pending);
  EXPECT_EQ(router->snapshot().events, 1U);
  EXPECT_EQ(router->snapshot().deliveries, 2U);
  EXPECT_EQ(metrics.counter_value("hub_deliveries_total", {}), 2);
}

TEST_F(HubRouterTest, LogsWhomADeliveryIsAbout) {
  hand.subscribe("a");
  NewMessage draft{.topic = "shop.order.placed.v1", .payload = json("{}")};
  draft.trace.correlation_id = "c-7";
  hand.publish(std::move(draft));
  const auto router = owner();
  run(*router);
  const auto lines = testing::lines_of(log, "an event has a delivery");
  ASSERT_EQ(lines.size(), 1U);
  const auto made = hand.deliveries().at(0);
  EXPECT_EQ(made.correlation_id, "c-7");
  testing::expect_about(lines[0], made, 0, DeliveryState::pending);
}

TEST_F(HubRouterTest, EventThatDoesNotFitTheCatalogueIsDeliveredWithAWarning) {
  types.known["shop.order.placed.v1"] = {};
  types.known_only = true;
  hand.subscribe("a");
  hand.publish();
  const auto unfit = hand.publish({.topic = "shop.order.lost.v1", .payload = json("{}")});
  hand.publish({.topic = "hub.subscription.disabled.v1", .payload = json("{}")}, "hub");
  const auto router = owner();
  run(*router);
  EXPECT_EQ(hand.deliveries().size(), 3U) << "it is stored, and whoever published it was told so";
  EXPECT_EQ(router->snapshot().unfit, 1U) << "the hub's own events are in no catalogue";
  EXPECT_EQ(metrics.counter_value("hub_unfit_total", {}), 1);
  const auto lines = testing::lines_of(
      log, "an event does not fit the catalogue of event types, and is delivered as it is");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].level, LogLevel::warning);
  EXPECT_EQ(lines[0].fields.at("event_id"), unfit.id.str());
  EXPECT_EQ(lines[0].fields.at("error"),
            "type \"shop.order.lost.v1\" is not in the catalogue of event types");
}

TEST_F(HubRouterTest, AnotherOneAfterACrashMakesNothingTwice) {
  hand.subscribe("a");
  for (int i = 0; i < 5; ++i) hand.publish("k");
  faults[Operation::hub_move] = Fault::refused;
  auto first = owner();
  run(*first);
  EXPECT_EQ(position(), Sequence{});
  EXPECT_EQ(hand.deliveries().size(), 5U);
  first.reset();
  faults.clear();
  auto second = owner();
  run(*second);
  EXPECT_EQ(hand.deliveries().size(), 5U);
  EXPECT_EQ(second->snapshot().events, 5U);
  EXPECT_EQ(second->snapshot().deliveries, 0U);
  EXPECT_GT(position(), Sequence{});
}

TEST_F(HubRouterTest, PositionStaysWhileDeliveriesAreNotAdded) {
  hand.subscribe("a");
  hand.publish("k");
  for (const auto fault : {Fault::refused, Fault::lost_before}) {
    faults[Operation::hub_add] = fault;
    auto router = owner();
    router->wake();
    for (int i = 0; i < 200; ++i) {
      router->step();
      clock.advance(20ms);
    }
    EXPECT_EQ(position(), Sequence{});
    EXPECT_EQ(hand.deliveries().size(), 0U);
  }
  faults.clear();
  auto router = owner();
  run(*router);
  EXPECT_EQ(hand.deliveries().size(), 1U);
  EXPECT_GT(position(), Sequence{});
}

TEST_F(HubRouterTest, NextOwnerBeginsWhereTheOneBeforeStopped) {
  hand.subscribe("a");
  hand.publish("k");
  auto first = owner();
  run(*first);
  clock.advance(1s);
  run(*first);
  first.reset();
  hand.publish("k");
  auto second = owner();
  run(*second);
  EXPECT_EQ(second->snapshot().events, 1U);
  EXPECT_EQ(hand.deliveries().size(), 2U);
}

TEST_F(HubRouterTest, WritesOfALargeFanOutAreBounded) {
  for (int i = 0; i < 10; ++i) hand.subscribe("s" + std::to_string(i));
  hand.publish("k");
  hand.publish("k");
  auto router = owner({.deliveries_max = 4});
  run(*router);
  EXPECT_EQ(hand.deliveries().size(), 20U);
  EXPECT_EQ(calls[Operation::hub_add], 6);  // 4, 4, 2 of each
  EXPECT_GT(position(), Sequence{});
}

TEST_F(HubRouterTest, DeliveriesOfAKeyAreMadeInTheOrderOfTheirEvents) {
  hand.subscribe("a", R"({"order": "key"})");
  std::vector<EventId> sent;
  for (int i = 0; i < 20; ++i) sent.push_back(hand.publish("k").id);
  auto router = owner({.read_rows_max = 3, .deliveries_max = 2});
  run(*router);
  std::vector<EventId> made;
  for (const auto& delivery : hand.deliveries()) made.push_back(delivery.event);
  EXPECT_EQ(made, sent);
}

TEST_F(HubRouterTest, SubscriptionThatCannotBeReadHoldsUpNoOther) {
  auto broken = hand.subscribe("a");
  broken.settings = R"({"from_a_newer_version": 1})";
  hand.subscribe(broken);
  hand.subscribe("b", R"({"filter": {"a.b.c": {"gt": 1}}})");
  hand.subscribe("c");
  hand.publish({.topic = "t", .payload = bytes("no JSON")});
  auto router = owner();
  run(*router);
  const auto made = hand.deliveries();
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].subscription.str(), "a");
  EXPECT_EQ(made[1].subscription.str(), "c");
}

TEST_F(HubRouterTest, DeliveryThatTheStoreRefusesHoldsUpNoOther) {
  hand.subscribe("a");
  hand.subscribe("b");
  std::vector<HubEvent> sent;
  for (int i = 0; i < 8; ++i) sent.push_back(hand.publish("k"));
  RefusingDeliveries refusing(hand.roles().deliveries, sent[3].id);
  auto router = owner({}, &refusing);
  run(*router);
  EXPECT_EQ(hand.deliveries().size(), 14U);
  EXPECT_EQ(router->snapshot().refused, 2U);
  EXPECT_EQ(metrics.counter_value("hub_refused_total", {}), 2);
  EXPECT_GT(position(), Sequence{});
  EXPECT_LT(refusing.calls, 30);
}

TEST_F(HubRouterTest, DeliveryThatTheStoreRefusesIsInTheAuditLogBeforeThePositionMoves) {
  hand.subscribe("a");
  const auto sent = hand.publish("k");
  RefusingDeliveries refusing(hand.roles().deliveries, sent.id);
  auto router = owner({}, &refusing);
  faults[Operation::audit] = Fault::refused;
  run(*router);
  EXPECT_EQ(router->snapshot().refused, 0U);
  EXPECT_EQ(position(), Sequence{}) << "nobody would find it any more";
  faults.clear();
  clock.advance(1min);
  run(*router);
  EXPECT_GT(position(), Sequence{});
  const auto log_entries = store.audit().read(0, 10).value();
  ASSERT_EQ(log_entries.size(), 1U);
  const auto& told = log_entries[0].event;
  EXPECT_EQ(told.kind, AuditKind::dead_letter);
  EXPECT_EQ(told.message_id, delivery_id_of(sent.id, SubscriptionId::parse("a").value(), 0).view());
  EXPECT_EQ(told.code, "SCHEMA.VALIDATION_FAILED");
  EXPECT_NE(told.detail.find("event " + sent.id.str() + " for subscription a"), std::string::npos);
  EXPECT_NE(told.detail.find("too long"), std::string::npos);
}

TEST_F(HubRouterTest, EventsBeforeTheActivationAreNotForIt) {
  hand.publish("k");
  clock.advance(1s);
  hand.subscribe("a");
  clock.advance(1s);
  auto router = owner();
  run(*router);
  EXPECT_EQ(hand.deliveries().size(), 0U);
  hand.publish("k");
  run(*router);
  EXPECT_EQ(hand.deliveries().size(), 1U);
}

TEST_F(HubRouterTest, ChangedSubscriptionCountsFromItsOwnTimeOn) {
  auto record = hand.subscribe("a");
  auto router = owner();
  hand.publish("k");
  run(*router);
  record.state = SubscriptionState::disabled;
  hand.subscribe(record);
  hand.publish("k");
  run(*router);
  EXPECT_EQ(hand.deliveries().size(), 1U);
}

TEST_F(HubRouterTest, WhoHasLostItsShardsMovesNoPosition) {
  hand.subscribe("a");
  auto old = owner({.move_interval = 0s});
  run(*old);
  hand.publish("k");
  // Another process has taken over meanwhile.
  clock.advance(25h);
  std::vector<spi::OwnedShard> taken;
  hand.own(spi::Scope(Router::scope), taken);
  ASSERT_EQ(taken.size(), hand.shards());
  run(*old);
  EXPECT_EQ(position(), Sequence{});
  EXPECT_LT(old->snapshot().shards_owned, hand.shards());
  const auto after = old->snapshot().events;
  hand.publish("k");
  run(*old);
  EXPECT_EQ(old->snapshot().events, after);
}

TEST_F(HubRouterTest, DrainedShardIsIdleOnceItsDeliveriesAreAdded) {
  hand.subscribe("a");
  const auto event = hand.publish("k");
  const auto shard = spi::event_shard(event, hand.shards());
  auto router = owner();
  faults[Operation::hub_add] = Fault::refused;
  for (int i = 0; i < 20; ++i) router->step();
  EXPECT_FALSE(router->idle(shard));
  router->drain(shard);
  EXPECT_FALSE(router->idle(shard));
  faults.clear();
  run(*router);
  EXPECT_TRUE(router->idle(shard));
  hand.publish("k");
  run(*router);
  EXPECT_EQ(hand.deliveries().size(), 1U);
  router->lost(shard);
  EXPECT_EQ(router->snapshot().shards_owned, hand.shards() - 1U);
}

TEST_F(HubRouterTest, AfterAFailOverItKnowsOnlyWhatIsThere) {
  hand.subscribe("a");
  auto router = owner();
  run(*router);
  store.checkpoint();
  hand.subscribe("lost");
  hand.publish("k");
  run(*router);
  EXPECT_EQ(hand.deliveries().size(), 2U);
  ASSERT_TRUE(store.fail_over());
  hand.publish("k");
  for (int i = 0; i < 10; ++i) router->step();
  EXPECT_EQ(hand.deliveries().size(), 0U) << "of another timeline than that of its shards";
  for (const auto& shard : shards) router->lost(shard.shard);
  give(*router);
  run(*router);
  ASSERT_EQ(hand.deliveries().size(), 1U);
  EXPECT_EQ(hand.deliveries()[0].subscription.str(), "a");
}

}  // namespace
}  // namespace sagabox::delivery
