#include "ownership/decide.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

namespace sagabox::ownership {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

WorkerId worker(int number) {
  return WorkerId::parse("worker-" + std::to_string(1000 + number)).value();
}

std::vector<WorkerId> workers(int count) {
  std::vector<WorkerId> all;
  for (int i = 0; i < count; ++i) all.push_back(worker(i));
  return all;
}

const BootTime start{std::chrono::hours(1)};

/// Worker 0, active, everything settled: renewed and counted just now.
class Decide : public ::testing::Test {
 protected:
  Decide() {
    view.state = State::active;
    view.worker = worker(0);
    view.now = start;
    view.lease_ends = start + seconds(12);
    view.renew_at = start + seconds(5);
    view.drain_poll_interval = milliseconds(10);
    add_scope();
  }

  ScopeView& add_scope() {
    censuses.push_back(std::make_unique<spi::Census>());
    censuses.back()->live = workers(1);
    ScopeView scope;
    scope.shards = 4;
    scope.census = censuses.back().get();
    scope.count_at = start + seconds(1);
    view.scopes.push_back(scope);
    return view.scopes.back();
  }

  /// Shards 0 to `mine` - 1 are held, the others up to `others` belong to worker 1.
  void hold(std::uint16_t mine, std::uint16_t others = 0) {
    auto& scope = view.scopes[0];
    scope.held.clear();
    censuses[0]->shards.clear();
    for (std::uint16_t i = 0; i < scope.shards; ++i) {
      WorkerId owner;
      if (i < mine) {
        scope.held.push_back({Shard{i}});
        owner = worker(0);
      } else if (i < mine + others) {
        owner = worker(1);
      }
      censuses[0]->shards.push_back({Shard{i}, owner, Epoch{1}});
    }
  }

  template <class Expected>
  Expected expect() {
    const Action action = decide(view);
    if (const auto* found = std::get_if<Expected>(&action)) return *found;
    ADD_FAILURE() << "another action: variant index " << action.index();
    return {};
  }

