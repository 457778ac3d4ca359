#include "delivery/retry_schedule.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sagabox::delivery {
namespace {

using namespace std::chrono_literals;

// REQUIREMENTS D10, preset of the hub.
TEST(RetrySchedule, TheHubsWaitsAreMadeOneAfterTheOther) {
  const std::vector<Duration> waits{5s, 5min, 30min, 2h, 5h, 10h, 14h, 20h, 24h};
  RetrySchedule schedule;
  const auto random = seeded_random(1);
  for (std::uint32_t failures = 1; failures <= waits.size(); ++failures) {
    const auto wait = schedule.after_failure(failures, *random).value();
    EXPECT_GE(wait, waits[failures - 1]);
    EXPECT_LE(wait, waits[failures - 1] + waits[failures - 1] / 10);
  }
  EXPECT_FALSE(schedule.after_failure(10, *random));
}

TEST(RetrySchedule, AnUnreachableEndpointIsTriedForThreeDays) {
  RetrySchedule schedule;
  schedule.jitter = 0;
  const auto random = seeded_random(1);
  Duration waited{};
  std::uint32_t times = 1;
  for (; times < 1000; ++times) {
    const auto wait = schedule.after_unreachable(times, *random);
    if (!wait) break;
    waited += *wait;
  }
  EXPECT_LE(waited, Duration(72h));
  EXPECT_GT(waited, Duration(70h));
}

}  // namespace
}  // namespace sagabox::delivery
