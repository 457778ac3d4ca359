#include "outbox/read/shares.hpp"

#include <gtest/gtest.h>

namespace sagabox::outbox {
namespace {

using Progress = Shares::Progress;
constexpr spi::Lane high{0};
constexpr spi::Lane normal{1};
constexpr double usual = 10;

Progress progress_at(std::uint64_t sequence, double stride = usual) {
  return {Sequence{1'000'000 + sequence}, stride};
}

/// So many rows, shared among these lanes.
Shares divided(std::initializer_list<Progress> lanes, std::uint32_t rows = 1000) {
  Shares shares;
  for (const auto& lane : lanes) shares.add(normal, lane);
  shares.divide(rows);
  return shares;
}

TEST(SharesTest, NobodyHasMoreThanFits) {
  const auto shares = divided({});
  EXPECT_TRUE(shares.nobody());
  EXPECT_EQ(shares.of(normal, progress_at(0)), 1000U);
}

TEST(SharesTest, OneAloneGetsEverything) {
  for (const std::uint32_t rows : {1U, 7U, 1000U}) {
    const auto shares = divided({progress_at(0)}, rows);
    EXPECT_FALSE(shares.nobody());
    EXPECT_EQ(shares.of(normal, progress_at(0)), rows);
  }
}

TEST(SharesTest, LanesAsDenseAndAsFarGetTheSame) {
  const auto shares = divided({progress_at(0), progress_at(0)});
  EXPECT_EQ(shares.of(normal, progress_at(0)), 500U);
}

TEST(SharesTest, OneWithTwiceTheRowsGetsTwiceAsMany) {
  const auto shares = divided({progress_at(0), progress_at(0, usual / 2)});
  EXPECT_NEAR(shares.of(normal, progress_at(0)), 333, 1);
  EXPECT_NEAR(shares.of(normal, progress_at(0, usual / 2)), 667, 1);
}

TEST(SharesTest, OneThatIsBehindCatchesUp) {
  const auto shares = divided({progress_at(2000), progress_at(0)});
  EXPECT_NEAR(shares.of(normal, progress_at(0)), 600, 1);
  EXPECT_NEAR(shares.of(normal, progress_at(2000)), 400, 1);
}

TEST(SharesTest, OneThatIsFarAheadStillGetsSomethingAndNoMoreIsAskedThanFits) {
  const auto shares = divided({progress_at(40'000), progress_at(0)});
  EXPECT_NEAR(shares.of(normal, progress_at(40'000)), 125, 1);
  EXPECT_NEAR(shares.of(normal, progress_at(0)), 875, 1);
}

TEST(SharesTest, OneOfManyThatIsFarBehindDoesNotGetEverything) {
  Shares shares;
  for (int lane = 0; lane < 9; ++lane) shares.add(normal, progress_at(40'000));
  shares.add(normal, progress_at(0));
  shares.divide(1000);
  EXPECT_EQ(shares.of(normal, progress_at(0)), 400U);
  EXPECT_EQ(shares.of(normal, progress_at(40'000)), 25U);
}

TEST(SharesTest, NobodyWaitsForAShardThatComesWithAnOldBacklog) {
  const auto old = progress_at(0);
  const auto live = Shares::apart_max_default + 1000;
  const auto shares =
      divided({progress_at(live), progress_at(live + 2000), progress_at(live), old}, 2000);
  EXPECT_EQ(shares.of(normal, old), 500U);
  EXPECT_NEAR(shares.of(normal, progress_at(live)), 567, 1)
      << "the others are kept level beside it";
  EXPECT_NEAR(shares.of(normal, progress_at(live + 2000)), 367, 1);
}

TEST(SharesTest, OneOfWhichNothingIsKnownGetsAnEvenShare) {
  const auto shares = divided({progress_at(0), progress_at(2000), progress_at(0, 0)}, 900);
  EXPECT_EQ(shares.of(normal, progress_at(0, 0)), 300U);
  EXPECT_NEAR(shares.of(normal, progress_at(0)), 400, 1);
}

TEST(SharesTest, WhatSomeGiveUpStaysInTheirPriority) {
  Shares shares;
  shares.add(high, progress_at(0));
  for (int lane = 1; lane < 16; ++lane) shares.add(high, progress_at(5000));
  for (int lane = 0; lane < 16; ++lane) shares.add(normal, progress_at(9000));
  shares.divide(3200);
  EXPECT_EQ(shares.of(normal, progress_at(9000)), 100U);
  const auto all_high = shares.of(high, progress_at(0)) + 15 * shares.of(high, progress_at(5000));
  EXPECT_GT(all_high, 1400U);
  EXPECT_LE(all_high, 1600U);
}

TEST(SharesTest, NobodyWaitsForOneBeside) {
  Shares shares;
  shares.add_beside();
  shares.add(normal, progress_at(0));
  shares.divide(1000);
  EXPECT_EQ(shares.even(), 500U);
  EXPECT_EQ(shares.of(normal, progress_at(0)), 500U);
}

TEST(SharesTest, EverybodyGetsARowWhereThereIsLittleRoom) {
  Shares shares;
  for (std::uint64_t lane = 0; lane < 100; ++lane) shares.add(normal, progress_at(lane * 100));
  shares.divide(10);
  EXPECT_EQ(shares.of(normal, progress_at(9900)), 1U);
  EXPECT_LE(shares.of(normal, progress_at(0)), 4U);
}

TEST(StrideTest, IsMeasuredFromRowToRow) {
  Stride stride;
  stride.seen(Sequence{10'000'000}, Sequence{10'000'000}, 1);
  EXPECT_EQ(stride.value(), 0) << "one row says nothing";
  stride.seen(Sequence{10'000'000}, Sequence{10'000'160}, 17);
  EXPECT_EQ(stride.value(), 10);
}

TEST(StrideTest, ManyRowsTellAsMuchAsAllBeforeAndAFewALittle) {
  Stride stride;
  stride.seen(Sequence{0}, Sequence{10}, 2);
  stride.seen(Sequence{0}, Sequence{80}, 5);
  EXPECT_EQ(stride.value(), 12.5);
  stride.seen(Sequence{0}, Sequence{300}, 101);
  EXPECT_EQ(stride.value(), 3);
}

}  // namespace
}  // namespace sagabox::outbox
