#include "unit/ownership/worker_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace sagabox::ownership::testing {
namespace {

class WorkerTest : public WorkerFixture {};

TEST_F(WorkerTest, AloneItTakesEverything) {
  auto a = make(holder_a);
  EXPECT_FALSE(a->live(clock.boot_now()));
  pass({a.get()}, Duration::zero());
  EXPECT_TRUE(a->live(clock.boot_now()));
  ASSERT_EQ(holder_a.holds.size(), 8U);
  EXPECT_EQ(holder_a.holds.begin()->second.owner, a->id());
  EXPECT_EQ(holder_a.holds.begin()->second.shard.epoch, Epoch{1});
  EXPECT_FALSE(holder_a.holds.begin()->second.shard.unclean);
  EXPECT_EQ(metrics.value("ownership_shards{scope=outbox:orders}"), 8);
  EXPECT_EQ(metrics.value("ownership_taken_total{scope=outbox:orders,unclean=false}"), 8);
  EXPECT_EQ(log.count(LogLevel::info, "shards taken"), 1U);
}

TEST_F(WorkerTest, LeaseCountsFromBeforeTheRequestWasSent) {
  auto a = make(holder_a);
  const BootTime asked = clock.boot_now();
  const auto request = a->plan(asked);
  ASSERT_TRUE(request);
  auto reply = a->perform(*request);
  advance(seconds(4));
  a->apply(*request, std::move(reply), clock.boot_now());
  EXPECT_TRUE(a->live(clock.boot_now()));
  EXPECT_TRUE(a->live(asked + seconds(12) - Duration(1)));
  EXPECT_FALSE(a->live(asked + seconds(12)));
}

TEST_F(WorkerTest, RenewedLeaseCountsFromBeforeTheRequestWasSent) {
  auto a = make(holder_a);
  pass({a.get()}, milliseconds(4950));
  advance(milliseconds(50));
  const BootTime asked = clock.boot_now();
  const auto request = a->plan(asked);
  ASSERT_TRUE(request);
  ASSERT_TRUE(std::holds_alternative<Request::Renew>(request->call));
  auto reply = a->perform(*request);
  advance(seconds(4));
  a->apply(*request, std::move(reply), clock.boot_now());
  EXPECT_TRUE(a->live(asked + seconds(12) - Duration(1)));
  EXPECT_FALSE(a->live(asked + seconds(12)));
}

TEST_F(WorkerTest, RenewsOnTimeForAsLongAsItRuns) {
  auto a = make(holder_a);
  const auto id = a->id();
  pass({a.get()}, seconds(61));
  EXPECT_EQ(a->id(), id);
  EXPECT_EQ(calls[Operation::renew], 12);
  EXPECT_EQ(calls[Operation::take], 1);
  EXPECT_TRUE(holder_a.losses.empty());
}

TEST_F(WorkerTest, LeaseThatCannotBeRenewedIsGivenUpBeforeOthersMayTake) {
  auto a = make(holder_a);
  auto b = make(holder_b);
  pass({a.get()}, Duration::zero());
  const auto id = a->id();
  down = true;
  pass({a.get()}, seconds(12) - milliseconds(50));
  EXPECT_EQ(holder_a.holds.size(), 8U) << "a store that is down is no reason to stop";
  EXPECT_TRUE(a->live(clock.boot_now()));
  pass({a.get()}, milliseconds(50));
  EXPECT_FALSE(a->live(clock.boot_now()));
  EXPECT_TRUE(holder_a.holds.empty());
  EXPECT_NE(a->id(), id);
  EXPECT_EQ(metrics.value("ownership_lease_expired_total"), 1);
  EXPECT_EQ(metrics.value("ownership_lost_total{scope=outbox:orders}"), 8);
  EXPECT_EQ(metrics.value("ownership_shards{scope=outbox:orders}"), 0);
  EXPECT_EQ(log.count(LogLevel::warning, "lease expired"), 1U);

  down = false;
  pass({b.get()}, milliseconds(2900));
  EXPECT_TRUE(holder_b.holds.empty()) << "the lease still runs by the database's clock";
  pass({b.get()}, seconds(2));
  ASSERT_EQ(holder_b.holds.size(), 8U);
  EXPECT_TRUE(holder_b.acquisitions.front().unclean);
  EXPECT_EQ(holder_b.acquisitions.front().epoch, Epoch{2});
  EXPECT_EQ(metrics.value("ownership_taken_total{scope=outbox:orders,unclean=true}"), 8);
}

TEST_F(WorkerTest, HandsOverOneShardAtATimeAndOnlyWhenIdle) {
  auto a = make(holder_a);
  auto b = make(holder_b);
  pass({a.get()}, Duration::zero());
  holder_a.busy.insert(Shard{6});
  pass({a.get(), b.get()}, seconds(5));
  EXPECT_EQ(holder_a.drains, (std::vector{Shard{7}, Shard{6}}));
  EXPECT_EQ(holder_a.draining(), 1U);
  EXPECT_EQ(holder_b.holds.size(), 1U);
  holder_a.busy.clear();
  pass({a.get(), b.get()}, seconds(3));
  EXPECT_EQ(holder_a.holds.size(), 4U);
  ASSERT_EQ(holder_b.holds.size(), 4U);
  for (const auto& shard : holder_b.acquisitions) {
    EXPECT_FALSE(shard.unclean);
    EXPECT_EQ(shard.epoch, Epoch{2});
  }
  EXPECT_EQ(metrics.value("ownership_lost_total{scope=outbox:orders}"), 0)
      << "what is handed over is not lost";
}

TEST_F(WorkerTest, OneLeaseServesScopesOfDifferentSizes) {
  auto a = make({{.scope = scope_name, .shards = 8, .holder = &holder_a},
                 {.scope = "purge:orders", .shards = 1, .holder = &holder_b}});
  pass({a.get()}, seconds(20));
  EXPECT_EQ(holder_a.holds.size(), 8U);
  EXPECT_EQ(holder_b.holds.size(), 1U);
  EXPECT_EQ(calls[Operation::join], 2);
  EXPECT_EQ(calls[Operation::renew], 4);
}

TEST_F(WorkerTest, SlowStoreServesAllScopesInTurn) {
  auto a = make({{.scope = "a", .shards = 2, .holder = &holder_a},
                 {.scope = "b", .shards = 2, .holder = &holder_b},
                 {.scope = "c", .shards = 2, .holder = &holder_c}});
  for (int i = 0; i < 20; ++i) {
    const auto request = a->plan(clock.boot_now());
    advance(milliseconds(1200));
    if (request) a->apply(*request, a->perform(*request), clock.boot_now());
  }
  EXPECT_EQ(holder_a.holds.size(), 2U);
  EXPECT_EQ(holder_b.holds.size(), 2U);
  EXPECT_EQ(holder_c.holds.size(), 2U);
}

TEST_F(WorkerTest, ScopeWithAnotherShardCountIsRetriedAndSaidOnce) {
  const auto stranger = WorkerId::parse("zz-stranger").value();
  ASSERT_TRUE(store.join(stranger, seconds(1), std::vector<spi::Scope>{scope_name}, 4).ok());
  auto a = make(holder_a);
  pass({a.get()}, seconds(10));
  EXPECT_FALSE(a->live(clock.boot_now()));
  EXPECT_EQ(log.count(LogLevel::warning, "ownership call failed"), 1U);
  EXPECT_LE(calls[Operation::join], 15);
}

TEST_F(WorkerTest, NothingIsWantedBeforeItIsDue) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  for (int i = 0; i < 200; ++i) {
    const BootTime due = a->next_due();
    ASSERT_GT(due, clock.boot_now());
    EXPECT_FALSE(a->plan(due - Duration(1)));
    advance(due - clock.boot_now());
    EXPECT_TRUE(a->step());
    while (a->step()) {
    }
  }
}

