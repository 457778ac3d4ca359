#include "feed/forward_reader.hpp"

#include "unit/feed/model_table.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sagabox::feed {
namespace {

using spi::LateCommits;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::at;
using testing::horizon;
using testing::ModelTable;

constexpr Duration late_commits_window = seconds(5);

/// A forward read that shows everything up to `last`.
bool read_to(ForwardReader& reader, std::uint64_t last, const std::optional<spi::Horizon>& seen,
             BootTime now = at({})) {
  const auto after = reader.next_after(now);
  if (!reader.accept(after, seen, true)) return false;
  reader.seen(after, Sequence{last}, true, now);
  return true;
}

TEST(ForwardReader, ReadsOnFromTheLastRowWhereCommitsComeInOrder) {
  ForwardReader reader(LateCommits::none, late_commits_window);
  EXPECT_EQ(reader.next_after(at({})), Sequence{0});
  ASSERT_TRUE(read_to(reader, 7, std::nullopt));
  EXPECT_EQ(reader.next_after(at({})), Sequence{7});
  ASSERT_TRUE(read_to(reader, 0, std::nullopt)) << "an empty read does not move it back";
  EXPECT_EQ(reader.position(), Sequence{7});
}

TEST(ForwardReader, BeginsBelowAYoungTransactionSoThatItsEndCostsNoSecondRead) {
  ForwardReader reader(LateCommits::visible, late_commits_window);
  ASSERT_TRUE(read_to(reader, 10, horizon({}, 5)));
  ASSERT_TRUE(read_to(reader, 20, horizon({5}, 6)));
  EXPECT_EQ(reader.next_after(at({})), Sequence{10}) << "it can have drawn 11 at the lowest";
  ASSERT_TRUE(read_to(reader, 20, horizon({}, 6))) << "this read shows what it committed";
  EXPECT_EQ(reader.next_after(at({})), Sequence{20});
}

TEST(ForwardReader, WaitsForALongTransactionAndGoesBackWhenItEnds) {
  ForwardReader reader(LateCommits::visible, late_commits_window);
  ASSERT_TRUE(read_to(reader, 10, horizon({}, 5)));
  for (int read = 0; read < 10; ++read) ASSERT_TRUE(read_to(reader, 20, horizon({5}, 6)));
  EXPECT_EQ(reader.next_after(at({})), Sequence{20}) << "old ones are not read over and over";
  ASSERT_TRUE(reader.level());
  EXPECT_FALSE(read_to(reader, 30, horizon({}, 6)))
      << "rows below may have to go before those of this page";
  EXPECT_EQ(reader.position(), Sequence{20}) << "the page was dropped";
  EXPECT_FALSE(reader.level());
  EXPECT_EQ(reader.next_after(at({})), Sequence{10});
  ASSERT_TRUE(read_to(reader, 30, horizon({}, 6)));
  EXPECT_TRUE(reader.level());
  EXPECT_EQ(reader.next_after(at({})), Sequence{30});
}

TEST(ForwardReader, TransactionBegunLaterThanTheReadIsNotTakenForEnded) {
  ForwardReader reader(LateCommits::visible, late_commits_window);
  ASSERT_TRUE(read_to(reader, 10, horizon({5}, 6)));
  // A standby that lags behind: it does not know transaction 5 yet.
  ASSERT_TRUE(read_to(reader, 10, horizon({}, 5)));
  EXPECT_EQ(reader.next_after(at({})), Sequence{0}) << "still waited for";
}

TEST(ForwardReader, EndSeenByAnotherReadRewindsTheForwardReads) {
  ForwardReader reader(LateCommits::visible, late_commits_window);
  ASSERT_TRUE(read_to(reader, 10, horizon({}, 5)));
  for (int read = 0; read < 10; ++read) ASSERT_TRUE(read_to(reader, 20, horizon({5}, 6)));
  EXPECT_TRUE(reader.accept(Sequence{3}, horizon({}, 6), false)) << "it began below";
  EXPECT_EQ(reader.next_after(at({})), Sequence{10});
  EXPECT_FALSE(reader.level());
}

TEST(ForwardReader, EndSeenByAnotherReadThatBeganAboveDropsItToo) {
  ForwardReader reader(LateCommits::visible, late_commits_window);
  ASSERT_TRUE(read_to(reader, 10, horizon({}, 5)));
  for (int read = 0; read < 10; ++read) ASSERT_TRUE(read_to(reader, 20, horizon({5}, 6)));
  EXPECT_FALSE(reader.accept(Sequence{15}, horizon({}, 6), false));
  EXPECT_EQ(reader.next_after(at({})), Sequence{10});
}

TEST(ForwardReader, PassBehindThePositionGoesPageByPage) {
  ForwardReader reader(LateCommits::none, late_commits_window);
  ASSERT_TRUE(read_to(reader, 100, std::nullopt));
  reader.rewind(Sequence{10});
  reader.rewind(Sequence{50});
  EXPECT_EQ(reader.next_after(at({})), Sequence{10}) << "the lowest counts";
  reader.seen(Sequence{10}, Sequence{40}, false, at({}));
  EXPECT_EQ(reader.next_after(at({})), Sequence{40});
  EXPECT_EQ(reader.position(), Sequence{100});
  reader.seen(Sequence{40}, Sequence{120}, false, at({}));
  EXPECT_TRUE(reader.level());
  EXPECT_EQ(reader.next_after(at({})), Sequence{120});
}

TEST(ForwardReader, RewindWhileAReadIsOnItsWayIsNotLost) {
  ForwardReader reader(LateCommits::none, late_commits_window);
  ASSERT_TRUE(read_to(reader, 100, std::nullopt));
  const auto after = reader.next_after(at({}));
  reader.rewind(Sequence{10});
  ASSERT_TRUE(reader.accept(after, std::nullopt, true));
  reader.seen(after, Sequence{130}, true, at({}));
  EXPECT_EQ(reader.position(), Sequence{130});
  EXPECT_EQ(reader.next_after(at({})), Sequence{10});
}

TEST(ForwardReader, RewindAboveThePositionChangesNothing) {
  ForwardReader reader(LateCommits::none, late_commits_window);
  ASSERT_TRUE(read_to(reader, 10, std::nullopt));
  reader.rewind(Sequence{10});
  EXPECT_TRUE(reader.level());
}

TEST(ForwardReader, PageThatEndsExactlyAtThePositionIsFollowedByWhatLiesAhead) {
  ForwardReader reader(LateCommits::window, late_commits_window);
  const auto first = reader.next_after(at({}));
  reader.seen(first, Sequence{10}, false, at({}));
  reader.seen(reader.next_after(at({})), Sequence{10}, false, at({}));
  EXPECT_EQ(reader.next_after(at({})), Sequence{10}) << "not the same page for ever";
}

TEST(ForwardReader, WindowIsReadAgainUntilAReadBegunAfterItsEndHasLooked) {
  ForwardReader reader(LateCommits::window, late_commits_window);
  ASSERT_TRUE(read_to(reader, 10, std::nullopt, at({})));
  ASSERT_TRUE(read_to(reader, 20, std::nullopt, at(seconds(3))));
  EXPECT_EQ(reader.next_after(at(seconds(4))), Sequence{0});
  ASSERT_TRUE(read_to(reader, 20, std::nullopt, at(milliseconds(4900))));
  EXPECT_EQ(reader.next_after(at(milliseconds(5100))), Sequence{0})
      << "a transaction of 4.95 s can have committed since the last look";
  ASSERT_TRUE(read_to(reader, 20, std::nullopt, at(milliseconds(5100))));
  EXPECT_EQ(reader.next_after(at(milliseconds(5200))), Sequence{10});
  ASSERT_TRUE(read_to(reader, 20, std::nullopt, at(seconds(8))));
  EXPECT_EQ(reader.next_after(at(seconds(9))), Sequence{20});
}

TEST(ForwardReader, SlowReadCountsFromItsBeginning) {
  ForwardReader reader(LateCommits::window, late_commits_window);
  ASSERT_TRUE(read_to(reader, 10, std::nullopt, at({})));
  const auto after = reader.next_after(at(milliseconds(4900)));
  reader.seen(after, Sequence{10}, true, at(milliseconds(5100)));
  EXPECT_EQ(reader.next_after(at(milliseconds(5200))), Sequence{0})
      << "it did not see what committed while it was on its way";
}

TEST(ForwardReader, RememberedWindowStaysSmall) {
  ForwardReader reader(LateCommits::window, late_commits_window);
  Duration now{};
  for (std::uint64_t last = 1; last < 20'000; ++last) {
    now += milliseconds(1);
    ASSERT_TRUE(read_to(reader, last, std::nullopt, at(now)));
  }
  const auto again = reader.position().value - reader.next_after(at(now)).value;
  EXPECT_GE(again, 5000U);
  EXPECT_LE(again, 6000U) << "one step of a sixteenth more than the window at most";
}

/// Reads a ModelTable the way a shard does and remembers what it saw first.
class Reading {
 public:
  Reading(LateCommits kind, std::size_t page_rows) : kind_(kind), page_rows_(page_rows) {}

