#include "ownership/worker.hpp"

#include "support/ownership.hpp"

#include <sagabox/stores/memory.hpp>

#include <gtest/gtest.h>

#include <map>
#include <thread>

namespace sagabox::ownership {
namespace {

using memory::Fault;
using memory::Operation;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ManualClock;
using testing::RecordingHolder;
using testing::RecordingLog;
using testing::RecordingMetrics;
using testing::run;

constexpr auto scope_name = "outbox:orders";

class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest() {
    database.set_faults([this](Operation operation) {
      ++calls[operation];
      auto& planned = faults[operation];
      if (planned.empty()) return down ? Fault::refused : Fault::none;
      const Fault fault = planned.front();
      planned.pop_front();
      return fault;
    });
  }

  std::unique_ptr<Worker> make(RecordingHolder& holder, Share share = Share::even) {
    return make({{.scope = scope_name, .shards = 8, .share = share, .holder = &holder}});
  }
  std::unique_ptr<Worker> make(std::vector<ScopeOptions> scopes) {
    return std::make_unique<Worker>(
        WorkerParts{.store = store, .ids = ids, .clock = clock, .metrics = metrics, .log = log},
        std::move(scopes), WorkerOptions{});
  }
  /// Time goes on for the database and the workers alike.
  void advance(Duration by) {
    clock.advance(by);
    database_clock.advance(by);
  }
  void pass(const std::vector<Worker*>& workers, Duration time) {
    const auto slice = milliseconds(50);
    for (Duration gone{}; gone < time; gone += slice) {
      run(clock, workers, Duration::zero());
      advance(slice);
    }
    run(clock, workers, Duration::zero());
  }
  spi::Census census(const spi::Scope& scope = scope_name) {
    for (;;) {
      if (auto counted = store.census(scope); counted.ok()) return *counted;
    }
  }
  std::size_t owned_by(const WorkerId& worker) {
    std::size_t count = 0;
    for (const auto& shard : census().shards) count += shard.owner == worker ? 1 : 0;
    return count;
  }

  ManualClock clock;
  ManualClock database_clock;
  memory::MemoryStore database{memory::Options{.clock = &database_clock}};
  spi::OwnershipStore& store = database.ownership();
  std::unique_ptr<Random> random = seeded_random(7);
  UlidSource ids{clock, *random};
  RecordingMetrics metrics;
  RecordingLog log;
  std::map<Operation, std::deque<Fault>> faults;
  std::map<Operation, int> calls;
  bool down = false;

  RecordingHolder holder_a;
  RecordingHolder holder_b;
};

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

TEST_F(WorkerTest, StoreThatIsDownIsAskedAtAMeasuredPace) {
  down = true;
  auto a = make(holder_a);
  pass({a.get()}, seconds(60));
  EXPECT_GE(calls[Operation::join], 55);
  EXPECT_LE(calls[Operation::join], 65);
  down = false;
  pass({a.get()}, seconds(2));
  EXPECT_EQ(holder_a.holds.size(), 8U);
}

TEST_F(WorkerTest, ReplyThatComesAfterTheLeaseIsIgnored) {
  auto a = make(holder_a);
  while (calls[Operation::census] == 0) (void)a->step();
  const auto take = a->plan(clock.boot_now());
  ASSERT_TRUE(take);
  ASSERT_TRUE(std::holds_alternative<Request::Take>(take->call));
  auto reply = a->perform(*take);
  advance(seconds(13));
  a->apply(*take, std::move(reply), clock.boot_now());
  EXPECT_TRUE(holder_a.acquisitions.empty());
  EXPECT_NE(a->id(), take->worker);
  pass({a.get()}, seconds(4));
  EXPECT_EQ(holder_a.holds.size(), 8U) << "taken again from the id it had before";
  EXPECT_TRUE(holder_a.acquisitions.front().unclean);
}

TEST_F(WorkerTest, StoreThatSaysTheLeaseRanOutIsBelieved) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  const auto id = a->id();
  database_clock.advance(seconds(20));
  pass({a.get()}, milliseconds(1100));
  EXPECT_NE(a->id(), id);
  EXPECT_EQ(holder_a.losses.size(), 8U);
  EXPECT_EQ(metrics.value("ownership_lease_expired_total"), 1);
  pass({a.get()}, seconds(2));
  EXPECT_EQ(holder_a.holds.size(), 8U);
  EXPECT_TRUE(holder_a.violations.empty());
}

