#include "simulation/world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

namespace sagabox::simulation {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t seeds_default = 200;
constexpr std::uint64_t parts = 2;
#else
constexpr std::uint64_t seeds_default = 2'000;
constexpr std::uint64_t parts = 8;
#endif
/// Fewer seeds than this need not exercise everything.
constexpr std::uint64_t seeds_for_coverage = 100;
constexpr std::uint64_t seeds_of_variants = 500;

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t last = seeds_default;
};

/// SAGABOX_SEEDS: a seed or a range, "17" or "1-50000".
Seeds wanted_seeds() {
  const char* text = std::getenv("SAGABOX_SEEDS");
  if (text == nullptr) return {};
  char* end = nullptr;
  const auto first = std::strtoull(text, &end, 10);
  return {first, *end == '-' ? std::strtoull(end + 1, nullptr, 10) : first};
}

std::string story(const Report& report) {
  return report.trace_tail + "\nseed " + std::to_string(report.seed) + ": " + *report.violation +
         "\nreplay: ./dev torture " + std::to_string(report.seed);
}

class RealEngine : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RealEngine, PassesSeeds) {
  const auto seeds = wanted_seeds();
  Statistics all;
  std::uint64_t run = 0;
  for (auto seed = seeds.first + GetParam(); seed <= seeds.last; seed += parts) {
    const auto report = simulate(seed);
    all.add(report.statistics);
    ++run;
    ASSERT_FALSE(report.violation) << story(report);
  }
  if (run == 0) return;
  std::cout << run << " seeds\n" << all.table();
  if (run < seeds_for_coverage) return;
  for (const auto event : all.never()) ADD_FAILURE() << "never exercised: " << name_of(event);
}

INSTANTIATE_TEST_SUITE_P(Simulation, RealEngine, ::testing::Range<std::uint64_t>(0, parts));

TEST(Simulation, SameSeedSameRun) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto once = simulate(seed);
    const auto twice = simulate(seed);
    EXPECT_EQ(once.trace_hash, twice.trace_hash) << "seed " << seed;
    EXPECT_EQ(once.events, twice.events) << "seed " << seed;
    EXPECT_NE(once.trace_hash, simulate(seed + 1'000).trace_hash);
  }
}

/// The first seed at which the variant breaks a rule; said, so that it can be looked at.
std::string expect_caught(Variant variant) {
  for (std::uint64_t seed = 1; seed <= seeds_of_variants; ++seed) {
    const auto report = simulate(seed, variant);
    if (!report.violation) continue;
    std::cout << "caught at seed " << seed << ": " << *report.violation << '\n';
    return *report.violation;
  }
  ADD_FAILURE() << "not caught within " << seeds_of_variants << " seeds";
  return {};
}

TEST(Simulation, CatchesTrackerWithoutStaleReadRule) {
  expect_caught(Variant::tracker_without_stale_read_rule);
}
TEST(Simulation, CatchesStoreWithoutFence) { expect_caught(Variant::store_without_fence); }
TEST(Simulation, CatchesReadingWithoutLateCommits) {
  expect_caught(Variant::reading_without_late_commits);
}
TEST(Simulation, CatchesNoCautiousMode) { expect_caught(Variant::no_cautious_mode); }

TEST(Simulation, CatchesReplayInPlace) { expect_caught(Variant::replay_in_place); }
TEST(Simulation, CatchesPurgeThatTakesPendingRows) { expect_caught(Variant::purge_takes_pending); }
TEST(Simulation, CatchesJobWhoseCursorCommitsApart) { expect_caught(Variant::job_cursor_apart); }

TEST(Simulation, CatchesKeysThatOvertakeWhatAGateKeepsBack) {
  expect_caught(Variant::keys_overtake_gates);
}
TEST(Simulation, CatchesARelayThatStopsReadingBehindAClosedGate) {
  const auto violation = expect_caught(Variant::closed_gate_stops_reading);
  EXPECT_TRUE(violation.starts_with(name_of(Event::closed_class_delays_no_other))) << violation;
}
TEST(Simulation, CatchesRefusedRowsThatStopOthers) {
  expect_caught(Variant::refused_rows_stop_others);
}

TEST(Simulation, BrokenRunReplaysToTheSameViolation) {
  for (std::uint64_t seed = 1; seed <= seeds_of_variants; ++seed) {
    const auto once = simulate(seed, Variant::tracker_without_stale_read_rule);
    if (!once.violation) continue;
    const auto twice = simulate(seed, Variant::tracker_without_stale_read_rule);
    EXPECT_EQ(once.violation, twice.violation);
    EXPECT_EQ(once.trace_tail, twice.trace_tail);
    return;
  }
  FAIL() << "nothing to replay";
}

}  // namespace
}  // namespace sagabox::simulation