  /// Takes what a page shows beyond what it has. `below`: read from here, not forward.
  void read(ModelTable& table, BootTime now, std::optional<Sequence> below = std::nullopt) {
    if (below && (!reader_.level() || *below > reader_.position())) return;
    const auto after = below ? *below : reader_.next_after(now);
    // In hand, shown again below the position.
    const auto known = after < reader_.position() ? in_hand_.size() : 0;
    const auto page = table.read(after, page_rows_ + known);
    const auto seen = kind_ == LateCommits::visible ? std::optional(page.horizon) : std::nullopt;
    if (!reader_.accept(after, seen, !below)) return;
    auto last = after;
    for (const auto sequence : page.rows) {
      last = Sequence{sequence};
      if (!taken_.insert(sequence).second) continue;
      in_hand_.insert(sequence);
      by_key_[table.key_of(sequence)].push_back(sequence);
    }
    if (!below) reader_.seen(after, last, page.exhausted, now);
  }
  void settle_one(ModelTable& table) {
    if (in_hand_.empty()) return;
    table.remove(*in_hand_.begin());
    in_hand_.erase(in_hand_.begin());
  }

  [[nodiscard]] const std::set<std::uint64_t>& taken() const { return taken_; }
  [[nodiscard]] const ForwardReader& reader() const { return reader_; }
  [[nodiscard]] bool keys_in_order() const {
    return std::all_of(by_key_.begin(), by_key_.end(), [](const auto& key) {
      return key.first.empty() || std::is_sorted(key.second.begin(), key.second.end());
    });
  }

