#include "conformance/store_conformance.hpp"

#include <algorithm>

namespace sagabox::conformance {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using State = StoredRow::State;

TEST_P(StoreConformance, ReplayedMessageIsPendingAnew) {
  const auto owner = own();
  for (const auto verdict : {spi::Verdict::dead, spi::Verdict::park, spi::Verdict::done}) {
    const auto written = write(message("k"));
    auto ended = settlement(written, verdict, 4);
    ended.error = "it failed";
    ASSERT_EQ(settled(owner, {ended}), 1U);
    fixture_->advance_time(minutes(1));
    const auto now = stats().now;

    const auto reply = move(spi::Move::replay, {written.id});

    EXPECT_TRUE(reply.items[0].moved);
    const auto row = record(written.id);
    EXPECT_EQ(row.state, MessageState::pending);
    EXPECT_GT(row.sequence, written.sequence);
    EXPECT_EQ(row.shard, written.shard) << "a key stays in its shard";
    EXPECT_EQ(row.attempts, 0U);
    EXPECT_EQ(row.replays, 1U);
    EXPECT_EQ(row.code, std::nullopt);
    EXPECT_EQ(row.error, "");
    EXPECT_EQ(row.note, "");
    EXPECT_TRUE(row.history.empty());
    EXPECT_EQ(row.ended_at, std::nullopt);
    EXPECT_FALSE(row.retrying);
    EXPECT_GE(row.written_at, now);
    const auto read = read_lane(lane_normal);
    ASSERT_EQ(read.size(), 1U);
    EXPECT_EQ(read[0].id, written.id);
    EXPECT_EQ(read[0].replays, 1U);
    EXPECT_EQ(read[0].attempts, 0U);
    ASSERT_NE(read[0].message, nullptr);
    ASSERT_EQ(settled(owner, {{.sequence = row.sequence, .shard = row.shard, .id = row.id}}, false),
              1U);
  }
}

TEST_P(StoreConformance, ReplayTellsWhatItFound) {
  const auto owner = own();
  const auto written = write(messages(4));
  end(owner, written[0], spi::Verdict::dead);
  end(owner, written[1], spi::Verdict::park);
  end(owner, written[2], spi::Verdict::done);

  const auto items = move(spi::Move::replay, {written[0].id, written[1].id, written[2].id,
                                              written[3].id, message()->id(), written[0].id})
                         .items;

  EXPECT_EQ(items[0].was, MessageState::dead);
  EXPECT_EQ(items[1].was, MessageState::quarantined);
  EXPECT_EQ(items[2].was, MessageState::done);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(items[static_cast<std::size_t>(i)].moved);
  EXPECT_EQ(items[3].was, MessageState::pending);
  EXPECT_FALSE(items[3].moved);
  EXPECT_EQ(items[4].was, std::nullopt);
  EXPECT_FALSE(items[4].moved);
  EXPECT_EQ(items[5].was, MessageState::pending) << "replayed by this very call";
  EXPECT_FALSE(items[5].moved);
  EXPECT_EQ(stats().pending, 4U);
  EXPECT_EQ(stats().dead + stats().quarantined + stats().done, 0U);
}

TEST_P(StoreConformance, ReplayedRowIsReadAfterPositionsAlreadyPassed) {
  const auto owner = own();
  const auto dead = write(message("k"));
  const auto later = write(messages(3, "k"));
  end(owner, dead, spi::Verdict::dead);
  const auto passed = later.back().sequence;
  ASSERT_TRUE(read({dead.shard, lane_normal, passed, 10}).rows.empty());

  ASSERT_TRUE(moved(spi::Move::replay, dead.id));

  const auto rows = read({dead.shard, lane_normal, passed, 10}).rows;
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].id, dead.id);
}

TEST_P(StoreConformance, ReplayIsSeenByWhoeverReadTheHorizonBefore) {
  if (outbox().capabilities().late_commits != spi::LateCommits::visible) {
    GTEST_SKIP() << "this store shows no transactions in progress";
  }
  const auto owner = own();
  const auto written = write(message("k"));
  end(owner, written, spi::Verdict::dead);
  const auto before = read({written.shard, lane_normal, {}, 10});
  ASSERT_TRUE(before.rows.empty());
  ASSERT_TRUE(moved(spi::Move::replay, written.id));
  const auto after = read({written.shard, lane_normal, {}, 10});
  EXPECT_EQ(after.rows.size(), 1U);
  EXPECT_GT(after.horizon->next, before.horizon->next) << "it was a transaction of its own";
  if (const auto id = fixture_->writer_of(table_, after.rows.at(0).sequence)) {
    EXPECT_GE(*id, before.horizon->next);
    EXPECT_LT(*id, after.horizon->next);
    EXPECT_FALSE(std::ranges::binary_search(after.horizon->in_progress, *id));
  } else {
    EXPECT_TRUE(after.horizon->in_progress.empty());
  }
}

