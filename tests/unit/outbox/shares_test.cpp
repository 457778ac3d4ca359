#include "outbox/shares.hpp"

#include <gtest/gtest.h>

namespace sagabox::outbox {
namespace {

constexpr spi::Lane high{0};
constexpr spi::Lane normal{1};
constexpr Shares::Apart apart{};
constexpr Sequence at{1'000'000};
constexpr Sequence level{at.value + apart.level};
constexpr Sequence ahead{level.value + 1};
constexpr Sequence stranger{at.value + apart.strangers + 1};

TEST(SharesTest, NobodyHasMoreThanFits) {
  Shares shares;
  shares.divide(1000);
  EXPECT_TRUE(shares.nobody());
  EXPECT_EQ(shares.of(normal, at), 1000U);
}

TEST(SharesTest, OneAloneGetsEverything) {
  for (const std::uint32_t rows : {1U, 7U, 1000U}) {
    Shares shares;
    shares.add(normal, at);
    shares.divide(rows);
    EXPECT_FALSE(shares.nobody());
    EXPECT_EQ(shares.of(normal, at), rows);
  }
}

TEST(SharesTest, LanesThatAreLevelGetTheSame) {
  Shares shares;
  shares.add(normal, level);
  shares.add(normal, at);
  shares.divide(1000);
  EXPECT_EQ(shares.of(normal, at), 500U);
  EXPECT_EQ(shares.of(normal, level), 500U);
}

TEST(SharesTest, OneThatIsAheadGetsLess) {
  Shares shares;
  shares.add(normal, ahead);
  shares.add(normal, at);
  shares.divide(1000);
  EXPECT_EQ(shares.of(normal, at), 800U);
  EXPECT_EQ(shares.of(normal, ahead), 200U);
}

TEST(SharesTest, NobodyWaitsForAShardThatComesWithAnOldBacklog) {
  Shares shares;
  shares.add(normal, stranger);
  shares.add(normal, at);
  shares.divide(1000);
  EXPECT_EQ(shares.of(normal, at), 500U);
  EXPECT_EQ(shares.of(normal, stranger), 500U);
}

TEST(SharesTest, OthersAreKeptLevelBesideIt) {
  Shares shares;
  shares.add(normal, Sequence{1});
  shares.add(normal, at);
  shares.add(normal, ahead);
  shares.divide(900);
  EXPECT_EQ(shares.of(normal, ahead), 100U);
  EXPECT_EQ(shares.of(normal, at), 400U);
  EXPECT_EQ(shares.of(normal, Sequence{1}), 400U);
}

TEST(SharesTest, OtherPrioritiesAreNotComparedWith) {
  Shares shares;
  shares.add(high, ahead);
  shares.add(normal, at);
  shares.divide(1000);
  EXPECT_EQ(shares.of(high, ahead), 500U);
  EXPECT_EQ(shares.of(normal, at), 500U);
}

TEST(SharesTest, WhatSomeGiveUpStaysInTheirPriority) {
  Shares shares;
  shares.add(high, at);
  for (int lane = 1; lane < 16; ++lane) shares.add(high, ahead);
  for (int lane = 0; lane < 16; ++lane) shares.add(normal, at);
  shares.divide(3200);
  EXPECT_EQ(shares.of(normal, at), 100U);
  const auto all_high = shares.of(high, at) + 15 * shares.of(high, ahead);
  EXPECT_GT(all_high, 1600U - 16U);
  EXPECT_LE(all_high, 1600U);
}

TEST(SharesTest, NobodyWaitsForOneBeside) {
  Shares shares;
  shares.add_beside();
  shares.add(normal, ahead);
  shares.divide(1000);
  EXPECT_EQ(shares.even(), 500U);
  EXPECT_EQ(shares.of(normal, ahead), 500U);
}

TEST(SharesTest, EverybodyGetsARowWhereThereIsLittleRoom) {
  Shares shares;
  for (int lane = 0; lane < 100; ++lane) shares.add(normal, lane == 0 ? at : ahead);
  shares.divide(10);
  EXPECT_EQ(shares.of(normal, at), 1U);
  EXPECT_EQ(shares.of(normal, ahead), 1U);
}

}  // namespace
}  // namespace sagabox::outbox