 private:
  LateCommits kind_;
  std::size_t page_rows_;
  ForwardReader reader_{kind_, late_commits_window};
  std::set<std::uint64_t> taken_;
  std::set<std::uint64_t> in_hand_;
  std::map<std::string, std::vector<std::uint64_t>> by_key_;
};

std::uint64_t any_open(const ModelTable& table) {
  return std::next(table.open().begin(),
                   *rc::gen::inRange(0, static_cast<int>(table.open().size())))
      ->first;
}

void write_something(ModelTable& table, std::size_t open_max, BootTime now) {
  if (table.open().size() < open_max && *rc::gen::arbitrary<bool>()) (void)table.begin(now);
  if (table.open().empty()) return;
  const auto writer = any_open(table);
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      table.commit(writer);
      break;
    case 1:
      table.abort(writer);
      break;
    default:
      (void)table.write(writer, *rc::gen::element<std::string>("", "a", "b"));
  }
}

void random_life(ModelTable& table, Reading& reading, std::size_t open_max, Duration step,
                 bool asides) {
  auto now = at({});
  const auto steps = *rc::gen::inRange(1, 200);
  for (int count = 0; count < steps; ++count) {
    now += step;
    // Expected to end within the window.
    while (!table.open().empty() &&
           now - table.open().begin()->second.begun > late_commits_window - step) {
      table.commit(table.open().begin()->first);
    }
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
      case 1:
        reading.read(table, now);
        break;
      case 2:
        reading.settle_one(table);
        break;
      case 3:
        if (asides) reading.read(table, now, Sequence{*rc::gen::inRange<std::uint64_t>(0, 60)});
        break;
      default:
        write_something(table, open_max, now);
    }
  }
  while (!table.open().empty()) table.commit(table.open().begin()->first);
  for (int count = 0; count < 1000; ++count) reading.read(table, now += step);
  RC_ASSERT(reading.taken() == table.committed());
  RC_ASSERT(reading.reader().level());
}

RC_GTEST_PROP(ForwardReaderProperty, VisibleTransactionsEveryRowIsSeenAndKeysInOrder, ()) {
  ModelTable table;
  Reading reading(LateCommits::visible, *rc::gen::inRange<std::size_t>(1, 12));
  random_life(table, reading, 5, milliseconds(1), true);
  RC_ASSERT(reading.keys_in_order());
}

RC_GTEST_PROP(ForwardReaderProperty, OneWriterAtATimeEveryRowIsSeenAndKeysInOrder, ()) {
  ModelTable table;
  Reading reading(LateCommits::none, *rc::gen::inRange<std::size_t>(1, 12));
  random_life(table, reading, 1, milliseconds(1), true);
  RC_ASSERT(reading.keys_in_order());
}

RC_GTEST_PROP(ForwardReaderProperty, WindowFindsEveryRowOfATransactionThatEndsWithinIt, ()) {
  ModelTable table;
  Reading reading(LateCommits::window, *rc::gen::inRange<std::size_t>(1, 12));
  random_life(table, reading, 5, milliseconds(200), false);
}

RC_GTEST_PROP(ForwardReaderProperty, WindowKeepsKeysInOrderWhilePagesHoldIt, ()) {
  ModelTable table;
  Reading reading(LateCommits::window, 1000);
  random_life(table, reading, 5, milliseconds(200), false);
  RC_ASSERT(reading.keys_in_order());
}

}  // namespace
}  // namespace sagabox::feed
