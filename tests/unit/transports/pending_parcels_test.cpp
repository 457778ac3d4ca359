#include "transports/pending_parcels.hpp"

#include "support/collected_results.hpp"
#include "unit/transports/boot_times.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace sagabox::transports {
namespace {

using Kind = spi::SendResult::Kind;
using testing::CollectedResults;

Handed handed(std::uint64_t ticket, CollectedResults& results, BootTime deadline = at(1000)) {
  return {{.ticket = spi::Ticket{ticket}, .deadline = deadline}, &results};
}

TEST(PendingParcelsTest, NumbersCountUpFromOne) {
  std::atomic<std::uint32_t> under_way{2};
  CollectedResults results;
  PendingParcels pending(under_way);
  EXPECT_EQ(pending.next_number(), 1U);
  EXPECT_EQ(pending.add(handed(7, results)), 1U);
  EXPECT_EQ(pending.add(handed(8, results)), 2U);
  EXPECT_TRUE(pending.finish(1, {}));
  EXPECT_EQ(pending.next_number(), 3U) << "also when the oldest are gone";
  EXPECT_TRUE(pending.finish(2, {}));
  pending.restart();
  EXPECT_EQ(pending.next_number(), 1U);
}

TEST(PendingParcelsTest, AnswersToNothingAreIgnored) {
  std::atomic<std::uint32_t> under_way{2};
  CollectedResults results;
  PendingParcels pending(under_way);
  pending.add(handed(7, results));
  pending.add(handed(8, results));
  EXPECT_FALSE(pending.finish(0, {}));
  EXPECT_FALSE(pending.finish(3, {}));
  EXPECT_TRUE(pending.finish(2, {}));
  EXPECT_FALSE(pending.finish(2, {})) << "it has had its result";
  EXPECT_EQ(results.count(), 1U);
  EXPECT_EQ(under_way, 1U);
}

TEST(PendingParcelsTest, OneIsUnderWayNoMoreWhenItsResultIsTold) {
  std::atomic<std::uint32_t> under_way{1};
  CollectedResults results;
  std::uint32_t seen = 99;
  results.then = [&](const spi::SendResult&) { seen = under_way; };
  PendingParcels pending(under_way);
  pending.add(handed(1, results));
  pending.finish(1, {});
  EXPECT_EQ(seen, 0U);
}

RC_GTEST_PROP(PendingParcelsTest, EachHasOneResultWhateverHappens, ()) {
  std::atomic<std::uint32_t> under_way{0};
  CollectedResults results;
  PendingParcels pending(under_way);
  std::map<std::uint64_t, BootTime> open;  // by number
  std::map<std::uint64_t, std::uint64_t> ticket_of;
  std::uint64_t added = 0;
  std::size_t taken = 0;
  int now = 0;
  const auto steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
      case 1: {
        const auto deadline = at(now + *rc::gen::inRange(-5, 50));
        ++under_way;
        const auto number = pending.add(handed(++added, results, deadline));
        open[number] = deadline;
        ticket_of[number] = added;
        break;
      }
      case 2: {
        const auto number = *rc::gen::inRange<std::uint64_t>(0, added + 3);
        RC_ASSERT(pending.finish(number, {}) == (open.erase(number) == 1));
        break;
      }
      case 3: {
        now += *rc::gen::inRange(0, 20);
        const auto late = std::erase_if(open, [&](const auto& o) { return o.second <= at(now); });
        RC_ASSERT(pending.expire(at(now), {Kind::timed_out, "late", {}}) == late);
        break;
      }
      case 4: {
        if (open.empty()) break;
        auto oldest = pending.take_oldest();
        RC_ASSERT(oldest.parcel.ticket.value == ticket_of[open.begin()->first]);
        open.erase(open.begin());
        --under_way;
        ++taken;
        break;
      }
      default: {
        if (*rc::gen::inRange(0, 8) > 0) break;
        pending.finish_all({Kind::unreachable, "gone", {}});
        open.clear();
      }
    }
    RC_ASSERT(pending.size() == open.size());
    RC_ASSERT(under_way == open.size());
    for (const auto& [number, deadline] : open) RC_ASSERT(pending.expires_next() <= deadline);
  }
  pending.finish_all({});
  RC_ASSERT(results.count() + taken == added);
  for (std::uint64_t ticket = 1; ticket <= added; ++ticket) {
    RC_ASSERT(results.of(ticket).size() <= 1U);
  }
}

}  // namespace
}  // namespace sagabox::transports