TEST_F(WorkerTest, RenewalThatCameTooLateStartsOver) {
  auto a = make(holder_a);
  pass({a.get()}, milliseconds(4950));
  const auto id = a->id();
  const auto counted = calls[Operation::census];
  advance(milliseconds(50));
  database_clock.advance(seconds(20));
  ASSERT_TRUE(a->step());
  EXPECT_EQ(calls[Operation::renew], 1);
  EXPECT_EQ(calls[Operation::census], counted) << "the renewal alone told";
  EXPECT_NE(a->id(), id);
  EXPECT_FALSE(a->live(clock.boot_now()));
  EXPECT_TRUE(holder_a.holds.empty());
}

TEST_F(WorkerTest, RenewInDoubtIsAskedAgain) {
  auto a = make(holder_a);
  faults[Operation::renew] = {Fault::lost_after, Fault::lost_before, Fault::refused};
  const auto id = a->id();
  pass({a.get()}, seconds(30));
  EXPECT_EQ(a->id(), id);
  EXPECT_TRUE(holder_a.losses.empty());
  EXPECT_GE(calls[Operation::renew], 8);
}

TEST_F(WorkerTest, JoinInDoubtIsRepeatedUnderTheSameId) {
  auto a = make(holder_a);
  const auto id = a->id();
  faults[Operation::join] = {Fault::lost_after, Fault::lost_before};
  pass({a.get()}, seconds(1));
  EXPECT_EQ(a->id(), id);
  EXPECT_EQ(census().live, std::vector{id});
  EXPECT_EQ(holder_a.holds.size(), 8U);
}

TEST_F(WorkerTest, TakeInDoubtIsAdoptedAsUnclean) {
  auto a = make(holder_a);
  faults[Operation::take] = {Fault::lost_after};
  pass({a.get()}, milliseconds(150));
  ASSERT_EQ(holder_a.holds.size(), 8U);
  EXPECT_EQ(calls[Operation::take], 1);
  EXPECT_TRUE(holder_a.acquisitions.front().unclean);
  EXPECT_EQ(holder_a.acquisitions.front().epoch, Epoch{1});
}

TEST_F(WorkerTest, TakeInDoubtThatDidNotHappenIsMadeAgain) {
  auto a = make(holder_a);
  faults[Operation::take] = {Fault::lost_before};
  pass({a.get()}, seconds(1));
  ASSERT_EQ(holder_a.holds.size(), 8U);
  EXPECT_EQ(calls[Operation::take], 2);
  EXPECT_FALSE(holder_a.acquisitions.front().unclean);
}

TEST_F(WorkerTest, ReleaseInDoubtIsRepeatedAndNeverTakenBackBlindly) {
  for (const Fault fault : {Fault::lost_after, Fault::lost_before, Fault::refused}) {
    SCOPED_TRACE(static_cast<int>(fault));
    auto a = make(holder_a);
    pass({a.get()}, Duration::zero());
    const auto acquired_before = holder_a.acquisitions.size();
    calls.clear();
    faults[Operation::release] = {fault};
    a->begin_stop();
    pass({a.get()}, Duration::zero());
    EXPECT_FALSE(a->stopped());
    pass({a.get()}, milliseconds(150));
    EXPECT_TRUE(a->stopped());
    EXPECT_EQ(calls[Operation::release], 2);
    EXPECT_EQ(holder_a.acquisitions.size(), acquired_before);
    for (const auto& shard : census().shards) EXPECT_TRUE(shard.owner.empty());
  }
}