TEST_F(WorkerTest, RequestWithoutItsReplyIsAProgrammersError) {
  auto a = make(holder_a);
  ASSERT_TRUE(a->plan(clock.boot_now()));
  EXPECT_THROW((void)a->plan(clock.boot_now()), std::logic_error);
}

TEST_F(WorkerTest, RefusesScopesItCannotServe) {
  EXPECT_THROW(make({{.scope = "a", .shards = 0, .holder = &holder_a}}), std::invalid_argument);
  EXPECT_THROW(make({{.scope = "a", .holder = nullptr}}), std::invalid_argument);
  EXPECT_THROW(make({{.scope = "a", .holder = &holder_a}, {.scope = "a", .holder = &holder_b}}),
               std::invalid_argument);
}

TEST(WorkerOptionsTest, CheckNamesWhatIsWrong) {
  EXPECT_TRUE(WorkerOptions{}.check().ok());
  WorkerOptions options;
  options.lease = seconds(2);
  EXPECT_NE(options.check().error().message.find("lease_margin 3s"), std::string::npos);
  options = {};
  options.renew_interval = seconds(12);
  EXPECT_NE(options.check().error().message.find("renew_interval 12s"), std::string::npos);
  options = {};
  options.census_interval = {};
  EXPECT_FALSE(options.check().ok());
}

TEST(WorkerOptionsTest, EveryLeaseHasFittingIntervals) {
  EXPECT_EQ(WorkerOptions::for_lease(seconds(15)).renew_interval, seconds(5));
  EXPECT_EQ(WorkerOptions::for_lease(seconds(15)).lease_margin, seconds(3));
  EXPECT_EQ(WorkerOptions::for_lease(seconds(15)).census_interval, seconds(1));
  EXPECT_TRUE(WorkerOptions::for_lease(milliseconds(30)).check().ok());
  EXPECT_TRUE(WorkerOptions::for_lease(std::chrono::hours(1)).check().ok());
}

TEST_F(WorkerTest, OthersMayAskAndTellWhileItSteps) {
  auto a = make(holder_a);
  std::atomic<bool> done{false};
  std::uint64_t asked = 0;
  std::thread others([&] {
    while (!done.load()) {
      asked += a->live(BootTime(std::chrono::hours(1))) && !a->id().empty() ? 1U : 0U;
      a->shard_lost(scope_name, Shard{static_cast<std::uint16_t>(asked % 8)}, Epoch{1});
      if (asked % 64 == 0) a->timeline_changed(Timeline{12345});
      ++asked;
    }
    a->begin_stop();
  });
  pass({a.get()}, seconds(60));
  done.store(true);
  others.join();
  pass({a.get()}, seconds(20));
  EXPECT_TRUE(a->stopped());
  EXPECT_TRUE(holder_a.violations.empty());
}

}  // namespace
}  // namespace sagabox::ownership::testing
