#include "unit/ownership/worker_fixture.hpp"

#include <gtest/gtest.h>

namespace sagabox::ownership::testing {
namespace {

class WorkerStop : public WorkerFixture {};

TEST_F(WorkerStop, StopReleasesEverythingAndLeaves) {
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

TEST_F(WorkerStop, NothingIsLiveOnceTheLeaveIsOnItsWay) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  a->begin_stop();
  ASSERT_TRUE(a->step()) << "the release";
  const auto leave = a->plan(clock.boot_now());
  ASSERT_TRUE(leave);
  ASSERT_TRUE(std::holds_alternative<Request::Leave>(leave->call));
  EXPECT_FALSE(a->live(clock.boot_now()));
}

TEST_F(WorkerStop, StopWaitsForTheBusyAndKeepsItsLease) {
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

TEST_F(WorkerStop, WhatIsIdleGoesToOthersWhileTheBusyIsWaitedFor) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  holder_a.busy = {Shard{0}};
  a->begin_stop();
  pass({a.get()}, milliseconds(50));
  auto b = make(holder_b);
  pass({a.get(), b.get()}, milliseconds(50));
  EXPECT_FALSE(a->stopped());
  EXPECT_EQ(owned_by(a->id()), 1U);
  EXPECT_EQ(owned_by(b->id()), 7U);
}

TEST_F(WorkerStop, AbandonedShardsAreTakenOverAsUncleanAtOnce) {
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

TEST_F(WorkerStop, AbandonEndsAtOnceThoughTheStoreIsDown) {
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

TEST_F(WorkerStop, StopEndsWithTheLeaseWhenTheStoreStaysDown) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  down = true;
  a->begin_stop();
  pass({a.get()}, seconds(11));
  EXPECT_FALSE(a->stopped());
  pass({a.get()}, seconds(2));
  EXPECT_TRUE(a->stopped());
}

TEST_F(WorkerStop, StopBeforeTheFirstStepAsksTheStoreNothing) {
  auto a = make(holder_a);
  a->begin_stop();
  EXPECT_FALSE(a->step());
  EXPECT_TRUE(a->stopped());
  EXPECT_TRUE(calls.empty());
}

TEST_F(WorkerStop, StopAfterAJoinInDoubtLeaves) {
  auto a = make(holder_a);
  faults[Operation::join] = {Fault::lost_after};
  ASSERT_TRUE(a->step());
  a->begin_stop();
  pass({a.get()}, Duration::zero());
  EXPECT_TRUE(a->stopped());
  EXPECT_TRUE(census().live.empty());
}

}  // namespace
}  // namespace sagabox::ownership::testing
