#include "unit/ownership/worker_fixture.hpp"

#include <gtest/gtest.h>

namespace sagabox::ownership::testing {
namespace {

class WorkerFaults : public WorkerFixture {};

TEST_F(WorkerFaults, StoreThatIsDownIsAskedAtAMeasuredPace) {
  down = true;
  auto a = make(holder_a);
  pass({a.get()}, seconds(60));
  EXPECT_GE(calls[Operation::join], 55);
  EXPECT_LE(calls[Operation::join], 65);
  down = false;
  pass({a.get()}, seconds(2));
  EXPECT_EQ(holder_a.holds.size(), 8U);
}

TEST_F(WorkerFaults, EveryErrorIsCountedByCode) {
  const auto refused = "errors_total{code=STORAGE.UNAVAILABLE,retryable=true,severity=critical}";
  auto a = make(holder_a);
  faults[Operation::join] = {Fault::refused, Fault::lost_after};
  faults[Operation::renew] = {Fault::refused};
  faults[Operation::withdraw] = {Fault::refused};
  pass({a.get()}, seconds(10));
  EXPECT_EQ(metrics.value(refused), 2);
  EXPECT_EQ(metrics.value("errors_total{code=STORAGE.IN_DOUBT,retryable=false,severity=critical}"),
            1);
  holder_a.busy.insert(Shard{0});
  a->begin_stop();
  pass({a.get()}, seconds(1));
  EXPECT_EQ(metrics.value(refused), 3) << "the withdrawal, though it is not tried again";
}

TEST_F(WorkerFaults, ReplyThatComesAfterTheLeaseIsIgnored) {
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

TEST_F(WorkerFaults, StoreThatSaysTheLeaseRanOutIsBelieved) {
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

TEST_F(WorkerFaults, RenewalThatCameTooLateStartsOver) {
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

TEST_F(WorkerFaults, RenewInDoubtIsAskedAgain) {
  auto a = make(holder_a);
  faults[Operation::renew] = {Fault::lost_after, Fault::lost_before, Fault::refused};
  const auto id = a->id();
  pass({a.get()}, seconds(30));
  EXPECT_EQ(a->id(), id);
  EXPECT_TRUE(holder_a.losses.empty());
  EXPECT_GE(calls[Operation::renew], 8);
}

TEST_F(WorkerFaults, JoinInDoubtIsRepeatedUnderTheSameId) {
  auto a = make(holder_a);
  const auto id = a->id();
  faults[Operation::join] = {Fault::lost_after, Fault::lost_before};
  pass({a.get()}, seconds(1));
  EXPECT_EQ(a->id(), id);
  EXPECT_EQ(census().live, std::vector{id});
  EXPECT_EQ(holder_a.holds.size(), 8U);
}

TEST_F(WorkerFaults, TakeInDoubtIsAdoptedAsUnclean) {
  auto a = make(holder_a);
  faults[Operation::take] = {Fault::lost_after};
  pass({a.get()}, milliseconds(150));
  ASSERT_EQ(holder_a.holds.size(), 8U);
  EXPECT_EQ(calls[Operation::take], 1);
  EXPECT_TRUE(holder_a.acquisitions.front().unclean);
  EXPECT_EQ(holder_a.acquisitions.front().epoch, Epoch{1});
}

TEST_F(WorkerFaults, TakeInDoubtThatDidNotHappenIsMadeAgain) {
  auto a = make(holder_a);
  faults[Operation::take] = {Fault::lost_before};
  pass({a.get()}, seconds(1));
  ASSERT_EQ(holder_a.holds.size(), 8U);
  EXPECT_EQ(calls[Operation::take], 2);
  EXPECT_FALSE(holder_a.acquisitions.front().unclean);
}

TEST_F(WorkerFaults, ReleaseInDoubtIsRepeatedAndNeverTakenBackBlindly) {
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

TEST_F(WorkerFaults, ShardThatTheStoreGivesToAnotherIsLost) {
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

TEST_F(WorkerFaults, BrokenFenceIsHandledInTheNextStepOnly) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  a->shard_lost(scope_name, Shard{3}, Epoch{1});
  EXPECT_TRUE(holder_a.holds.contains(Shard{3}));
  EXPECT_LE(a->next_due(), clock.boot_now());
  (void)a->step();
  EXPECT_FALSE(holder_a.holds.contains(Shard{3}));
}

TEST_F(WorkerFaults, BrokenFenceOfAnOlderEpochIsIgnored) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  a->shard_lost(scope_name, Shard{3}, Epoch{0});
  a->shard_lost("outbox:other", Shard{3});
  (void)a->step();
  EXPECT_TRUE(holder_a.losses.empty());
}

TEST_F(WorkerFaults, ShardLostByMistakeComesBackAtAHigherEpoch) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  a->shard_lost(scope_name, Shard{3});
  pass({a.get()}, seconds(3));
  ASSERT_TRUE(holder_a.holds.contains(Shard{3}));
  EXPECT_EQ(holder_a.holds[Shard{3}].shard.epoch, Epoch{2})
      << "what still runs of the lost hold must be fenced off";
}

TEST_F(WorkerFaults, OtherTimelineInAReplyStartsOver) {
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

TEST_F(WorkerFaults, TimelineSeenByTheRelayStartsOverInTheNextStep) {
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

}  // namespace
}  // namespace sagabox::ownership::testing
