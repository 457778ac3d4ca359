#include "runtime/single_shard.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace sagabox::runtime {
namespace {

const BootTime now{std::chrono::hours(1)};
const WorkerId me = WorkerId::parse("me").value();

void bring(SingleShard& shard, std::uint64_t epoch) {
  shard.acquired({.shard = Shard{0}, .epoch = Epoch{epoch}}, me, Timeline{1});
}

TEST(SingleShard, CallsAreMadeInTheNameOfWhoeverHoldsIt) {
  SingleShard shard([](BootTime) { return true; });
  EXPECT_FALSE(shard.tenure(now));
  bring(shard, 4);
  const auto tenure = shard.tenure(now);
  ASSERT_TRUE(tenure);
  EXPECT_EQ(tenure->owner, me);
  EXPECT_EQ(tenure->epoch, Epoch{4});
  EXPECT_TRUE(shard.begin_call(*tenure));
  EXPECT_TRUE(shard.end_call(*tenure));
  shard.drain(Shard{0});
  EXPECT_FALSE(shard.tenure(now));
  EXPECT_FALSE(shard.begin_call(*tenure));
  shard.lost(Shard{0});
  bring(shard, 5);
  EXPECT_TRUE(shard.tenure(now)) << "a drain ends with its tenure";
  EXPECT_FALSE(shard.begin_call(*tenure)) << "another tenure";
  EXPECT_FALSE(shard.end_call(*tenure));
}

TEST(SingleShard, NothingIsBegunWithoutALease) {
  bool live = false;
  SingleShard shard([&](BootTime) { return live; });
  bring(shard, 1);
  EXPECT_FALSE(shard.tenure(now));
  live = true;
  EXPECT_TRUE(shard.tenure(now));
}

TEST(SingleShard, FoundInOtherHandsItIsSilentUntilBroughtAgain) {
  SingleShard shard([](BootTime) { return true; });
  bring(shard, 1);
  const auto tenure = *shard.tenure(now);
  shard.lost(Shard{0});
  bring(shard, 2);
  shard.broken(tenure);
  EXPECT_TRUE(shard.tenure(now)) << "that was the tenure before";
  shard.broken(*shard.tenure(now));
  EXPECT_FALSE(shard.tenure(now));
}

TEST(SingleShard, IsNotGivenAwayDuringACall) {
  SingleShard shard([](BootTime) { return true; });
  std::atomic<std::uint64_t> held{0};  // the epoch, while it is ours
  std::atomic<bool> done{false};
  std::atomic<int> calls{0};
  std::thread stepping([&] {
    while (!done) {
      const auto tenure = shard.tenure(now);
      if (!tenure || !shard.begin_call(*tenure)) continue;
      EXPECT_EQ(held.load(), tenure->epoch.value);
      std::this_thread::yield();
      EXPECT_EQ(held.load(), tenure->epoch.value) << "given away during a call";
      ++calls;
      EXPECT_TRUE(shard.end_call(*tenure));
    }
  });
  for (std::uint64_t epoch = 1; epoch <= 500 || calls < 10; ++epoch) {
    held = epoch;
    bring(shard, epoch);
    std::this_thread::yield();
    shard.drain(Shard{0});
    while (!shard.idle(Shard{0})) std::this_thread::yield();
    held = 0;
    shard.lost(Shard{0});
  }
  done = true;
  stepping.join();
}

}  // namespace
}  // namespace sagabox::runtime