TEST_P(StoreConformance, ReplayKeepsThePriorityAndForgetsTheDelay) {
  const auto owner = own();
  const auto urgent = write(build({.priority = Priority::high}));
  const auto now = stats().now;
  const auto delayed =
      write(build({.priority = Priority::low, .not_before = now + std::chrono::hours(1)}));
  end(owner, urgent, spi::Verdict::dead);
  end(owner, delayed, spi::Verdict::dead);

  (void)move(spi::Move::replay, {urgent.id, delayed.id});

  EXPECT_EQ(ids_of(read_lane(lane_high)), std::vector{urgent.id.str()});
  EXPECT_EQ(ids_of(read_lane(lane_low)), std::vector{delayed.id.str()});
  EXPECT_EQ(stats().waiting, 0U);
  EXPECT_EQ(record(delayed.id).due, std::nullopt);
}

TEST_P(StoreConformance, ReplayOfManyIsInTheOrderAsked) {
  const auto owner = own();
  const auto written = write(messages(20, "k"));
  std::vector<MessageId> ids;
  for (const auto& row : written) {
    end(owner, row, spi::Verdict::dead);
    ids.push_back(row.id);
  }
  (void)move(spi::Move::replay, ids);
  EXPECT_EQ(ids_of(read_lane(lane_normal)), ids_of(written));
}

TEST_P(StoreConformance, ReplaysAreCounted) {
  const auto owner = own();
  Written row = write(message());
  for (std::uint32_t n = 1; n <= 3; ++n) {
    end(owner, row, spi::Verdict::dead);
    ASSERT_TRUE(moved(spi::Move::replay, row.id));
    const auto now = record(row.id);
    EXPECT_EQ(now.replays, n);
    row.sequence = now.sequence;
    row.shard = now.shard;
  }
}

/// The header that numbers a replay as new; empty: there is none.
std::string as_new_of(const spi::Row& row) {
  std::string value;
  for (const auto& [name, text] : row.message->headers()) {
    if (name == as_new_header) value += text + ";";
  }
  return value;
}

TEST_P(StoreConformance, ReplayAsNewIsNumberedInAHeaderThatStays) {
  const auto owner = own();
  const Headers headers{{"source", R"(a "quoted" one, "sagabox-as-new":"7")"}, {"z", "{}"}};
  for (const auto& given : {Headers{}, headers}) {
    Written row = write(build({.payload = json("{}"), .tenant = "acme", .headers = given}));
    const auto replayed = [&](spi::Verdict verdict, bool as_new) {
      end(owner, row, verdict);
      const auto reply = admin().move(
          {.table = table_, .ids = std::span(&row.id, 1), .actor = "ann", .as_new = as_new});
      EXPECT_TRUE(reply.value().items[0].moved);
      const auto read = read_lane(lane_normal);
      EXPECT_EQ(read.size(), 1U);
      row.sequence = read.at(0).sequence;
      row.shard = read.at(0).shard;
      EXPECT_NE(read[0].message, nullptr) << read[0].decode_error;
      for (const auto& header : given) {
        EXPECT_EQ(std::ranges::count(read[0].message->headers(), header), 1) << header.first;
      }
      EXPECT_EQ(read[0].message->tenant(), "acme");
      return as_new_of(read[0]);
    };
    EXPECT_EQ(replayed(spi::Verdict::dead, false), "");
    EXPECT_EQ(replayed(spi::Verdict::done, true), "2;");
    EXPECT_EQ(replayed(spi::Verdict::dead, false), "2;") << "what was handled as new stays so";
    EXPECT_EQ(replayed(spi::Verdict::park, true), "4;") << "in place of the earlier one";
    end(owner, row, spi::Verdict::done);
  }
}

