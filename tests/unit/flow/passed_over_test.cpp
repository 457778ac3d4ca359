#include "flow/passed_over.hpp"

#include "unit/flow/classes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace sagabox::flow {
namespace {

constexpr std::uint64_t key = 77;
constexpr std::uint64_t other_key = 78;

TEST(PassedOver, KeyWaitsWithTheClassOfItsMessage) {
  PassedOver passed;
  passed.defer(down_class, seq(5));
  passed.wait_behind(down_class, key, seq(5));
  EXPECT_FALSE(passed.key_may_go(key, seq(6), seq(0))) << "whatever class its next message has";
  EXPECT_TRUE(passed.key_may_go(other_key, seq(7), seq(0)));
  EXPECT_TRUE(passed.resume(down_class));
  EXPECT_FALSE(passed.key_may_go(key, seq(9), seq(8))) << "5 and 6 have not gone yet";
  EXPECT_EQ(passed.catch_up_after(), seq(4));
  EXPECT_TRUE(passed.key_may_go(key, seq(6), seq(4)));
  passed.page_seen(seq(4), seq(10), true);
  EXPECT_TRUE(passed.empty());
  EXPECT_EQ(passed.key_bytes(), 0U);
  EXPECT_TRUE(passed.key_may_go(key, seq(11), seq(10)));
}

TEST(PassedOver, ClassThatClosesAgainKeepsItsKeysWithoutReadingThemAgain) {
  PassedOver passed;
  passed.defer(down_class, seq(5));
  passed.wait_behind(down_class, key, seq(5));
  passed.resume(down_class);
  passed.defer(down_class, seq(5));
  EXPECT_EQ(passed.catch_up_after(), std::nullopt);
  EXPECT_FALSE(passed.key_may_go(key, seq(9), seq(0)));
}

TEST(PassedOver, KeyThatWaitsBehindTwoClassesGoesWhenBothMay) {
  PassedOver passed;
  passed.defer(down_class, seq(5));
  passed.wait_behind(down_class, key, seq(5));
  passed.defer(slow_class, seq(3));
  passed.wait_behind(slow_class, key, seq(3));
  passed.resume(down_class);
  EXPECT_FALSE(passed.key_may_go(key, seq(5), seq(2)));
  passed.page_seen(seq(2), seq(10), true);
  EXPECT_FALSE(passed.key_may_go(key, seq(11), seq(10)));
  passed.resume(slow_class);
  EXPECT_EQ(passed.catch_up_after(), seq(2));
  EXPECT_TRUE(passed.key_may_go(key, seq(5), seq(2)));
}

TEST(PassedOver, KeyOfItsOwnIsResumedByName) {
  PassedOver passed;
  passed.defer_key(key, seq(5));
  EXPECT_FALSE(passed.key_may_go(key, seq(6), seq(0)));
  passed.resume_if([](ClassId) { return true; });
  EXPECT_FALSE(passed.key_may_go(key, seq(6), seq(0))) << "a class that opens says nothing of it";
  EXPECT_TRUE(passed.resume_key(key));
  EXPECT_TRUE(passed.key_may_go(key, seq(5), seq(4)));
  EXPECT_FALSE(passed.resume_key(other_key));
}

TEST(PassedOver, RowWithoutRoomIsReadAgain) {
  PassedOver passed;
  passed.defer(down_class, seq(5));
  passed.wait_behind(down_class, key, seq(5));
  passed.resume(down_class);
  ASSERT_TRUE(passed.key_may_go(key, seq(5), seq(4)));
  passed.requeue_key(key, seq(5));
  passed.page_seen(seq(4), seq(4), false);
  EXPECT_EQ(passed.catch_up_after(), seq(4));
}

TEST(PassedOver, SaysWhichKeysMayLackAnEarlierMessage) {
  PassedOver passed;
  passed.defer(down_class, seq(5));
  passed.wait_behind(down_class, key, seq(5));
  passed.defer_key(other_key, seq(8));
  EXPECT_TRUE(passed.may_lack(key, seq(6)));
  EXPECT_FALSE(passed.may_lack(key, seq(5))) << "nothing below it was passed over";
  EXPECT_TRUE(passed.may_lack(other_key, seq(9)));
  EXPECT_FALSE(passed.may_lack(other_key, seq(8)));
  EXPECT_FALSE(passed.may_lack(79, seq(100)));
}

TEST(PassedOver, AMillionKeysTakeNoMoreThanTheirBound) {
  constexpr std::size_t bytes_max = std::size_t{1} << 20U;
  PassedOver passed(bytes_max);
  passed.defer(down_class, seq(1));
  for (std::uint64_t number = 1; number <= 1'000'000; ++number)
    passed.wait_behind(down_class, number, seq(1));
  EXPECT_LE(passed.key_bytes(), bytes_max);
  for (std::uint64_t number = 1; number <= 1'000'000; number += 997) {
    EXPECT_FALSE(passed.key_may_go(number, seq(2'000'000), seq(1'999'999)));
  }
}

TEST(PassedOver, LargeClassLeavesMemoryForTheNext) {
  constexpr std::size_t bytes_max = std::size_t{256} << 10U;
  PassedOver passed(bytes_max);
  passed.defer(down_class, seq(1));
  for (std::uint64_t number = 1; number <= 200'000; ++number)
    passed.wait_behind(down_class, number, seq(1));
  passed.defer(slow_class, seq(2));
  constexpr std::uint64_t first = 1'000'000;
  for (std::uint64_t number = 0; number < 5'000; ++number)
    passed.wait_behind(slow_class, first + number, seq(2));
  EXPECT_LE(passed.key_bytes(), bytes_max);
  passed.resume(down_class);
  passed.page_seen(seq(0), seq(10), true);
  std::uint64_t false_hits = 0;
  for (std::uint64_t number = 2 * first; number < 2 * first + 1'000; ++number) {
    false_hits += passed.key_may_go(number, seq(20), seq(19)) ? 0 : 1;
  }
  EXPECT_LT(false_hits, 10U);
}

TEST(PassedOver, ManyClassesShareTheBound) {
  constexpr std::size_t bytes_max = std::size_t{16} << 10U;
  constexpr std::uint64_t classes = 100;
  PassedOver passed(bytes_max);
  for (std::uint64_t id = 1; id <= classes; ++id) {
    passed.defer(ClassId{id}, seq(id));
    for (std::uint64_t number = 0; number < 1'000; ++number) {
      passed.wait_behind(ClassId{id}, id * 1'000'000 + number, seq(id));
    }
  }
  EXPECT_LE(passed.key_bytes(), bytes_max + classes * KeyFilter::bytes_min);
  for (std::uint64_t id = 1; id <= classes; ++id) {
    EXPECT_FALSE(passed.key_may_go(id * 1'000'000 + 999, seq(900), seq(899)));
  }
}

/// 5 of `key` waits for a class that never ends, and 8 of it for another destination.
PassedOver held_behind_a_backlog() {
  PassedOver passed;
  passed.defer(down_class, seq(5));
  passed.wait_behind(down_class, key, seq(5));
  EXPECT_FALSE(passed.key_may_go(key, seq(8), seq(0)));
  EXPECT_FALSE(passed.class_may_go(down_class, seq(9), seq(0)));
  passed.wait_behind(down_class, other_key, seq(9));
  return passed;
}

/// The class opens for 5 alone.
void take_the_first(PassedOver& passed) {
  passed.resume(down_class);
  EXPECT_TRUE(passed.key_may_go(key, seq(5), seq(4)));
  EXPECT_TRUE(passed.class_may_go(down_class, seq(5), seq(4)));
  passed.page_seen(seq(4), seq(5), false);
  passed.defer(down_class, seq(9));
}

TEST(PassedOver, ReviewLetsAKeyGoThatHasNothingLeftInItsClass) {
  auto passed = held_behind_a_backlog();
  EXPECT_FALSE(passed.worth_review()) << "nothing of the class has gone";
  take_the_first(passed);
  ASSERT_TRUE(passed.worth_review());
  passed.begin_review();
  const auto after = *passed.review_after();
  EXPECT_EQ(after, seq(5));
  EXPECT_TRUE(passed.key_may_go(key, seq(8), after, {.review = true}));
  EXPECT_TRUE(passed.key_may_go(other_key, seq(9), after, {.own = down_class, .review = true}));
  EXPECT_FALSE(passed.class_may_go(down_class, seq(9), after));
  passed.wait_behind(down_class, other_key, seq(9));
  EXPECT_FALSE(passed.key_may_go(other_key, seq(10), after, {.review = true}));
  passed.page_seen(after, seq(10), true, true);
  EXPECT_EQ(passed.review_after(), std::nullopt);
  EXPECT_TRUE(passed.key_may_go(key, seq(11), seq(10)));
  EXPECT_FALSE(passed.key_may_go(other_key, seq(11), seq(10)));
  EXPECT_FALSE(passed.worth_review()) << "nothing of the class has gone since";
}

TEST(PassedOver, KeyThatIsPassedOverBehindTheReviewWaitsAfterIt) {
  auto passed = held_behind_a_backlog();
  take_the_first(passed);
  passed.begin_review();
  ASSERT_TRUE(passed.key_may_go(key, seq(8), *passed.review_after(), {.review = true}));
  passed.page_seen(*passed.review_after(), seq(8), false, true);
  // One was in hand and is passed over again, another is found behind the position.
  passed.defer(down_class, seq(6));
  passed.wait_behind(down_class, 79, seq(6));
  EXPECT_FALSE(passed.key_may_go(key, seq(7), seq(6)));
  ASSERT_EQ(passed.review_after(), seq(8));
  passed.page_seen(seq(8), seq(20), true, true);
  EXPECT_FALSE(passed.key_may_go(79, seq(21), seq(20)));
  EXPECT_FALSE(passed.key_may_go(key, seq(21), seq(20)));
  EXPECT_TRUE(passed.key_may_go(other_key, seq(21), seq(20))) << "the review did not see its row";
}

TEST(PassedOver, ReviewHoldsNoMoreMemoryThanTheBoundAndLetsFalseHitsGo) {
  constexpr std::size_t bytes_max = std::size_t{4} << 10U;
  constexpr std::uint64_t keys = 3'000;
  PassedOver passed(bytes_max);
  passed.defer(down_class, seq(1));
  for (std::uint64_t at = 1; at <= keys; ++at) passed.wait_behind(down_class, at, seq(at));
  const auto held = [&](std::uint64_t at, Sequence after, PassedOver::Row row) {
    return !passed.key_may_go(1'000'000 + at, seq(keys + at), after, row);
  };
  std::vector<std::uint64_t> waiting;
  for (std::uint64_t at = 1; at <= 1'000; ++at) {
    if (held(at, seq(keys), {})) waiting.push_back(at);
  }
  ASSERT_GT(waiting.size(), 20U) << "few bits a key";
  for (int review = 0; review < 20 && !waiting.empty(); ++review) {
    ASSERT_TRUE(passed.worth_review()) << "the filter is not exact";
    passed.begin_review();
    const auto after = *passed.review_after();
    for (std::uint64_t at = 1; at <= keys; ++at) {
      if (passed.key_may_go(at, seq(at), after, {.own = down_class, .review = true})) {
        EXPECT_FALSE(passed.class_may_go(down_class, seq(at), after));
        passed.wait_behind(down_class, at, seq(at));
      }
      ASSERT_LE(passed.key_bytes(), bytes_max);
    }
    std::erase_if(waiting, [&](std::uint64_t at) { return !held(at, after, {.review = true}); });
    passed.page_seen(after, seq(keys + 1'000), true, true);
    for (std::uint64_t at = 1; at <= keys; at += 7) {
      ASSERT_FALSE(passed.key_may_go(at, seq(10'000), seq(9'999)));
    }
  }
  EXPECT_TRUE(waiting.empty());
}

}  // namespace
}  // namespace sagabox::flow
