#include "outbox/upkeep/purger.hpp"

#include "support/ownership.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::outbox {
namespace {

using ownership::testing::ManualClock;
using ownership::testing::RecordingLog;
using OwnershipMetrics = ownership::testing::RecordingMetrics;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// Has so many old rows of each state, and fails when told to.
class OldRows final : public spi::OutboxAdminStore {
 public:
  Result<spi::TableStats> stats(const TableName&) override { return not_asked(); }
  Result<spi::ListReply> list(const spi::ListRequest&) override { return not_asked(); }
  Result<std::optional<MessageRecord>> find(const spi::FindRequest&) override {
    return not_asked();
  }
  Result<std::uint64_t> count(const TableName&, MessageState, const MessageFilter&) override {
    return not_asked();
  }
  Result<spi::MoveReply> move(const spi::MoveRequest&) override { return not_asked(); }

  Result<spi::PurgeReply> purge(const spi::PurgeRequest& request) override {
    asked.push_back(std::string(state_name(request.state)));
    older_than[request.state] = request.older_than;
    EXPECT_EQ(request.rows_max, 500U);
    EXPECT_TRUE(request.actor.empty());
    if (down || broken == request.state) return Error{Code::storage_unavailable, "away"};
    auto& left = rows[request.state];
    const auto taken = locked ? 0 : std::min<std::uint64_t>(left, request.rows_max);
    left -= taken;
    return spi::PurgeReply{.rows = taken, .more = left > 0};
  }
  Result<std::vector<spi::Stray>> strays(const TableName&, std::uint32_t rows_max) override {
    asked.push_back("strays");
    if (down) return Error{Code::storage_unavailable, "away"};
    std::vector<spi::Stray> found;
    for (std::uint32_t i = 0; i < std::min(stray_rows, rows_max); ++i) {
      found.push_back({Sequence{i + 1}, MessageId::parse("m" + std::to_string(i)).value(), "lane"});
    }
    return found;
  }

  [[nodiscard]] std::ptrdiff_t times(std::string_view what) const {
    return std::ranges::count(asked, what);
  }

  std::map<MessageState, std::uint64_t> rows;
  std::map<MessageState, Duration> older_than;
  std::uint32_t stray_rows = 0;
  bool down = false;
  bool locked = false;
  std::optional<MessageState> broken;
  std::vector<std::string> asked;