TEST_P(StoreConformance, OldPlaceOfAReplayedRowCannotBeSettled) {
  const auto owner = own();
  const auto written = write(message("k"));
  end(owner, written, spi::Verdict::dead);
  ASSERT_TRUE(moved(spi::Move::replay, written.id));
  for (const auto verdict : {spi::Verdict::done, spi::Verdict::retry, spi::Verdict::dead}) {
    EXPECT_EQ(settled(owner, {settlement(written, verdict, 9)}), 0U);
  }
  EXPECT_EQ(record(written.id).attempts, 0U);
  EXPECT_EQ(record(written.id).state, MessageState::pending);
}

TEST_P(StoreConformance, ReplayedIdIsStillADuplicate) {
  const auto owner = own();
  const auto sent = build({.id = "own-1"});
  const auto written = write(sent);
  end(owner, written, spi::Verdict::dead);
  EXPECT_TRUE(write(sent).duplicate);
  ASSERT_TRUE(moved(spi::Move::replay, written.id));
  const auto again = write(sent);
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.sequence, record(written.id).sequence);
  EXPECT_EQ(stats().pending, 1U);
}

TEST_P(StoreConformance, ReplayTakesNothingAway) {
  const auto owner = own();
  const auto written = write(message("k"));
  end(owner, written, spi::Verdict::dead);
  const auto before = taken();
  ASSERT_TRUE(moved(spi::Move::replay, written.id));
  EXPECT_EQ(taken(), before);
}

TEST_P(StoreConformance, UndecodableRowIsReplayedAsItIs) {
  const auto owner = own();
  const auto written = write(message("k"));
  fixture_->corrupt(table_, written.sequence).value();
  end(owner, written, spi::Verdict::dead);
  ASSERT_TRUE(moved(spi::Move::replay, written.id));
  const auto rows = read_lane(lane_normal);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].message, nullptr);
  EXPECT_FALSE(rows[0].decode_error.empty());
}

TEST_P(StoreConformance, QuarantinedRowLeavesEveryLane) {
  const auto owner = own();
  const auto fresh = write(message("a"));
  const auto retrying = write(message("b"));
  const auto delayed = write(build({.not_before = stats().now + seconds(1)}));
  ASSERT_EQ(settled(owner, {settlement(retrying, spi::Verdict::retry)}), 1U);
  const auto before = taken();

  const auto items =
      move(spi::Move::quarantine, {fresh.id, retrying.id, delayed.id}, "ask finance").items;

  for (const auto& item : items) {
    EXPECT_EQ(item.was, MessageState::pending);
    EXPECT_TRUE(item.moved);
  }
  fixture_->advance_time(minutes(1));
  EXPECT_TRUE(read_fresh().empty());
  EXPECT_TRUE(read_due().empty());
  EXPECT_TRUE(outbox().read_retrying_keys(table_, retrying.shard, {}, 10).value().keys.empty());
  EXPECT_EQ(stats().pending, 0U);
  EXPECT_EQ(stats().waiting, 0U);
  EXPECT_EQ(stats().quarantined, 3U);
  EXPECT_EQ(stats().oldest_pending, std::nullopt);
  EXPECT_NE(taken(), before) << "keys may have lost what they wait for";
  EXPECT_EQ(record(fresh.id).note, "ask finance");
  EXPECT_TRUE(record(fresh.id).ended_at.has_value());
  EXPECT_EQ(record(retrying.id).attempts, 1U);
}

TEST_P(StoreConformance, SettleOfAQuarantinedRowChangesNothing) {
  const auto owner = own();
  const auto written = write(message());
  ASSERT_TRUE(moved(spi::Move::quarantine, written.id));
  for (const auto verdict : {spi::Verdict::done, spi::Verdict::retry, spi::Verdict::dead,
                             spi::Verdict::park, spi::Verdict::attempt}) {
    const auto reply = settle(owner, {settlement(written, verdict, 5)});
    for (const auto& part : reply.parts) {
      EXPECT_TRUE(part.held);
      EXPECT_EQ(part.rows, 0U);
    }
  }
  EXPECT_EQ(record(written.id).state, MessageState::quarantined);
  EXPECT_EQ(record(written.id).attempts, 0U);
}

TEST_P(StoreConformance, QuarantinedDeadLetterKeepsWhatKilledIt) {
  const auto owner = own();
  const auto written = write(message());
  end(owner, written, spi::Verdict::dead, Code::provider_rejected);
  const auto before = taken();

  const auto reply = move(spi::Move::quarantine, {written.id}, "wait for the fix");

  EXPECT_EQ(reply.items[0].was, MessageState::dead);
  EXPECT_TRUE(reply.items[0].moved);
  const auto row = record(written.id);
  EXPECT_EQ(row.state, MessageState::quarantined);
  EXPECT_EQ(row.sequence, written.sequence);
  EXPECT_EQ(row.code, Code::provider_rejected);
  EXPECT_EQ(row.error, "it failed");
  EXPECT_EQ(row.note, "wait for the fix");
  EXPECT_EQ(row.history.size(), 1U);
  EXPECT_EQ(stats().dead, 0U);
  EXPECT_EQ(stats().quarantined, 1U);
  EXPECT_EQ(taken(), before) << "nobody waits for a dead letter";
}

