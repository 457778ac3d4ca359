#include "flow/breaker.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sagabox::flow {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto unlimited = std::numeric_limits<std::uint32_t>::max();

class BreakerTest : public ::testing::Test {
 protected:
  [[nodiscard]] static BootTime at(Duration time) { return BootTime(seconds(1000)) + time; }
  Breaker breaker{{.timeouts_max = 3,
                   .probe_min = milliseconds(100),
                   .probe_max = seconds(1),
                   .pause_max = seconds(60)}};

  using Lane = Breaker::Lane;
  /// All probes of the rounds that follow fail. Returns what each round waits for, and how many
  /// probes it has.
  struct Rounds {
    std::vector<Duration> waits;
    std::vector<int> probes;
  };
  template <class Fail>
  Rounds rounds(int count, Fail&& fail) {
    Rounds seen;
    auto now = at({});
    fail(now);
    for (int round = 0; round < count; ++round) {
      seen.waits.push_back(breaker.next(now) - now);
      now = breaker.next(now);
      int probes = 0;
      for (; breaker.allowed(now) == 1; ++probes) fail(now);
      seen.probes.push_back(probes);
    }
    return seen;
  }
};

TEST_F(BreakerTest, OneThatCannotBeReachedIsDownAtOnceAndProbedByOneAtATime) {
  EXPECT_EQ(breaker.allowed(at({})), unlimited);
  breaker.unreachable(at({}), at(milliseconds(1)));
  EXPECT_TRUE(breaker.open());
  EXPECT_EQ(breaker.allowed(at(milliseconds(50))), 0U);
  EXPECT_EQ(breaker.next(at(milliseconds(50))), at(milliseconds(101)));
  EXPECT_EQ(breaker.allowed(at(milliseconds(101))), 1U);
}

TEST_F(BreakerTest, ProbesGrowApartUpToTheirMaximum) {
  const auto seen = rounds(6, [&](BootTime now) { breaker.unreachable(now, now); });
  const std::vector<Duration> expected = {milliseconds(100), milliseconds(200), milliseconds(400),
                                          milliseconds(800), seconds(1),        seconds(1)};
  EXPECT_EQ(seen.waits, expected);
}

TEST_F(BreakerTest, ARoundHasMoreProbesTheLongerItIsDownUpToABound) {
  const auto seen = rounds(5, [&](BootTime now) { breaker.unreachable(now, now); });
  EXPECT_EQ(seen.probes, (std::vector<int>{1, 4, 16, 16, 16}));
}

TEST_F(BreakerTest, WhatIsTriedAgainProbesBesideTheFreshOnes) {
  breaker.unreachable(at({}), at({}));
  const auto now = at(milliseconds(100));
  EXPECT_EQ(breaker.allowed(now, Lane::retry), 1U);
  breaker.unreachable(now, now, Lane::retry);
  EXPECT_EQ(breaker.allowed(now, Lane::retry), 0U) << "it has had its turn";
  EXPECT_EQ(breaker.allowed(now, Lane::fresh), 1U) << "and did not take the other's";
}

TEST_F(BreakerTest, WhereNothingFreshComesThoseThatAreTriedAgainEndTheRound) {
  breaker.unreachable(at({}), at({}));
  auto now = at(milliseconds(100));
  breaker.unreachable(now, now, Lane::retry);
  now = at(milliseconds(200));
  ASSERT_EQ(breaker.allowed(now, Lane::retry), 1U);
  breaker.unreachable(now, now, Lane::retry);
  EXPECT_EQ(breaker.next(now), now + milliseconds(200)) << "the next one comes later";
}

TEST_F(BreakerTest, OneThatFailsWhereOthersHaveJustArrivedDoesNotCloseIt) {
  for (int count = 0; count < 100; ++count) {
    const auto now = at(milliseconds(20 * count));
    breaker.delivered(now);
    breaker.unreachable(now, now + milliseconds(1));
    breaker.busy(seconds(60), now, now + milliseconds(2));
    ASSERT_FALSE(breaker.open());
  }
}

TEST_F(BreakerTest, SeveralInARowDo) {
  breaker.delivered(at({}));
  for (int count = 1; count <= 3; ++count) {
    EXPECT_FALSE(breaker.open());
    breaker.busy({}, at(milliseconds(count)), at(milliseconds(count)));
  }
  EXPECT_TRUE(breaker.open());
}

TEST_F(BreakerTest, WhereOthersOvertakeThoseThatFailManyMoreInARowDo) {
  breaker.overtaken(at({}));
  int count = 0;
  for (; !breaker.open(); ++count) {
    ASSERT_LT(count, 64);
    breaker.busy({}, at(milliseconds(count + 1)), at(milliseconds(count + 1)));
  }
  EXPECT_EQ(count, 64);
}

TEST_F(BreakerTest, DownAgainBeforeItWasBackForGoodItsRoundsAreAsLongAsBefore) {
  const auto fail = [&](BootTime now) { breaker.busy({}, now, now); };
  ASSERT_EQ(rounds(3, fail).probes.back(), 16);
  const auto now = at(seconds(60));
  breaker.delivered(now);
  for (int count = 1; count <= 3; ++count) fail(now + milliseconds(count));
  ASSERT_TRUE(breaker.open());
  auto probe = breaker.next(now + milliseconds(3));
  int probes = 0;
  for (; breaker.allowed(probe) == 1; ++probes) fail(probe);
  EXPECT_EQ(probes, 16);
}