TEST_F(WorkerTest, ShardThatTheStoreGivesToAnotherIsLost) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  const auto stranger = WorkerId::parse("zz-stranger").value();
  ASSERT_TRUE(store.join(stranger, seconds(15), std::vector<spi::Scope>{scope_name}, 8).ok());
  const std::vector<spi::OwnedShard> given{{Shard{2}, Epoch{1}}};
  ASSERT_TRUE(store.release(scope_name, a->id(), given).ok());
  ASSERT_EQ(store.take(scope_name, stranger, 1)->size(), 1U);
  pass({a.get()}, seconds(1));
  EXPECT_FALSE(holder_a.holds.contains(Shard{2}));
  EXPECT_EQ(metrics.value("ownership_lost_total{scope=outbox:orders}"), 1);
  EXPECT_EQ(log.count(LogLevel::warning, "shards lost"), 1U);
}

TEST_F(WorkerTest, BrokenFenceIsHandledInTheNextStepOnly) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  a->shard_lost(scope_name, Shard{3}, Epoch{1});
  EXPECT_TRUE(holder_a.holds.contains(Shard{3}));
  EXPECT_LE(a->next_due(), clock.boot_now());
  (void)a->step();
  EXPECT_FALSE(holder_a.holds.contains(Shard{3}));
}

TEST_F(WorkerTest, BrokenFenceOfAnOlderEpochIsIgnored) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  a->shard_lost(scope_name, Shard{3}, Epoch{0});
  a->shard_lost("outbox:other", Shard{3});
  (void)a->step();
  EXPECT_TRUE(holder_a.losses.empty());
}

TEST_F(WorkerTest, ShardLostByMistakeComesBackAtAHigherEpoch) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  a->shard_lost(scope_name, Shard{3});
  pass({a.get()}, seconds(3));
  ASSERT_TRUE(holder_a.holds.contains(Shard{3}));
  EXPECT_EQ(holder_a.holds[Shard{3}].shard.epoch, Epoch{2})
      << "what still runs of the lost hold must be fenced off";
}

TEST_F(WorkerTest, OtherTimelineInAReplyStartsOver) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  const auto id = a->id();
  const auto before = holder_a.holds.begin()->second.timeline;
  database.checkpoint();
  ASSERT_TRUE(database.fail_over());
  pass({a.get()}, milliseconds(1050));
  EXPECT_NE(a->id(), id);
  EXPECT_EQ(holder_a.losses.size(), 8U);
  pass({a.get()}, seconds(17));
  ASSERT_EQ(holder_a.holds.size(), 8U);
  EXPECT_NE(holder_a.holds.begin()->second.timeline, before);
  EXPECT_EQ(metrics.value("ownership_lease_expired_total"), 0);
}

TEST_F(WorkerTest, TimelineSeenByTheRelayStartsOverInTheNextStep) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  const auto id = a->id();
  const auto joined = holder_a.holds.begin()->second.timeline;
  a->timeline_changed(joined);
  (void)a->step();
  EXPECT_EQ(a->id(), id) << "the one it has joined is no news";
  a->timeline_changed(Timeline{joined.value + 1});
  EXPECT_EQ(holder_a.holds.size(), 8U);
  (void)a->step();
  EXPECT_TRUE(holder_a.holds.empty());
  EXPECT_FALSE(a->live(clock.boot_now()));
  EXPECT_NE(a->id(), id);
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

TEST_F(WorkerTest, StopReleasesEverythingAndLeaves) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  a->begin_stop();
  pass({a.get()}, Duration::zero());
  EXPECT_TRUE(a->stopped());
  EXPECT_FALSE(a->live(clock.boot_now()));
  EXPECT_EQ(a->next_due(), BootTime::max());
  EXPECT_TRUE(census().live.empty());
  for (const auto& shard : census().shards) EXPECT_TRUE(shard.owner.empty());
  a->timeline_changed();
  EXPECT_FALSE(a->step());
  EXPECT_TRUE(a->stopped());
}

