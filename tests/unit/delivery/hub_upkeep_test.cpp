#include "delivery/hub_upkeep.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace sagabox::delivery {
namespace {

using namespace std::chrono_literals;

/// Says who owns the deliveries.
class OwnersOnly final : public spi::OwnershipStore {
 public:
  spi::Census answer{};
  Result<spi::LeaseReply> join(const WorkerId&, Duration, std::span<const spi::Scope>,
                               std::uint16_t) override {
    return spi::LeaseReply{};
  }
  Result<spi::LeaseReply> renew(const WorkerId&, Duration) override { return spi::LeaseReply{}; }
  Result<spi::Census> census(const spi::Scope&) override { return answer; }
  Result<std::vector<spi::OwnedShard>> take(const spi::Scope&, const WorkerId&,
                                            std::uint16_t) override {
    return std::vector<spi::OwnedShard>{};
  }
  Status release(const spi::Scope&, const WorkerId&, std::span<const spi::OwnedShard>) override {
    return {};
  }
  Status withdraw(const WorkerId&, std::span<const spi::Scope>) override { return {}; }
  Status leave(const WorkerId&) override { return {}; }
};

TEST(HubStandByTest, StandsByWhileAnotherProcessOwnsTheDeliveriesAndSaysSo) {
  testing::FakeClock clock;
  testing::RecordingLogger log;
  OwnersOnly owners;
  int freed = 0;
  HubStandBy stand_by(
      {.ownership = owners, .store = "sqlite:hub.db", .clock = clock, .log = log, .free = [&] {
         ++freed;
       }});
  const auto look = [&] {
    clock.advance(HubStandBy::interval);
    (void)stand_by.step();
    return stand_by.stands_by();
  };
  const auto me = WorkerId::parse("me").value();
  const auto other = WorkerId::parse("other").value();
  EXPECT_FALSE(look()) << "nobody has it";
  owners.answer = {.live = {me}, .shards = {{.owner = me, .lease_left = 5s}}};
  EXPECT_FALSE(look());
  EXPECT_TRUE(log.lines().empty());
  owners.answer.shards[0].owner = other;
  EXPECT_TRUE(look());
  EXPECT_TRUE(look());
  ASSERT_EQ(log.lines().size(), 1U) << "once";
  EXPECT_EQ(log.lines()[0].level, LogLevel::warning);
  EXPECT_EQ(freed, 0);
  owners.answer.shards[0].lease_left = {};
  EXPECT_FALSE(look()) << "it has ended";
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(log.lines().size(), 2U);
}

class HubUpkeepTest : public ::testing::Test {
 protected:
  static constexpr std::uint16_t upkeep_shards = 2;

  /// Deliveries in these states, one a state, as they would be after their attempts.
  void store_deliveries(std::initializer_list<DeliveryState> states) {
    const std::vector<spi::Scope> scopes{spi::Scope(Orchestrator::scope)};
    const auto owner = ids.next<WorkerId>();
    ASSERT_TRUE(store.ownership().join(owner, 1h, scopes, upkeep_shards).ok());
    std::vector<spi::Fence> fences;
    for (const auto& taken : store.ownership().take(scopes[0], owner, upkeep_shards).value()) {
      fences.push_back({taken.shard, taken.epoch});
    }
    const spi::Fencing fencing{Orchestrator::scope, owner, fences};
    for (const auto state : states) {
      const auto delivery = add_delivery();
      if (state == DeliveryState::pending) continue;
      const spi::AttemptOf of{delivery.id, 1};
      ASSERT_TRUE(hub.deliveries.begin(fencing, std::span(&of, 1)).ok());
      if (!has_ended(state)) continue;
      const spi::DeliveryChange change{.of = of, .state = state};
      ASSERT_TRUE(hub.deliveries.bury(std::span(&delivery.id, 1)).ok());
      ASSERT_TRUE(hub.deliveries.change(fencing, std::span(&change, 1)).ok());
    }
  }
  DeliveryRecord add_delivery() {
    auto message =
        Message::build_shared({.topic = "a.b.c.v1", .payload = json("{}")}, {}, ids, clock);
    HubEvent event{.id = ids.next<EventId>(), .message = std::move(message).value()};
    EXPECT_TRUE(store
                    .transaction([&](OwnedTransaction& tx) {
                      return tx.events().publish(std::span(&event, 1));
                    })
                    .ok());
    SubscriptionRecord record;
    record.id = SubscriptionId::parse("a").value();
    auto delivery = delivery_of(event, Subscription(record), upkeep_shards);
    EXPECT_TRUE(hub.deliveries.add(std::span(&delivery, 1)).ok());
    return delivery;
  }
  std::size_t stored() { return hub.admin.deliveries({}).value().size(); }
  HubPurger purger(Duration retention, Duration dead_retention) {
    return HubPurger({.store = hub.admin,
                      .clock = clock,
                      .metrics = metrics,
                      .log = no_log(),
                      .retention = retention,
                      .dead_retention = dead_retention,
                      .mine = [this] { return mine; }});
  }
  HubFigureReader::Parts figures() {
    return {
        .store = hub.admin, .clock = clock, .metrics = metrics, .log = no_log(), .mine = [this] {
          return mine;
        }};
  }
  void run(runtime::PeriodicWork& work) {
    (void)work.step();
    clock.advance(HubPurger::interval);
    while (work.step()) {
    }
  }