TEST_F(BreakerTest, ABusyAnswerAmongOthersHalvesWhatMayBeUnderWay) {
  auto now = at({});
  const auto answer = [&](bool busy) {
    now += milliseconds(1);
    busy ? breaker.busy({}, now, now) : breaker.delivered(now);
  };
  answer(false);
  answer(true);
  EXPECT_EQ(breaker.allowed(now), 128U);
  const auto sent = now;
  answer(false);
  answer(true);
  EXPECT_EQ(breaker.allowed(now), 64U);
  answer(false);
  breaker.busy({}, sent, now);
  EXPECT_EQ(breaker.allowed(now), 64U) << "once for all that were under way together";
  for (int count = 0; count < 20; ++count) {
    answer(false);
    answer(true);
  }
  EXPECT_EQ(breaker.allowed(now), 2U) << "never less than one of each lane";
  for (int count = 0; count < 254; ++count) answer(false);
  EXPECT_EQ(breaker.allowed(now), unlimited);
}

TEST_F(BreakerTest, WhatWasSentBeforeItWentDownSaysNothingNew) {
  breaker.unreachable(at({}), at(milliseconds(10)));
  const auto probe = breaker.next(at(milliseconds(10)));
  for (int late = 0; late < 100; ++late) {
    breaker.unreachable(at(milliseconds(5)), at(milliseconds(20)));
  }
  EXPECT_EQ(breaker.next(at(milliseconds(20))), probe);
}

TEST_F(BreakerTest, ComesBackGently) {
  breaker.unreachable(at({}), at({}));
  const auto now = at(seconds(1));
  breaker.delivered(now);
  EXPECT_FALSE(breaker.open());
  std::uint32_t before = 1;
  int arrivals = 0;
  for (; breaker.allowed(now) != unlimited; ++arrivals) {
    ASSERT_LT(arrivals, 2000);
    const auto allowed = breaker.allowed(now);
    EXPECT_LE(allowed, 2 * before);
    before = allowed;
    breaker.delivered(now);
  }
  EXPECT_GE(arrivals, 200);
}

TEST_F(BreakerTest, DownAgainAfterOneHasArrivedItWaitsAsLongAsBefore) {
  const auto seen = rounds(3, [&](BootTime now) { breaker.unreachable(now, now); });
  ASSERT_EQ(seen.waits.back(), milliseconds(400));
  for (int count = 0; count < 5; ++count) {
    const auto now = at(seconds(10 + count));
    breaker.delivered(now);
    const auto later = now + milliseconds(900);
    for (int fails = 0; fails < 3; ++fails) breaker.unreachable(later, later);
    EXPECT_EQ(breaker.next(later) - later, milliseconds(800));
  }
}

TEST_F(BreakerTest, ASingleTimeoutIsNoOutageSeveralInARowAre) {
  breaker.timed_out(at({}), at(seconds(1)));
  breaker.timed_out(at({}), at(seconds(1)));
  EXPECT_FALSE(breaker.open());
  breaker.delivered(at(seconds(2)));
  breaker.timed_out(at(seconds(3)), at(seconds(4)));
  breaker.timed_out(at(seconds(3)), at(seconds(4)));
  EXPECT_FALSE(breaker.open()) << "one arrived in between";
  breaker.timed_out(at(seconds(3)), at(seconds(4)));
  EXPECT_TRUE(breaker.open());
}

TEST_F(BreakerTest, TimeoutsOfWhatOthersOvertookAreNotItsFault) {
  breaker.delivered(at(seconds(2)));
  for (int count = 0; count < 10; ++count) breaker.timed_out(at(seconds(1)), at(seconds(3)));
  EXPECT_FALSE(breaker.open());
  EXPECT_TRUE(breaker.alive_since(at(seconds(1))));
  EXPECT_FALSE(breaker.alive_since(at(seconds(2))));
}

TEST_F(BreakerTest, APauseThatSeveralAreAskedForIsKeptUpToABound) {
  const auto seen =
      rounds(5, [&](BootTime now) { breaker.busy(std::chrono::hours(24), now, now); });
  const std::vector<Duration> expected = {milliseconds(100), milliseconds(200), milliseconds(400),
                                          seconds(60), seconds(60)};
  EXPECT_EQ(seen.waits, expected) << "one alone may be a limit of its own";
}

TEST_F(BreakerTest, APauseEndsWhenSomethingArrives) {
  rounds(4, [&](BootTime now) { breaker.busy(seconds(60), now, now); });
  breaker.delivered(at(seconds(1)));
  EXPECT_EQ(breaker.allowed(at(seconds(1))), 2U);
}

TEST_F(BreakerTest, OneThatIsAlwaysBusyIsAskedLessAndLess) {
  const auto seen = rounds(5, [&](BootTime now) { breaker.busy({}, now, now); });
  const std::vector<Duration> expected = {milliseconds(100), milliseconds(200), milliseconds(400),
                                          milliseconds(800), seconds(1)};
  EXPECT_EQ(seen.waits, expected);
}

}  // namespace
}  // namespace sagabox::flow
