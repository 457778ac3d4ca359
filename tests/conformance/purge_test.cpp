#include "conformance/store_conformance.hpp"

namespace sagabox::conformance {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

TEST_P(StoreConformance, PurgeTakesWhatEndedLongAgoAndNothingElse) {
  const auto owner = own();
  const auto written = write(messages(6));
  end(owner, written[0], spi::Verdict::done);
  end(owner, written[1], spi::Verdict::dead);
  end(owner, written[2], spi::Verdict::park);
  fixture_->advance_time(hours(2));
  end(owner, written[3], spi::Verdict::done);

  const auto reply = purge(MessageState::done, hours(1));

  EXPECT_EQ(reply.rows, 1U);
  EXPECT_FALSE(reply.more);
  EXPECT_FALSE(fixture_->look(table_, written[0].id).has_value());
  EXPECT_EQ(record(written[3].id).state, MessageState::done);
  EXPECT_EQ(stats().done, 1U);
  EXPECT_EQ(stats().dead, 1U);
  EXPECT_EQ(stats().quarantined, 1U);
  EXPECT_EQ(stats().pending, 2U) << "written long ago, but nobody asked for pending ones";

  EXPECT_EQ(purge(MessageState::dead, hours(1)).rows, 1U);
  EXPECT_EQ(purge(MessageState::quarantined, hours(1)).rows, 1U);
  EXPECT_EQ(stats().dead, 0U);
  EXPECT_EQ(stats().quarantined, 0U);
  EXPECT_EQ(stats().pending, 2U);
  EXPECT_EQ(read_fresh().size(), 2U);
}

TEST_P(StoreConformance, PurgeGoesInBatches) {
  const auto owner = own();
  const auto written = write(messages(25));
  for (const auto& row : written) end(owner, row, spi::Verdict::done);
  fixture_->advance_time(minutes(1));
  std::uint64_t rows = 0;
  for (const bool more : {true, true, false}) {
    const auto reply =
        admin().purge({.table = table_, .state = MessageState::done, .rows_max = 10}).value();
    EXPECT_EQ(reply.more, more);
    rows += reply.rows;
  }
  EXPECT_EQ(rows, 25U);
  EXPECT_EQ(stats().done, 0U);
  EXPECT_EQ(purge(MessageState::done).rows, 0U);
}

TEST_P(StoreConformance, FullBatchWithNothingBehindItSaysSo) {
  const auto owner = own();
  const auto written = write(messages(10));
  for (const auto& row : written) end(owner, row, spi::Verdict::done);
  fixture_->advance_time(minutes(1));
  const auto reply =
      admin().purge({.table = table_, .state = MessageState::done, .rows_max = 10}).value();
  EXPECT_EQ(reply.rows, 10U);
  EXPECT_FALSE(reply.more);
}

TEST_P(StoreConformance, PurgedIdIsFree) {
  const auto owner = own();
  for (const auto verdict : {spi::Verdict::done, spi::Verdict::dead, spi::Verdict::park}) {
    const auto sent = build({.id = "own-" + std::to_string(static_cast<int>(verdict))});
    const auto written = write(sent);
    end(owner, written, verdict);
    EXPECT_TRUE(write(sent).duplicate);
    fixture_->advance_time(minutes(1));
    for (const auto state : {MessageState::done, MessageState::dead, MessageState::quarantined}) {
      (void)purge(state);
    }
    const auto again = write(sent);
    EXPECT_FALSE(again.duplicate);
    EXPECT_GT(again.sequence, written.sequence);
    ASSERT_EQ(settled(owner, {settlement(again, spi::Verdict::done)}, false), 1U);
  }
}

TEST_P(StoreConformance, PurgedPendingRowsAreGoneFromEveryLane) {
  const auto owner = own();
  const auto written = write(messages(3, "k"));
  const auto delayed = write(build({.not_before = stats().now + hours(3)}));
  auto retry = settlement(written[0], spi::Verdict::retry);
  ASSERT_EQ(settled(owner, {retry}), 1U);
  fixture_->advance_time(hours(2));
  const auto young = write(message());
  const auto before = taken();

  EXPECT_EQ(purge(MessageState::pending, hours(1), "ann").rows, 4U);

  EXPECT_EQ(ids_of(read_fresh()), std::vector{young.id.str()});
  fixture_->advance_time(hours(2));
  EXPECT_TRUE(read_due().empty());
  EXPECT_TRUE(outbox().read_retrying_keys(table_, written[0].shard, {}, 10).value().keys.empty());
  EXPECT_NE(taken(), before);
  EXPECT_EQ(stats().pending, 1U);
  EXPECT_EQ(stats().waiting, 0U);
  EXPECT_EQ(stats().oldest_pending, record(young.id).written_at);
  EXPECT_FALSE(admin().find({.table = table_, .id = delayed.id}).value().has_value());
  EXPECT_EQ(settled(owner, {settlement(written[1], spi::Verdict::done)}), 0U);
}

TEST_P(StoreConformance, PurgeOfEndedRowsTakesNothingAway) {
  const auto owner = own();
  end(owner, write(message()), spi::Verdict::dead);
  fixture_->advance_time(minutes(1));
  const auto before = taken();
  EXPECT_EQ(purge(MessageState::dead).rows, 1U);
  EXPECT_EQ(purge(MessageState::pending).rows, 0U);
  EXPECT_EQ(taken(), before);
}

}  // namespace
}  // namespace sagabox::conformance