  View view;
  std::vector<std::unique_ptr<spi::Census>> censuses;
};

TEST_F(Decide, SettledWorkerWaitsForTheNextCensus) {
  hold(4);
  EXPECT_EQ(expect<Wait>().until, start + seconds(1));
}

TEST_F(Decide, ExpiresExactlyWhenTheLeaseEnds) {
  hold(4);
  view.scopes[0].count_at = BootTime::max();
  view.renew_at = start + seconds(100);
  view.now = start + seconds(12) - Duration(1);
  EXPECT_EQ(expect<Wait>().until, view.lease_ends);
  view.now = start + seconds(12);
  expect<Expire>();
}

TEST_F(Decide, ExpiryComesBeforeRenewal) {
  view.now = view.lease_ends + seconds(1);
  view.renew_at = start;
  expect<Expire>();
}

TEST_F(Decide, RenewalComesBeforeEverythingElse) {
  view.renew_at = start;
  view.scopes[0].count_at = start;
  expect<Renew>();
}

TEST_F(Decide, FailedRenewalWaitsForItsRetry) {
  hold(4);
  view.renew_at = start;
  view.lease_retry_at = start + milliseconds(100);
  EXPECT_EQ(expect<Wait>().until, start + milliseconds(100));
}

TEST_F(Decide, JoinsWhenItsRetryIsDue) {
  view.state = State::joining;
  view.scopes[0].membership = Membership::out;
  view.lease_ends = BootTime::max();
  view.lease_retry_at = start + seconds(1);
  EXPECT_EQ(expect<Wait>().until, start + seconds(1));
  view.now = start + seconds(1);
  expect<Join>();
}

TEST_F(Decide, JoiningExpiresToo) {
  view.state = State::joining;
  view.lease_ends = start;
  expect<Expire>();
}

TEST_F(Decide, CountsFirstAndAgainEveryInterval) {
  view.scopes[0].census = nullptr;
  view.scopes[0].count_at = BootTime::min();
  EXPECT_EQ(expect<Count>().scope, 0U);
  hold(4);
  view.scopes[0].census = censuses[0].get();
  view.scopes[0].count_at = start;
  EXPECT_EQ(expect<Count>().scope, 0U);
}

TEST_F(Decide, TakesTheDifferenceOncePerCensus) {
  hold(1);
  const auto take = expect<Take>();
  EXPECT_EQ(take.scope, 0U);
  EXPECT_EQ(take.shards_max, 3);
  view.scopes[0].take_tried = true;
  expect<Wait>();
}

TEST_F(Decide, ActsOnACensusBeforeAskingForTheNext) {
  view.scopes[0].count_at = start;
  hold(1);
  expect<Take>();
  censuses[0]->live = workers(2);
  hold(4);
  expect<StartDrain>();
}

TEST_F(Decide, TakesNothingWhenLiveWorkersHoldTheRest) {
  censuses[0]->live = workers(2);
  hold(1, 3);
  expect<Wait>();
}

TEST_F(Decide, TakesWhatADeadWorkerHolds) {
  hold(1, 3);
  EXPECT_EQ(expect<Take>().shards_max, 3);
}

TEST_F(Decide, TakesNoMoreThanItsShare) {
  censuses[0]->live = workers(2);
  hold(1);
  EXPECT_EQ(expect<Take>().shards_max, 1);
  hold(2);
  expect<Wait>();
}

TEST_F(Decide, DrainsOneShardAboveTheShare) {
  censuses[0]->live = workers(2);
  hold(4);
  EXPECT_EQ(expect<StartDrain>().shard, Shard{3});
  view.scopes[0].held[3].draining = true;
  EXPECT_EQ(expect<Wait>().until, start + milliseconds(10)) << "one at a time";
}

TEST_F(Decide, ReleasesADrainingShardOnceItIsIdle) {
  censuses[0]->live = workers(2);
  hold(4);
  view.scopes[0].held[3] = {Shard{3}, true, true};
  EXPECT_EQ(expect<Release>().shards, std::vector{Shard{3}});
}

TEST_F(Decide, FinishesAReleaseEvenWhenTheShareHasRisen) {
  hold(4);
  view.scopes[0].held[3] = {Shard{3}, true, true};
  EXPECT_EQ(expect<Release>().shards, std::vector{Shard{3}});
}

TEST_F(Decide, RepeatsAnUnansweredReleaseBeforeCountingAndTakingAgain) {
  hold(3);
  view.scopes[0].release_unanswered = true;
  EXPECT_TRUE(expect<Release>().shards.empty());
  view.scopes[0].count_at = start;
  EXPECT_TRUE(expect<Release>().shards.empty());
}

TEST_F(Decide, SlowDrainDoesNotHoldUpATakeOver) {
  hold(2, 2);
  view.scopes[0].held[1].draining = true;
  EXPECT_EQ(expect<Take>().shards_max, 3) << "worker 1 is dead; shard 1 is as good as gone";
}

TEST_F(Decide, ShareAllTakesEverythingAndGivesNothingAway) {
  view.scopes[0].share = Share::all;
  censuses[0]->live = workers(2);
  hold(1);
  EXPECT_EQ(expect<Take>().shards_max, 3);
  hold(4);
  expect<Wait>();
}

TEST_F(Decide, FailingScopeDoesNotHoldUpAnother) {
  hold(4);
  view.scopes[0].count_at = start;
  view.scopes[0].retry_at = start + milliseconds(300);
  auto& other = add_scope();
  other.census = nullptr;
  EXPECT_EQ(expect<Count>().scope, 1U);
}

TEST_F(Decide, ScopesTakeTurns) {
  view.scopes[0].count_at = start;
  add_scope().count_at = start;
  add_scope().count_at = start;
  for (const std::size_t first : {0U, 1U, 2U, 3U}) {
    view.scope_first = first;
    EXPECT_EQ(expect<Count>().scope, first % 3);
  }
}

TEST_F(Decide, StopDrainsAllReleasesTheIdleAndLeavesLast) {
  censuses[0]->live = workers(1);
  hold(3);
  view.stopping = true;
  for (std::uint16_t i = 0; i < 3; ++i) {
    EXPECT_EQ(expect<StartDrain>().shard, Shard{i});
    view.scopes[0].held[i].draining = true;
  }
  expect<Withdraw>();
  view.withdrawn = true;
  EXPECT_EQ(expect<Wait>().until, start + milliseconds(10));
  view.scopes[0].held[0].idle = true;
  view.scopes[0].held[2].idle = true;
  EXPECT_EQ(expect<Release>().shards, (std::vector{Shard{0}, Shard{2}}));
  view.scopes[0].held = {};
  view.scopes[0].release_unanswered = true;
  EXPECT_TRUE(expect<Release>().shards.empty());
  view.scopes[0].release_unanswered = false;
  expect<Leave>();
}

TEST_F(Decide, StopKeepsRenewing) {
  hold(1);
  view.stopping = true;
  view.renew_at = start;
  expect<Renew>();
}

TEST_F(Decide, StopWaitsForAFailedReleaseButAbandonDoesNot) {
  view.stopping = view.withdrawn = true;
  view.scopes[0].release_unanswered = true;
  view.scopes[0].failing = true;
  view.scopes[0].retry_at = start + milliseconds(100);
  EXPECT_EQ(expect<Wait>().until, start + milliseconds(100));
  view.abandoning = true;
  expect<Leave>();
}

TEST_F(Decide, AbandonReleasesTheIdleAndLeavesTheBusyBehind) {
  hold(2);
  view.stopping = view.abandoning = true;
  view.scopes[0].held = {{Shard{0}, true, true}, {Shard{1}, true, false}};
  EXPECT_EQ(expect<Release>().shards, std::vector{Shard{0}});
  view.scopes[0].held = {{Shard{1}, true, false}};
  expect<Leave>();
}

TEST_F(Decide, StopWhileJoiningLeavesOnlyWhatMayHaveJoined) {
  view.state = State::joining;
  view.lease_ends = BootTime::max();
  view.stopping = true;
  expect<GoAway>();
  view.join_sent = true;
  expect<Leave>();
}

TEST_F(Decide, LeavingGivesUpAfterAFewAttempts) {
  view.state = State::leaving;
  view.lease_ends = BootTime::max();
  view.leaves_failed = leave_attempts_max - 1;
  view.lease_retry_at = start + seconds(1);
  EXPECT_EQ(expect<Wait>().until, start + seconds(1));
  view.now = start + seconds(1);
  expect<Leave>();
  view.leaves_failed = leave_attempts_max;
  expect<GoAway>();
  view.leaves_failed = 1;
  view.abandoning = true;
  expect<GoAway>();
}

TEST_F(Decide, WhoIsAwayFinishesStaysOrComesBack) {
  view.state = State::away;
  view.lease_ends = BootTime::max();
  expect<ComeBack>();
  view.pausing = true;
  EXPECT_EQ(expect<Wait>().until, BootTime::max());
  view.stopping = true;
  expect<Finish>();
}

TEST_F(Decide, PauseRetreatsAsAStopDoes) {
  hold(2);
  view.pausing = true;
  EXPECT_EQ(expect<StartDrain>().shard, Shard{0});
  for (auto& held : view.scopes[0].held) held.draining = true;
  expect<Withdraw>();
  view.withdrawn = true;
  view.scopes[0].membership = Membership::unknown;
  EXPECT_EQ(expect<Wait>().until, start + milliseconds(10));
  for (auto& held : view.scopes[0].held) held.idle = true;
  EXPECT_EQ(expect<Release>().shards.size(), 2U);
  view.scopes[0].held.clear();
  expect<Leave>();
}

TEST_F(Decide, ResumedWhileUncountedJoinsAgainBeforeItCounts) {
  hold(2);
  view.scopes[0].held[1].draining = true;
  view.scopes[0].membership = Membership::unknown;
  view.scopes[0].count_at = start;
  expect<Join>();
  view.lease_retry_at = start + milliseconds(100);
  EXPECT_EQ(expect<Wait>().until, start + milliseconds(10)) << "no census, no balance";
  view.scopes[0].held[1].idle = true;
  EXPECT_EQ(expect<Release>().shards, std::vector{Shard{1}});
}

TEST_F(Decide, StoppedWorkerWantsNothing) {
  view.state = State::stopped;
  view.now = view.lease_ends + seconds(1);
  EXPECT_EQ(expect<Wait>().until, BootTime::max());
}

TEST(Quota, RanksByIdWhateverTheOrderOfTheList) {
  auto live = workers(3);
  std::swap(live[0], live[2]);
  EXPECT_EQ(quota(Share::even, 16, live, worker(0)), 6);
  EXPECT_EQ(quota(Share::even, 16, live, worker(1)), 5);
  EXPECT_EQ(quota(Share::even, 16, live, worker(2)), 5);
}

TEST(Quota, IsNothingForAWorkerThatIsNotLive) {
  EXPECT_EQ(quota(Share::even, 16, workers(3), worker(7)), 0);
  EXPECT_EQ(quota(Share::all, 16, workers(3), worker(7)), 0);
  EXPECT_EQ(quota(Share::even, 16, {}, worker(0)), 0);
}

RC_GTEST_PROP(Quota, SharesAddUpAndDifferByAtMostOne, ()) {
  const auto shards = *rc::gen::inRange<std::uint16_t>(1, 65);
  const auto count = *rc::gen::inRange(1, 41);
  const auto live = workers(count);
  std::vector<int> shares;
  for (int i = 0; i < count; ++i) shares.push_back(quota(Share::even, shards, live, worker(i)));
  RC_ASSERT(std::accumulate(shares.begin(), shares.end(), 0) == shards);
  const auto [least, most] = std::ranges::minmax(shares);
  RC_ASSERT(most - least <= 1);
}

TEST(RetryDelay, DoublesUpToABound) {
  const Duration plenty = seconds(60);
  EXPECT_EQ(retry_delay(1, plenty), milliseconds(100));
  EXPECT_EQ(retry_delay(2, plenty), milliseconds(200));
  EXPECT_EQ(retry_delay(4, plenty), milliseconds(800));
  EXPECT_EQ(retry_delay(5, plenty), seconds(1));
  EXPECT_EQ(retry_delay(1'000'000, plenty), seconds(1));
}

RC_GTEST_PROP(RetryDelay, LeavesRoomForMoreAttemptsInTheLease, ()) {
  const auto failures = *rc::gen::arbitrary<std::uint32_t>();
  const Duration left = milliseconds(*rc::gen::inRange(41, 20'000));
  const auto delay = retry_delay(failures, left);
  RC_ASSERT(delay >= retry_delay_floor);
  RC_ASSERT(delay <= retry_delay_max);
  RC_ASSERT(delay * 4 <= left);
}

}  // namespace
}  // namespace sagabox::ownership
