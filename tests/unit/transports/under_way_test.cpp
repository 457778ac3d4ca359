#include "transports/under_way.hpp"

#include "unit/transports/boot_times.hpp"

#include <gtest/gtest.h>

#include <map>
#include <thread>

namespace sagabox::transports {
namespace {

using Kind = spi::SendResult::Kind;
using std::chrono::milliseconds;

class Nowhere final : public spi::Address {};

class Notes final : public spi::SendResults {
 public:
  void sent(spi::Ticket ticket, spi::SendResult result) noexcept override {
    const std::lock_guard lock(mutex_);
    results_[ticket.value].push_back(std::move(result));
  }
  [[nodiscard]] std::vector<spi::SendResult> of(std::uint64_t ticket) {
    const std::lock_guard lock(mutex_);
    return results_[ticket];
  }
  [[nodiscard]] Kind kind_of(std::uint64_t ticket) {
    const auto results = of(ticket);
    EXPECT_EQ(results.size(), 1U) << ticket;
    return results.empty() ? Kind::failed : results.front().kind;
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<spi::SendResult>> results_;
};

class UnderWayTest : public ::testing::Test {
 protected:
  std::vector<UnderWay::Admitted> admit(std::vector<int> deadlines) {
    std::vector<spi::Parcel> parcels;
    for (const int deadline : deadlines) {
      parcels.push_back({.ticket = spi::Ticket{++ticket_},
                         .address = std::make_shared<Nowhere>(),
                         .deadline = at(deadline)});
    }
    std::vector<UnderWay::Admitted> taken;
    under_way_.admit(parcels, notes_, taken);
    return taken;
  }

  const spi::SendResult unreachable_{Kind::unreachable, "not sent"};
  const spi::SendResult timed_out_{Kind::timed_out, "no answer"};
  UnderWay under_way_{3};
  Notes notes_;
  std::uint64_t ticket_ = 0;
};

TEST_F(UnderWayTest, FirstResultIsTheOnlyOne) {
  const auto taken = admit({100});
  under_way_.finish(taken[0].key, {});
  under_way_.finish(taken[0].key, unreachable_);
  under_way_.expire(at(200), unreachable_, timed_out_);
  EXPECT_EQ(notes_.kind_of(1), Kind::delivered);
  EXPECT_EQ(under_way_.count(), 0U);
}

TEST_F(UnderWayTest, AnswerOfAnEarlierTurnDoesNotFinishTheNext) {
  const auto first = admit({100});
  under_way_.finish(first[0].key, {});
  const auto second = admit({100});
  ASSERT_EQ(first[0].key.slot, second[0].key.slot);
  under_way_.finish(UnderWay::Key::unpacked(first[0].key.packed()), {});
  EXPECT_FALSE(under_way_.leave(first[0].key, at(1)));
  EXPECT_TRUE(notes_.of(2).empty());
  under_way_.finish(UnderWay::Key::unpacked(second[0].key.packed()), {});
  EXPECT_EQ(notes_.kind_of(2), Kind::delivered);
}

TEST_F(UnderWayTest, AboveTheBoundIsForLaterAndAResultMakesRoom) {
  const auto taken = admit({100, 100, 100, 100});
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(notes_.kind_of(4), Kind::later);
  EXPECT_TRUE(notes_.of(4).front().retry_after.has_value());
  under_way_.finish(taken[1].key, {});
  EXPECT_EQ(admit({100}).size(), 1U);
}

TEST_F(UnderWayTest, DeadlineTellsWhetherItHadLeft) {
  const auto taken = admit({100, 100, 300});
  EXPECT_TRUE(under_way_.leave(taken[1].key, at(40)));
  EXPECT_EQ(under_way_.next_due(), at(100));
  EXPECT_EQ(under_way_.expire(at(99), unreachable_, timed_out_).count, 0U);
  const auto expired = under_way_.expire(at(100), unreachable_, timed_out_);
  EXPECT_EQ(expired.count, 2U);
  EXPECT_EQ(expired.sent_at, at(40));
  EXPECT_EQ(notes_.kind_of(1), Kind::unreachable);
  EXPECT_EQ(notes_.kind_of(2), Kind::timed_out);
  EXPECT_FALSE(under_way_.leave(taken[0].key, at(101)));
  EXPECT_EQ(under_way_.next_due(), at(300));
  EXPECT_TRUE(under_way_.holds(taken[2].key));
}

TEST_F(UnderWayTest, FinishesThoseThatAreMeant) {
  const auto taken = admit({100, 100});
  EXPECT_TRUE(under_way_.leave(taken[0].key, at(1)));
  under_way_.finish_if(
      [](const UnderWay::View& view) { return view.stage == UnderWay::Stage::sent; }, timed_out_);
  EXPECT_EQ(notes_.kind_of(1), Kind::timed_out);
  EXPECT_TRUE(notes_.of(2).empty());
}

TEST_F(UnderWayTest, EndGivesTheRestItsResultAndTakesNothingMore) {
  const auto taken = admit({100, 100});
  EXPECT_TRUE(under_way_.leave(taken[0].key, at(1)));
  under_way_.shut();
  EXPECT_FALSE(under_way_.drained(milliseconds(0)));
  under_way_.end(unreachable_, timed_out_);
  EXPECT_EQ(notes_.kind_of(1), Kind::timed_out);
  EXPECT_EQ(notes_.kind_of(2), Kind::unreachable);
  EXPECT_TRUE(admit({100}).empty());
  EXPECT_EQ(notes_.kind_of(3), Kind::unreachable);
  EXPECT_TRUE(under_way_.drained(milliseconds(0)));
}

TEST_F(UnderWayTest, EachHasOneResultThoughAnswersAndDeadlinesRace) {
  constexpr int rounds = 2000;
  for (int round = 0; round < rounds; ++round) {
    const auto taken = admit({100, 100, 100});
    ASSERT_EQ(taken.size(), 3U);
    std::jthread answers([&] {
      for (const auto& one : taken) under_way_.finish(one.key, {});
    });
    under_way_.expire(at(100), unreachable_, timed_out_);
  }
  for (std::uint64_t ticket = 1; ticket <= ticket_; ++ticket) {
    ASSERT_EQ(notes_.of(ticket).size(), 1U) << ticket;
  }
}

}  // namespace
}  // namespace sagabox::transports
