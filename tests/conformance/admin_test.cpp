#include "conformance/store_conformance.hpp"

#include <limits>

namespace sagabox::conformance {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

using Ids = std::vector<std::string>;

TEST_P(StoreConformance, ListShowsOneStateOldestFirst) {
  const auto owner = own();
  const auto written = write(messages(6));
  end(owner, written[4], spi::Verdict::dead);
  end(owner, written[1], spi::Verdict::dead);
  end(owner, written[2], spi::Verdict::park);
  end(owner, written[3], spi::Verdict::done);

  EXPECT_EQ(ids_of(list(MessageState::dead)), (Ids{written[1].id.str(), written[4].id.str()}));
  EXPECT_EQ(ids_of(list(MessageState::quarantined)), Ids{written[2].id.str()});
  EXPECT_EQ(ids_of(list(MessageState::done)), Ids{written[3].id.str()});
  EXPECT_EQ(ids_of(list(MessageState::pending)), (Ids{written[0].id.str(), written[5].id.str()}));
}

TEST_P(StoreConformance, ListPagesByCursorAndSaysWhenNothingIsLeft) {
  const auto owner = own();
  const auto written = write(messages(5));
  for (const auto& row : written) end(owner, row, spi::Verdict::dead);
  const auto page = [&](Sequence after, std::uint32_t rows_max) {
    return admin().list({.table = table_, .after = after, .rows_max = rows_max}).value();
  };

  const auto first = page({}, 2);
  EXPECT_EQ(ids_of(first.rows), (Ids{written[0].id.str(), written[1].id.str()}));
  EXPECT_FALSE(first.exhausted);
  const auto second = page(first.rows.back().sequence, 2);
  EXPECT_EQ(ids_of(second.rows), (Ids{written[2].id.str(), written[3].id.str()}));
  EXPECT_FALSE(second.exhausted);
  const auto third = page(second.rows.back().sequence, 2);
  EXPECT_EQ(ids_of(third.rows), Ids{written[4].id.str()});
  EXPECT_TRUE(third.exhausted);
  EXPECT_TRUE(page({}, 5).exhausted) << "exactly what is there";
  EXPECT_TRUE(page(written[4].sequence, 2).exhausted);
  const auto beyond = page(Sequence{std::numeric_limits<std::int64_t>::max()}, 2);
  EXPECT_TRUE(beyond.rows.empty());
  EXPECT_TRUE(beyond.exhausted);
  const auto none = page({}, 0);
  EXPECT_TRUE(none.rows.empty());
  EXPECT_FALSE(none.exhausted);
}

TEST_P(StoreConformance, RecordTellsEverythingButThePayload) {
  const auto owner = own();
  const auto sent = build({.topic = "orders.order.placed.v1",
                           .key = "o-7",
                           .payload = json("{\"total\":12}"),
                           .tenant = "acme",
                           .aggregate_type = "order",
                           .aggregate_id = "o-7"});
  const auto start = stats().now;
  const auto written = write(sent);
  fixture_->advance_time(minutes(5));
  auto dead = settlement(written, spi::Verdict::dead, 3);
  dead.code = Code::provider_rejected;
  dead.error = "422";
  ASSERT_EQ(settled(owner, {dead}), 1U);

  const auto row = list(MessageState::dead).at(0);

  EXPECT_EQ(row.state, MessageState::dead);
  EXPECT_EQ(row.id, written.id);
  EXPECT_EQ(row.sequence, written.sequence);
  EXPECT_EQ(row.shard, written.shard);
  EXPECT_EQ(row.tenant, "acme");
  EXPECT_EQ(row.topic, "orders.order.placed.v1");
  EXPECT_EQ(row.aggregate_type, "order");
  EXPECT_EQ(row.aggregate_id, "o-7");
  EXPECT_EQ(row.key, "o-7");
  EXPECT_EQ(row.digest, sent->digest());
  EXPECT_EQ(row.payload_bytes, sent->payload().size());
  EXPECT_EQ(row.attempts, 3U);
  EXPECT_EQ(row.replays, 0U);
  EXPECT_EQ(row.code, Code::provider_rejected);
  EXPECT_EQ(row.error, "422");
  EXPECT_GE(row.written_at, start);
  EXPECT_LT(row.written_at, start + minutes(5));
  ASSERT_TRUE(row.ended_at.has_value());
  EXPECT_GE(*row.ended_at, start + minutes(5));
  EXPECT_EQ(row.due, std::nullopt);
  EXPECT_TRUE(row.history.empty()) << "not asked for";
  EXPECT_EQ(row.message, nullptr) << "not asked for";

  const auto full =
      admin().list({.table = table_, .with_history = true, .with_payload = true}).value().rows[0];
  EXPECT_EQ(full.history.size(), 1U);
  ASSERT_NE(full.message, nullptr);
  EXPECT_EQ(full.message->payload().view(), "{\"total\":12}");
}

TEST_P(StoreConformance, PendingRecordSaysWhatItWaitsFor) {
  const auto owner = own();
  const auto now = stats().now;
  const auto fresh = write(message());
  const auto delayed = write(build({.not_before = now + minutes(7)}));
  const auto retried = write(message());
  auto retry = settlement(retried, spi::Verdict::retry);
  retry.delay = minutes(3);
  ASSERT_EQ(settled(owner, {retry}), 1U);

  EXPECT_EQ(record(fresh.id).due, std::nullopt);
  EXPECT_FALSE(record(fresh.id).retrying);
  EXPECT_EQ(record(fresh.id).ended_at, std::nullopt);
  EXPECT_EQ(record(delayed.id).due, now + minutes(7));
  EXPECT_FALSE(record(delayed.id).retrying);
  ASSERT_TRUE(record(retried.id).due.has_value());
  EXPECT_GE(*record(retried.id).due, now + minutes(3));
  EXPECT_TRUE(record(retried.id).retrying);
  EXPECT_EQ(ids_of(list(MessageState::pending, {.retrying = true})), Ids{retried.id.str()});

  ASSERT_EQ(settled(owner, {settlement(retried, spi::Verdict::dead, 2)}), 1U);
  EXPECT_FALSE(record(retried.id).retrying);
  EXPECT_EQ(record(retried.id).due, std::nullopt);
  EXPECT_EQ(count(MessageState::dead, {.retrying = true}), 0U);
}

TEST_P(StoreConformance, FilterNarrowsByEveryName) {
  const auto owner = own();
  const auto plain = write(build({.topic = "a.b.c.v1"}));
  const auto other_topic = write(build({.topic = "a.b.d.v1"}));
  const auto other_tenant = write(build({.topic = "a.b.c.v1", .tenant = "acme"}));
  const auto other_type = write(build({.topic = "a.b.c.v1", .aggregate_type = "order"}));
  const auto with_key = write(build({.topic = "a.b.c.v1", .key = "k"}));
  const std::vector all{plain, other_topic, other_tenant, other_type, with_key};
  for (const auto& row : all) end(owner, row, spi::Verdict::dead);
  const auto listed = [&](MessageFilter filter) {
    EXPECT_EQ(count(MessageState::dead, filter), list(MessageState::dead, filter).size());
    return ids_of(list(MessageState::dead, std::move(filter)));
  };

  EXPECT_EQ(listed({}).size(), 5U);
  EXPECT_EQ(listed({.topic = "a.b.d.v1"}), Ids{other_topic.id.str()});
  EXPECT_EQ(listed({.tenant = "acme"}), Ids{other_tenant.id.str()});
  EXPECT_EQ(listed({.aggregate_type = "order"}), Ids{other_type.id.str()});
  EXPECT_EQ(listed({.key = "k"}), Ids{with_key.id.str()});
  EXPECT_TRUE(listed({.tenant = "acme", .topic = "a.b.d.v1"}).empty()) << "everything must fit";
  EXPECT_TRUE(listed({.topic = "a.b"}).empty()) << "whole names";
}

TEST_P(StoreConformance, FilterNarrowsByCodeTimeAndSequence) {
  const auto owner = own();
  const auto written = write(messages(4));
  end(owner, written[0], spi::Verdict::dead, Code::tx_timeout);
  fixture_->advance_time(minutes(10));
  const auto between = stats().now;
  fixture_->advance_time(minutes(10));
  end(owner, written[1], spi::Verdict::dead, Code::provider_rejected);
  end(owner, written[2], spi::Verdict::dead, Code::tx_timeout);
  const auto listed = [&](MessageFilter filter) {
    return ids_of(list(MessageState::dead, std::move(filter)));
  };

  EXPECT_EQ(listed({.code = Code::tx_timeout}), (Ids{written[0].id.str(), written[2].id.str()}));
  EXPECT_EQ(listed({.until = between}), Ids{written[0].id.str()});
  EXPECT_EQ(listed({.from = between}), (Ids{written[1].id.str(), written[2].id.str()}));
  EXPECT_EQ(listed({.code = Code::tx_timeout, .from = between}), Ids{written[2].id.str()});
  EXPECT_EQ(listed({.first = written[1].sequence}),
            (Ids{written[1].id.str(), written[2].id.str()}));
  EXPECT_EQ(listed({.last = written[1].sequence}), (Ids{written[0].id.str(), written[1].id.str()}));
  EXPECT_EQ(listed({.first = written[1].sequence, .last = written[1].sequence}),
            Ids{written[1].id.str()});

  const auto ended = *record(written[0].id).ended_at;
  EXPECT_EQ(listed({.from = ended}).size(), 3U) << "not before: the moment itself is in";
  EXPECT_TRUE(listed({.until = ended}).empty()) << "before: the moment itself is out";
  EXPECT_EQ(ids_of(list(MessageState::pending, {.until = between})), Ids{written[3].id.str()})
      << "a pending message counts from when it was written";
  EXPECT_TRUE(list(MessageState::pending, {.from = between}).empty());
}

TEST_P(StoreConformance, FindHasTheHistoryAndThePayloadOnlyWhenAsked) {
  const auto owner = own();
  const auto written = write(message());
  end(owner, written, spi::Verdict::dead);

  EXPECT_EQ(record(written.id).history.size(), 1U);
  EXPECT_EQ(record(written.id).message, nullptr);
  const auto full =
      admin().find({.table = table_, .id = written.id, .with_payload = true}).value().value();
  ASSERT_NE(full.message, nullptr);
  EXPECT_EQ(full.message->id(), written.id);
  EXPECT_FALSE(admin().find({.table = table_, .id = message()->id()}).value().has_value());
  EXPECT_FALSE(admin().find({.table = other_table_, .id = written.id}).value().has_value());
}

TEST_P(StoreConformance, OperatorsDoNotSeeWhatIsNotCommitted) {
  const auto sent = message();
  auto tx = store().begin().value();
  (void)tx->outbox().insert(table_, std::span(&sent, 1)).value();
  if (outbox().capabilities().late_commits != spi::LateCommits::none) {
    EXPECT_FALSE(moved(spi::Move::quarantine, sent->id()));
  }
  EXPECT_TRUE(list(MessageState::pending).empty());
  EXPECT_EQ(count(MessageState::pending), 0U);
  EXPECT_FALSE(admin().find({.table = table_, .id = sent->id()}).value().has_value());
  tx->rollback().value();
}

TEST_P(StoreConformance, UndecodableRowIsListedAndSaysWhy) {
  const auto owner = own();
  const auto written = write(build({.tenant = "acme"}));
  fixture_->corrupt(table_, written.sequence).value();
  end(owner, written, spi::Verdict::dead, Code::schema_validation_failed);

  const auto row = list(MessageState::dead).at(0);

  EXPECT_EQ(row.id, written.id);
  EXPECT_FALSE(row.decode_error.empty());
  EXPECT_EQ(row.tenant, "");
  EXPECT_EQ(row.topic, "");
  EXPECT_EQ(count(MessageState::dead, {.code = Code::schema_validation_failed}), 1U);
  EXPECT_EQ(count(MessageState::dead, {.tenant = "acme"}), 0U);
  EXPECT_EQ(admin().list({.table = table_, .with_payload = true}).value().rows.at(0).message,
            nullptr);
}

TEST_P(StoreConformance, TenantsDoNotSeeOrMoveEachOthersMessages) {
  const auto owner = own();
  const auto theirs = write(build({.tenant = "acme"}));
  const auto ours = write(build({.tenant = "other"}));
  end(owner, theirs, spi::Verdict::dead);
  end(owner, ours, spi::Verdict::dead);
  const auto before = log_end();

  EXPECT_EQ(ids_of(list(MessageState::dead, {.tenant = "other"})), Ids{ours.id.str()});
  EXPECT_EQ(count(MessageState::dead, {.tenant = "other"}), 1U);
  EXPECT_FALSE(
      admin().find({.table = table_, .id = theirs.id, .tenant = "other"}).value().has_value());
  EXPECT_TRUE(
      admin().find({.table = table_, .id = theirs.id, .tenant = "acme"}).value().has_value());
  const std::vector both{theirs.id, ours.id};
  const auto reply = admin()
                         .move({.table = table_,
                                .move = spi::Move::replay,
                                .ids = both,
                                .tenant = "other",
                                .actor = "ann"})
                         .value();
  EXPECT_EQ(reply.items.at(0).was, std::nullopt) << "as if it were not there";
  EXPECT_FALSE(reply.items.at(0).moved);
  EXPECT_TRUE(reply.items.at(1).moved);
  EXPECT_EQ(record(theirs.id).state, MessageState::dead);
  EXPECT_EQ(log(before).size(), 1U);
}

TEST_P(StoreConformance, HistoryTellsEveryAttemptThatFailed) {
  const auto owner = own();
  const auto written = write(message());
  const auto start = stats().now;
  auto retry = settlement(written, spi::Verdict::retry, 1);
  retry.code = Code::tx_timeout;
  retry.error = "too slow";
  ASSERT_EQ(settled(owner, {retry}), 1U);
  ASSERT_EQ(settled(owner, {retry}), 1U) << "a settle in doubt is repeated";
  fixture_->advance_time(minutes(1));
  auto dead = settlement(written, spi::Verdict::dead, 2);
  dead.code = Code::provider_rejected;
  dead.error = "422";
  ASSERT_EQ(settled(owner, {dead}), 1U);
  ASSERT_EQ(settled(owner, {dead}), 0U);

  const auto history = record(written.id).history;

  ASSERT_EQ(history.size(), 2U);
  EXPECT_EQ(history[0].number, 1U);
  EXPECT_EQ(history[0].code, Code::tx_timeout);
  EXPECT_EQ(history[0].error, "too slow");
  EXPECT_GE(history[0].at, start);
  EXPECT_LT(history[0].at, start + minutes(1));
  EXPECT_EQ(history[1].number, 2U);
  EXPECT_EQ(history[1].code, Code::provider_rejected);
  EXPECT_GE(history[1].at, start + minutes(1));
}

TEST_P(StoreConformance, HowAnAttemptEndsReplacesThatItWasLate) {
  const auto owner = own();
  const auto written = write(message());
  auto late = settlement(written, spi::Verdict::attempt, 1);
  late.code = Code::tx_timeout;
  late.error = "still running";
  ASSERT_EQ(settled(owner, {late}), 1U);
  EXPECT_EQ(record(written.id).history.at(0).error, "still running");
  auto failed = settlement(written, spi::Verdict::retry, 1);
  failed.error = "failed at last";
  ASSERT_EQ(settled(owner, {failed}), 1U);

  ASSERT_EQ(record(written.id).history.size(), 1U);
  EXPECT_EQ(record(written.id).history[0].error, "failed at last");
}

TEST_P(StoreConformance, WhatSpentNoAttemptIsNotInTheHistory) {
  const auto owner = own();
  const auto written = write(message());
  auto unreachable = settlement(written, spi::Verdict::retry, 0);
  unreachable.code = Code::provider_unavailable;
  unreachable.error = "down";
  ASSERT_EQ(settled(owner, {unreachable}), 1U);
  EXPECT_TRUE(record(written.id).history.empty());
  EXPECT_EQ(record(written.id).error, "down");

  auto failed = settlement(written, spi::Verdict::retry, 1);
  failed.error = "failed";
  ASSERT_EQ(settled(owner, {failed}), 1U);
  unreachable.attempts = 1;
  ASSERT_EQ(settled(owner, {unreachable}), 1U);

  ASSERT_EQ(record(written.id).history.size(), 1U);
  EXPECT_EQ(record(written.id).history[0].error, "failed");
  EXPECT_EQ(record(written.id).error, "down") << "the last failure all the same";
}

TEST_P(StoreConformance, HistoryKeepsTheNewestAttempts) {
  const auto owner = own();
  const auto written = write(message());
  const auto attempts = static_cast<std::uint32_t>(history_attempts_max) + 5;
  for (std::uint32_t a = 1; a <= attempts; ++a) {
    ASSERT_EQ(settled(owner, {settlement(written, spi::Verdict::retry, a)}), 1U);
  }
  const auto history = record(written.id).history;
  ASSERT_EQ(history.size(), history_attempts_max);
  EXPECT_EQ(history.front().number, 6U);
  EXPECT_EQ(history.back().number, attempts);
}

TEST_P(StoreConformance, NothingIsAstray) {
  const auto owner = own();
  const auto written = write(messages(8));
  write(build({.priority = Priority::high}));
  write(build({.not_before = stats().now + minutes(1)}));
  end(owner, written[0], spi::Verdict::dead);
  end(owner, written[1], spi::Verdict::park);
  end(owner, written[2], spi::Verdict::done);
  end(owner, written[3], spi::Verdict::retry);
  ASSERT_TRUE(moved(spi::Move::replay, written[0].id));
  ASSERT_TRUE(moved(spi::Move::release, written[1].id));
  ASSERT_TRUE(moved(spi::Move::quarantine, written[4].id));
  EXPECT_TRUE(admin().strays(table_, 10).value().empty());
}

TEST_P(StoreConformance, CensusTellsHowLongLeasesLast) {
  const auto owner = own();
  for (const auto& shard : ownership().census(scope()).value().shards) {
    EXPECT_GT(shard.lease_left, ttl - seconds(5));
    EXPECT_LE(shard.lease_left, ttl);
  }
  fixture_->advance_time(ttl + seconds(1));
  for (const auto& shard : ownership().census(scope()).value().shards) {
    EXPECT_EQ(shard.owner, owner.id);
    EXPECT_LE(shard.lease_left, Duration{});
  }
  const auto next = own();
  EXPECT_GT(ownership().census(scope()).value().shards.at(0).lease_left, Duration{});
  ownership().leave(next.id).value();
  EXPECT_LE(ownership().census(scope()).value().shards.at(0).lease_left, Duration{});
}

TEST_P(StoreConformance, OperatorOfAnUnknownTableIsToldSo) {
  const auto unknown = TableName::parse("nowhere").value();
  const auto told = [](const auto& result) {
    return !result.ok() && result.error().code == Code::config_invalid &&
           result.error().message.find("nowhere") != std::string::npos;
  };
  EXPECT_TRUE(told(admin().list({.table = unknown})));
  EXPECT_TRUE(told(admin().find({.table = unknown, .id = message()->id()})));
  EXPECT_TRUE(told(admin().count(unknown, MessageState::dead, {})));
  EXPECT_TRUE(told(admin().move({.table = unknown, .ids = {}})));
  EXPECT_TRUE(told(admin().purge({.table = unknown})));
  EXPECT_TRUE(told(admin().strays(unknown, 1)));
  EXPECT_TRUE(told(control().controls(unknown)));
  EXPECT_TRUE(told(control().set_pause({.table = unknown})));
  EXPECT_TRUE(told(control().create_job({.table = unknown})));
  EXPECT_TRUE(told(control().jobs(unknown)));
}

}  // namespace
}  // namespace sagabox::conformance
