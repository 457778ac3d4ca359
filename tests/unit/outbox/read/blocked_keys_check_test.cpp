#include "outbox/read/blocked_keys_check.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sagabox::outbox {
namespace {

using Keys = std::vector<spi::RetryingKey>;
using Numbers = std::vector<std::uint64_t>;

Numbers sequences_of_keys(const Keys& keys) {
  Numbers numbers;
  for (const auto& key : keys) numbers.push_back(key.sequence.value);
  return numbers;
}

TEST(BlockedKeysCheck, LastPageTellsWhichBlockersTheStoreDidNotShow) {
  BlockedKeysCheck check;
  check.begin({{10, Sequence{1}}, {20, Sequence{2}}, {30, Sequence{3}}});
  const auto first = check.page();
  ASSERT_TRUE(first);
  EXPECT_TRUE(check.seen(*first, Keys{{10, Sequence{1}}}, false).empty());
  const auto second = check.page();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->after, Sequence{1});
  EXPECT_EQ(sequences_of_keys(check.seen(*second, Keys{{30, Sequence{3}}}, true)), Numbers{2});
  EXPECT_FALSE(check.page());
}

TEST(BlockedKeysCheck, BeforeItBeginsThereIsNothingToAsk) {
  const BlockedKeysCheck check;
  EXPECT_FALSE(check.page());
}

TEST(BlockedKeysCheck, BlockersMayComeInAnyOrder) {
  BlockedKeysCheck check;
  check.begin({{90, Sequence{9}}, {20, Sequence{2}}, {50, Sequence{5}}});
  const Keys shown{{10, Sequence{1}}, {20, Sequence{5}}, {30, Sequence{7}}};
  EXPECT_EQ(sequences_of_keys(check.seen(*check.page(), shown, true)), (Numbers{2, 9}));
}

TEST(BlockedKeysCheck, PageOfAnEarlierCheckSaysNothing) {
  BlockedKeysCheck check;
  check.begin({{10, Sequence{1}}});
  const auto stale = check.page();
  check.begin({{10, Sequence{1}}, {20, Sequence{2}}});
  EXPECT_TRUE(check.seen(*stale, {}, true).empty());
  EXPECT_EQ(sequences_of_keys(check.seen(*check.page(), {}, true)), (Numbers{1, 2}));
}

TEST(BlockedKeysCheck, EndedOneSaysNothing) {
  BlockedKeysCheck check;
  check.begin({{10, Sequence{1}}});
  const auto page = check.page();
  check.end();
  EXPECT_FALSE(check.page());
  EXPECT_TRUE(check.seen(*page, {}, true).empty());
}

}  // namespace
}  // namespace sagabox::outbox