 private:
  static Error not_asked() {
    ADD_FAILURE() << "a purger has no business here";
    return {};
  }
};

class PurgerTest : public ::testing::Test {
 protected:
  Purger make(PurgerOptions options = {}) {
    return Purger({.store = store,
                   .table = table,
                   .metrics = metrics,
                   .log = log,
                   .live = [this](BootTime) { return live; }},
                  options);
  }
  void acquire(Purger& purger) {
    purger.holder().acquired({.shard = Shard{0}, .epoch = Epoch{++epoch}},
                             WorkerId::parse("me").value(), Timeline{1});
  }
  /// Steps at the times `next` names.
  void pass(Purger& purger, Duration time) {
    const BootTime end = clock.boot_now() + time;
    for (int calls = 0;;) {
      if (const auto plan = purger.plan(clock.boot_now())) {
        purger.apply(*plan, purger.perform(*plan), clock.boot_now());
        ASSERT_LT(++calls, 10'000) << "it spins";
        continue;
      }
      const BootTime next = purger.next(clock.boot_now());
      ASSERT_GT(next, clock.boot_now()) << "due, but nothing planned";
      if (next > end) break;
      clock.advance_to(next);
    }
    clock.advance_to(end);
  }

  ManualClock clock;
  OwnershipMetrics metrics;
  RecordingLog log;
  OldRows store;
  TableName table = TableName::parse("orders").value();
  bool live = true;
  std::uint64_t epoch = 0;
};

TEST_F(PurgerTest, PurgesBatchByBatchUntilNothingIsLeftAndSleepsThen) {
  auto purger = make();
  store.rows[MessageState::done] = 1700;
  acquire(purger);
  pass(purger, Duration::zero());
  EXPECT_EQ(store.rows[MessageState::done], 0U);
  EXPECT_EQ(store.asked, (std::vector<std::string>{"strays", "done", "done", "done", "done"}));
  EXPECT_EQ(store.older_than[MessageState::done], hours(24 * 7));
  EXPECT_EQ(metrics.value("outbox_purged_total{table=orders,state=done}"), 1700);
  EXPECT_EQ(log.count(LogLevel::info, "purged"), 1U);

  pass(purger, minutes(59));
  EXPECT_EQ(store.asked.size(), 5U);
  pass(purger, minutes(1));
  EXPECT_EQ(store.asked.size(), 7U) << "the next round";
  EXPECT_EQ(log.count(LogLevel::info, "purged"), 1U);
  EXPECT_EQ(log.count(LogLevel::debug, "purged"), 1U) << "nothing was: no line for that";
}

TEST_F(PurgerTest, DeadAndPendingRowsAreKeptUnlessTold) {
  auto purger = make();
  acquire(purger);
  pass(purger, hours(3));
  EXPECT_EQ(store.times("dead"), 0);
  EXPECT_EQ(store.times("pending"), 0);

  auto other = make({.done = std::nullopt, .dead = hours(48), .pending = hours(1)});
  store.asked.clear();
  store.rows = {{MessageState::dead, 501}, {MessageState::pending, 10}};
  acquire(other);
  pass(other, Duration::zero());
  EXPECT_EQ(store.asked, (std::vector<std::string>{"strays", "dead", "dead", "pending"}));
  EXPECT_EQ(store.older_than[MessageState::dead], hours(48));
  EXPECT_EQ(store.older_than[MessageState::pending], hours(1));
  EXPECT_EQ(metrics.value("outbox_purged_total{table=orders,state=dead}"), 501);
  EXPECT_EQ(metrics.value("outbox_purged_total{table=orders,state=pending}"), 10);
}

TEST_F(PurgerTest, AsksNothingUnlessItOwnsTheScopeAndIsLive) {
  auto purger = make();
  pass(purger, hours(3));
  EXPECT_TRUE(store.asked.empty());
  live = false;
  acquire(purger);
  pass(purger, hours(3));
  EXPECT_TRUE(store.asked.empty());
  live = true;
  purger.holder().drain(Shard{0});
  pass(purger, hours(3));
  EXPECT_TRUE(store.asked.empty());
  purger.holder().lost(Shard{0});
  pass(purger, hours(3));
  EXPECT_TRUE(store.asked.empty());
  acquire(purger);
  EXPECT_LE(purger.next(clock.boot_now()), clock.boot_now());
  pass(purger, Duration::zero());
  EXPECT_EQ(store.asked.size(), 2U);
}

TEST_F(PurgerTest, LeaseThatIsLateForAMomentDoesNotBeginTheRoundAgain) {
  auto purger = make();
  acquire(purger);
  pass(purger, Duration::zero());
  live = false;
  pass(purger, seconds(5));
  live = true;
  pass(purger, minutes(10));
  EXPECT_EQ(store.times("strays"), 1);
}

TEST_F(PurgerTest, IsNotIdleDuringACallAndIgnoresAReplyThatComesTooLate) {
  auto purger = make();
  store.stray_rows = 3;
  acquire(purger);
  EXPECT_TRUE(purger.holder().idle(Shard{0}));
  const auto plan = purger.plan(clock.boot_now());
  ASSERT_TRUE(plan);
  EXPECT_FALSE(purger.holder().idle(Shard{0}));
  auto answer = purger.perform(*plan);
  purger.holder().lost(Shard{0});
  acquire(purger);
  purger.apply(*plan, std::move(answer), clock.boot_now());
  EXPECT_TRUE(purger.holder().idle(Shard{0}));
  EXPECT_EQ(metrics.value("outbox_strays{table=orders}"), 0);
  pass(purger, Duration::zero());
  EXPECT_EQ(store.times("strays"), 2) << "a new tenure begins a round of its own";
  EXPECT_EQ(metrics.value("outbox_strays{table=orders}"), 3);
}

TEST_F(PurgerTest, StraysAreReportedOnceARound) {
  auto purger = make();
  store.stray_rows = 2;
  acquire(purger);
  pass(purger, minutes(30));
  EXPECT_EQ(log.count(LogLevel::error, "pending row that no reader would find"), 2U);
  EXPECT_EQ(metrics.value("outbox_strays{table=orders}"), 2);
  store.stray_rows = 5000;
  pass(purger, hours(1));
  EXPECT_EQ(log.count(LogLevel::error, "pending row that no reader would find"), 102U);
  EXPECT_EQ(metrics.value("outbox_strays{table=orders}"), 100);
  purger.holder().lost(Shard{0});
  pass(purger, seconds(2));
  EXPECT_EQ(metrics.value("outbox_strays{table=orders}"), 0) << "its next owner says";
}

TEST_F(PurgerTest, StoreThatIsAwayIsAskedAgainWithGrowingPauses) {
  auto purger = make();
  store.rows[MessageState::done] = 10;
  store.down = true;
  acquire(purger);
  pass(purger, milliseconds(900));
  EXPECT_EQ(store.asked.size(), 1U);
  pass(purger, minutes(30));
  EXPECT_EQ(store.asked.size(), 10U) << "five attempts a step, then the next round";
  EXPECT_EQ(log.count(LogLevel::error, "purge failed until the next round"), 2U);
  EXPECT_EQ(log.count(LogLevel::info, "purged"), 1U);
  store.down = false;
  pass(purger, hours(1));
  EXPECT_EQ(store.rows[MessageState::done], 0U) << "no error ends a purger";
}

TEST_F(PurgerTest, StateThatFailsDoesNotKeepTheOthersWaiting) {
  auto purger = make({.dead = hours(1)});
  store.rows = {{MessageState::done, 600}, {MessageState::dead, 600}};
  store.broken = MessageState::done;
  acquire(purger);
  pass(purger, seconds(2));
  EXPECT_EQ(store.rows[MessageState::dead], 0U);
  store.broken.reset();
  pass(purger, minutes(2));
  EXPECT_EQ(store.rows[MessageState::done], 0U) << "in the same round";
  EXPECT_EQ(store.times("strays"), 1);
}

TEST_F(PurgerTest, RowsThatOthersHoldAreLeftToTheNextRound) {
  auto purger = make();
  store.rows[MessageState::done] = 10;
  store.locked = true;
  acquire(purger);
  pass(purger, minutes(59));
  EXPECT_EQ(store.times("done"), 1);
  store.locked = false;
  pass(purger, minutes(2));
  EXPECT_EQ(store.rows[MessageState::done], 0U);
}

}  // namespace
}  // namespace sagabox::outbox
