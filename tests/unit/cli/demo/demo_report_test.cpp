#include "cli/demo/demo_report.hpp"

#include <gtest/gtest.h>

namespace sagabox::cli {
namespace {

DemoStats figures() {
  DemoStats figures;
  figures.committed = 100;
  figures.stats.done = 60;
  figures.stats.pending = 30;
  figures.stats.waiting = 4;
  figures.stats.dead = 7;
  figures.stats.quarantined = 3;
  return figures;
}

std::string text(const std::vector<Line>& lines) {
  std::string all;
  for (const auto& line : lines) all += line.render(1000, false) + "\n";
  return all;
}

bool has(const std::string& all, std::string_view part) {
  return all.find(part) != std::string::npos;
}

TEST(DemoReport, EveryStateIsInTheSumOnce) {
  EXPECT_TRUE(adds_up(figures()));
  EXPECT_TRUE(has(text(demo_summary(figures())), "100 = 60 + 30 + 7 + 3: it adds up"));
  for (auto state : {&spi::TableStats::done, &spi::TableStats::pending, &spi::TableStats::dead,
                     &spi::TableStats::quarantined}) {
    auto twice = figures();
    ++(twice.stats.*state);
    EXPECT_FALSE(adds_up(twice));
    EXPECT_TRUE(has(text(demo_summary(twice)), "IT DOES NOT ADD UP"));
    EXPECT_TRUE(has(demo_summary_json(twice, "memory:"), R"("adds_up":false)"));
  }
}

TEST(DemoReport, ADeliveryWithoutItsOrderIsNeverRight) {
  auto haunted = figures();
  haunted.ghosts = 1;
  EXPECT_FALSE(adds_up(haunted));
  EXPECT_TRUE(has(text(demo_summary(haunted)), "BUT 1 DELIVERIES HAD NO ORDER"));
}

TEST(DemoReport, ReplaysAreToldAndNotAdded) {
  auto replayed = figures();
  EXPECT_FALSE(has(text(demo_summary(replayed)), "replayed"));
  replayed.replayed = 50;
  EXPECT_TRUE(adds_up(replayed));
  EXPECT_TRUE(has(text(demo_summary(replayed)), "  replayed              50"));
  EXPECT_TRUE(has(demo_summary_json(replayed, "memory:"), R"("replayed":50)"));
}

TEST(DemoReport, SaysThatItIsPausedWhereverItCounts) {
  auto paused = figures();
  EXPECT_FALSE(has(text(demo_block(paused, {})), "PAUSED"));
  EXPECT_FALSE(has(text({demo_line(paused, {})}), "PAUSED"));
  EXPECT_TRUE(has(text(demo_summary(paused)), "30   of which 4 wait for a retry"));
  paused.paused = true;
  EXPECT_TRUE(has(text(demo_block(paused, {})), "PAUSED"));
  EXPECT_TRUE(has(text({demo_line(paused, {})}), "PAUSED"));
  EXPECT_TRUE(
      has(text(demo_summary(paused)), "30   because the table is paused; 4 wait for a retry"));
  EXPECT_TRUE(has(demo_summary_json(paused, "memory:"), R"("paused":true)"));
  paused.stats.pending = 0;
  EXPECT_FALSE(has(text(demo_summary(paused)), "because the table is paused"));
}

TEST(DemoReport, QuarantinedOnesAreShownLiveOnlyWhenThereAreAny) {
  auto some = figures();
  EXPECT_TRUE(has(text(demo_block(some, {})), "quarantined 3"));
  some.stats.quarantined = 0;
  EXPECT_FALSE(has(text(demo_block(some, {})), "quarantined"));
}

}  // namespace
}  // namespace sagabox::cli
