#include "feed/reader.hpp"

#include "unit/feed/model_feed.hpp"
#include "unit/feed/model_table.hpp"

#include <sagabox/random.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace sagabox::feed {
namespace {

using spi::LateCommits;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::at;
using testing::ModelFeed;
using testing::ModelRow;

constexpr std::uint16_t shard_count = 3;
constexpr Duration window = seconds(5);
constexpr Shard first{0};
constexpr Shard second{1};

/// A feed, and the reader of all of its shards.
class FeedReaderTest : public ::testing::Test {
 protected:
  explicit FeedReaderTest(bool rows_stay = false)
      : reader({.late_commits = LateCommits::visible, .shards = shard_count},
               {.rows_stay = rows_stay}) {
    for (std::uint16_t shard = 0; shard < shard_count; ++shard) reader.acquire(Shard{shard});
  }

  std::uint64_t commit_row(Shard shard) {
    const auto transaction = feed.begin(now);
    feed.write(transaction, shard);
    feed.commit(transaction);
    return feed.next_sequence() - 1;
  }
  /// What one read brings; nothing if none is due.
  std::vector<std::uint64_t> read(std::uint32_t rows_max = 100) {
    const auto plan = reader.plan(now, rows_max);
    if (!plan) return {};
    return apply(*plan, feed.read(plan->ranges, rows_max));
  }
  std::vector<std::uint64_t> apply(const ReadPlan& plan, spi::FeedReply<ModelRow> reply) {
    auto taken = reader.apply(plan, std::move(reply), now);
    late += taken.late;
    by_full_pass += taken.by_full_pass;
    std::vector<std::uint64_t> sequences;
    for (const auto& [row, place] : taken.rows) {
      sequences.push_back(row.sequence.value);
      places[row.sequence.value] = place;
    }
    return sequences;
  }
  /// Until nothing is due; ascending.
  std::vector<std::uint64_t> read_all() {
    std::vector<std::uint64_t> all;
    for (int reads = 0; reads < 100 && reader.next(now) <= now; ++reads) {
      for (const auto sequence : read()) all.push_back(sequence);
    }
    std::ranges::sort(all);
    return all;
  }
  void settle(std::uint64_t sequence) {
    feed.remove(places.at(sequence).shard, Sequence{sequence});
    reader.settled(places.at(sequence));
  }

  using Sequences = std::vector<std::uint64_t>;

