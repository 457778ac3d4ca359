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
  auto now = at({});
  std::vector<Duration> waits;
  for (int probe = 0; probe < 6; ++probe) {
    breaker.unreachable(now, now);
    waits.push_back(breaker.next(now) - now);
    now = breaker.next(now);
  }
  const std::vector<Duration> expected = {milliseconds(100), milliseconds(200), milliseconds(400),
                                          milliseconds(800), seconds(1),        seconds(1)};
  EXPECT_EQ(waits, expected);
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

TEST_F(BreakerTest, DownAgainWhileComingBackItWaitsLonger) {
  breaker.unreachable(at({}), at({}));
  breaker.delivered(at(milliseconds(100)));
  breaker.unreachable(at(milliseconds(110)), at(milliseconds(110)));
  EXPECT_EQ(breaker.next(at(milliseconds(110))), at(milliseconds(310)));
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

TEST_F(BreakerTest, APauseThatIsAskedForIsKeptUpToABound) {
  breaker.busy(seconds(10), at({}), at({}));
  EXPECT_EQ(breaker.allowed(at(seconds(9))), 0U);
  EXPECT_EQ(breaker.allowed(at(seconds(10))), 1U) << "and then gently";
  breaker.busy(std::chrono::hours(24), at(seconds(10)), at(seconds(10)));
  EXPECT_EQ(breaker.allowed(at(seconds(70))), 1U);
}

TEST_F(BreakerTest, OneThatIsAlwaysBusyIsAskedLessAndLess) {
  auto now = at({});
  std::vector<Duration> waits;
  for (int probe = 0; probe < 5; ++probe) {
    breaker.busy(Duration{}, now, now);
    waits.push_back(breaker.next(now) - now);
    now = breaker.next(now);
  }
  const std::vector<Duration> expected = {milliseconds(100), milliseconds(200), milliseconds(400),
                                          milliseconds(800), seconds(1)};
  EXPECT_EQ(waits, expected);
}

}  // namespace
}  // namespace sagabox::flow
