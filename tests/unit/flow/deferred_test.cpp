#include "flow/deferred.hpp"

#include "unit/flow/classes.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace sagabox::flow {
namespace {

TEST(DeferredClasses, RowsOfAClosedClassArePassedOver) {
  DeferredClasses deferred;
  EXPECT_TRUE(deferred.may_consider(down_class, seq(5), seq(0)));
  deferred.defer(down_class, seq(5));
  EXPECT_TRUE(deferred.closed(down_class));
  EXPECT_FALSE(deferred.may_consider(down_class, seq(6), seq(0)));
  EXPECT_TRUE(deferred.may_consider(slow_class, seq(6), seq(0)));
  EXPECT_EQ(deferred.catch_up_after(), std::nullopt) << "closed: nothing to catch up yet";
  EXPECT_EQ(deferred.size(), 1U);
}

TEST(DeferredClasses, ResumeReadsFromTheLowestRowPassedOver) {
  DeferredClasses deferred;
  deferred.defer(down_class, seq(50));
  EXPECT_FALSE(deferred.may_consider(down_class, seq(40), seq(0))) << "committed late";
  deferred.defer(down_class, seq(60));
  deferred.defer(slow_class, seq(20));
  deferred.resume(down_class);
  EXPECT_EQ(deferred.catch_up_after(), seq(39));
  deferred.resume(slow_class);
  EXPECT_EQ(deferred.catch_up_after(), seq(19));
  EXPECT_FALSE(deferred.closed(down_class));
}

TEST(DeferredClasses, ResumeOfAClassThatWasNotDeferredIsNothing) {
  DeferredClasses deferred;
  deferred.resume(down_class);
  EXPECT_EQ(deferred.size(), 0U);
}

TEST(DeferredClasses, ForwardReadsDoNotOvertakeTheCatchUp) {
  DeferredClasses deferred;
  deferred.defer(down_class, seq(10));
  deferred.resume(down_class);
  EXPECT_FALSE(deferred.may_consider(down_class, seq(101), seq(100))) << "10 has not gone yet";
  EXPECT_TRUE(deferred.may_consider(down_class, seq(10), seq(9)));
  deferred.page_seen(seq(9), seq(30), false);
  EXPECT_EQ(deferred.catch_up_after(), seq(30));
  EXPECT_FALSE(deferred.may_consider(down_class, seq(102), seq(100)));
  EXPECT_TRUE(deferred.may_consider(down_class, seq(31), seq(30)));
  deferred.page_seen(seq(30), seq(110), true);
  EXPECT_EQ(deferred.size(), 0U);
  EXPECT_TRUE(deferred.may_consider(down_class, seq(111), seq(110)));
}

TEST(DeferredClasses, PageAboveTheLowestRowDoesNotEndTheCatchUp) {
  DeferredClasses deferred;
  deferred.defer(down_class, seq(10));
  deferred.resume(down_class);
  deferred.page_seen(seq(50), seq(100), true);
  EXPECT_EQ(deferred.catch_up_after(), seq(9));
}

TEST(DeferredClasses, ClosingAgainWhileResumingKeepsWhatHasGone) {
  DeferredClasses deferred;
  deferred.defer(down_class, seq(10));
  deferred.resume(down_class);
  ASSERT_TRUE(deferred.may_consider(down_class, seq(10), seq(9)));
  ASSERT_TRUE(deferred.may_consider(down_class, seq(12), seq(9)));
  deferred.defer(down_class, seq(14));
  EXPECT_TRUE(deferred.closed(down_class));
  deferred.resume(down_class);
  EXPECT_EQ(deferred.catch_up_after(), seq(12)) << "13 and up";
}

TEST(DeferredClasses, RowWithoutRoomIsReadAgain) {
  DeferredClasses deferred;
  deferred.defer(down_class, seq(10));
  deferred.resume(down_class);
  ASSERT_TRUE(deferred.may_consider(down_class, seq(10), seq(9)));
  ASSERT_TRUE(deferred.may_consider(down_class, seq(11), seq(9)));
  deferred.requeue(down_class, seq(11));
  deferred.page_seen(seq(9), seq(10), false);
  EXPECT_EQ(deferred.catch_up_after(), seq(10));
}

TEST(DeferredClasses, ResumeAllConsidersEverythingAgain) {
  DeferredClasses deferred;
  deferred.defer(down_class, seq(10));
  deferred.defer(slow_class, seq(5));
  deferred.resume_all();
  EXPECT_EQ(deferred.catch_up_after(), seq(4));
  EXPECT_EQ(deferred.size(), 2U);
}

/// Forward and catch-up pages in turn over rows that keep coming, while classes close and resume.
RC_GTEST_PROP(DeferredClassesProperty, NothingIsLeftBehindAndEachClassGoesInOrder, ()) {
  DeferredClasses deferred;
  std::map<std::uint64_t, ClassId> rows;
  std::set<std::uint64_t> taken;
  std::map<ClassId, std::uint64_t> last_of;
  std::set<ClassId> shut;
  std::uint64_t position = 0;
  const auto look = [&](std::uint64_t after, bool forward, std::size_t page, std::size_t room) {
    auto last = after;
    auto at = rows.upper_bound(after);
    for (; at != rows.end() && page > 0; ++at, --page) {
      const auto [sequence, id] = *at;
      if (deferred.may_consider(id, seq(sequence), seq(after)) && !taken.contains(sequence)) {
        if (shut.contains(id)) {
          deferred.defer(id, seq(sequence));
        } else if (room == 0) {
          deferred.requeue(id, seq(sequence));
          break;
        } else {
          --room;
          RC_ASSERT(last_of[id] < sequence);
          last_of[id] = sequence;
          taken.insert(sequence);
        }
      }
      last = sequence;
    }
    deferred.page_seen(seq(after), seq(last), at == rows.end() || last >= position);
    if (forward) position = std::max(position, last);
  };
  const auto read = [&](std::size_t page, std::size_t room) {
    look(position, true, page, room);
    if (const auto after = deferred.catch_up_after()) look(after->value, false, page, room);
  };
  const auto steps = *rc::gen::inRange(1, 150);
  for (int step = 0; step < steps; ++step) {
    const auto id = ClassId{*rc::gen::inRange<std::uint64_t>(1, 4)};
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
        shut.insert(id);
        break;
      case 1:
        shut.erase(id);
        deferred.resume(id);
        break;
      case 2:
        read(*rc::gen::inRange<std::size_t>(1, 6), *rc::gen::inRange<std::size_t>(0, 4));
        break;
      default:
        rows.emplace(rows.size() + 1, id);
    }
  }
  shut.clear();
  deferred.resume_all();
  for (int round = 0; round < 500; ++round) read(5, 5);
  RC_ASSERT(taken.size() == rows.size());
  RC_ASSERT(deferred.size() == 0U);
}

}  // namespace
}  // namespace sagabox::flow