  BootTime now = at({});
  ModelFeed feed{shard_count};
  Reader reader;
  std::map<std::uint64_t, RowPlace> places;
  std::uint32_t late = 0;
  std::uint32_t by_full_pass = 0;
};

class StayingFeedTest : public FeedReaderTest {
 protected:
  StayingFeedTest() : FeedReaderTest(true) {}
};

TEST_F(FeedReaderTest, TakesTheRowsOfItsShardsOnce) {
  const auto one = commit_row(first);
  const auto two = commit_row(second);
  EXPECT_EQ(read_all(), (Sequences{one, two}));
  EXPECT_EQ(reader.in_hand(), 2U);
  reader.wake();
  EXPECT_EQ(read_all(), Sequences{});
  settle(one);
  settle(two);
  EXPECT_EQ(reader.in_hand(), 0U);
}

TEST_F(FeedReaderTest, IsIdleUntilThePollUnlessWoken) {
  (void)read_all();
  const auto idle_since = now;
  EXPECT_EQ(reader.next(now), idle_since + milliseconds(100));
  EXPECT_FALSE(reader.plan(now, 1));
  now += milliseconds(50);
  reader.wake();
  EXPECT_EQ(reader.next(now), now);
  EXPECT_TRUE(reader.plan(now, 1));
}

TEST_F(FeedReaderTest, WithoutRoomNothingIsReadAndTheWakeIsKept) {
  (void)read_all();
  reader.wake();
  EXPECT_FALSE(reader.plan(now, 0));
  EXPECT_TRUE(reader.plan(now, 1));
}

TEST_F(FeedReaderTest, RowsOfALateTransactionAreFoundBehindThePosition) {
  const auto slow = feed.begin(now);
  feed.write(slow, first);
  const auto later = commit_row(first);
  EXPECT_EQ(read_all(), Sequences{later});
  for (int polls = 0; polls < 10; ++polls) {
    now += milliseconds(100);
    EXPECT_EQ(read_all(), Sequences{});
  }
  feed.commit(slow);
  now += milliseconds(100);
  EXPECT_EQ(read_all(), Sequences{later - 1});
  EXPECT_EQ(late, 1U);
  EXPECT_EQ(by_full_pass, 0U);
}

TEST_F(FeedReaderTest, ReadBegunBeforeASettleDoesNotBringTheRowBack) {
  const auto one = commit_row(first);
  const auto two = commit_row(first);
  ASSERT_EQ(read_all(), (Sequences{one, two}));
  reader.released(places.at(one));
  const auto plan = reader.plan(now, 10);
  ASSERT_TRUE(plan);
  auto stale = feed.read(plan->ranges, 10);
  ASSERT_EQ(stale.rows.size(), 2U);
  settle(two);
  EXPECT_EQ(apply(*plan, std::move(stale)), Sequences{one});
}

TEST_F(FeedReaderTest, ReleasedRowIsReadAgain) {
  const auto row = commit_row(first);
  ASSERT_EQ(read_all(), Sequences{row});
  reader.released(places.at(row));
  EXPECT_EQ(reader.in_hand(), 0U);
  EXPECT_EQ(read_all(), Sequences{row});
}

TEST_F(FeedReaderTest, ShardTakenAgainShowsItsRowsAgainAndOldPlacesAreVoid) {
  const auto row = commit_row(first);
  ASSERT_EQ(read_all(), Sequences{row});
  const auto old = places.at(row);
  reader.lose(first);
  EXPECT_EQ(reader.in_hand(), 0U);
  reader.acquire(first);
  EXPECT_EQ(read_all(), Sequences{row});
  reader.settled(old);
  EXPECT_EQ(reader.in_hand(), 1U) << "settled under another epoch";
}

TEST_F(FeedReaderTest, ReplyForAShardLostMeanwhileIsNotTaken) {
  (void)commit_row(first);
  const auto plan = reader.plan(now, 10);
  ASSERT_TRUE(plan);
  auto reply = feed.read(plan->ranges, 10);
  reader.lose(first);
  EXPECT_EQ(apply(*plan, std::move(reply)), Sequences{});
}

TEST_F(FeedReaderTest, ManyRowsComeInPagesThatFitAndNoShardStarves) {
  for (int row = 0; row < 30; ++row) (void)commit_row(first);
  const auto other = commit_row(second);
  Sequences all;
  for (int reads = 0; reads < 12; ++reads) {
    const auto page = read(4);
    EXPECT_LE(page.size(), 4U);
    all.insert(all.end(), page.begin(), page.end());
    if (reads == 2) {
      EXPECT_EQ(std::ranges::count(all, other), 1) << "it is behind thirty others";
    }
  }
  EXPECT_EQ(all.size(), 31U);
}

TEST_F(FeedReaderTest, FailedReadIsRepeatedAfterAWhileThatGrows) {
  const auto row = commit_row(first);
  Duration waited{};
  for (int failures = 0; failures < 5; ++failures) {
    const auto plan = reader.plan(now, 10);
    ASSERT_TRUE(plan);
    reader.failed(*plan, now);
    EXPECT_FALSE(reader.plan(now, 10));
    const auto wait = reader.next(now) - now;
    EXPECT_GT(wait, waited);
    waited = wait;
    now += wait;
  }
  EXPECT_EQ(read_all(), Sequences{row});
}

TEST_F(FeedReaderTest, FullPassFindsWhatNoRuleDid) {
  const auto seen = commit_row(first);
  const auto hidden = commit_row(first);
  const auto later = commit_row(first);
  // A store that does not show a committed row.
  const auto plan = reader.plan(now, 10);
  ASSERT_TRUE(plan);
  auto reply = feed.read(plan->ranges, 10);
  const auto part = static_cast<std::size_t>(
      std::ranges::find(plan->ranges, first, &spi::FeedRange::shard) - plan->ranges.begin());
  --reply.parts[part].rows;
  std::erase_if(reply.rows, [&](const ModelRow& row) { return row.sequence.value == hidden; });
  ASSERT_EQ(apply(*plan, std::move(reply)), (Sequences{seen, later}));
  Sequences found;
  for (int polls = 0; polls < 400 && found.empty(); ++polls) {
    found = read_all();
    now += milliseconds(100);
  }
  EXPECT_EQ(found, Sequences{hidden});
  EXPECT_EQ(by_full_pass, 1U);
}

TEST_F(StayingFeedTest, PositionStopsBelowWhatIsOpenOrInHand) {
  const auto one = commit_row(first);
  const auto slow = feed.begin(now);
  feed.write(slow, first);
  const auto three = commit_row(first);
  ASSERT_EQ(read_all(), (Sequences{one, three}));
  EXPECT_EQ(reader.position(first), Sequence{0}) << "nothing is done";
  reader.settled(places.at(three));
  reader.settled(places.at(one));
  EXPECT_EQ(reader.position(first), Sequence{0}) << "a transaction may still commit 1";
  for (int polls = 0; polls < 10; ++polls) {
    now += milliseconds(100);
    ASSERT_EQ(read_all(), Sequences{}) << "what is done is not taken again";
  }
  feed.commit(slow);
  now += milliseconds(100);
  ASSERT_EQ(read_all(), Sequences{one + 1});
  EXPECT_EQ(reader.position(first), Sequence{one});
  reader.settled(places.at(one + 1));
  EXPECT_EQ(reader.position(first), Sequence{three});
}

TEST_F(StayingFeedTest, ReadingGoesOnFromTheStoredPosition) {
  const auto one = commit_row(first);
  const auto two = commit_row(first);
  reader.acquire(first, Sequence{one});
  EXPECT_EQ(read_all(), Sequences{two});
}

/// A feed under load: transactions that end late, out of order or not at all, reads that are
/// looked at after other things have happened, an owner that changes hands.
class FeedLife {
 public:
  struct Options {
    LateCommits table = LateCommits::visible;   ///< how rows are committed
    LateCommits reader = LateCommits::visible;  ///< what the reader takes into account
    Duration reader_window = window;
    bool rows_stay = false;
    Duration full_pass_interval_min = minutes(100);
    int end_seconds = 20;
  };
  FeedLife(const Options& options, std::uint64_t seed)
      : options_(options),
        random_(seeded_random(seed)),
        reader_({.late_commits = options.reader,
                 .late_window = options.reader_window,
                 .shards = shard_count},
                {.full_pass_interval_min = options.full_pass_interval_min,
                 .rows_stay = options.rows_stay}),
        stored_(shard_count),
        taken_(shard_count),
        done_(shard_count),
        seen_(shard_count),
        newest_drawn_(shard_count) {
    for (std::uint16_t shard = 0; shard < shard_count; ++shard) reader_.acquire(Shard{shard});
  }

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      now_ += options_.reader == LateCommits::window ? milliseconds(100) : milliseconds(2);
      end_old_transactions();
      switch (chance(12)) {
        case 0:
        case 1:
        case 2:
          begin_read();
          break;
        case 3:
        case 4:
        case 5:
          end_read();
          break;
        case 6:
        case 7:
          finish_one();
          break;
        case 8:
          if (chance(20) == 0) change_hands();
          break;
        default:
          write();
      }
    }
    end();
  }

  /// Committed and never taken.
  [[nodiscard]] std::size_t lost() const {
    std::size_t count = 0;
    for (std::uint16_t shard = 0; shard < shard_count; ++shard) {
      for (const auto& [sequence, commits] : feed_.committed(Shard{shard})) {
        count += done_[shard].contains(sequence) ? 0 : 1;
      }
    }
    return count;
  }
  /// Taken although it was in hand, or done.
  [[nodiscard]] int repeated() const { return repeated_; }
  /// Taken without having been committed.
  [[nodiscard]] int invented() const { return invented_; }
  /// Taken after a row that was written when it had been committed already.
  [[nodiscard]] int overtaken() const { return overtaken_; }
  [[nodiscard]] int late() const { return late_; }
  [[nodiscard]] const Reader& reader() const { return reader_; }
  [[nodiscard]] const ModelFeed& feed() const { return feed_; }

 private:
  std::uint64_t chance(std::uint64_t of) { return random_->next() % of; }

  void write() {
    const std::size_t open_max = options_.table == LateCommits::none ? 1 : 5;
    if (feed_.open().size() < open_max && chance(2) == 0) (void)feed_.begin(now_);
    if (feed_.open().empty()) return;
    const auto which = static_cast<std::ptrdiff_t>(chance(feed_.open().size()));
    const auto writer = std::next(feed_.open().begin(), which)->first;
    switch (chance(6)) {
      case 0:
        feed_.commit(writer);
        break;
      case 1:
        feed_.roll_back(writer);
        break;
      default:
        feed_.write(writer, Shard{static_cast<std::uint16_t>(chance(shard_count))});
    }
    if (chance(2) == 0) reader_.wake();
  }
  /// Expected to end within the window, or some time.
  void end_old_transactions() {
    while (!feed_.open().empty() && now_ - feed_.open().begin()->second.begun > window * 9 / 10) {
      feed_.commit(feed_.open().begin()->first);
    }
  }
  void begin_read() {
    if (plan_) return;
    plan_ = reader_.plan(now_, static_cast<std::uint32_t>(1 + chance(12)));
    if (!plan_) return;
    reply_ = feed_.read(plan_->ranges, 1 + chance(20));
    if (options_.reader != LateCommits::visible) reply_.horizon.reset();
  }
  void end_read() {
    if (!plan_) return;
    if (chance(20) == 0) {
      reader_.failed(*plan_, now_);
    } else {
      auto taken = reader_.apply(*plan_, std::move(reply_), now_);
      late_ += static_cast<int>(taken.late);
      for (const auto& [row, place] : taken.rows) take(place);
    }
    plan_.reset();
  }
  void take(const RowPlace& place) {
    const auto sequence = place.sequence.value;
    const auto shard = place.shard.value;
    const auto committed = feed_.committed(place.shard).find(sequence);
    if (committed == feed_.committed(place.shard).end()) {
      ++invented_;
      return;
    }
    if (done_[shard].contains(sequence)) ++repeated_;
    if (!taken_[shard].insert(sequence).second) ++repeated_;
    held_.push_back(place);
    const auto& written = committed->second;
    const bool first_time = seen_[shard].insert(sequence).second;
    if (first_time && written.commit < newest_drawn_[shard]) ++overtaken_;
    newest_drawn_[shard] = std::max(newest_drawn_[shard], written.drawn_after);
  }
  void finish_one() {
    if (held_.empty()) return;
    const auto which = static_cast<std::ptrdiff_t>(chance(held_.size()));
    const auto place = held_[static_cast<std::size_t>(which)];
    held_.erase(held_.begin() + which);
    taken_[place.shard.value].erase(place.sequence.value);
    if (chance(8) == 0) {
      reader_.released(place);
      return;
    }
    if (!options_.rows_stay) feed_.remove(place.shard, place.sequence);
    done_[place.shard.value].insert(place.sequence.value);
    reader_.settled(place);
    auto& stored = stored_[place.shard.value];
    stored = std::max(stored, reader_.position(place.shard));
  }
  void change_hands() {
    const auto shard = Shard{static_cast<std::uint16_t>(chance(shard_count))};
    reader_.lose(shard);
    std::erase_if(held_, [&](const RowPlace& place) { return place.shard == shard; });
    taken_[shard.value].clear();
    seen_[shard.value].clear();
    newest_drawn_[shard.value] = 0;
    // What was done above the stored position is shown again, by the next owner.
    if (options_.rows_stay) {
      std::erase_if(done_[shard.value],
                    [&](std::uint64_t done) { return done > stored_[shard.value].value; });
    }
    reader_.acquire(shard, stored_[shard.value]);
  }
  void end() {
    end_read();
    while (!feed_.open().empty()) feed_.commit(feed_.open().begin()->first);
    const auto until = now_ + seconds(options_.end_seconds);
    while (now_ < until) {
      now_ += milliseconds(20);
      begin_read();
      end_read();
      while (!held_.empty()) finish_one();
    }
  }

  Options options_;
  std::unique_ptr<Random> random_;
  BootTime now_ = at({});
  ModelFeed feed_{shard_count};
  Reader reader_;
  std::optional<ReadPlan> plan_;
  spi::FeedReply<ModelRow> reply_;
  std::vector<Sequence> stored_;
  std::vector<RowPlace> held_;
  std::vector<std::set<std::uint64_t>> taken_;  // in hand
  std::vector<std::set<std::uint64_t>> done_;
  std::vector<std::set<std::uint64_t>> seen_;  // in this tenure
  std::vector<std::uint64_t> newest_drawn_;    // commits before the newest row taken was drawn
  int repeated_ = 0;
  int invented_ = 0;
  int overtaken_ = 0;
  int late_ = 0;
};

