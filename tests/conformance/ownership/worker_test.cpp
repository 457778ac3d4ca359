#include "conformance/ownership/ownership_conformance.hpp"

#include <sagabox/stores/memory.hpp>

#include <algorithm>

namespace sagabox::ownership {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ManualClock;
using testing::RecordingHolder;

class MemoryPlace final : public Place {
 public:
  spi::OwnershipStore& store() override { return database_.ownership(); }
  ManualClock& clock() override { return clock_; }

 private:
  ManualClock clock_;
  memory::MemoryStore database_{memory::Options{.clock = &clock_}};
};

TEST_P(OwnershipConformance, FirstWorkerTakesEveryShardClean) {
  auto a = start();
  pass({a.get()}, seconds(1));
  ASSERT_EQ(a->holder.acquisitions.size(), shards);
  for (std::uint16_t i = 0; i < shards; ++i) {
    EXPECT_EQ(a->holder.acquisitions[i].shard, Shard{i});
    EXPECT_FALSE(a->holder.acquisitions[i].unclean);
    EXPECT_EQ(census().shards[i].owner, a->worker->id());
    EXPECT_EQ(census().shards[i].epoch, a->holder.acquisitions[i].epoch);
  }
}

TEST_P(OwnershipConformance, WorkersShareEvenlyAsTheyCome) {
  std::vector<std::unique_ptr<Process>> all;
  std::vector<Process*> running;
  for (std::size_t count = 1; count <= 5; ++count) {
    all.push_back(start());
    running.push_back(all.back().get());
    pass(running, seconds(10));
    std::size_t held = 0;
    for (const Process* process : running) {
      held += process->holder.holds.size();
      EXPECT_GE(process->holder.holds.size(), shards / count);
      EXPECT_LE(process->holder.holds.size(), shards / count + 1);
    }
    EXPECT_EQ(held, shards) << count << " workers";
  }
  for (const auto& process : all) {
    for (const auto& shard : process->holder.acquisitions) EXPECT_FALSE(shard.unclean);
  }
}

TEST_P(OwnershipConformance, HandOverRaisesTheEpochAndIsClean) {
  auto a = start();
  auto b = start();
  pass({a.get()}, seconds(1));
  pass({a.get(), b.get()}, seconds(10));
  ASSERT_EQ(b->holder.acquisitions.size(), shards / 2U);
  for (const auto& shard : b->holder.acquisitions) {
    const auto before =
        std::ranges::find(a->holder.acquisitions, shard.shard, &spi::OwnedShard::shard);
    ASSERT_NE(before, a->holder.acquisitions.end());
    EXPECT_GT(shard.epoch, before->epoch);
    EXPECT_FALSE(shard.unclean);
  }
}

TEST_P(OwnershipConformance, ExpiredShardIsTakenOverAsUncleanAndNotBefore) {
  auto a = start();
  auto b = start();
  pass({a.get(), b.get()}, seconds(10));
  const auto renewed_last = clock().boot_now();
  const auto lost = a->holder.holds;
  const auto before = b->holder.acquisitions.size();
  pass({b.get()}, seconds(9));
  EXPECT_EQ(b->holder.acquisitions.size(), before);
  EXPECT_FALSE(a->worker->live(renewed_last + seconds(12)));
  pass({b.get()}, seconds(7));
  ASSERT_EQ(b->holder.holds.size(), shards);
  for (const auto& [shard, hold] : lost) {
    EXPECT_TRUE(b->holder.holds[shard].shard.unclean);
    EXPECT_GT(b->holder.holds[shard].shard.epoch, hold.shard.epoch);
  }
}

TEST_P(OwnershipConformance, PausedWorkerFindsItselfFencedAndComesBackAsNew) {
  auto a = start();
  auto b = start();
  pass({a.get(), b.get()}, seconds(10));
  const auto id = a->worker->id();
  pass({b.get()}, seconds(30));
  EXPECT_FALSE(a->worker->live(clock().boot_now()));
  pass({a.get()}, Duration::zero());
  EXPECT_TRUE(a->holder.holds.empty());
  EXPECT_NE(a->worker->id(), id);
  pass({a.get(), b.get()}, seconds(12));
  EXPECT_EQ(a->holder.holds.size(), shards / 2U);
  EXPECT_EQ(b->holder.holds.size(), shards / 2U);
  EXPECT_EQ(census().live.size(), 2U);
}

TEST_P(OwnershipConformance, StaleReleaseGivesNothingAway) {
  auto a = start();
  pass({a.get()}, seconds(1));
  const auto id = a->worker->id();
  const auto stale = a->holder.acquisitions;
  clock().advance(seconds(20));
  auto b = start();
  pass({b.get()}, seconds(1));
  ASSERT_EQ(b->holder.holds.size(), shards);
  ASSERT_TRUE(place->store().release(orders, id, stale).ok());
  for (const auto& shard : census().shards) EXPECT_EQ(shard.owner, b->worker->id());
}

TEST_P(OwnershipConformance, StoppedWorkersShardsAreFreeAtOnce) {
  auto a = start();
  auto b = start();
  pass({a.get(), b.get()}, seconds(10));
  const auto before = b->holder.acquisitions.size();
  a->worker->begin_stop();
  pass({a.get()}, Duration::zero());
  ASSERT_TRUE(a->worker->stopped());
  pass({b.get()}, milliseconds(1100));
  EXPECT_EQ(b->holder.holds.size(), shards);
  for (auto i = before; i < b->holder.acquisitions.size(); ++i) {
    EXPECT_FALSE(b->holder.acquisitions[i].unclean);
  }
}

TEST_P(OwnershipConformance, ShareAllHasOneHolderAndAStandby) {
  auto a = start(Share::all);
  auto b = start(Share::all);
  pass({a.get()}, seconds(1));
  pass({a.get(), b.get()}, seconds(20));
  EXPECT_EQ(a->holder.holds.size(), shards);
  EXPECT_TRUE(b->holder.holds.empty());
  a->worker->begin_stop();
  pass({a.get(), b.get()}, seconds(2));
  EXPECT_EQ(b->holder.holds.size(), shards);
}

TEST_P(OwnershipConformance, JoinAgainUnderTheSameIdAddsScopesAndRenews) {
  auto& store = place->store();
  const auto id = WorkerId::parse("worker-1").value();
  const std::vector<spi::Scope> first{orders};
  const std::vector<spi::Scope> second{"purge:orders"};
  ASSERT_TRUE(store.join(id, seconds(15), first, shards)->live);
  clock().advance(seconds(10));
  ASSERT_TRUE(store.join(id, seconds(15), first, shards)->live);
  ASSERT_TRUE(store.join(id, seconds(15), second, 1)->live);
  clock().advance(seconds(10));
  EXPECT_EQ(store.census(orders)->live, std::vector{id});
  EXPECT_EQ(store.census("purge:orders")->live, std::vector{id});
  EXPECT_TRUE(store.renew(id, seconds(15))->live);
}

TEST_P(OwnershipConformance, ScopesDoNotDisturbEachOther) {
  auto a = start();
  RecordingHolder holder;
  Worker other(WorkerParts{.store = place->store(), .ids = *ids, .clock = clock()},
               {{.scope = "outbox:billing", .shards = 4, .holder = &holder}});
  testing::run(clock(), {a->worker.get(), &other}, seconds(5));
  EXPECT_EQ(a->holder.holds.size(), shards);
  EXPECT_EQ(holder.holds.size(), 4U);
}

INSTANTIATE_TEST_SUITE_P(Stores, OwnershipConformance,
                         ::testing::Values(Backend{"memory",
                                                   [] { return std::make_unique<MemoryPlace>(); }}),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace sagabox::ownership
