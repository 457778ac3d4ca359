#include "transports/timed_parcels.hpp"

#include <sagabox/random.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace sagabox::transports {
namespace {

using Kind = spi::SendResult::Kind;
using namespace std::chrono_literals;

class Results final : public spi::SendResults {
 public:
  void sent(spi::Ticket ticket, spi::SendResult result) noexcept override {
    const std::lock_guard lock(mutex_);
    all_[ticket.value].push_back(std::move(result));
    changed_.notify_all();
  }
  /// Waits for the first; each has one only.
  Kind of(std::uint64_t ticket) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 30s, [&] { return !all_[ticket].empty(); }));
    EXPECT_EQ(all_[ticket].size(), 1U);
    return all_[ticket].at(0).kind;
  }
  [[nodiscard]] std::size_t told() {
    const std::lock_guard lock(mutex_);
    return all_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, std::vector<spi::SendResult>> all_;
};

class TimedParcelsTest : public ::testing::Test {
 protected:
  std::vector<TimedParcels::ItemPtr> take(TimedParcels& parcels, std::uint64_t ticket,
                                          Duration time) {
    std::vector<spi::Parcel> one{{.ticket = spi::Ticket{ticket},
                                  .table = &table_,
                                  .deadline = system_clock().boot_now() + time}};
    return parcels.take(one, results_);
  }
  static TimedParcels::Options options(std::uint32_t items_max = 100) {
    return {.clock = system_clock(), .items_max = items_max, .timed_out_error = "too late"};
  }

  TableName table_ = TableName::parse("orders").value();
  Results results_;
};

TEST_F(TimedParcelsTest, FirstAnswerCounts) {
  TimedParcels parcels(options());
  const auto items = take(parcels, 1, 1h);
  ASSERT_EQ(items.size(), 1U);
  EXPECT_FALSE(items[0]->answered());
  EXPECT_TRUE(parcels.answer(*items[0], {}));
  EXPECT_TRUE(items[0]->answered());
  EXPECT_FALSE(parcels.answer(*items[0], {Kind::failed, "again", {}}));
  EXPECT_EQ(results_.of(1), Kind::delivered);
}

TEST_F(TimedParcelsTest, DeadlinesComeInTheirOwnOrder) {
  TimedParcels parcels(options());
  const auto late = take(parcels, 1, 1h);
  const auto soon = take(parcels, 2, 20ms);
  const auto sooner = take(parcels, 3, 1ms);
  EXPECT_NE(results_.of(3), Kind::delivered);
  EXPECT_NE(results_.of(2), Kind::delivered);
  EXPECT_FALSE(parcels.answer(*soon[0], {}));
  EXPECT_FALSE(late[0]->answered());
  parcels.answer(*late[0], {});
}

TEST_F(TimedParcelsTest, DeadlineTellsWhetherItsWorkHadBegun) {
  TimedParcels parcels(options());
  const auto begun = take(parcels, 1, 100ms);
  const auto waiting = take(parcels, 2, 100ms);
  ASSERT_TRUE(parcels.begin(*begun[0]));
  EXPECT_EQ(results_.of(1), Kind::timed_out);
  EXPECT_EQ(results_.of(2), Kind::later);
  EXPECT_FALSE(parcels.begin(*waiting[0]));
}

TEST_F(TimedParcelsTest, WhatIsPastItsDeadlineIsNotTaken) {
  TimedParcels parcels(options());
  EXPECT_TRUE(take(parcels, 1, -1ms).empty());
  EXPECT_EQ(results_.of(1), Kind::later);
}

TEST_F(TimedParcelsTest, MoreThanTheBoundIsForLaterUntilThereIsRoom) {
  TimedParcels parcels(options(1));
  const auto first = take(parcels, 1, 1h);
  EXPECT_TRUE(take(parcels, 2, 1h).empty());
  EXPECT_EQ(results_.of(2), Kind::later);
  parcels.answer(*first[0], {});
  EXPECT_EQ(take(parcels, 3, 1h).size(), 1U);
}

TEST_F(TimedParcelsTest, CloseWaitsForAnswersAndTakesNothingMore) {
  TimedParcels parcels(options());
  const auto items = take(parcels, 1, 1h);
  std::jthread answering([&] { parcels.answer(*items[0], {}); });
  parcels.close(system_clock().boot_now() + 30s);
  EXPECT_EQ(results_.told(), 1U);
  EXPECT_TRUE(take(parcels, 2, 1h).empty());
  EXPECT_EQ(results_.of(2), Kind::unreachable);
}

TEST_F(TimedParcelsTest, CloseGivesTheRestItsResultAtTheDeadline) {
  std::vector<TimedParcels::ItemPtr> expired;
  auto with_callback = options();
  with_callback.expired = [&](const auto& item) { expired.push_back(item); };
  TimedParcels parcels(std::move(with_callback));
  auto items = take(parcels, 1, 1h);
  parcels.begin(*items[0]);
  items.push_back(take(parcels, 2, 2h).at(0));
  parcels.close(system_clock().boot_now() + 5ms);
  EXPECT_EQ(results_.told(), 2U);
  EXPECT_EQ(results_.of(1), Kind::timed_out);
  EXPECT_EQ(results_.of(2), Kind::unreachable);
  EXPECT_EQ(expired, items);
  parcels.close(system_clock().boot_now() + 1h);
}

TEST_F(TimedParcelsTest, ItemKeepsItsTableAfterItsResult) {
  TimedParcels parcels(options());
  const auto items = take(parcels, 1, 1h);
  EXPECT_NE(items[0]->parcel().table, &table_);
  EXPECT_EQ(items[0]->parcel().table->str(), "orders");
}

}  // namespace
}  // namespace sagabox::transports
