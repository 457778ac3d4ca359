#include "unit/outbox/relay_world.hpp"

#include <algorithm>
#include <variant>

namespace sagabox::outbox {
namespace {

using std::chrono::seconds;

/// A relay that is given more than it reads, or nothing.
class SafetyPassTest : public RelayWorld {
 protected:
  static constexpr std::uint32_t capacity = 100;

  explicit SafetyPassTest(bool claims = false)
      : RelayWorld({.options = {.cold_capacity = capacity, .read_ahead = 0}, .claims = claims}) {}

  /// A second: one read, and all that it brought is handled and settled. How many pages of it
  /// were of a safety pass.
  std::ptrdiff_t one_second() {
    clock.advance(seconds(1));
    keep_shards();
    auto& intake = relay.intake();
    std::ptrdiff_t safety = 0;
    for (bool read = false; !read;) {
      intake.wake();
      const auto plan = intake.plan(now());
      if (!plan) break;
      if (const auto* fresh = std::get_if<FreshRead>(&plan->what)) {
        safety = std::ranges::count(fresh->pages, Purpose::safety, &PlannedRange::purpose);
        read = true;
      }
      intake.apply(*plan, intake.perform(*plan), now());
    }
    handle();
    settle();
    return safety;
  }
  /// The second in which the first page of a pass is read; 0: none.
  int pass_begins_within(int limit, std::size_t written_a_second) {
    for (int second = 1; second <= limit; ++second) {
      write(written_a_second);
      if (one_second() > 0) return second;
    }
    return 0;
  }
};

class ClaimingSafetyPassTest : public SafetyPassTest {
 protected:
  ClaimingSafetyPassTest() : SafetyPassTest(true) {}
};

TEST_F(SafetyPassTest, BeginsAfterItsIntervalWhereEverythingIsRead) {
  const auto begun = pass_begins_within(40, capacity / 2);
  EXPECT_GE(begun, 30);
  EXPECT_LE(begun, 33);
}

TEST_F(SafetyPassTest, LetsABacklogGoFirst) {
  EXPECT_EQ(pass_begins_within(60, 2 * capacity), 0);
  const auto begun = pass_begins_within(80, 0);
  EXPECT_GE(begun, 58) << "what has come in a minute takes another one";
  EXPECT_LE(begun, 63);
}

TEST_F(SafetyPassTest, OfOtherLanesWaitsForABacklogFourIntervalsAtMost) {
  const auto begun = pass_begins_within(170, 2 * capacity);
  EXPECT_GE(begun, 150);
  EXPECT_LE(begun, 153);
}

TEST_F(SafetyPassTest, RestsForWhatItsReadsTookNotForWhatABacklogDid) {
  ASSERT_GT(pass_begins_within(170, 2 * capacity), 0);
  for (int second = 0; second < 200; ++second) (void)one_second();
  EXPECT_GT(pass_begins_within(40, 0), 0);
}

/// It also takes what others have left, which would wait with the backlog.
TEST_F(ClaimingSafetyPassTest, DoesNotWaitForABacklog) {
  const auto begun = pass_begins_within(10, 2 * capacity);
  EXPECT_GE(begun, 1);
  EXPECT_LE(begun, 2);
}

}  // namespace
}  // namespace sagabox::outbox
