#include "feed/tracker.hpp"

#include "unit/feed/model_table.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace sagabox::feed {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::at;

constexpr Sequence one{1};
constexpr Sequence two{2};

class TrackerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Tracker> tracker = make_tracker();
};

TEST_F(TrackerTest, RowIsAdmittedOnceWhileItIsInHand) {
  EXPECT_TRUE(tracker->admit(one));
  EXPECT_FALSE(tracker->admit(one));
  EXPECT_TRUE(tracker->admit(two));
}

TEST_F(TrackerTest, RowGivenBackIsAdmittedAgain) {
  ASSERT_TRUE(tracker->admit(one));
  tracker->forget(one);
  EXPECT_EQ(tracker->size(), 0U);
  EXPECT_TRUE(tracker->admit(one));
}

TEST_F(TrackerTest, ReadBegunBeforeASettleDoesNotBringTheRowBack) {
  ASSERT_TRUE(tracker->admit(one));
  const auto stale = tracker->read_begun();
  tracker->settled(one);
  EXPECT_FALSE(tracker->admit(one)) << "the stale read still shows the row as pending";
  tracker->read_seen(stale);
  EXPECT_EQ(tracker->size(), 0U);
}

TEST_F(TrackerTest, SettledRowIsForgottenAtOnceWhenNoReadIsOut) {
  ASSERT_TRUE(tracker->admit(one));
  tracker->read_seen(tracker->read_begun());
  tracker->settled(one);
  EXPECT_EQ(tracker->size(), 0U);
}

TEST_F(TrackerTest, SettledRowStaysUntilTheOldestOverlappingReadIsSeen) {
  ASSERT_TRUE(tracker->admit(one));
  const auto first = tracker->read_begun();
  const auto second = tracker->read_begun();
  tracker->settled(one);
  tracker->read_seen(second);
  EXPECT_FALSE(tracker->admit(one)) << "the first read is still on its way";
  tracker->read_seen(first);
  EXPECT_EQ(tracker->size(), 0U);
}

TEST_F(TrackerTest, ReadBegunAfterTheSettleDoesNotKeepTheRow) {
  ASSERT_TRUE(tracker->admit(one));
  const auto before = tracker->read_begun();
  tracker->settled(one);
  (void)tracker->read_begun();
  tracker->read_seen(before);
  EXPECT_EQ(tracker->size(), 0U);
}

TEST_F(TrackerTest, RetriedRowIsAdmittedAgainOnceStaleReadsAreSeen) {
  ASSERT_TRUE(tracker->admit(one));
  const auto stale = tracker->read_begun();
  tracker->settled(one);
  tracker->read_seen(stale);
  ASSERT_TRUE(tracker->admit(one)) << "its retry is due";
  const auto next = tracker->read_begun();
  tracker->read_seen(next);
  EXPECT_FALSE(tracker->admit(one)) << "the old settle must not free the row that is in hand";
}

TEST_F(TrackerTest, CommittedTakesTheReservationAndTheReadFindsItInHand) {
  tracker->reserve(one, at(seconds(60)));
  EXPECT_TRUE(tracker->claim(one));
  EXPECT_FALSE(tracker->admit(one));
  EXPECT_FALSE(tracker->claim(one)) << "only the first verdict counts";
}

TEST_F(TrackerTest, ColdReadTakesTheReservationAndCommittedFindsNone) {
  tracker->reserve(one, at(seconds(60)));
  EXPECT_TRUE(tracker->admit(one)) << "what a read shows has committed";
  EXPECT_FALSE(tracker->claim(one));
  tracker->cancel(one);
  EXPECT_FALSE(tracker->admit(one)) << "a late cancel must not free what is in hand";
}

TEST_F(TrackerTest, ClaimWithoutReservationIsRefused) { EXPECT_FALSE(tracker->claim(one)); }

TEST_F(TrackerTest, CancelledReservationIsGone) {
  tracker->reserve(one, at(seconds(60)));
  tracker->cancel(one);
  EXPECT_EQ(tracker->size(), 0U);
  EXPECT_FALSE(tracker->claim(one));
}

TEST_F(TrackerTest, OnlyReservationsExpire) {
  tracker->reserve(one, at(seconds(60)));
  ASSERT_TRUE(tracker->admit(two));
  const auto stale = tracker->read_begun();
  ASSERT_TRUE(tracker->admit(Sequence{3}));
  tracker->settled(Sequence{3});
  tracker->expire_reservations(at(seconds(59)));
  EXPECT_EQ(tracker->size(), 3U);
  tracker->expire_reservations(at(hours(1000)));
  EXPECT_EQ(tracker->size(), 2U);
  EXPECT_FALSE(tracker->claim(one)) << "a verdict after the expiry changes nothing";
  EXPECT_FALSE(tracker->admit(two));
  EXPECT_FALSE(tracker->admit(Sequence{3}));
  tracker->read_seen(stale);
}

TEST_F(TrackerTest, ExpiryOfAClaimedReservationLeavesTheRowInHand) {
  tracker->reserve(one, at(seconds(60)));
  ASSERT_TRUE(tracker->claim(one));
  tracker->expire_reservations(at(seconds(61)));
  EXPECT_FALSE(tracker->admit(one));
}

TEST_F(TrackerTest, ClearForgetsEverything) {
  ASSERT_TRUE(tracker->admit(one));
  ASSERT_TRUE(tracker->admit(two));
  tracker->reserve(Sequence{3}, at(seconds(60)));
  tracker->clear();
  EXPECT_EQ(tracker->size(), 0U);
  EXPECT_TRUE(tracker->admit(one));
  EXPECT_TRUE(tracker->admit(two));
  EXPECT_FALSE(tracker->claim(Sequence{3}));
}

/// Rows are pending in a database until their settle commits; reads show what was pending when
/// they began and are looked at later, in any order.
RC_GTEST_PROP(TrackerProperty, NoReadEverBringsASettledRowBack, ()) {
  const auto tracker = make_tracker();
  std::set<std::uint64_t> pending;
  std::set<std::uint64_t> in_hand;
  std::map<std::uint64_t, std::set<std::uint64_t>> reads;  // ticket → rows shown
  const auto steps = *rc::gen::inRange(1, 120);
  for (int step = 0; step < steps; ++step) {
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        pending.insert(*rc::gen::inRange<std::uint64_t>(1, 20) +
                       static_cast<std::uint64_t>(step) * 100);
        break;
      case 1:
        reads.emplace(tracker->read_begun().value, pending);
        break;
      case 2: {
        if (reads.empty()) break;
        auto read = std::next(reads.begin(), *rc::gen::inRange(0, static_cast<int>(reads.size())));
        for (const auto shown : read->second) {
          if (!tracker->admit(Sequence{shown})) continue;
          RC_ASSERT(pending.contains(shown));
          RC_ASSERT(in_hand.insert(shown).second);
        }
        tracker->read_seen(ReadTicket{read->first});
        reads.erase(read);
        break;
      }
      default:
        if (in_hand.empty()) break;
        const auto done = *in_hand.begin();
        in_hand.erase(done);
        pending.erase(done);
        tracker->settled(Sequence{done});
    }
  }
  for (const auto& [ticket, shown] : reads) tracker->read_seen(ReadTicket{ticket});
  RC_ASSERT(tracker->size() == in_hand.size());
}

}  // namespace
}  // namespace sagabox::feed
