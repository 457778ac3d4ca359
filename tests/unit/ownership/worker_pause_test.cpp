#include "unit/ownership/worker_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace sagabox::ownership::testing {
namespace {

class WorkerPause : public WorkerFixture {
 protected:
  std::unique_ptr<Worker> running(RecordingHolder& holder) {
    auto worker = make(holder);
    pass({worker.get()}, Duration::zero());
    return worker;
  }
};

TEST_F(WorkerPause, PauseReleasesEverythingAndAsksNothingMore) {
  auto a = running(holder_a);
  EXPECT_FALSE(a->paused(scope_name));
  a->pause(scope_name);
  EXPECT_FALSE(a->paused(scope_name)) << "everything is still held";
  pass({a.get()}, Duration::zero());
  EXPECT_TRUE(a->paused(scope_name));
  EXPECT_FALSE(a->stopped());
  EXPECT_FALSE(a->live(clock.boot_now()));
  EXPECT_EQ(a->next_due(), BootTime::max());
  EXPECT_TRUE(holder_a.holds.empty());
  EXPECT_TRUE(census().live.empty());
  for (const auto& shard : census().shards) EXPECT_TRUE(shard.owner.empty());
  EXPECT_EQ(metrics.value("ownership_lost_total{scope=outbox:orders}"), 0);
  EXPECT_EQ(log.count(LogLevel::info, "worker paused"), 1U);

  const auto before = calls;
  pass({a.get()}, seconds(60));
  EXPECT_EQ(calls, before);
  EXPECT_TRUE(a->paused(scope_name));
}

TEST_F(WorkerPause, OthersTakeOverAtOnceAndCleanly) {
  auto a = running(holder_a);
  auto b = make(holder_b);
  pass({a.get(), b.get()}, seconds(20));
  ASSERT_EQ(holder_b.holds.size(), 4U);
  a->pause(scope_name);
  pass({a.get(), b.get()}, milliseconds(1100));
  EXPECT_TRUE(a->paused(scope_name));
  EXPECT_EQ(holder_b.holds.size(), 8U);
  for (const auto& shard : holder_b.acquisitions) EXPECT_FALSE(shard.unclean);
}

TEST_F(WorkerPause, BusyShardsAreWaitedForWhileTheRestIsTakenOver) {
  auto a = running(holder_a);
  auto b = make(holder_b);
  pass({a.get(), b.get()}, seconds(20));
  const auto busy = holder_a.holds.begin()->first;
  holder_a.busy = {busy};
  a->pause(scope_name);
  pass({a.get(), b.get()}, seconds(30));
  EXPECT_FALSE(a->paused(scope_name));
  EXPECT_TRUE(a->live(clock.boot_now())) << "what runs may still be settled";
  EXPECT_EQ(owned_by(a->id()), 1U);
  EXPECT_EQ(holder_b.holds.size(), 7U);
  holder_a.busy.clear();
  pass({a.get(), b.get()}, milliseconds(1100));
  EXPECT_TRUE(a->paused(scope_name));
  EXPECT_EQ(holder_b.holds.size(), 8U);
}

TEST_F(WorkerPause, ResumeJoinsUnderANewIdAndTakesItsShare) {
  auto a = running(holder_a);
  const auto id = a->id();
  a->pause(scope_name);
  pass({a.get()}, seconds(20));
  ASSERT_TRUE(a->paused(scope_name));
  a->resume(scope_name);
  EXPECT_FALSE(a->paused(scope_name));
  pass({a.get()}, Duration::zero());
  EXPECT_NE(a->id(), id);
  EXPECT_TRUE(a->live(clock.boot_now()));
  EXPECT_EQ(owned_by(a->id()), 8U);
  EXPECT_EQ(holder_a.holds.size(), 8U);
  EXPECT_EQ(metrics.value("ownership_lost_total{scope=outbox:orders}"), 0);
  EXPECT_EQ(metrics.value("ownership_lease_expired_total"), 0);
  EXPECT_EQ(log.count(LogLevel::info, "worker resumes"), 1U);
}

TEST_F(WorkerPause, ResumeDoesNotWaitForWhatIsBusy) {
  auto a = running(holder_a);
  const auto id = a->id();
  holder_a.busy = {Shard{3}};
  a->pause(scope_name);
  pass({a.get()}, seconds(1));
  ASSERT_EQ(holder_a.holds.size(), 1U);
  ASSERT_TRUE(census().live.empty()) << "it has withdrawn";
  a->resume(scope_name);
  pass({a.get()}, seconds(2));
  EXPECT_EQ(a->id(), id);
  EXPECT_EQ(census().live, std::vector{id});
  EXPECT_EQ(holder_a.holds.size(), 8U);
  EXPECT_EQ(holder_a.draining(), 1U) << "a drain is not called off";
  holder_a.busy.clear();
  pass({a.get()}, seconds(2));
  EXPECT_EQ(holder_a.holds.size(), 8U);
  EXPECT_EQ(holder_a.draining(), 0U);
  EXPECT_TRUE(holder_a.violations.empty());
  EXPECT_EQ(metrics.value("ownership_lost_total{scope=outbox:orders}"), 0);
}

TEST_F(WorkerPause, PauseAfterAHalfDoneResumeWithdrawsAgain) {
  auto a = make({{.scope = scope_name, .shards = 8, .holder = &holder_a},
                 {.scope = "purge:orders", .shards = 1, .holder = &holder_b}});
  pass({a.get()}, Duration::zero());
  const auto tell = [&](void (Worker::*what)(const spi::Scope&)) {
    for (const spi::Scope scope : {scope_name, "purge:orders"}) (*a.*what)(scope);
  };
  holder_a.busy = {Shard{3}};
  tell(&Worker::pause);
  pass({a.get()}, seconds(1));
  ASSERT_EQ(calls[Operation::withdraw], 1);
  tell(&Worker::resume);
  ASSERT_TRUE(a->step()) << "joins the first of two groups";
  ASSERT_EQ(census().live.size(), 1U);
  tell(&Worker::pause);
  pass({a.get()}, seconds(1));
  EXPECT_EQ(calls[Operation::withdraw], 2);
  EXPECT_TRUE(census().live.empty());
  EXPECT_EQ(holder_a.holds.size(), 1U);
}

TEST_F(WorkerPause, ResumeAfterALostWithdrawAndALostJoinSettles) {
  auto a = running(holder_a);
  holder_a.busy = {Shard{0}};
  faults[Operation::withdraw] = {Fault::lost_after};
  a->pause(scope_name);
  pass({a.get()}, seconds(1));
  faults[Operation::join] = {Fault::refused, Fault::lost_before, Fault::lost_after};
  a->resume(scope_name);
  pass({a.get()}, seconds(10));
  holder_a.busy.clear();
  pass({a.get()}, seconds(2));
  EXPECT_EQ(holder_a.holds.size(), 8U);
  EXPECT_EQ(metrics.value("ownership_lease_expired_total"), 0);
}

TEST_F(WorkerPause, PauseBeforeTheFirstStepAsksTheStoreNothing) {
  auto a = make(holder_a);
  a->pause(scope_name);
  EXPECT_FALSE(a->step());
  EXPECT_TRUE(a->paused(scope_name));
  EXPECT_TRUE(calls.empty());
  a->resume(scope_name);
  pass({a.get()}, Duration::zero());
  EXPECT_EQ(holder_a.holds.size(), 8U);
}

TEST_F(WorkerPause, PauseAfterAJoinInDoubtLeaves) {
  auto a = make(holder_a);
  faults[Operation::join] = {Fault::lost_after};
  ASSERT_TRUE(a->step());
  a->pause(scope_name);
  pass({a.get()}, Duration::zero());
  EXPECT_TRUE(a->paused(scope_name));
  EXPECT_TRUE(census().live.empty());
}

TEST_F(WorkerPause, PauseEndsWithTheLeaseWhenTheStoreStaysDown) {
  auto a = running(holder_a);
  holder_a.busy = {Shard{0}};
  down = true;
  a->pause(scope_name);
  pass({a.get()}, seconds(11));
  EXPECT_FALSE(a->paused(scope_name));
  pass({a.get()}, seconds(2));
  EXPECT_TRUE(a->paused(scope_name));
  EXPECT_TRUE(holder_a.holds.empty());
  down = false;
  const auto before = calls;
  pass({a.get()}, seconds(10));
  EXPECT_EQ(calls, before);
  a->resume(scope_name);
  pass({a.get()}, seconds(10));
  EXPECT_EQ(holder_a.holds.size(), 8U);
}

TEST_F(WorkerPause, LeaveThatFailsDoesNotKeepThePauseWaiting) {
  auto a = running(holder_a);
  faults[Operation::leave] = {Fault::refused, Fault::refused, Fault::refused};
  a->pause(scope_name);
  pass({a.get()}, seconds(1));
  EXPECT_TRUE(a->paused(scope_name));
  a->resume(scope_name);
  pass({a.get()}, Duration::zero());
  faults[Operation::leave] = {Fault::refused};
  a->pause(scope_name);
  pass({a.get()}, seconds(1));
  EXPECT_TRUE(a->paused(scope_name));
  EXPECT_EQ(calls[Operation::leave], 5) << "a later good-bye starts counting anew";
}

TEST_F(WorkerPause, FailOverDuringAPauseForgetsEverything) {
  auto a = running(holder_a);
  holder_a.busy = {Shard{0}};
  a->pause(scope_name);
  pass({a.get()}, milliseconds(100));
  ASSERT_FALSE(a->paused(scope_name));
  (void)database.fail_over();
  a->timeline_changed();
  pass({a.get()}, milliseconds(100));
  EXPECT_TRUE(a->paused(scope_name));
  EXPECT_TRUE(holder_a.holds.empty());
  a->timeline_changed();
  pass({a.get()}, milliseconds(100));
  EXPECT_TRUE(a->paused(scope_name));
}

TEST_F(WorkerPause, StopWhilePausedEnds) {
  auto a = running(holder_a);
  a->pause(scope_name);
  pass({a.get()}, Duration::zero());
  ASSERT_TRUE(a->paused(scope_name));
  const auto before = calls;
  a->begin_stop();
  pass({a.get()}, Duration::zero());
  EXPECT_TRUE(a->stopped());
  EXPECT_EQ(calls, before);
  a->resume(scope_name);
  EXPECT_FALSE(a->step());
  EXPECT_TRUE(a->stopped()) << "nothing brings it back";
}

TEST_F(WorkerPause, StopDuringThePauseGoesOnToTheEnd) {
  auto a = running(holder_a);
  holder_a.busy = {Shard{0}};
  a->pause(scope_name);
  pass({a.get()}, seconds(1));
  a->begin_stop();
  a->resume(scope_name);
  pass({a.get()}, seconds(1));
  EXPECT_FALSE(a->stopped());
  EXPECT_EQ(holder_a.holds.size(), 1U) << "a stop is not called off";
  a->abandon_remaining();
  pass({a.get()}, seconds(1));
  EXPECT_TRUE(a->stopped());
}

TEST_F(WorkerPause, QuickSuccessionEndsAsTheLastCallSays) {
  auto a = running(holder_a);
  for (int i = 0; i < 20; ++i) {
    a->pause(scope_name);
    if (i % 3 == 0) (void)a->step();
    a->resume(scope_name);
    if (i % 4 == 0) (void)a->step();
  }
  pass({a.get()}, seconds(3));
  EXPECT_EQ(holder_a.holds.size(), 8U);
  a->resume(scope_name);
  a->pause(scope_name);
  pass({a.get()}, seconds(1));
  EXPECT_TRUE(a->paused(scope_name));
  EXPECT_TRUE(holder_a.violations.empty());
}

TEST_F(WorkerPause, MayBeToldFromAnyThread) {
  auto a = running(holder_a);
  std::atomic<bool> done{false};
  std::thread operating([&] {
    for (int i = 0; i < 500; ++i) {
      a->pause(scope_name);
      (void)a->paused(scope_name);
      a->resume(scope_name);
    }
    a->pause(scope_name);
    done = true;
  });
  while (!done) (void)a->step();
  operating.join();
  pass({a.get()}, seconds(1));
  EXPECT_TRUE(a->paused(scope_name));
  EXPECT_TRUE(holder_a.violations.empty());
}

}  // namespace
}  // namespace sagabox::ownership::testing
