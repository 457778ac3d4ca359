#include "outbox/dispatch/room.hpp"

#include "unit/outbox/rows.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace sagabox::outbox {
namespace {

TEST(Room, IsBoundedByCountForEachQueue) {
  Room room({.hot_capacity = 2, .cold_capacity = 1, .bytes_max = 1000});
  EXPECT_TRUE(room.take(Source::hot, 1));
  EXPECT_TRUE(room.take(Source::hot, 1));
  EXPECT_FALSE(room.take(Source::hot, 1));
  EXPECT_FALSE(room.fits(Source::hot, 1));
  EXPECT_EQ(room.free(Source::hot), 0U);
  EXPECT_TRUE(room.take(Source::cold, 1)) << "one queue does not take the other's room";
  EXPECT_EQ(room.count(Source::hot), 2U) << "a refusal leaves no trace";
  EXPECT_EQ(room.bytes(), 3U);
}

TEST(Room, IsBoundedByBytesForEachQueue) {
  Room room({.hot_capacity = 10, .cold_capacity = 10, .bytes_max = 200});
  EXPECT_TRUE(room.take(Source::cold, 60));
  EXPECT_TRUE(room.fits(Source::cold, 40));
  EXPECT_FALSE(room.fits(Source::cold, 41));
  EXPECT_FALSE(room.take(Source::cold, 41));
  EXPECT_TRUE(room.take(Source::cold, 40));
  EXPECT_EQ(room.free_bytes(Source::cold), 0U);
  EXPECT_EQ(room.free(Source::cold), 0U) << "no bytes, no room";
  EXPECT_EQ(room.free(Source::hot), 10U);
}

TEST(Room, EmptyQueueTakesOneMessageHoweverLarge) {
  Room room({.hot_capacity = 10, .cold_capacity = 10, .bytes_max = 200});
  EXPECT_TRUE(room.fits(Source::cold, 5000));
  EXPECT_TRUE(room.take(Source::cold, 5000));
  EXPECT_FALSE(room.take(Source::cold, 1));
  room.release(Source::cold, 5000);
  EXPECT_EQ(room.bytes(), 0U);
  ASSERT_TRUE(room.take(Source::cold, 1));
  EXPECT_FALSE(room.take(Source::cold, 5000)) << "not beside another";
}

TEST(Room, GivesBackWhatAnEntryHolds) {
  Room room({.hot_capacity = 1, .cold_capacity = 1, .bytes_max = 1000});
  const auto entry = testing::entry(1, "a key");
  ASSERT_TRUE(room.take(Source::cold, entry.message->bytes()));
  room.release(entry);
  EXPECT_EQ(room.count(Source::cold), 0U);
  EXPECT_EQ(room.bytes(), 0U);
}

TEST(Room, NeverHoldsMoreThanItsBoundsWithManyThreads) {
  constexpr std::uint32_t capacity = 3;
  Room room({.hot_capacity = capacity, .cold_capacity = capacity, .bytes_max = 100});
  std::atomic<std::uint32_t> held{0};
  std::atomic<std::uint32_t> taken{0};
  std::atomic<bool> exceeded{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5000; ++round) {
        if (!room.take(Source::hot, 10)) continue;
        taken.fetch_add(1);
        if (held.fetch_add(1) + 1 > capacity) exceeded.store(true);
        held.fetch_sub(1);
        room.release(Source::hot, 10);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(exceeded.load());
  EXPECT_GT(taken.load(), 0U);
  EXPECT_EQ(room.count(Source::hot), 0U);
  EXPECT_EQ(room.bytes(), 0U);
}

}  // namespace
}  // namespace sagabox::outbox