TEST_F(WorkerTest, NothingIsLiveOnceTheLeaveIsOnItsWay) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  a->begin_stop();
  ASSERT_TRUE(a->step()) << "the release";
  const auto leave = a->plan(clock.boot_now());
  ASSERT_TRUE(leave);
  ASSERT_TRUE(std::holds_alternative<Request::Leave>(leave->call));
  EXPECT_FALSE(a->live(clock.boot_now()));
}

TEST_F(WorkerTest, StopWaitsForTheBusyAndKeepsItsLease) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  holder_a.busy = {Shard{0}, Shard{5}};
  a->begin_stop();
  pass({a.get()}, seconds(30));
  EXPECT_FALSE(a->stopped());
  EXPECT_TRUE(a->live(clock.boot_now()));
  EXPECT_EQ(owned_by(a->id()), 2U);
  holder_a.busy.clear();
  pass({a.get()}, milliseconds(50));
  EXPECT_TRUE(a->stopped());
  EXPECT_EQ(owned_by(a->id()), 0U);
}

TEST_F(WorkerTest, AbandonedShardsAreTakenOverAsUncleanAtOnce) {
  auto a = make(holder_a);
  auto b = make(holder_b);
  pass({a.get()}, Duration::zero());
  holder_a.busy = {Shard{0}, Shard{5}};
  a->begin_stop();
  pass({a.get()}, seconds(5));
  a->abandon_remaining();
  pass({a.get()}, Duration::zero());
  EXPECT_TRUE(a->stopped());
  EXPECT_TRUE(holder_a.holds.empty());
  EXPECT_EQ(log.count(LogLevel::warning, "shards lost"), 1U);
  pass({b.get()}, Duration::zero());
  ASSERT_EQ(holder_b.acquisitions.size(), 8U);
  for (const auto& shard : holder_b.acquisitions) {
    EXPECT_EQ(shard.unclean, holder_a.busy.contains(shard.shard));
  }
}

TEST_F(WorkerTest, AbandonEndsAtOnceThoughTheStoreIsDown) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  down = true;
  a->abandon_remaining();
  pass({a.get()}, Duration::zero());
  EXPECT_TRUE(a->stopped());
  EXPECT_EQ(calls[Operation::release], 1);
  EXPECT_EQ(calls[Operation::leave], 1);
  EXPECT_TRUE(holder_a.holds.empty());
}

TEST_F(WorkerTest, StopEndsWithTheLeaseWhenTheStoreStaysDown) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  down = true;
  a->begin_stop();
  pass({a.get()}, seconds(11));
  EXPECT_FALSE(a->stopped());
  pass({a.get()}, seconds(2));
  EXPECT_TRUE(a->stopped());
}

TEST_F(WorkerTest, StopBeforeTheFirstStepAsksTheStoreNothing) {
  auto a = make(holder_a);
  a->begin_stop();
  EXPECT_FALSE(a->step());
  EXPECT_TRUE(a->stopped());
  EXPECT_TRUE(calls.empty());
}

TEST_F(WorkerTest, StopAfterAJoinInDoubtLeaves) {
  auto a = make(holder_a);
  faults[Operation::join] = {Fault::lost_after};
  ASSERT_TRUE(a->step());
  a->begin_stop();
  pass({a.get()}, Duration::zero());
  EXPECT_TRUE(a->stopped());
  EXPECT_TRUE(census().live.empty());
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
  RecordingHolder holder_c;
  auto a = make({{.scope = "a", .shards = 2, .holder = &holder_a},
                 {.scope = "b", .shards = 2, .holder = &holder_b},
                 {.scope = "c", .shards = 2, .holder = &holder_c}});
  for (int i = 0; i < 20; ++i) {
    const auto request = a->plan(clock.boot_now());
    advance(milliseconds(700));
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
  EXPECT_THROW(make(std::vector<ScopeOptions>{}), std::invalid_argument);
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
}  // namespace sagabox::ownership
