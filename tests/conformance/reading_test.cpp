#include "conformance/store_conformance.hpp"
#include "core/key_hash.hpp"

#include <algorithm>
#include <thread>

namespace sagabox::conformance {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_P(StoreConformance, RangeStartsAboveAfterAndAscends) {
  const auto written = write(messages(10, "k"));
  const auto reply = read({written[0].shard, lane_normal, written[3].sequence, 100});

  ASSERT_EQ(reply.rows.size(), 6U);
  for (std::size_t i = 0; i < reply.rows.size(); ++i) {
    EXPECT_EQ(reply.rows[i].sequence, written[i + 4].sequence);
    EXPECT_EQ(reply.rows[i].shard, written[0].shard);
  }
  ASSERT_EQ(reply.parts.size(), 1U);
  EXPECT_EQ(reply.parts[0].rows, 6U);
  EXPECT_TRUE(reply.parts[0].exhausted);
}

TEST_P(StoreConformance, RowsMaxEndsARange) {
  const auto written = write(messages(10, "k"));
  const auto shard = written[0].shard;

  const auto cut = read({shard, lane_normal, {}, 4});
  ASSERT_EQ(cut.rows.size(), 4U);
  EXPECT_EQ(cut.rows.back().sequence, written[3].sequence);
  EXPECT_FALSE(cut.parts[0].exhausted);

  const auto rest = read({shard, lane_normal, cut.rows.back().sequence, 7});
  EXPECT_EQ(rest.rows.size(), 6U);
  EXPECT_TRUE(rest.parts[0].exhausted);
}

TEST_P(StoreConformance, ManyRowsComeAgainAsBefore) {
  const auto owner = own();
  const auto written = write(messages(1'500));
  std::vector<std::string> ids;
  for (const auto& one : written) ids.push_back(one.id.str());
  EXPECT_EQ(ids_of(read_fresh()), ids);
  EXPECT_EQ(ids_of(read_fresh()), ids);
}

TEST_P(StoreConformance, EmptyRangeIsExhausted) {
  const auto reply = read({Shard{0}, lane_normal, {}, 10});
  EXPECT_TRUE(reply.rows.empty());
  ASSERT_EQ(reply.parts.size(), 1U);
  EXPECT_EQ(reply.parts[0].rows, 0U);
  EXPECT_TRUE(reply.parts[0].exhausted);
}

TEST_P(StoreConformance, BytesMaxEndsARead) {
  std::vector<MessagePtr> large;
  for (int i = 0; i < 4; ++i) {
    large.push_back(build({.key = "k", .payload = bytes(std::string(10'000, 'x'))}));
  }
  const auto shard = write(large)[0].shard;

  const auto two = read({shard, lane_normal, {}, 100}, 2 * large[0]->bytes() + 5'000);
  EXPECT_EQ(two.rows.size(), 2U);
  EXPECT_FALSE(two.parts.back().exhausted);

  const auto one = read({shard, lane_normal, {}, 100}, 1);
  EXPECT_EQ(one.rows.size(), 1U) << "at least one row, however large";
  EXPECT_FALSE(one.parts.back().exhausted);
}

TEST_P(StoreConformance, BytesMaxCountsOverAllRanges) {
  const auto large = [&](Priority priority) {
    return build({.payload = bytes(std::string(10'000, 'x')), .priority = priority});
  };
  std::vector<spi::Range> ranges;
  const auto size = large(Priority::high)->bytes();
  const auto high = write(large(Priority::high));
  const auto normal = write(large(Priority::normal));
  const auto low = write(large(Priority::low));
  ranges.push_back({high.shard, lane_high, {}, 10});
  ranges.push_back({normal.shard, lane_normal, {}, 10});
  ranges.push_back({low.shard, lane_low, {}, 10});

  const auto reply = outbox().read(table_, ranges, 2 * size + 5'000).value();

  ASSERT_EQ(reply.rows.size(), 2U);
  EXPECT_EQ(reply.rows[0].sequence, high.sequence);
  EXPECT_EQ(reply.rows[1].sequence, normal.sequence);
  std::uint32_t counted = 0;
  for (const auto& part : reply.parts) counted += part.rows;
  EXPECT_EQ(counted, 2U);
  if (reply.parts.size() == 3) {
    EXPECT_FALSE(reply.parts[2].exhausted);
  }
}

TEST_P(StoreConformance, PartsFollowTheOrderOfTheRanges) {
  const auto a = write(messages(3, "a"));
  const auto low = write(build({.priority = Priority::low}));
  const std::vector<spi::Range> ranges{{low.shard, lane_low, {}, 10},
                                       {a[0].shard, lane_high, {}, 10},
                                       {a[0].shard, lane_normal, {}, 2}};

  const auto reply = outbox().read(table_, ranges, bytes_unbounded).value();

  ASSERT_EQ(reply.parts.size(), 3U);
  EXPECT_EQ(reply.parts[0].rows, 1U);
  EXPECT_TRUE(reply.parts[0].exhausted);
  EXPECT_EQ(reply.parts[1].rows, 0U);
  EXPECT_TRUE(reply.parts[1].exhausted);
  EXPECT_EQ(reply.parts[2].rows, 2U);
  EXPECT_FALSE(reply.parts[2].exhausted);
  ASSERT_EQ(reply.rows.size(), 3U);
  EXPECT_EQ(reply.rows[0].sequence, low.sequence);
  EXPECT_EQ(reply.rows[1].sequence, a[0].sequence);
}

TEST_P(StoreConformance, PriorityChoosesTheLane) {
  const auto high = build({.priority = Priority::high});
  const auto normal = build({.priority = Priority::normal});
  const auto low = build({.priority = Priority::low});
  write({low, normal, high});

  EXPECT_EQ(ids_of(read_lane(lane_high)), ids_of(std::vector{high}));
  EXPECT_EQ(ids_of(read_lane(lane_normal)), ids_of(std::vector{normal}));
  EXPECT_EQ(ids_of(read_lane(lane_low)), ids_of(std::vector{low}));
}

TEST_P(StoreConformance, MessagesWithAKeyIgnorePriority) {
  const auto low = build({.key = "k", .priority = Priority::low});
  const auto high = build({.key = "k", .priority = Priority::high});
  write({low, high});

  EXPECT_EQ(ids_of(read_lane(lane_normal)), ids_of(std::vector{low, high}));
  EXPECT_EQ(read_lane(lane_normal)[0].message->priority(), Priority::low);
}

TEST_P(StoreConformance, DelayedMessageWaitsForItsTime) {
  const auto at = stats().now + minutes(5);
  const auto delayed = build({.not_before = at});
  write(delayed);
  EXPECT_TRUE(read_fresh().empty());
  EXPECT_TRUE(read_due().empty());
  EXPECT_EQ(stats().pending, 1U);
  EXPECT_EQ(stats().waiting, 1U);

  fixture_->advance_time(minutes(4));
  EXPECT_TRUE(read_due().empty());
  fixture_->advance_time(minutes(2));

  const auto due = read_due();
  ASSERT_EQ(ids_of(due), ids_of(std::vector{delayed}));
  EXPECT_EQ(due[0].attempts, 0U);
  EXPECT_FALSE(due[0].retrying) << "it only waited for its time";
  EXPECT_TRUE(read_fresh().empty());
}

TEST_P(StoreConformance, DelayInThePastIsNoDelay) {
  const auto past = build({.not_before = stats().now - minutes(5)});
  write(past);
  EXPECT_EQ(ids_of(read_fresh()), ids_of(std::vector{past}));
  EXPECT_EQ(stats().waiting, 0U);
}

TEST_P(StoreConformance, DueRowsComeByTimeThenSequence) {
  const auto now = stats().now;
  const auto later = build({.key = "k", .not_before = now + seconds(20)});
  const auto first = build({.key = "k", .not_before = now + seconds(10)});
  const auto second = build({.key = "k", .not_before = now + seconds(10)});
  const auto not_yet = build({.key = "k", .not_before = now + hours(1)});
  const auto shard = write({later, first, second, not_yet})[0].shard;
  fixture_->advance_time(minutes(1));

  const spi::DueRange all{shard, {}, {}, 10};
  const auto reply = outbox().read_due(table_, std::span(&all, 1), bytes_unbounded).value();
  ASSERT_EQ(ids_of(reply.rows), ids_of(std::vector{first, second, later}));
  EXPECT_TRUE(reply.parts[0].exhausted) << "what is not due yet does not count";
  EXPECT_EQ(reply.rows[0].due, reply.rows[1].due);
  EXPECT_LT(reply.rows[1].due, reply.rows[2].due);
  EXPECT_FALSE(reply.horizon.has_value());

  const spi::DueRange one{shard, {}, {}, 1};
  const auto head = outbox().read_due(table_, std::span(&one, 1), bytes_unbounded).value();
  ASSERT_EQ(head.rows.size(), 1U);
  EXPECT_FALSE(head.parts[0].exhausted);
  const spi::DueRange next{shard, head.rows[0].due, head.rows[0].sequence, 10};
  const auto tail = outbox().read_due(table_, std::span(&next, 1), bytes_unbounded).value();
  EXPECT_EQ(ids_of(tail.rows), ids_of(std::vector{second, later}));

  const auto small = outbox().read_due(table_, std::span(&all, 1), 1).value();
  EXPECT_EQ(small.rows.size(), 1U);
}

TEST_P(StoreConformance, LateCommitIsFoundFromThePositionBefore) {
  if (outbox().capabilities().late_commits == spi::LateCommits::none) {
    GTEST_SKIP() << "sequence order is commit order here: nothing commits late";
  }
  const auto late = message("k");
  const auto early = message("k");
  auto open = store().begin().value();
  const auto low = open->outbox().insert(table_, std::span(&late, 1)).value().front();
  const auto high = write(early);
  ASSERT_LT(low.sequence, high.sequence);
  const spi::Range whole{low.shard, lane_normal, {}, 10};
  ASSERT_EQ(ids_of(read(whole).rows), ids_of(std::vector{early}));

  open->commit().value();

  EXPECT_EQ(ids_of(read(whole).rows), ids_of(std::vector{late, early}));
  EXPECT_TRUE(read({low.shard, lane_normal, high.sequence, 10}).rows.empty());
}

TEST_P(StoreConformance, HorizonNamesATransactionUntilItsRowsAppear) {
  if (outbox().capabilities().late_commits != spi::LateCommits::visible) {
    EXPECT_FALSE(read({Shard{0}, lane_normal, {}, 1}).horizon.has_value());
    return;
  }
  const auto before = horizon();
  const auto late = message();
  auto open = store().begin().value();
  (void)open->outbox().insert(table_, std::span(&late, 1)).value();
  const auto during = horizon();
  const auto id = only_new(before, during, *open);
  open->commit().value();
  const auto after = horizon();

  EXPECT_TRUE(std::ranges::is_sorted(during.in_progress));
  EXPECT_GE(id, before.next);
  EXPECT_LT(id, during.next);
  EXPECT_TRUE(std::ranges::binary_search(during.in_progress, id));
  EXPECT_FALSE(std::ranges::binary_search(after.in_progress, id));
  EXPECT_LE(during.next, after.next);
}

TEST_P(StoreConformance, HorizonForgetsARolledBackTransaction) {
  if (outbox().capabilities().late_commits != spi::LateCommits::visible) {
    GTEST_SKIP() << "reads of this store do not show transactions";
  }
  const auto lost = message();
  const auto before = horizon();
  auto open = store().begin().value();
  (void)open->outbox().insert(table_, std::span(&lost, 1)).value();
  const auto during = horizon();
  const auto id = only_new(before, during, *open);
  EXPECT_TRUE(std::ranges::binary_search(during.in_progress, id));
  open->rollback().value();
  const auto after = horizon();
  EXPECT_FALSE(std::ranges::binary_search(after.in_progress, id));
  EXPECT_LT(id, after.next);
}

TEST_P(StoreConformance, SequenceOrderIsCommitOrderWherePromised) {
  if (outbox().capabilities().late_commits != spi::LateCommits::none) {
    GTEST_SKIP() << "this store makes no such promise";
  }
  const auto first = message();
  const auto second = message();
  auto writer = store().begin().value();
  const auto written = writer->outbox().insert(table_, std::span(&first, 1)).value().front();

  // Were the second let in, it could commit before the first with a higher sequence.
  const auto refused = store().transaction(
      [&](OwnedTransaction& tx) { return tx.outbox().insert(table_, std::span(&second, 1)); });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::storage_conflict);
  EXPECT_TRUE(is_retry_safe(refused.error().code));

  writer->commit().value();
  EXPECT_GT(write(second).sequence, written.sequence);
}

TEST_P(StoreConformance, UndecodableRowSaysWhy) {
  const auto written = write(messages(2, "k"));
  fixture_->corrupt(table_, written[0].sequence).value();

  const auto rows = read_lane(lane_normal);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].message, nullptr);
  EXPECT_FALSE(rows[0].decode_error.empty());
  EXPECT_EQ(rows[0].id, written[0].id);
  EXPECT_EQ(rows[0].sequence, written[0].sequence);
  EXPECT_NE(rows[1].message, nullptr);
  EXPECT_TRUE(rows[1].decode_error.empty());

  const auto owner = own();
  EXPECT_EQ(settled(owner, {settlement(written[0], spi::Verdict::dead)}), 1U);
  EXPECT_EQ(look(written[0].id).state, StoredRow::State::dead);
}

TEST_P(StoreConformance, RetryingKeysAreListedBySequence) {
  const auto owner = own();
  const auto failing = write(messages(3, "k"));
  const auto shard = failing[0].shard;
  write(message("k"));
  write(build({.key = "k", .not_before = stats().now + hours(1)}));
  const auto keys = [&](Sequence after, std::uint32_t rows_max) {
    return outbox().read_retrying_keys(table_, shard, after, rows_max).value();
  };
  EXPECT_TRUE(keys({}, 10).keys.empty());

  auto retry = settlement(failing[2], spi::Verdict::retry);
  retry.delay = seconds(1);
  auto other = settlement(failing[0], spi::Verdict::retry);
  other.delay = hours(1);
  auto unspent = settlement(failing[1], spi::Verdict::retry, 0);
  unspent.delay = hours(1);
  ASSERT_EQ(settled(owner, {retry, other, unspent}), 3U);

  const auto all = keys({}, 10);
  ASSERT_EQ(all.keys.size(), 3U) << "fresh and delayed rows are not retrying; what a handler put "
                                    "off without spending an attempt is";
  EXPECT_EQ(all.keys[0].sequence, failing[0].sequence);
  EXPECT_EQ(all.keys[1].sequence, failing[1].sequence);
  EXPECT_EQ(all.keys[2].sequence, failing[2].sequence);
  EXPECT_EQ(all.keys[0].key_hash, key_hash(tenant_default, "k"));
  EXPECT_TRUE(all.exhausted);

  const auto first = keys({}, 1);
  ASSERT_EQ(first.keys.size(), 1U);
  EXPECT_FALSE(first.exhausted);
  const auto rest = keys(first.keys[0].sequence, 10);
  ASSERT_EQ(rest.keys.size(), 2U);
  EXPECT_EQ(rest.keys[1].sequence, failing[2].sequence);

  ASSERT_EQ(settled(owner, {settlement(failing[0], spi::Verdict::done)}), 1U);
  EXPECT_EQ(keys({}, 10).keys.size(), 2U);
}

TEST_P(StoreConformance, RetriesWithoutAKeyBlockNoKey) {
  const auto owner = own();
  const auto failing = write(message());
  ASSERT_EQ(settled(owner, {settlement(failing, spi::Verdict::retry)}), 1U);
  EXPECT_TRUE(outbox().read_retrying_keys(table_, failing.shard, {}, 10).value().keys.empty());
}

TEST_P(StoreConformance, WakeBeforeWaitIsNotLost) {
  outbox().wake(table_);
  outbox().wait(table_, hours(1));
}

TEST_P(StoreConformance, WakeEndsAWait) {
  std::thread waiter([&] { outbox().wait(table_, hours(1)); });
  outbox().wake(table_);
  waiter.join();
}

TEST_P(StoreConformance, CommitEndsAWaitWhereTheStoreNotifies) {
  if (!outbox().capabilities().notifies) GTEST_SKIP() << "this store does not notify";
  std::thread waiter([&] { outbox().wait(table_, hours(1)); });
  write(message());
  waiter.join();
}

TEST_P(StoreConformance, PrepareTwiceKeepsTheRows) {
  const auto kept = message();
  write(kept);
  outbox().prepare(table_).value();
  EXPECT_EQ(ids_of(read_fresh()), ids_of(std::vector{kept}));
}

}  // namespace
}  // namespace sagabox::conformance
