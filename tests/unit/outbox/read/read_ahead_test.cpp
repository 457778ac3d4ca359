#include "outbox/read/read_ahead.hpp"

#include "outbox/dispatch/room.hpp"

#include <gtest/gtest.h>

namespace sagabox::outbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr BootTime read_start{seconds(100)};

TEST(ReadAhead, BeginsWithTheQueueAlone) {
  ReadAhead ahead(1000, 3000);
  EXPECT_EQ(ahead.capacity(0, read_start), 1000U);
}

TEST(ReadAhead, ReadsAheadWhatIsGoneInAMoment) {
  ReadAhead ahead(1000, 3000);
  ahead.filled(1000, read_start);
  EXPECT_EQ(ahead.capacity(0, read_start + milliseconds(25)), 2000U);
  ahead.filled(2000, read_start);
  EXPECT_EQ(ahead.capacity(0, read_start + milliseconds(1)), 4000U) << "not beyond its bound";
}

TEST(ReadAhead, SlowHandlersLeaveTheRestInTheDatabase) {
  ReadAhead ahead(1000, 3000);
  ahead.filled(1000, read_start);
  ASSERT_EQ(ahead.capacity(0, read_start + milliseconds(5)), 4000U);
  ahead.filled(4000, read_start);
  EXPECT_EQ(ahead.capacity(3990, read_start + seconds(1)), 1000U);
}

TEST(ReadAhead, AFewSayNothing) {
  ReadAhead ahead(1000, 3000);
  ahead.filled(1000, read_start);
  EXPECT_EQ(ahead.capacity(990, read_start + milliseconds(1)), 1000U);
  EXPECT_EQ(ahead.capacity(1000, read_start + milliseconds(1)), 1000U) << "nothing has gone";
}

TEST(ReadAhead, HandlersThatHangLeaveTheRestInTheDatabase) {
  ReadAhead ahead(1000, 3000);
  ahead.filled(1000, read_start);
  ASSERT_EQ(ahead.capacity(0, read_start + milliseconds(5)), 4000U);
  ahead.filled(4000, read_start);
  EXPECT_EQ(ahead.capacity(4000, read_start + milliseconds(5)), 4000U) << "it has just been filled";
  EXPECT_EQ(ahead.capacity(4000, read_start + ReadAhead::moment), 1000U) << "nothing moves";
}

TEST(ReadAhead, WhatHandlersTakeAtTheirBeginningSaysNothingOfATinyQueue) {
  ReadAhead ahead(8, 3000);
  ahead.filled(8, read_start);
  EXPECT_EQ(ahead.capacity(0, read_start + milliseconds(1)), 8U);
}

TEST(ReadAhead, NoneIsNone) {
  ReadAhead ahead(1000, 0);
  ahead.filled(1000, read_start);
  EXPECT_EQ(ahead.capacity(0, read_start + milliseconds(1)), 1000U);
}

TEST(ReadAhead, RoomGrowsAndShrinksAroundWhatItHolds) {
  Room room({.hot_capacity = 1, .cold_capacity = 1, .bytes_max = 1000});
  room.resize(Source::cold, 2);
  ASSERT_TRUE(room.take(Source::cold, 1));
  ASSERT_TRUE(room.take(Source::cold, 1));
  room.resize(Source::cold, 1);
  EXPECT_EQ(room.free(Source::cold), 0U);
  EXPECT_FALSE(room.take(Source::cold, 1));
  room.release(Source::cold, 1);
  room.release(Source::cold, 1);
  EXPECT_TRUE(room.take(Source::cold, 1));
}

}  // namespace
}  // namespace sagabox::outbox
