#include "simulation/hub/world.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

namespace sagabox::simulation {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t hub_seeds_default = 55;
#else
constexpr std::uint64_t hub_seeds_default = 150;
#endif
/// In fewer, as under a sanitizer, not everything that is rare happens.
constexpr std::uint64_t hub_seeds_for_coverage = 100;
constexpr std::uint64_t hub_seeds_of_variants = 200;

std::string story_of(const HubReport& report) {
  std::string counts;
  for (const auto& [what, times] : report.counts) {
    counts += std::to_string(times) + " " + what + "\n";
  }
  return report.trace + counts + "seed " + std::to_string(report.seed) + ": " +
         report.violation.value_or("passed");
}

/// SAGABOX_SEEDS: a seed or a range, "17" or "1-50000".
std::pair<std::uint64_t, std::uint64_t> wanted_hub_seeds() {
  const char* text = std::getenv("SAGABOX_SEEDS");
  if (text == nullptr) return {1, hub_seeds_default};
  char* end = nullptr;
  const auto first = std::strtoull(text, &end, 10);
  return {first, *end == '-' ? std::strtoull(end + 1, nullptr, 10) : first};
}

TEST(HubSimulation, PassesSeeds) {
  const auto [first, last] = wanted_hub_seeds();
  std::map<std::string, std::uint64_t> counts;
  for (auto seed = first; seed <= last; ++seed) {
    const auto report = simulate_hub(seed);
    ASSERT_FALSE(report.violation) << story_of(report);
    for (const auto& [what, times] : report.counts) counts[what] += times;
  }
  for (const auto& [what, times] : counts) std::cout << times << " " << what << '\n';
  if (last - first < hub_seeds_for_coverage) return;
  for (const auto* const what :
       {"completed", "dead", "died unsent", "crashes", "pauses", "requests", "leases lost",
        "jobs given up", "routed again", "events published again", "requeued", "waits for its key",
        "change STORAGE.IN_DOUBT", "change refused by a fence"}) {
    EXPECT_GT(counts[what], 0U) << what << " never happened";
  }
}

TEST(HubSimulation, SameSeedSameRun) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto once = simulate_hub(seed);
    const auto twice = simulate_hub(seed);
    EXPECT_EQ(once.trace, twice.trace) << "seed " << seed;
    EXPECT_EQ(once.events, twice.events) << "seed " << seed;
  }
}

void expect_hub_variant_caught(HubVariant variant) {
  for (std::uint64_t seed = 1; seed <= hub_seeds_of_variants; ++seed) {
    const auto report = simulate_hub(seed, variant);
    if (!report.violation) continue;
    std::cout << "caught at seed " << seed << ": " << *report.violation << '\n';
    return;
  }
  ADD_FAILURE() << "not caught within " << hub_seeds_of_variants << " seeds";
}

TEST(HubSimulation, CatchesARouterWithoutTheUniqueKey) {
  expect_hub_variant_caught(HubVariant::router_without_unique_key);
}
TEST(HubSimulation, CatchesAPositionMovedBeforeTheDeliveries) {
  expect_hub_variant_caught(HubVariant::position_moved_before_deliveries);
}
TEST(HubSimulation, CatchesAWorkerThatRetries) {
  expect_hub_variant_caught(HubVariant::worker_retries);
}
TEST(HubSimulation, CatchesACleanerThatTouchesDeliveries) {
  expect_hub_variant_caught(HubVariant::cleaner_touches_deliveries);
}
TEST(HubSimulation, CatchesAResultCountedTwice) {
  expect_hub_variant_caught(HubVariant::result_counted_twice);
}
TEST(HubSimulation, CatchesJobsWithoutBegin) {
  expect_hub_variant_caught(HubVariant::jobs_without_begin);
}
/// The store does not mark what counts still, so that an owner's mistake loses no delivery.
TEST(HubSimulation, AResultMarkedBeforeItIsAppliedIsStillApplied) {
  for (std::uint64_t seed = 1; seed <= hub_seeds_default; ++seed) {
    const auto report = simulate_hub(seed, HubVariant::seen_before_it_is_applied);
    ASSERT_FALSE(report.violation) << story_of(report);
  }
}

}  // namespace
}  // namespace sagabox::simulation
