#include "stores/sqlite/turn.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace sagabox::sqlite {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(SqliteTurn, IsOnesAtATime) {
  Turn turn;
  ASSERT_TRUE(turn.take(Duration{}));
  EXPECT_FALSE(turn.try_take());
  EXPECT_FALSE(turn.take(milliseconds(1)));
  turn.release();
  EXPECT_TRUE(turn.try_take());
}

TEST(SqliteTurn, WhoGaveUpIsNotCalled) {
  Turn turn;
  ASSERT_TRUE(turn.take(Duration{}));
  EXPECT_FALSE(turn.take(Duration{}));
  turn.release();
  EXPECT_TRUE(turn.take(Duration{}));
}

TEST(SqliteTurn, ManyTakeTurns) {
  constexpr int threads = 8;
  constexpr int rounds = 500;
  Turn turn;
  int inside = 0;  // guarded by the turn
  int total = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        ASSERT_TRUE(turn.take(hours(1)));
        ASSERT_EQ(++inside, 1);
        ++total;
        --inside;
        turn.release();
      }
    });
  }
  for (auto& thread : all) thread.join();
  EXPECT_EQ(total, threads * rounds);
}

}  // namespace
}  // namespace sagabox::sqlite
