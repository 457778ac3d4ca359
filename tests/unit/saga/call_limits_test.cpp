#include "saga/calls/call_limits.hpp"

#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace sagabox::saga {
namespace {

using namespace std::chrono_literals;

CallLimits::Call call_of(std::string_view tenant, bool came_back = false,
                         std::string_view participant = "https://flights") {
  return {.transport = "http",
          .participant = participant,
          .definition = "travel",
          .tenant = tenant,
          .came_back = came_back};
}

class CallLimitsTest : public ::testing::Test {
 protected:
  /// Nothing, or what holds it.
  static std::string begun(CallLimits& limits, const CallLimits::Call& call, BootTime now) {
    CallLimits::Passage passage;
    const auto held = limits.begin(call, passage, now);
    return held ? held->by : "";
  }
  const BootTime start = sagabox::testing::FakeClock().boot_now();
};

TEST_F(CallLimitsTest, WithoutLimitsEverythingMayBegin) {
  CallLimits limits({});
  for (int number = 0; number < 1000; ++number) {
    EXPECT_EQ(begun(limits, call_of("acme"), start), "");
  }
}

TEST_F(CallLimitsTest, EachOfItsLimitsHoldsACallAndIsNamed) {
  const Limits one{.budget = Budget{1, 1h}};
  const auto named = [&](SagaLimits limits) {
    CallLimits held(std::move(limits));
    EXPECT_EQ(begun(held, call_of("acme"), start), "");
    return begun(held, call_of("acme"), start);
  };
  EXPECT_EQ(named({.transports = {{"http", one}}}), "the budget of transport http");
  EXPECT_EQ(named({.participant = one}), "the budget of participant https://flights");
  EXPECT_EQ(named({.definition = one}), "the budget of definition travel");
  EXPECT_EQ(named({.tenant = one}), "the budget of tenant acme");
  EXPECT_EQ(named({.tenant = {.rate = 1, .burst = 1}}), "the rate of tenant acme");
  EXPECT_EQ(named({.tenant = {.concurrency = 1}}), "the concurrency of tenant acme");
}

TEST_F(CallLimitsTest, OthersAreNotHeld) {
  CallLimits limits({.participants = {{"https://flights", {.concurrency = 1}}},
                     .tenant = {.budget = Budget{1, 1h}},
                     .tenants = {{"vip", {}}}});
  EXPECT_EQ(begun(limits, call_of("acme", false, "https://hotels"), start), "");
  EXPECT_NE(begun(limits, call_of("acme", false, "https://hotels"), start), "");
  EXPECT_EQ(begun(limits, call_of("umbrella", false, "https://hotels"), start), "");
  EXPECT_EQ(begun(limits, call_of("vip", false, "https://hotels"), start), "");
  EXPECT_EQ(begun(limits, call_of("vip", false, "https://hotels"), start), "") << "has none";
  EXPECT_EQ(begun(limits, call_of("vip"), start), "");
  EXPECT_EQ(begun(limits, call_of("vip"), start), "the concurrency of participant https://flights");
}

TEST_F(CallLimitsTest, WhatIsHeldComesBackOneAfterTheOtherAtTheRate) {
  CallLimits limits({.tenant = {.rate = 10, .burst = 1}});
  CallLimits::Passage passage;
  ASSERT_FALSE(limits.begin(call_of("acme"), passage, start));
  std::vector<Duration> waits;
  for (int number = 0; number < 50; ++number) {
    waits.push_back(limits.begin(call_of("acme"), passage, start)->wait);
  }
  for (std::size_t at = 0; at < waits.size(); ++at) {
    EXPECT_EQ(waits[at], (at + 1) * 100ms) << at;
  }
  for (const auto wait : waits) {
    EXPECT_FALSE(limits.begin(call_of("acme", true), passage, start + wait))
        << "each comes at its turn";
  }
}

TEST_F(CallLimitsTest, WhatComesForTheFirstTimeWaitsBehindWhatIsHeld) {
  CallLimits limits({.tenant = {.rate = 10, .burst = 1}});
  EXPECT_EQ(begun(limits, call_of("acme"), start), "");
  EXPECT_NE(begun(limits, call_of("acme"), start), "");
  EXPECT_NE(begun(limits, call_of("acme"), start), "") << "back at 200 ms";
  EXPECT_NE(begun(limits, call_of("acme"), start + 100ms), "") << "the turn of the first held one";
  EXPECT_EQ(begun(limits, call_of("acme", true), start + 100ms), "");
  EXPECT_EQ(begun(limits, call_of("acme", true), start + 200ms), "");
  EXPECT_EQ(begun(limits, call_of("acme"), start + 10s), "") << "nobody waits any more";
}

TEST_F(CallLimitsTest, ABudgetIsPromisedByWindowsAndNoWaitIsLongerThanTheBound) {
  CallLimits limits({.tenant = {.budget = Budget{2, 1min}}});
  CallLimits::Passage passage;
  for (int number = 0; number < 2; ++number) {
    ASSERT_FALSE(limits.begin(call_of("acme"), passage, start));
  }
  std::vector<Duration> waits;
  for (int number = 0; number < 100; ++number) {
    waits.push_back(limits.begin(call_of("acme"), passage, start)->wait);
  }
  EXPECT_EQ(waits[0], 1min);
  EXPECT_EQ(waits[1], 1min);
  EXPECT_EQ(waits[2], 2min);
  EXPECT_EQ(waits[5], 3min);
  EXPECT_EQ(waits.back(), CallLimits::wait_max);
}

TEST_F(CallLimitsTest, WhatDidNotReachItsParticipantSpendsNoBudget) {
  CallLimits limits({.participant = {.concurrency = 1, .budget = Budget{2, 1h}}});
  CallLimits::Passage passage;
  for (int number = 0; number < 10; ++number) {
    ASSERT_FALSE(limits.begin(call_of("acme", true), passage, start)) << number;
    EXPECT_NE(begun(limits, call_of("acme", true), start), "") << "one at a time";
    limits.end(passage, true, start + 1ms);
  }
}

TEST_F(CallLimitsTest, CallsThatWaitForOthersToEndComeBackAsOftenAsCallsEnd) {
  CallLimits limits({.participant = {.concurrency = 2}});
  std::vector<CallLimits::Passage> under_way(2);
  for (auto& passage : under_way) ASSERT_FALSE(limits.begin(call_of("acme"), passage, start));
  CallLimits::Passage passage;
  const auto first = limits.begin(call_of("acme"), passage, start)->wait;
  const auto second = limits.begin(call_of("acme"), passage, start)->wait;
  EXPECT_EQ(second, 2 * first);
  limits.end(under_way[0], false, start + 10s);
  EXPECT_FALSE(limits.begin(call_of("acme", true), passage, start + 10s));
  EXPECT_LE(limits.begin(call_of("acme", true), passage, start + 10s)->wait, 1s)
      << "calls that take long are looked for sooner";
}

TEST_F(CallLimitsTest, TenantsWithoutEndShareLimits) {
  CallLimits limits({.tenant = {.budget = Budget{1, 1h}}});
  std::size_t held = 0;
  for (int number = 0; number < 20'000; ++number) {
    held += begun(limits, call_of("tenant " + std::to_string(number)), start).empty() ? 0 : 1;
  }
  EXPECT_GT(held, 0U);
  EXPECT_LT(held, 10'000U);
}

TEST(SagaLimitsCheck, NamesTheLimitThatIsWrong) {
  SagaLimits limits{.tenants = {{"acme", {.rate = 0}}}};
  EXPECT_NE(limits.check().error().message.find("limits of acme: rate is 0"), std::string::npos)
      << limits.check().error().message;
}

}  // namespace
}  // namespace sagabox::saga