  testing::FakeClock clock;
  std::unique_ptr<Random> random = seeded_random(1);
  UlidSource ids{clock, *random};
  testing::RecordingMetrics metrics;
  memory::MemoryStore store{{.shards = upkeep_shards, .clock = &clock}};
  HubRoles hub = store.hub().value();
  bool mine = true;
};

TEST_F(HubUpkeepTest, RemovesWhatHasCompletedAndKeepsTheDead) {
  store_deliveries({DeliveryState::completed, DeliveryState::dead, DeliveryState::pending});
  auto ended = purger(24h, {});
  run(ended);
  EXPECT_EQ(stored(), 3U) << "not old enough";
  clock.advance(25h);
  mine = false;
  run(ended);
  EXPECT_EQ(stored(), 3U) << "another process does it";
  mine = true;
  run(ended);
  EXPECT_EQ(stored(), 2U);
}

TEST_F(HubUpkeepTest, RemovesTheDeadWhereThatIsWanted) {
  store_deliveries({DeliveryState::completed, DeliveryState::dead, DeliveryState::pending});
  clock.advance(25h);
  auto dead = purger({}, 24h);
  run(dead);
  const auto left = hub.admin.deliveries({}).value();
  ASSERT_EQ(left.size(), 2U);
  for (const auto& one : left) EXPECT_NE(one.state, DeliveryState::dead);
}

TEST_F(HubUpkeepTest, ShowsWhatWaits) {
  store_deliveries({DeliveryState::pending, DeliveryState::dead, DeliveryState::in_progress});
  clock.advance(90s);
  HubBacklog backlog(figures());
  (void)backlog.step();
  EXPECT_EQ(metrics.gauge_value("hub_open", {{"state", "pending"}}), 1);
  EXPECT_EQ(metrics.gauge_value("hub_open", {{"state", "in_progress"}}), 1);
  EXPECT_EQ(metrics.gauge_value("hub_open", {{"state", "dead"}}), 1);
  EXPECT_EQ(metrics.gauge_value("hub_oldest_seconds", {}), 90);
  EXPECT_EQ(metrics.gauge_value("hub_figures_known", {{"of", "deliveries"}}), 1);
  EXPECT_EQ(backlog.next(clock.boot_now()), clock.boot_now() + HubBacklog::interval);
}

TEST_F(HubUpkeepTest, FiguresThatCannotBeReadAreNotTakenForTheOldOnes) {
  store_deliveries({DeliveryState::dead});
  HubBacklog backlog(figures());
  (void)backlog.step();
  ASSERT_EQ(metrics.gauge_value("hub_open", {{"state", "dead"}}), 1);
  store.set_faults([](memory::Operation operation) {
    return operation == memory::Operation::hub_inspect ? memory::Fault::refused
                                                       : memory::Fault::none;
  });
  clock.advance(HubBacklog::interval);
  (void)backlog.step();
  EXPECT_TRUE(std::isnan(metrics.gauge_value("hub_open", {{"state", "dead"}})));
  EXPECT_TRUE(std::isnan(metrics.gauge_value("hub_oldest_seconds", {})));
  EXPECT_EQ(metrics.gauge_value("hub_figures_known", {{"of", "deliveries"}}), 0);
  store.set_faults({});
  clock.advance(HubBacklog::interval);
  (void)backlog.step();
  EXPECT_EQ(metrics.gauge_value("hub_open", {{"state", "dead"}}), 1);
  EXPECT_EQ(metrics.gauge_value("hub_figures_known", {{"of", "deliveries"}}), 1);
}

TEST_F(HubUpkeepTest, OneProcessReadsTheFigures) {
  store_deliveries({DeliveryState::pending});
  int asked = 0;
  store.set_faults([&](memory::Operation operation) {
    if (operation == memory::Operation::hub_inspect) ++asked;
    return memory::Fault::none;
  });
  HubBacklog backlog(figures());
  HubRoutingLag lag(figures());
  const auto look = [&] {
    clock.advance(HubBacklog::interval);
    (void)backlog.step();
    (void)lag.step();
  };
  mine = false;
  look();
  EXPECT_EQ(asked, 0);
  mine = true;
  look();
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(metrics.gauge_value("hub_open", {{"state", "pending"}}), 1);
  mine = false;
  look();
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(std::isnan(metrics.gauge_value("hub_open", {{"state", "pending"}})))
      << "another process shows it";
  EXPECT_TRUE(std::isnan(metrics.gauge_value("hub_figures_known", {{"of", "events"}})));
}

TEST_F(HubUpkeepTest, ShowsHowFarTheRouterLagsBehind) {
  (void)add_delivery();  // nobody has moved the position past its event
  clock.advance(20s);
  HubRoutingLag lag(figures());
  (void)lag.step();
  EXPECT_EQ(metrics.gauge_value("hub_unrouted", {}), 1);
  EXPECT_EQ(metrics.gauge_value("hub_unrouted_seconds", {}), 20);
  EXPECT_EQ(metrics.gauge_value("hub_figures_known", {{"of", "events"}}), 1);
}

}  // namespace
}  // namespace sagabox::delivery