constexpr int steps_in_a_life = 1500;

RC_GTEST_PROP(FeedReaderProperty, EveryRowIsTakenOnceAndNoneOvertakesWhatWasCommittedBefore, ()) {
  FeedLife life({}, *rc::gen::arbitrary<std::uint32_t>());
  life.run(steps_in_a_life);
  RC_ASSERT(life.lost() == 0U);
  RC_ASSERT(life.repeated() == 0);
  RC_ASSERT(life.invented() == 0);
  RC_ASSERT(life.overtaken() == 0);
  RC_ASSERT(life.reader().in_hand() == 0U);
}

RC_GTEST_PROP(FeedReaderProperty, FullPassesTakeNothingTwiceNorOutOfOrder, ()) {
  FeedLife life({.full_pass_interval_min = milliseconds(200)},
                *rc::gen::arbitrary<std::uint32_t>());
  life.run(steps_in_a_life);
  RC_ASSERT(life.lost() == 0U);
  RC_ASSERT(life.repeated() == 0);
  RC_ASSERT(life.overtaken() == 0);
}

RC_GTEST_PROP(FeedReaderProperty, OfRowsThatStayEachIsTakenOnceAboveTheStoredPosition, ()) {
  FeedLife life({.rows_stay = true}, *rc::gen::arbitrary<std::uint32_t>());
  life.run(steps_in_a_life);
  RC_ASSERT(life.lost() == 0U);
  RC_ASSERT(life.repeated() == 0);
  RC_ASSERT(life.overtaken() == 0);
}

