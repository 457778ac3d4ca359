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

/// Scopes with one shard each.
std::vector<spi::Scope> singles(const TableName& table, std::size_t count) {
  std::vector<spi::Scope> scopes;
  for (std::size_t i = 0; i < count; ++i) {
    scopes.push_back("single" + std::to_string(i) + ":" + table.str());
  }
  return scopes;
}

TEST_P(StoreConformance, CensusOfManyScopesAnswersForEachInItsPlace) {
  const auto worker = join();
  const auto other = ids_.next<WorkerId>();
  auto scopes = singles(table_, 3);
  (void)ownership().join(other, ttl, scopes, 1).value();
  (void)ownership().take(scopes[2], other, 1).value();
  scopes.insert(scopes.begin() + 1, scope());
  scopes.insert(scopes.begin(), "unknown:" + table_.str());

  const auto censuses = ownership().census(scopes).value();

  ASSERT_EQ(censuses.size(), 5U);
  EXPECT_TRUE(censuses[0].live.empty());
  EXPECT_TRUE(censuses[0].shards.empty());
  EXPECT_EQ(censuses[1].live, std::vector{other});
  EXPECT_EQ(censuses[2].live, std::vector{worker});
  ASSERT_EQ(censuses[2].shards.size(), shards());
  for (std::uint16_t s = 0; s < shards(); ++s) {
    EXPECT_EQ(censuses[2].shards[s].shard, Shard{s});
    EXPECT_TRUE(censuses[2].shards[s].owner.empty());
  }
  ASSERT_EQ(censuses[3].shards.size(), 1U);
  EXPECT_TRUE(censuses[3].shards[0].owner.empty());
  ASSERT_EQ(censuses[4].shards.size(), 1U);
  EXPECT_EQ(censuses[4].shards[0].owner, other);
  EXPECT_GT(censuses[4].shards[0].lease_left, Duration{});
  EXPECT_EQ(censuses[0].timeline, censuses[4].timeline);
  EXPECT_TRUE(ownership().census(std::span<const spi::Scope>{}).value().empty());
}

TEST_P(StoreConformance, TakeOfManyScopesIsBoundedInEach) {
  const auto worker = join();
  const auto scopes = singles(table_, 3);
  (void)ownership().join(worker, ttl, std::span(scopes).first(2), 1).value();
  const auto elsewhere = ids_.next<WorkerId>();
  (void)ownership().join(elsewhere, ttl, std::span(scopes).last(2), 1).value();
  ASSERT_EQ(ownership().take(scopes[1], elsewhere, 1).value().size(), 1U);
  const auto some = static_cast<std::uint16_t>(std::max(1, shards() - 1));
  const std::vector<spi::ShardsWanted> wanted{
      {scopes[2], 1}, {scope(), some}, {scopes[1], 1}, {scopes[0], 5}};

  const auto taken = ownership().take(worker, wanted).value();

  ASSERT_EQ(taken.size(), wanted.size());
  EXPECT_TRUE(taken[0].empty()) << "no member of it";
  ASSERT_EQ(taken[1].size(), some);
  EXPECT_TRUE(std::ranges::is_sorted(taken[1], {}, &spi::OwnedShard::shard));
  EXPECT_TRUE(taken[2].empty()) << "another one holds it";
  ASSERT_EQ(taken[3].size(), 1U);
  for (const auto& shard : taken[1]) EXPECT_EQ(shard.epoch, Epoch{1});
  const auto census = ownership().census(scopes[0]).value();
  EXPECT_EQ(census.shards.at(0).owner, worker);
  EXPECT_EQ(census.shards.at(0).epoch, taken[3][0].epoch);
}

TEST_P(StoreConformance, ReleaseOfManyScopesGivesBackEachAsItIsGiven) {
  const auto worker = join();
  const auto scopes = singles(table_, 3);
  (void)ownership().join(worker, ttl, scopes, 1).value();
  const std::vector<spi::ShardsWanted> wanted{
      {scope(), shards()}, {scopes[0], 1}, {scopes[1], 1}, {scopes[2], 1}};
  const auto taken = ownership().take(worker, wanted).value();
  std::vector<spi::ScopeShards> given;
  for (std::size_t i = 0; i < wanted.size(); ++i) given.push_back({wanted[i].scope, taken[i]});
  given[1].shards[0].unclean = true;
  ++given[2].shards[0].epoch.value;
  given[3].shards.clear();
  ownership().release(worker, given).value();

  for (const auto& shard : ownership().census(scope()).value().shards) {
    EXPECT_TRUE(shard.owner.empty());
  }
  const auto owner = [&](const spi::Scope& of) {
    return ownership().census(of).value().shards.at(0).owner;
  };
  EXPECT_EQ(owner(scopes[0]), spi::unclean_owner());
  EXPECT_EQ(owner(scopes[1]), worker) << "at another epoch";
  EXPECT_EQ(owner(scopes[2]), worker) << "not given";
  const auto again = ownership().take(worker, wanted).value();
  EXPECT_EQ(again[0].size(), shards());
  ASSERT_EQ(again[1].size(), 1U);
  EXPECT_TRUE(again[1][0].unclean);
  EXPECT_TRUE(again[2].empty());
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
