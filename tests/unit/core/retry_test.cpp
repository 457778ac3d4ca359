#include <sagabox/retry.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace sagabox {
namespace {

using namespace std::chrono_literals;

/// The lowest or the highest number there is, for the ends of the jitter.
class EdgeRandom final : public Random {
 public:
  explicit EdgeRandom(std::uint64_t value) : value_(value) {}
  std::uint64_t next() override { return value_; }

 private:
  std::uint64_t value_;
};

Duration shortest(const RetryPolicy& policy, std::uint32_t attempt) {
  EdgeRandom low{0};
  return policy.delay(attempt, low);
}
Duration longest(const RetryPolicy& policy, std::uint32_t attempt) {
  EdgeRandom high{std::numeric_limits<std::uint64_t>::max()};
  return policy.delay(attempt, high);
}

void expect_near(Duration actual, Duration expected) {
  EXPECT_NEAR(static_cast<double>(actual.count()), static_cast<double>(expected.count()), 1000.0);
}

TEST(RetryPreset, Patient) {
  const auto policy = RetryPolicy::patient();
  EXPECT_EQ(policy.attempts_max, 12U);
  EXPECT_EQ(shortest(policy, 1), 500ms) << "never below its base";
  expect_near(longest(policy, 1), 650ms);
  expect_near(shortest(policy, 2), 700ms);
  expect_near(longest(policy, 2), 1300ms);
  expect_near(shortest(policy, 30), 210s);
  expect_near(longest(policy, 30), 390s);
}

TEST(RetryPreset, Persistent) {
  const auto policy = RetryPolicy::persistent();
  EXPECT_EQ(policy.attempts_max, 25U);
  EXPECT_EQ(shortest(policy, 1), 1s);
  expect_near(longest(policy, 1), 1200ms);
  EXPECT_EQ(shortest(policy, 6), 32s);
  EXPECT_EQ(shortest(policy, 7), 60s);
  expect_near(longest(policy, 25), 60200ms);
}

TEST(RetryPreset, QuickIsTheDefault) {
  const auto policy = RetryPolicy::quick();
  EXPECT_EQ(policy.attempts_max, 10U);
  expect_near(shortest(policy, 1), 100ms);
  expect_near(longest(policy, 1), 300ms);
  expect_near(shortest(policy, 3), 400ms);
  expect_near(longest(policy, 3), 1200ms);
  expect_near(longest(policy, 10), 90s);
  EXPECT_EQ(shortest(RetryPolicy{}, 4), shortest(policy, 4));
  EXPECT_EQ(longest(RetryPolicy{}, 4), longest(policy, 4));
}

TEST(RetryPreset, Saga) {
  const auto policy = RetryPolicy::saga();
  EXPECT_EQ(policy.attempts_max, 6U);
  EXPECT_EQ(shortest(policy, 1), 1s);
  expect_near(longest(policy, 1), 1200ms);
  expect_near(shortest(policy, 3), 3200ms);
  expect_near(longest(policy, 20), 72s);
}

TEST(RetryPreset, AreFoundByNameAndValid) {
  for (const auto name : {"patient", "persistent", "quick", "saga"}) {
    const auto policy = RetryPolicy::preset(name);
    ASSERT_TRUE(policy.ok()) << name;
    EXPECT_TRUE(policy->check().ok()) << name;
  }
  EXPECT_EQ(RetryPolicy::preset("persistent")->attempts_max, 25U);
  EXPECT_FALSE(RetryPolicy::preset("hub").ok()) << "its waits are RetrySchedule's alone";
  const auto unknown = RetryPolicy::preset("Quick");
  EXPECT_EQ(unknown.error().code, Code::config_invalid);
  EXPECT_EQ(unknown.error().message,
            "retry preset \"Quick\": unknown; there are patient, persistent, quick and saga");
}

TEST(RetryDelay, GrowsToTheCapAndStaysThere) {
  RetryPolicy policy = RetryPolicy::persistent();
  policy.jitter_added_max = 0s;
  std::vector<Duration> delays;
  for (std::uint32_t attempt = 1; attempt <= 8; ++attempt) {
    delays.push_back(shortest(policy, attempt));
  }
  EXPECT_EQ(delays, (std::vector<Duration>{1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}));
  EXPECT_EQ(shortest(policy, std::numeric_limits<std::uint32_t>::max()), 60s);
  EXPECT_EQ(shortest(policy, 0), 1s) << "attempt 0 is taken as the first";
}

TEST(RetryDelay, WithoutBackoffIsZeroAlsoForLateAttempts) {
  RetryPolicy policy;
  policy.backoff_min = 0s;
  EXPECT_EQ(longest(policy, 1), 0s);
  EXPECT_EQ(longest(policy, 4'000'000'000), 0s);
}

TEST(RetryDelay, UncheckedNonsenseDoesNotOverflow) {
  RetryPolicy policy;
  policy.backoff_max = Duration::max();
  policy.jitter_max = 1e300;
  EXPECT_EQ(longest(policy, 4'000'000'000), Duration::max());
  policy.factor = std::nan("");
  EXPECT_GE(longest(policy, 3), 0s);
}

struct WrongPolicy {
  RetryPolicy policy;
  std::string text;
};

TEST(RetryCheck, NamesTheSettingAndWhatWouldBeRight) {
  const std::vector<WrongPolicy> wrong{
      {{.attempts_max = 0},
       "retry.attempts_max: 0 would never deliver anything; it must be at least 1"},
      {{.backoff_min = -1s}, "retry.backoff_min: -1s is not between 0s and 31536000s (a year)"},
      {{.backoff_max = 24h * 366},
       "retry.backoff_max: 31622400s is not between 0s and 31536000s (a year)"},
      {{.backoff_max = 100ms},
       "retry.backoff_max: 100ms is below backoff_min (200ms); it must be at least as long"},
      {{.factor = 0.5}, "retry.factor: 0.5 is not between 1 and 100"},
      {{.factor = std::nan("")}, "retry.factor: nan is not between 1 and 100"},
      {{.jitter_min = -0.1}, "retry.jitter_min: -0.1 is not between 0 and 10"},
      {{.jitter_min = 0.5, .jitter_max = 0.4},
       "retry.jitter_max: 0.4 is not between jitter_min (0.5) and 10"},
      {{.jitter_max = 11}, "retry.jitter_max: 11 is not between jitter_min (0.5) and 10"},
      {{.jitter_added_max = -1ms},
       "retry.jitter_added_max: -1ms is not between 0s and 31536000s (a year)"},
      {{.floor = -1ms}, "retry.floor: -1ms is not between 0s and 31536000s (a year)"},
  };
  for (const auto& [policy, text] : wrong) {
    const auto status = policy.check();
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_EQ(status.error().code, Code::config_invalid);
    EXPECT_EQ(status.error().message, text);
  }
}

RetryPolicy any_valid_policy() {
  RetryPolicy policy;
  policy.backoff_min = std::chrono::milliseconds(*rc::gen::inRange(0, 100'000));
  policy.backoff_max =
      policy.backoff_min + std::chrono::milliseconds(*rc::gen::inRange(0, 1 << 30));
  policy.factor = 1 + *rc::gen::inRange(0, 9901) / 100.0;
  policy.jitter_min = *rc::gen::inRange(0, 1001) / 100.0;
  policy.jitter_max = policy.jitter_min + *rc::gen::inRange(0, 1001) / 100.0;
  policy.jitter_max = std::min(policy.jitter_max, 10.0);
  policy.jitter_added_max = std::chrono::milliseconds(*rc::gen::inRange(0, 100'000));
  policy.floor = std::chrono::milliseconds(*rc::gen::inRange(0, 100'000));
  return policy;
}

/// The bounds as the header states them, a microsecond of rounding allowed.
void assert_within_bounds(const RetryPolicy& policy, std::uint32_t attempt, Duration delay) {
  long double backoff = static_cast<long double>(policy.backoff_min.count());
  const auto cap = static_cast<long double>(policy.backoff_max.count());
  for (std::uint32_t n = 1; n < attempt && backoff < cap && policy.factor > 1 && backoff > 0; ++n) {
    backoff *= policy.factor;
  }
  backoff = std::min(backoff, cap);
  const auto floor = static_cast<long double>(policy.floor.count());
  const auto added = static_cast<long double>(policy.jitter_added_max.count());
  const auto got = static_cast<long double>(delay.count());
  RC_ASSERT(got >= std::max(backoff * policy.jitter_min, floor) - 1000);
  RC_ASSERT(got <= std::max(backoff * policy.jitter_max + added, floor) + 1000);
  RC_ASSERT(delay >= policy.floor);
}

RC_GTEST_PROP(RetryDelay, StaysInBoundsForAnyValidPolicy,
              (std::uint64_t seed, std::uint32_t late)) {
  const auto policy = any_valid_policy();
  RC_ASSERT(policy.check().ok());
  const auto random = seeded_random(seed);
  for (const std::uint32_t attempt : {1U, 2U, 3U, 10U, 100U, late, 0xffff'ffffU}) {
    assert_within_bounds(policy, attempt, policy.delay(attempt, *random));
  }
}

RC_GTEST_PROP(RetryDelay, StaysInBoundsForThePresets, (std::uint64_t seed, std::uint32_t attempt)) {
  const auto random = seeded_random(seed);
  for (const auto name : {"patient", "persistent", "quick", "saga"}) {
    const auto policy = RetryPolicy::preset(name).value();
    assert_within_bounds(policy, attempt, policy.delay(attempt, *random));
    assert_within_bounds(policy, attempt % 16, policy.delay(attempt % 16, *random));
  }
}

}  // namespace
}  // namespace sagabox