RC_GTEST_PROP(FeedReaderProperty, OneWriterAtATimeNeedsNoHorizon, ()) {
  FeedLife life({.table = LateCommits::none, .reader = LateCommits::none},
                *rc::gen::arbitrary<std::uint32_t>());
  life.run(steps_in_a_life);
  RC_ASSERT(life.lost() == 0U);
  RC_ASSERT(life.repeated() == 0);
  RC_ASSERT(life.overtaken() == 0);
}

RC_GTEST_PROP(FeedReaderProperty, WindowFindsWhatCommitsWithinIt, ()) {
  FeedLife life({.reader = LateCommits::window, .rows_stay = *rc::gen::arbitrary<bool>()},
                *rc::gen::arbitrary<std::uint32_t>());
  life.run(steps_in_a_life);
  RC_ASSERT(life.lost() == 0U);
  RC_ASSERT(life.repeated() == 0);
}

/// How many of some lives lose a row.
int lives_with_a_loss(const FeedLife::Options& options) {
  int losses = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FeedLife life(options, seed);
    life.run(steps_in_a_life);
    losses += life.lost() > 0 ? 1 : 0;
  }
  return losses;
}

TEST(FeedReaderVariants, WithoutTheHorizonRowsAreLost) {
  EXPECT_GT(lives_with_a_loss({.reader = LateCommits::none}), 10);
}

TEST(FeedReaderVariants, AWindowThatIsTooShortLosesRows) {
  EXPECT_GT(lives_with_a_loss({.reader = LateCommits::window, .reader_window = milliseconds(300)}),
            10);
}

TEST(FeedReaderVariants, FullPassesFindWhatAReaderWithoutTheHorizonLost) {
  EXPECT_EQ(
      lives_with_a_loss({.reader = LateCommits::none, .full_pass_interval_min = milliseconds(200)}),
      0);
}

TEST(FeedReaderVariants, LatenessIsTested) {
  FeedLife life({}, 1);
  life.run(steps_in_a_life);
  EXPECT_GT(life.late(), 10);
}

}  // namespace
}  // namespace sagabox::feed
