#include "outbox/dispatch/orphans.hpp"

#include "unit/outbox/rows.hpp"

#include <gtest/gtest.h>

namespace sagabox::outbox {
namespace {

TEST(Orphans, HoldsItsRowAndItsKeyUntilItReturns) {
  Orphans orphans;
  auto entry = testing::entry(7, "a");
  entry.tenure = 3;
  orphans.add(entry.sequence, *entry.message, 3);
  const auto same = testing::row(7, entry.message);
  EXPECT_TRUE(orphans.contains(Sequence{7}));
  EXPECT_TRUE(orphans.hold(same));
  EXPECT_TRUE(orphans.hold_key(entry.message->key_hash()));
  EXPECT_TRUE(orphans.take(entry).has_value());
  EXPECT_FALSE(orphans.contains(Sequence{7}));
  EXPECT_FALSE(orphans.hold(same));
  EXPECT_FALSE(orphans.hold_key(entry.message->key_hash()));
}

TEST(Orphans, AnotherMessageUnderTheSameSequenceIsNotHeld) {
  Orphans orphans;
  orphans.add(Sequence{7}, *testing::keyed("a"), 1);
  EXPECT_FALSE(orphans.hold(testing::row(7, "b")));
}

TEST(Orphans, EntryOfAnotherTenureIsNotTheOneThatRuns) {
  Orphans orphans;
  auto entry = testing::entry(7);
  orphans.add(entry.sequence, *entry.message, 1);
  entry.tenure = 2;
  EXPECT_FALSE(orphans.take(entry).has_value());
  entry.tenure = 1;
  EXPECT_TRUE(orphans.take(entry).has_value());
}

TEST(Orphans, RetryOfTheSameKeyAndSequenceMarksIt) {
  Orphans orphans;
  const auto entry = testing::entry(7, "a");
  const auto key_hash = entry.message->key_hash();
  orphans.add(entry.sequence, *entry.message, entry.tenure);
  orphans.found_retrying({key_hash + 1, Sequence{7}});
  orphans.found_retrying({key_hash, Sequence{8}});
  auto marked = orphans;
  marked.found_retrying({key_hash, Sequence{7}});
  EXPECT_FALSE(orphans.take(entry)->retrying);
  EXPECT_TRUE(marked.take(entry)->retrying);
}

}  // namespace
}  // namespace sagabox::outbox
