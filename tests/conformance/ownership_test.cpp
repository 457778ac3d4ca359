#include "conformance/store_conformance.hpp"

#include <algorithm>
#include <map>
#include <thread>

namespace sagabox::conformance {
namespace {

using std::chrono::seconds;

TEST_P(StoreConformance, FirstTakerFindsEveryShardClean) {
  const auto worker = join();
  const auto taken = ownership().take(scope(), worker, shards()).value();

  ASSERT_EQ(taken.size(), shards());
  for (std::uint16_t s = 0; s < shards(); ++s) {
    EXPECT_FALSE(taken[s].unclean);
    EXPECT_EQ(std::ranges::count(taken, Shard{s}, &spi::OwnedShard::shard), 1);
  }
}

TEST_P(StoreConformance, TakeIsBoundedByShardsMax) {
  const auto worker = join();
  EXPECT_TRUE(ownership().take(scope(), worker, 0).value().empty());
  EXPECT_EQ(ownership().take(scope(), worker, 1).value().size(), 1U);
  EXPECT_EQ(ownership().take(scope(), worker, shards()).value().size(), shards() - 1U)
      << "what a worker holds is not taken again";
}

TEST_P(StoreConformance, LiveOwnerKeepsItsShards) {
  const auto owner = own();
  const auto other = join();
  EXPECT_TRUE(ownership().take(scope(), other, shards()).value().empty());
  fixture_->advance_time(ttl - seconds(1));
  ASSERT_TRUE(ownership().renew(other, ttl).value().live);
  ASSERT_TRUE(ownership().renew(owner.id, ttl).value().live);
  fixture_->advance_time(ttl - seconds(1));
  EXPECT_TRUE(ownership().take(scope(), other, shards()).value().empty());
}

TEST_P(StoreConformance, ExpiredShardIsTakenOver) {
  const auto owner = own();
  fixture_->advance_time(ttl - seconds(1));
  const auto next = join();
  ASSERT_TRUE(ownership().take(scope(), next, shards()).value().empty());
  fixture_->advance_time(seconds(2));

  const auto taken = ownership().take(scope(), next, shards()).value();

  ASSERT_EQ(taken.size(), shards());
  for (const auto& shard : taken) {
    EXPECT_TRUE(shard.unclean);
    EXPECT_GT(shard.epoch, owner.fences[shard.shard.value].epoch);
  }
  const auto census = ownership().census(scope()).value();
  for (const auto& shard : census.shards) EXPECT_EQ(shard.owner, next);
}

TEST_P(StoreConformance, ExpiredLeaseCannotBeRenewed) {
  const auto worker = join();
  fixture_->advance_time(ttl + seconds(1));
  EXPECT_FALSE(ownership().renew(worker, ttl).value().live);
  EXPECT_FALSE(ownership().renew(worker, ttl).value().live);
  EXPECT_TRUE(ownership().take(scope(), worker, shards()).value().empty());
}

TEST_P(StoreConformance, UnknownWorkerCannotRenewOrTake) {
  (void)join();
  const auto stranger = ids_.next<WorkerId>();
  EXPECT_FALSE(ownership().renew(stranger, ttl).value().live);
  EXPECT_TRUE(ownership().take(scope(), stranger, shards()).value().empty());
}

TEST_P(StoreConformance, OnlyMembersOfAScopeTakeItsShards) {
  (void)join();
  const auto elsewhere = ids_.next<WorkerId>();
  const std::vector<spi::Scope> scopes{"purge:" + table_.str()};
  (void)ownership().join(elsewhere, ttl, scopes, 1).value();

  EXPECT_TRUE(ownership().take(scope(), elsewhere, shards()).value().empty());
  EXPECT_EQ(ownership().take(scopes[0], elsewhere, 5).value().size(), 1U);
}

TEST_P(StoreConformance, ReleasedShardIsClean) {
  const auto worker = join();
  const auto taken = ownership().take(scope(), worker, shards()).value();
  ownership().release(scope(), worker, taken).value();

  const auto next = join();
  const auto again = ownership().take(scope(), next, shards()).value();

  ASSERT_EQ(again.size(), shards());
  for (const auto& shard : again) {
    EXPECT_FALSE(shard.unclean);
    const auto before = std::ranges::find(taken, shard.shard, &spi::OwnedShard::shard);
    EXPECT_GT(shard.epoch, before->epoch);
  }
}

TEST_P(StoreConformance, ShardReleasedUncleanIsFreeAtOnceAndUnclean) {
  const auto worker = join();
  auto taken = ownership().take(scope(), worker, shards()).value();
  taken[0].unclean = true;
  ownership().release(scope(), worker, taken).value();

  for (const auto& shard : ownership().census(scope()).value().shards) {
    EXPECT_LE(shard.lease_left, Duration::zero());
  }
  const auto again = ownership().take(scope(), join(), shards()).value();
  ASSERT_EQ(again.size(), shards());
  for (const auto& shard : again) {
    EXPECT_EQ(shard.unclean, shard.shard == taken[0].shard) << shard.shard.value;
  }
}

TEST_P(StoreConformance, ReleaseAtAnotherEpochDoesNothing) {
  const auto worker = join();
  auto taken = ownership().take(scope(), worker, shards()).value();
  for (auto& shard : taken) ++shard.epoch.value;
  ownership().release(scope(), worker, taken).value();
  EXPECT_TRUE(ownership().take(scope(), join(), shards()).value().empty());
}

TEST_P(StoreConformance, StaleReleaseDoesNotTouchTheNewOwner) {
  const auto worker = join();
  const auto taken = ownership().take(scope(), worker, shards()).value();
  fixture_->advance_time(ttl + seconds(1));
  const auto next = own();
  ownership().release(scope(), worker, taken).value();
  for (const auto& shard : ownership().census(scope()).value().shards) {
    EXPECT_EQ(shard.owner, next.id);
  }
}

TEST_P(StoreConformance, LeavingWithoutReleaseIsUnclean) {
  const auto worker = join();
  const auto taken = ownership().take(scope(), worker, shards()).value();
  ownership().release(scope(), worker, std::span(taken).subspan(1)).value();
  ownership().leave(worker).value();

  const auto again = ownership().take(scope(), join(), shards()).value();

  ASSERT_EQ(again.size(), shards());
  for (const auto& shard : again) {
    EXPECT_EQ(shard.unclean, shard.shard == taken[0].shard) << shard.shard.value;
  }
  EXPECT_FALSE(ownership().renew(worker, ttl).value().live);
}

TEST_P(StoreConformance, WithdrawnWorkerKeepsWhatItHoldsAndIsNotCounted) {
  const auto worker = join();
  ASSERT_EQ(ownership().take(scope(), worker, shards()).value().size(), shards());

  ownership().withdraw(worker, std::vector{scope()}).value();

  EXPECT_TRUE(ownership().renew(worker, ttl).value().live);
  const auto other = join();
  EXPECT_EQ(ownership().census(scope()).value().live, std::vector{other});
  EXPECT_TRUE(ownership().take(scope(), other, shards()).value().empty());
  EXPECT_TRUE(ownership().take(scope(), worker, shards()).value().empty());
}

TEST_P(StoreConformance, WithdrawalFromOneScopeLeavesTheOthers) {
  const auto worker = join();
  const std::vector<spi::Scope> others{"purge:" + table_.str()};
  (void)ownership().join(worker, ttl, others, 1).value();

  ownership().withdraw(worker, others).value();

  EXPECT_TRUE(ownership().census(others[0]).value().live.empty());
  EXPECT_EQ(ownership().census(scope()).value().live, std::vector{worker});
}

TEST_P(StoreConformance, JoiningAgainTakesAWithdrawalBack) {
  const auto worker = join();
  const auto taken = ownership().take(scope(), worker, 1).value();
  ownership().withdraw(worker, std::vector{scope()}).value();

  EXPECT_TRUE(ownership().join(worker, ttl, std::vector{scope()}, shards()).value().live);

  const auto census = ownership().census(scope()).value();
  EXPECT_EQ(census.live, std::vector{worker});
  EXPECT_EQ(census.shards[taken[0].shard.value].owner, worker);
  EXPECT_EQ(census.shards[taken[0].shard.value].epoch, taken[0].epoch);
}

TEST_P(StoreConformance, LeavingTwiceIsNoError) {
  const auto worker = join();
  ownership().leave(worker).value();
  ownership().leave(worker).value();
}

TEST_P(StoreConformance, UncleanIsForgottenAfterACleanRelease) {
  (void)own();
  fixture_->advance_time(ttl + seconds(1));
  const auto second = join();
  auto taken = ownership().take(scope(), second, shards()).value();
  ASSERT_TRUE(taken[0].unclean);
  for (auto& shard : taken) shard.unclean = false;
  ownership().release(scope(), second, taken).value();
  for (const auto& shard : ownership().take(scope(), join(), shards()).value()) {
    EXPECT_FALSE(shard.unclean);
  }
}

TEST_P(StoreConformance, JoinMayBeRepeated) {
  const auto worker = join();
  const auto taken = ownership().take(scope(), worker, 1).value();
  const std::vector<spi::Scope> scopes{scope()};
  fixture_->advance_time(ttl - seconds(1));
  EXPECT_TRUE(ownership().join(worker, ttl, scopes, shards()).value().live);
  fixture_->advance_time(seconds(2));
  EXPECT_TRUE(ownership().renew(worker, ttl).value().live);
  const auto census = ownership().census(scope()).value();
  EXPECT_EQ(census.shards[taken[0].shard.value].epoch, taken[0].epoch);
}

TEST_P(StoreConformance, CensusListsLiveMembersAndAllShards) {
  (void)join();
  fixture_->advance_time(ttl + seconds(1));
  auto live = std::vector{join(), join()};
  std::ranges::sort(live);
  const auto taken = ownership().take(scope(), live[0], 1).value();
  const auto elsewhere = ids_.next<WorkerId>();
  const std::vector<spi::Scope> scopes{"purge:" + table_.str()};
  (void)ownership().join(elsewhere, ttl, scopes, 1).value();

  const auto census = ownership().census(scope()).value();

  EXPECT_EQ(census.live, live);
  ASSERT_EQ(census.shards.size(), shards());
  for (std::uint16_t s = 0; s < shards(); ++s) {
    EXPECT_EQ(census.shards[s].shard, Shard{s});
    const bool is_taken = Shard{s} == taken[0].shard;
    EXPECT_EQ(census.shards[s].owner, is_taken ? live[0] : WorkerId{});
    if (is_taken) {
      EXPECT_EQ(census.shards[s].epoch, taken[0].epoch);
    }
  }
}

TEST_P(StoreConformance, AnotherShardCountIsAnError) {
  (void)join();
  const auto worker = ids_.next<WorkerId>();
  const std::vector<spi::Scope> scopes{"new:" + table_.str(), scope()};
  const auto joined =
      ownership().join(worker, ttl, scopes, static_cast<std::uint16_t>(shards() + 1));
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.error().code, Code::config_invalid);
  EXPECT_FALSE(ownership().renew(worker, ttl).value().live) << "it has not joined";
}

TEST_P(StoreConformance, TwoWorkersNeverHoldTheSameShard) {
  constexpr int workers = 4;
  constexpr int rounds = 50;
  std::vector<WorkerId> ids;
  for (int i = 0; i < workers; ++i) ids.push_back(join(std::chrono::hours(1)));
  // Every (shard, epoch) must go to one worker only.
  std::vector<std::map<std::pair<Shard, Epoch>, int>> got(workers);
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i) {
    threads.emplace_back([&, i] {
      const auto me = static_cast<std::size_t>(i);
      for (int round = 0; round < rounds; ++round) {
        const auto taken = ownership().take(scope(), ids[me], 3);
        if (!taken.ok()) continue;
        for (const auto& shard : *taken) ++got[me][{shard.shard, shard.epoch}];
        (void)ownership().release(scope(), ids[me], *taken);
      }
    });
  }
  for (auto& thread : threads) thread.join();

  std::map<std::pair<Shard, Epoch>, int> all;
  for (const auto& mine : got) {
    for (const auto& [hold, times] : mine) all[hold] += times;
  }
  EXPECT_FALSE(all.empty());
  for (const auto& [hold, times] : all) {
    EXPECT_EQ(times, 1) << "shard " << hold.first.value << " epoch " << hold.second.value;
  }
}

}  // namespace
}  // namespace sagabox::conformance
