#include "simulation/saga/world.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

namespace sagabox::simulation {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t saga_seeds_default = 55;
#else
constexpr std::uint64_t saga_seeds_default = 200;
#endif
constexpr std::uint64_t saga_seeds_for_coverage = 50;
constexpr std::uint64_t saga_seeds_of_variants = 300;

std::string story_of(const SagaReport& report) {
  std::string counts;
  for (const auto& [what, times] : report.counts) {
    counts += std::to_string(times) + " " + what + "\n";
  }
  return report.trace + counts + "seed " + std::to_string(report.seed) + ": " +
         report.violation.value_or("passed");
}

/// SAGABOX_SEEDS: a seed or a range, "17" or "1-50000".
std::pair<std::uint64_t, std::uint64_t> wanted_saga_seeds() {
  const char* text = std::getenv("SAGABOX_SEEDS");
  if (text == nullptr) return {1, saga_seeds_default};
  char* end = nullptr;
  const auto first = std::strtoull(text, &end, 10);
  return {first, *end == '-' ? std::strtoull(end + 1, nullptr, 10) : first};
}

TEST(SagaSimulation, PassesSeeds) {
  const auto [first, last] = wanted_saga_seeds();
  std::map<std::string, std::uint64_t> counts;
  for (auto seed = first; seed <= last; ++seed) {
    const auto report = simulate_sagas(seed);
    ASSERT_FALSE(report.violation) << story_of(report);
    for (const auto& [what, times] : report.counts) counts[what] += times;
  }
  for (const auto& [what, times] : counts) std::cout << times << " " << what << '\n';
  if (last - first < saga_seeds_for_coverage) return;
  for (const auto* const what :
       {"completed", "cancelled", "crashes", "pauses", "compensations", "write STORAGE.IN_DOUBT",
        "write refused by fence or version", "commands written again"}) {
    EXPECT_GT(counts[what], 0U) << what << " never happened";
  }
}

TEST(SagaSimulation, SameSeedSameRun) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto once = simulate_sagas(seed);
    const auto twice = simulate_sagas(seed);
    EXPECT_EQ(once.trace, twice.trace) << "seed " << seed;
    EXPECT_EQ(once.events, twice.events) << "seed " << seed;
  }
}

void expect_saga_variant_caught(SagaVariant variant) {
  for (std::uint64_t seed = 1; seed <= saga_seeds_of_variants; ++seed) {
    const auto report = simulate_sagas(seed, variant);
    if (!report.violation) continue;
    std::cout << "caught at seed " << seed << ": " << *report.violation << '\n';
    return;
  }
  ADD_FAILURE() << "not caught within " << saga_seeds_of_variants << " seeds";
}

TEST(SagaSimulation, CatchesNoUnknownAfterTakeOver) {
  expect_saga_variant_caught(SagaVariant::no_unknown_after_take_over);
}
TEST(SagaSimulation, CatchesCompensationBeforeTheCallEnded) {
  expect_saga_variant_caught(SagaVariant::compensation_before_call_ended);
}
TEST(SagaSimulation, CatchesAReplyCountedTwice) {
  expect_saga_variant_caught(SagaVariant::reply_counted_twice);
}
TEST(SagaSimulation, CatchesABatchThatIsNotFenced) {
  expect_saga_variant_caught(SagaVariant::batch_not_fenced);
}

}  // namespace
}  // namespace sagabox::simulation