TEST_P(StoreConformance, OnlyPendingAndDeadMessagesAreQuarantined) {
  const auto owner = own();
  const auto written = write(messages(2));
  end(owner, written[0], spi::Verdict::done);
  end(owner, written[1], spi::Verdict::park);
  const auto items = move(spi::Move::quarantine, {written[0].id, written[1].id}).items;
  EXPECT_EQ(items[0].was, MessageState::done);
  EXPECT_FALSE(items[0].moved);
  EXPECT_EQ(items[1].was, MessageState::quarantined);
  EXPECT_FALSE(items[1].moved);
}

TEST_P(StoreConformance, ReleasedRowIsDueAtItsOldPlace) {
  const auto owner = own();
  const auto parked = write(message("k"));
  const auto later = write(message("k"));
  auto park = settlement(parked, spi::Verdict::park, 3);
  park.error = "it failed";
  ASSERT_EQ(settled(owner, {park}), 1U);

  const auto reply = move(spi::Move::release, {parked.id});

  EXPECT_EQ(reply.items[0].was, MessageState::quarantined);
  EXPECT_TRUE(reply.items[0].moved);
  const auto due = read_due();
  ASSERT_EQ(due.size(), 1U) << "a forward read has passed its place: it must come by time";
  EXPECT_EQ(due[0].id, parked.id);
  EXPECT_EQ(due[0].sequence, parked.sequence);
  EXPECT_EQ(due[0].attempts, 0U);
  EXPECT_EQ(ids_of(read_fresh()), std::vector{later.id.str()});
  EXPECT_TRUE(outbox().read_retrying_keys(table_, parked.shard, {}, 10).value().keys.empty())
      << "its key does not wait for it";
  EXPECT_FALSE(record(parked.id).retrying);
  EXPECT_EQ(record(parked.id).ended_at, std::nullopt);
  EXPECT_EQ(stats().pending, 2U);
  EXPECT_EQ(stats().waiting, 1U);
  EXPECT_EQ(stats().quarantined, 0U);
  EXPECT_EQ(settled(owner, {settlement(parked, spi::Verdict::done)}), 1U);
  EXPECT_EQ(look(parked.id).state, State::done);
}

TEST_P(StoreConformance, OnlyQuarantinedMessagesAreReleased) {
  const auto owner = own();
  const auto written = write(messages(3));
  end(owner, written[0], spi::Verdict::dead);
  end(owner, written[1], spi::Verdict::done);
  const auto items = move(spi::Move::release, {written[0].id, written[1].id, written[2].id}).items;
  for (const auto& item : items) EXPECT_FALSE(item.moved);
  EXPECT_EQ(items[0].was, MessageState::dead);
  EXPECT_EQ(items[2].was, MessageState::pending);
}

TEST_P(StoreConformance, FailuresAfterAReleaseEnterTheHistoryAgain) {
  const auto owner = own();
  const auto written = write(message());
  end(owner, written, spi::Verdict::park);
  ASSERT_TRUE(moved(spi::Move::release, written.id));
  auto again = settlement(written, spi::Verdict::dead, 1);
  again.error = "again";
  ASSERT_EQ(settled(owner, {again}), 1U);
  EXPECT_EQ(record(written.id).history.back().error, "again");
}

TEST_P(StoreConformance, WrittenReplayedAndReleasedRowsWakeTheirReader) {
  if (!outbox().capabilities().notifies) GTEST_SKIP() << "this store does not notify";
  const auto owner = own();
  const auto written = write(messages(2));
  end(owner, written[0], spi::Verdict::dead);
  end(owner, written[1], spi::Verdict::park);
  const auto hour = std::chrono::hours(1);
  outbox().wait(table_, {});
  ASSERT_TRUE(moved(spi::Move::replay, written[0].id));
  outbox().wait(table_, hour);
  ASSERT_TRUE(moved(spi::Move::release, written[1].id));
  outbox().wait(table_, hour);
}

}  // namespace
}  // namespace sagabox::conformance
