#include "flow/valve.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace sagabox::flow {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

BootTime at(Duration time) { return BootTime(seconds(1000)) + time; }

int begun_until(Valve& valve, BootTime from, BootTime to) {
  int begun = 0;
  for (auto now = from; now <= to; now += milliseconds(1)) {
    for (; valve.admits(now); ++begun) {
      valve.begin(now);
      valve.end();
    }
  }
  return begun;
}

TEST(ValveTest, RateIsHeldAndSpreadEvenly) {
  Valve valve({.rate = 100, .burst = 1}, at({}));
  EXPECT_EQ(begun_until(valve, at({}), at(milliseconds(99))), 10);
  EXPECT_EQ(begun_until(valve, at(milliseconds(100)), at(milliseconds(1099))), 100);
}

TEST(ValveTest, AfterARestABurstGoesAtOnceAndNoMore) {
  Valve valve({.rate = 10, .burst = 5}, at({}));
  EXPECT_EQ(begun_until(valve, at(seconds(60)), at(seconds(60))), 5);
  EXPECT_FALSE(valve.admits(at(seconds(60))));
  EXPECT_EQ(valve.next(at(seconds(60))), at(seconds(60) + milliseconds(100)));
}

RC_GTEST_PROP(ValveTest, NeverMoreThanRateTimesTimePlusBurst, ()) {
  const auto rate = *rc::gen::inRange<std::uint32_t>(1, 2000);
  const auto burst = *rc::gen::inRange<std::uint32_t>(1, 50);
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 300));
  Valve valve({.rate = rate, .burst = burst}, at({}));
  auto now = at({});
  std::uint64_t begun = 0;
  for (const auto step : steps) {
    now += milliseconds(step);
    while (valve.admits(now)) {
      valve.begin(now);
      valve.end();
      ++begun;
    }
    const auto most =
        static_cast<double>(rate) * std::chrono::duration<double>(now - at({})).count() + burst + 1;
    RC_ASSERT(static_cast<double>(begun) <= most);
  }
}

TEST(ValveTest, ConcurrencyIsFreedByWhatEnds) {
  Valve valve({.concurrency = 2}, at({}));
  valve.begin(at({}));
  valve.begin(at({}));
  EXPECT_FALSE(valve.admits(at({})));
  EXPECT_EQ(valve.next(at({})), BootTime::max());
  valve.end();
  EXPECT_TRUE(valve.admits(at({})));
}

TEST(ValveTest, ABudgetLastsForItsWindow) {
  Valve valve({.budget = Budget{3, seconds(60)}}, at({}));
  EXPECT_EQ(begun_until(valve, at(seconds(10)), at(seconds(11))), 3);
  EXPECT_EQ(valve.next(at(seconds(11))), at(seconds(70)));
  EXPECT_EQ(begun_until(valve, at(seconds(12)), at(seconds(69))), 0);
  EXPECT_EQ(begun_until(valve, at(seconds(70)), at(seconds(71))), 3);
}

TEST(ValveTest, TellsWhichLimitIsReached) {
  Valve valve({.rate = 10, .burst = 1, .concurrency = 2, .budget = Budget{3, seconds(60)}}, at({}));
  EXPECT_EQ(valve.reached(at({})), Valve::Limit::none);
  valve.begin(at({}));
  EXPECT_EQ(valve.reached(at({})), Valve::Limit::rate);
  valve.begin(at(seconds(1)));
  EXPECT_EQ(valve.reached(at(seconds(2))), Valve::Limit::concurrency);
  valve.end();
  valve.begin(at(seconds(2)));
  valve.end();
  EXPECT_EQ(valve.reached(at(seconds(3))), Valve::Limit::budget);
  EXPECT_EQ(valve.reached(at(seconds(60))), Valve::Limit::none);
}

TEST(LimitsTest, WhatMakesNoSenseIsNamed) {
  EXPECT_TRUE(Limits{}.check().ok());
  EXPECT_NE(Limits{.rate = 0}.check().error().message.find("rate"), std::string::npos);
  EXPECT_NE(Limits{.burst = 3}.check().error().message.find("burst"), std::string::npos);
  EXPECT_NE(Limits{.concurrency = 0}.check().error().message.find("concurrency"),
            std::string::npos);
  EXPECT_FALSE((Limits{.budget = Budget{10, {}}}.check().ok()));
  EXPECT_FALSE((BreakerOptions{.probe_min = seconds(2), .probe_max = seconds(1)}.check().ok()));
}

}  // namespace
}  // namespace sagabox::flow
