#include "stores/postgres/outbox/vacuum_need.hpp"

#include <gtest/gtest.h>

namespace sagabox::postgres {
namespace {

using std::chrono::seconds;

TEST(VacuumNeed, IsThereWhereNearlyAllRowsAreDead) {
  EXPECT_TRUE(needs_vacuum({.live = 0, .dead = 0}, std::nullopt));
  EXPECT_TRUE(needs_vacuum({.live = 10, .dead = 100}, std::nullopt));
  EXPECT_FALSE(needs_vacuum({.live = 10, .dead = 99}, std::nullopt));
}

TEST(VacuumNeed, IsThereWhereAboutAsManyComeAsGo) {
  const RowCounts before{.live = 100, .dead = 0, .written = 10'000, .left = 9'900};
  const auto after = [&](std::int64_t written, std::int64_t left) {
    return RowCounts{
        .live = 100, .dead = 900, .written = before.written + written, .left = before.left + left};
  };
  EXPECT_TRUE(needs_vacuum(after(900, 900), before));
  EXPECT_TRUE(needs_vacuum(after(450, 900), before));
  EXPECT_FALSE(needs_vacuum(after(449, 900), before)) << "a backlog is being emptied";
  EXPECT_FALSE(needs_vacuum(after(0, 900), before));
  EXPECT_FALSE(needs_vacuum(after(900, 0), before)) << "a backlog is being written";
  EXPECT_FALSE(needs_vacuum(after(900, 900), std::nullopt)) << "nobody knows";
  EXPECT_FALSE(needs_vacuum(after(-900, -900), before)) << "a server that has counted anew";
}

TEST(VacuumNeed, IsNotThereWhereMostRowsWait) {
  const RowCounts before{.live = 1000, .dead = 0, .written = 1000, .left = 0};
  EXPECT_FALSE(needs_vacuum({.live = 1000, .dead = 1999, .written = 2000, .left = 1000}, before));
  EXPECT_TRUE(needs_vacuum({.live = 1000, .dead = 2000, .written = 2000, .left = 1000}, before));
}

TEST(VacuumNeed, RestsLongerWhereLittleWasFreed) {
  EXPECT_EQ(rest_after_vacuum(1000, 0, seconds(2)), seconds(4));
  EXPECT_EQ(rest_after_vacuum(1000, 500, seconds(2)), seconds(4));
  EXPECT_EQ(rest_after_vacuum(1000, 501, seconds(2)), seconds(18));
  EXPECT_EQ(rest_after_vacuum(1000, 1200, seconds(2)), seconds(18)) << "more died meanwhile";
  EXPECT_EQ(rest_after_vacuum(1000, 1000, seconds(20)), seconds(120));
  EXPECT_EQ(rest_after_vacuum(1000, 1000, seconds(100)), seconds(200));
}

}  // namespace
}  // namespace sagabox::postgres
