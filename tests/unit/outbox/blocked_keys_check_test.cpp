#include "outbox/blocked_keys_check.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sagabox::outbox {
namespace {

using Sequences = std::set<Sequence>;
using Keys = std::vector<spi::RetryingKey>;

TEST(BlockedKeysCheck, LastPageTellsWhichBlockersTheStoreDidNotShow) {
  BlockedKeysCheck check;
  check.begin({Sequence{1}, Sequence{2}, Sequence{3}});
  const auto first = check.page();
  ASSERT_TRUE(first);
  EXPECT_TRUE(check.seen(*first, Keys{{10, Sequence{1}}}, false).empty());
  const auto second = check.page();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->after, Sequence{1});
  EXPECT_EQ(check.seen(*second, Keys{{30, Sequence{3}}}, true), Sequences{Sequence{2}});
  EXPECT_FALSE(check.page());
}

TEST(BlockedKeysCheck, WithoutBlockersThereIsNothingToAsk) {
  BlockedKeysCheck check;
  EXPECT_FALSE(check.page());
  check.begin({});
  EXPECT_FALSE(check.page());
}

TEST(BlockedKeysCheck, PageOfAnEarlierCheckSaysNothing) {
  BlockedKeysCheck check;
  check.begin({Sequence{1}});
  const auto stale = check.page();
  check.begin({Sequence{1}, Sequence{2}});
  EXPECT_TRUE(check.seen(*stale, {}, true).empty());
  EXPECT_EQ(check.seen(*check.page(), {}, true), (Sequences{Sequence{1}, Sequence{2}}));
}

TEST(BlockedKeysCheck, EndedOneSaysNothing) {
  BlockedKeysCheck check;
  check.begin({Sequence{1}});
  const auto page = check.page();
  check.end();
  EXPECT_FALSE(check.page());
  EXPECT_TRUE(check.seen(*page, {}, true).empty());
}

}  // namespace
}  // namespace sagabox::outbox
