#include "conformance/saga/saga_conformance.hpp"

#include <algorithm>
#include <array>
#include <thread>

namespace sagabox::conformance {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using State = SagaState;

TEST_P(SagaConformance, RecordComesBackAsItWasWritten) {
  const auto owner = own_sagas();
  auto record = fresh("s1");
  record.definition_version = 7;
  record.state = State::compensating;
  record.quarantined = true;
  record.due = now() + hours(1);
  record.key = "trip-77";
  record.isolate = "customer-1";
  record.labels = {{"city", "Köln"}, {"order", "77"}};
  record.body = R"({"päyload": [1.50, "\u0000"]})";
  store(owner, record);
  const auto got = get("s1");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->id, record.id);
  EXPECT_EQ(got->tenant, record.tenant);
  EXPECT_EQ(got->definition, record.definition);
  EXPECT_EQ(got->definition_version, 7U);
  EXPECT_EQ(got->shard, record.shard);
  EXPECT_EQ(got->state, record.state);
  EXPECT_TRUE(got->quarantined);
  EXPECT_EQ(got->version, 1U);
  EXPECT_EQ(got->due, record.due);
  EXPECT_EQ(got->key, record.key);
  EXPECT_EQ(got->isolate, record.isolate);
  EXPECT_EQ(got->labels, record.labels);
  EXPECT_EQ(got->started_at, record.started_at);
  EXPECT_EQ(got->changed_at, record.changed_at);
  EXPECT_EQ(got->ended_at, std::nullopt);
  EXPECT_EQ(got->body, record.body);

  record = next(record);
  record.state = State::cancelled;
  record.quarantined = false;
  record.due = std::nullopt;
  record.changed_at += seconds(5);
  record.ended_at = record.changed_at;
  record.body = "{}";
  store(owner, record);
  const auto loaded = sagas().load(std::array{record.id}).value();
  ASSERT_EQ(loaded.size(), 1U);
  EXPECT_EQ(loaded[0].version, 2U);
  EXPECT_EQ(loaded[0].state, State::cancelled);
  EXPECT_FALSE(loaded[0].quarantined);
  EXPECT_EQ(loaded[0].due, std::nullopt);
  EXPECT_EQ(loaded[0].started_at, record.started_at);
  EXPECT_EQ(loaded[0].changed_at, record.changed_at);
  EXPECT_EQ(loaded[0].ended_at, record.ended_at);
  EXPECT_EQ(loaded[0].body, "{}");
  EXPECT_TRUE(loaded[0].labels.empty());
  EXPECT_EQ(get("s1")->labels, record.labels);
}

TEST_P(SagaConformance, EveryStateIsStored) {
  const auto owner = own_sagas();
  std::vector<SagaRecord> records;
  for (std::size_t state = 0; state < saga_state_count; ++state) {
    auto& record = records.emplace_back(fresh("s" + std::to_string(state)));
    record.state = static_cast<State>(state);
    if (has_ended(record.state)) record.ended_at = record.changed_at;
  }
  store_all(owner, records);
  for (const auto& record : records) EXPECT_EQ(get(record.id.view())->state, record.state);
}

TEST_P(SagaConformance, OnlyStoredSagasAreLoaded) {
  const auto owner = own_sagas();
  store_all(owner, {fresh("s1"), fresh("s2")});
  const auto loaded = sagas().load(std::array{saga_id("s2"), saga_id("s9"), saga_id("s1")}).value();
  std::vector<std::string> ids;
  for (const auto& record : loaded) ids.push_back(record.id.str());
  EXPECT_EQ(ids, (std::vector<std::string>{"s1", "s2"}));
  EXPECT_TRUE(sagas().load({}).value().empty());
  EXPECT_FALSE(get("s9"));
}

TEST_P(SagaConformance, WriteWithoutTheFenceWritesNothing) {
  const auto owner = own_sagas();
  const auto record = fresh("s1");
  append(command("s1"));
  const auto pending = inbox().at(0);
  auto stale = owner;
  for (auto& fence : stale.fences) ++fence.epoch.value;
  const Batch batch{.writes = {{.record = record, .history = {entry(1, now())}}},
                    .taken = {{pending.shard, pending.sequence}},
                    .results = {{pending.id, record.id, true, "", now()}},
                    .messages = {{table_, message()}},
                    .audit = {{.at = now()}}};
  const auto end = log_end();
  auto reply = write_batch(stale, batch);
  EXPECT_FALSE(reply.written());
  EXPECT_EQ(reply.held.size(), stale.fences.size());
  EXPECT_EQ(std::ranges::count(reply.held, true), 0);
  EXPECT_TRUE(reply.conflicting.empty());
  auto other = owner;
  other.id = ids_.next<WorkerId>();
  EXPECT_FALSE(write_batch(other, batch).written());
  other = owner;
  other.scope = "saga:other";
  EXPECT_FALSE(write_batch(other, batch).written());
  EXPECT_FALSE(get("s1"));
  EXPECT_EQ(inbox().size(), 1U);
  EXPECT_TRUE(sagas().results(std::array{pending.id}).value().empty());
  EXPECT_EQ(stats().pending, 0U);
  EXPECT_EQ(log_end(), end);
  EXPECT_TRUE(write_batch(owner, batch).written());
}

TEST_P(SagaConformance, OneFenceThatDoesNotHoldStopsTheWholeBatch) {
  if (shards() < 2) GTEST_SKIP() << "this store has one shard";
  auto owner = own_sagas();
  const auto lost = spi::OwnedShard{owner.fences[0].shard, owner.fences[0].epoch, false};
  ownership().release(owner.scope, owner.id, std::span(&lost, 1)).value();
  const auto reply = write_batch(owner, {.writes = {{.record = fresh("s1")}}});
  ASSERT_EQ(reply.held.size(), owner.fences.size());
  EXPECT_FALSE(reply.held[0]);
  EXPECT_TRUE(reply.held[1]);
  EXPECT_FALSE(reply.written());
  EXPECT_FALSE(get("s1"));
}

TEST_P(SagaConformance, BatchThatNamesWhatItMayNotIsRefused) {
  auto owner = own_sagas();
  const auto record = fresh("s1");
  EXPECT_FALSE(try_write(owner, {.writes = {{.record = record}, {.record = record}}}).ok());
  auto wrong = record;
  wrong.definition = "refund";
  EXPECT_FALSE(try_write(owner, {.writes = {{.record = wrong}}}).ok());
  wrong = record;
  wrong.version = 0;
  EXPECT_FALSE(try_write(owner, {.writes = {{.record = wrong}}}).ok());
  std::erase_if(owner.fences, [&](const spi::Fence& f) { return f.shard == record.shard; });
  EXPECT_FALSE(try_write(owner, {.writes = {{.record = record}}}).ok());
  EXPECT_FALSE(try_write(owner, {.taken = {{record.shard, Sequence{1}}}}).ok());
  EXPECT_FALSE(get("s1"));
}

TEST_P(SagaConformance, VersionThatIsNotExpectedStopsTheWholeBatch) {
  const auto owner = own_sagas();
  store_all(owner, {fresh("s1"), fresh("s2")});
  auto ahead = next(next(fresh("s1")));
  auto good = next(fresh("s2"));
  auto reply = write_batch(owner, {.writes = {{.record = good}, {.record = ahead}}});
  EXPECT_FALSE(reply.written());
  EXPECT_EQ(reply.conflicting, std::vector{ahead.id});
  ASSERT_EQ(reply.reasons.size(), 1U);
  EXPECT_NE(reply.reasons[0].find("s1"), std::string::npos);
  EXPECT_EQ(get("s1")->version, 1U);
  EXPECT_EQ(get("s2")->version, 1U) << "all or nothing";

  const auto unknown = next(fresh("s3"));
  reply = write_batch(owner, {.writes = {{.record = unknown}}});
  EXPECT_EQ(reply.conflicting, std::vector{unknown.id});
  EXPECT_FALSE(get("s3"));

  store(owner, good);
  store(owner, next(good));
  reply = write_batch(owner, {.writes = {{.record = good}}});
  EXPECT_EQ(reply.conflicting, std::vector{good.id}) << "an older version";
}

TEST_P(SagaConformance, RepeatedBatchCountsAsWrittenAndChangesNothing) {
  const auto owner = own_sagas();
  append(command("s1"));
  const auto pending = inbox().at(0);
  auto record = fresh("s1");
  record.labels = {{"order", "77"}};
  Batch batch{.writes = {{.record = record, .history = {entry(1, now()), entry(2, now())}}},
              .taken = {{pending.shard, pending.sequence}},
              .results = {{pending.id, record.id, true, "", now()}},
              .messages = {{table_, message()}},
              .audit = {{.kind = AuditKind::dead_letter, .at = now(), .message_id = "s1"}}};
  const auto end = log_end();
  EXPECT_TRUE(write_batch(owner, batch).written());
  // Its message is delivered and gone before the batch comes again.
  const auto row = read_fresh().at(0);
  const auto relay = own();
  EXPECT_EQ(
      settled(relay, {{.sequence = row.sequence, .shard = row.shard, .id = row.id, .attempts = 1}},
              false),
      1U);
  batch.writes[0].record.body = R"({"never":"written"})";
  EXPECT_TRUE(write_batch(owner, batch).written());
  EXPECT_EQ(get("s1")->version, 1U);
  EXPECT_EQ(get("s1")->body, record.body);
  EXPECT_EQ(get("s1")->labels, record.labels);
  EXPECT_EQ(history("s1").size(), 2U);
  EXPECT_EQ(stats().pending, 0U);
  EXPECT_EQ(log_end(), end + 1);
}

TEST_P(SagaConformance, RepeatedBatchWithoutSagasWritesItsAuditOnce) {
  const auto owner = own_sagas();
  append(command("nobody"));
  const auto pending = inbox().at(0);
  const Batch batch{.taken = {{pending.shard, pending.sequence}},
                    .results = {{pending.id, pending.saga, false, "no such saga", now()}},
                    .audit = {{.kind = AuditKind::dead_letter, .at = now(), .message_id = "c1"}}};
  const auto end = log_end();
  EXPECT_TRUE(write_batch(owner, batch).written());
  EXPECT_EQ(log_end(), end + 1);
  // Its commit was in doubt.
  EXPECT_TRUE(write_batch(owner, batch).written());
  EXPECT_EQ(log_end(), end + 1);
}

TEST_P(SagaConformance, BatchMayHoldWhatIsThereAndWhatIsNew) {
  const auto owner = own_sagas();
  const auto there = fresh("s1");
  store(owner, there);
  const auto more = fresh("s2");
  store_all(owner, {there, more});
  EXPECT_EQ(get("s2")->version, 1U);
  store_all(owner, {next(there), more});
  EXPECT_EQ(get("s1")->version, 2U);
}

TEST_P(SagaConformance, BatchOfNothingIsWritten) {
  const auto owner = own_sagas();
  EXPECT_TRUE(write_batch(owner, {}).written());
}

TEST_P(SagaConformance, LargeBatchIsOneWrite) {
  const auto owner = own_sagas();
  std::vector<SagaRecord> records;
  Batch batch;
  for (int i = 0; i < 300; ++i) {
    auto& record = records.emplace_back(fresh("saga"));
    record.id = saga_id("saga-" + std::to_string(i));
    record.labels = {{"n", std::to_string(i)}};
    batch.writes.push_back({.record = record, .history = {entry(1, now()), entry(2, now())}});
  }
  EXPECT_TRUE(write_batch(owner, batch).written());
  for (auto& write : batch.writes) {
    ++write.record.version;
    write.history = {entry(3, now())};
  }
  EXPECT_TRUE(write_batch(owner, batch).written());
  EXPECT_EQ(history("saga-299").size(), 3U);
  EXPECT_EQ(get("saga-7")->labels, (std::vector<SagaLabel>{{"n", "7"}}));
  EXPECT_EQ(saga_admin().list({.rows_max = 1000}).value().size(), 300U);
}

TEST_P(SagaConformance, HistoryIsKeptInOrderAndInPages) {
  const auto owner = own_sagas();
  auto record = fresh("s1");
  const auto at = now();
  EXPECT_TRUE(
      write_batch(owner, {.writes = {{.record = record, .history = {entry(1, at), entry(2, at)}}}})
          .written());
  record = next(record);
  // The second line is there already, with other words: it stays as it is.
  EXPECT_TRUE(write_batch(owner, {.writes = {{.record = record,
                                              .history = {entry(2, at, "Changed"), entry(3, at)}}}})
                  .written());
  EXPECT_EQ(history("s1"), (std::vector{entry(1, at), entry(2, at), entry(3, at)}));
  EXPECT_EQ(history("s1", 1, 1), std::vector{entry(2, at)});
  EXPECT_TRUE(history("s1", 3).empty());
  EXPECT_TRUE(history("s2").empty());
}

TEST_P(SagaConformance, HistoryIsCutBehindItsFirstLines) {
  const auto owner = own_sagas();
  const auto at = now();
  spi::SagaWrite write{.record = fresh("s1")};
  for (std::uint32_t n = 1; n <= 130; ++n) write.history.push_back(entry(n, at));
  EXPECT_TRUE(write_batch(owner, {.writes = {write}}).written());
  auto& record = write.record;
  record = next(record);
  EXPECT_TRUE(
      write_batch(
          owner,
          {.writes = {{.record = record, .history = {entry(131, at)}, .history_removed_to = 120}}})
          .written());
  const auto kept = history("s1");
  ASSERT_EQ(kept.size(), 111U);
  EXPECT_EQ(kept[99].number, 100U);
  EXPECT_EQ(kept[100].number, 121U);
  EXPECT_EQ(kept.back().number, 131U);
}

TEST_P(SagaConformance, DueSagasAreLoadedByShardAndTime) {
  const auto owner = own_sagas();
  const auto at = now();
  std::map<Shard, std::vector<std::pair<WallTime, std::string>>> expected;
  std::vector<SagaRecord> records;
  for (int i = 0; i < 40; ++i) {
    auto& record = records.emplace_back(fresh("saga-" + std::to_string(i)));
    record.due = at - seconds(i % 5);
    record.state = std::array{State::running, State::compensating,
                              State::paused}[static_cast<std::size_t>(i) % 3];
    expected[record.shard].emplace_back(*record.due, record.id.str());
  }
  for (int i = 0; i < 10; ++i) {
    auto& record = records.emplace_back(fresh("not-" + std::to_string(i)));
    if (i % 3 == 0) {
      record.due = at + hours(1);
    } else if (i % 3 == 1) {
      record.due = at - hours(1);
      record.state = State::failed;
      record.ended_at = at;
    }
  }
  store_all(owner, records);
  for (auto& [shard, rows] : expected) {
    std::ranges::sort(rows);
    std::vector<std::string> ids;
    for (const auto& [due, id] : rows) ids.push_back(id);
    EXPECT_EQ(due_ids(shard), ids);
    // The same, page by page.
    std::vector<std::string> paged;
    WallTime after_due{};
    SagaId after;
    for (;;) {
      const auto page = sagas().load_due(travel, {shard, after_due, after, 2}).value();
      for (const auto& record : page) paged.push_back(record.id.str());
      if (page.size() < 2) break;
      after_due = *page.back().due;
      after = page.back().id;
    }
    EXPECT_EQ(paged, ids);
  }
  EXPECT_TRUE(sagas().load_due("refund", {expected.begin()->first, {}, {}, 10}).value().empty());
}

TEST_P(SagaConformance, SagaBecomesDueWhenItsTimeHasCome) {
  const auto owner = own_sagas();
  auto record = fresh("s1");
  record.due = now() + hours(1);
  store(owner, record);
  EXPECT_TRUE(due_ids(record.shard).empty());
  fixture_->advance_time(hours(1) + seconds(1));
  EXPECT_EQ(due_ids(record.shard), std::vector<std::string>{"s1"});
}

TEST_P(SagaConformance, OneActiveSagaHasAnIsolationKey) {
  const auto owner = own_sagas();
  auto first = fresh("s1");
  first.isolate = "customer-1";
  store(owner, first);
  auto second = fresh("s2");
  second.isolate = "customer-1";
  const auto bystander = fresh("s3");
  auto reply = write_batch(owner, {.writes = {{.record = bystander}, {.record = second}}});
  EXPECT_FALSE(reply.written());
  EXPECT_EQ(reply.conflicting, std::vector{second.id});
  ASSERT_EQ(reply.reasons.size(), 1U);
  EXPECT_NE(reply.reasons[0].find("s1"), std::string::npos) << reply.reasons[0];
  EXPECT_FALSE(get("s3")) << "all or nothing";

  auto elsewhere = second;
  elsewhere.tenant = "umbrella";
  store(owner, elsewhere);
  auto third = fresh("s4");
  third.isolate = "customer-1";
  first = next(first);
  first.state = State::failed;
  first.ended_at = now();
  store_all(owner, {third, first});
  EXPECT_EQ(get("s4")->version, 1U) << "it went from one to the other in one batch";

  // The first comes back to life while the other has the key.
  first = next(first);
  first.state = State::running;
  first.ended_at = std::nullopt;
  EXPECT_EQ(write_batch(owner, {.writes = {{.record = first}}}).conflicting, std::vector{first.id});
}

TEST_P(SagaConformance, TwoSagasOfABatchDoNotShareAnIsolationKey) {
  const auto owner = own_sagas();
  auto first = fresh("s1");
  auto second = fresh("s2");
  first.isolate = second.isolate = "customer-1";
  const auto reply = write_batch(owner, {.writes = {{.record = first}, {.record = second}}});
  EXPECT_FALSE(reply.written());
  EXPECT_EQ(reply.conflicting, std::vector{second.id});
  EXPECT_FALSE(get("s1"));
}

TEST_P(SagaConformance, TakenCommandsAreGoneAndTheirResultsStay) {
  const auto owner = own_sagas();
  append({command("s1"), command("s1", SagaCommandKind::cancel), command("s1")});
  const auto rows = inbox();
  const auto record = fresh("s1");
  const auto at = now();
  Batch batch{.writes = {{.record = record}},
              .taken = {{rows[0].shard, rows[0].sequence}, {rows[1].shard, rows[1].sequence}},
              .results = {{rows[0].id, record.id, true, "", at},
                          {rows[1].id, record.id, false, "past its pivot", at}}};
  EXPECT_TRUE(write_batch(owner, batch).written());
  const auto left = inbox();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].id, rows[2].id);
  const auto results = sagas().results(std::array{rows[2].id, rows[1].id, rows[0].id}).value();
  ASSERT_EQ(results.size(), 2U);
  for (const auto& result : results) {
    EXPECT_EQ(result, result.applied ? batch.results[0] : batch.results[1]);
  }
  // The first word stands.
  batch.results[1].applied = true;
  EXPECT_TRUE(write_batch(owner, batch).written());
  EXPECT_FALSE(sagas().results(std::array{rows[1].id}).value().at(0).applied);
  // Without a saga.
  EXPECT_TRUE(write_batch(owner, {.taken = {{rows[2].shard, rows[2].sequence}},
                                  .results = {{rows[2].id, record.id, false, "repeated", at}}})
                  .written());
  EXPECT_TRUE(inbox().empty());
  EXPECT_EQ(sagas().results(std::array{rows[2].id}).value().at(0).reason, "repeated");
}

TEST_P(SagaConformance, MessagesAreWrittenWithTheBatch) {
  const auto owner = own_sagas();
  const auto first = message("customer-1");
  const auto second = message();
  const auto other = message();
  EXPECT_TRUE(
      write_batch(owner, {.writes = {{.record = fresh("s1")}},
                          .messages = {{table_, first}, {other_table_, other}, {table_, second}}})
          .written());
  EXPECT_EQ(conformance::ids_of(read_fresh()), conformance::ids_of(std::vector{first, second}));
  EXPECT_EQ(admin().stats(other_table_).value().pending, 1U);
  // What stops a batch stops its messages.
  auto wrong = next(next(next(fresh("s1"))));
  EXPECT_FALSE(
      write_batch(owner, {.writes = {{.record = wrong}}, .messages = {{table_, message()}}})
          .written());
  EXPECT_EQ(stats().pending, 2U);
}

TEST_P(SagaConformance, BatchWithAMessageForAnUnknownTableFailsWhole) {
  const auto owner = own_sagas();
  const auto unknown = TableName::parse("nowhere").value();
  EXPECT_FALSE(try_write(owner, {.writes = {{.record = fresh("s1")}},
                                 .messages = {{table_, message()}, {unknown, message()}}})
                   .ok());
  EXPECT_FALSE(get("s1"));
  EXPECT_EQ(stats().pending, 0U);
}

TEST_P(SagaConformance, AuditEventsAreChainedWithTheBatch) {
  const auto owner = own_sagas();
  const auto end = log_end();
  const auto at = now();
  EXPECT_TRUE(write_batch(owner, {.writes = {{.record = fresh("s1")}},
                                  .audit = {{.at = at, .message_id = "s1", .detail = "one"},
                                            {.at = at, .message_id = "s1", .detail = "two"}}})
                  .written());
  const auto entries = log(end);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].event.detail, "one");
  EXPECT_EQ(entries[1].event.detail, "two");
  EXPECT_EQ(entries[1].previous, entries[0].hash);
}

TEST_P(SagaConformance, TwoAtOnceWriteAllOfTheirSagas) {
  const auto owner = own_sagas();
  constexpr int sagas_each = 25;
  std::array<std::vector<SagaRecord>, 2> records;
  for (std::size_t side = 0; side < records.size(); ++side) {
    for (int i = 0; i < sagas_each; ++i) {
      records[side].push_back(fresh((side == 0 ? "a-" : "b-") + std::to_string(i)));
    }
  }
  const auto write_all = [&](const std::vector<SagaRecord>& mine) {
    for (auto record : mine) {
      for (int version = 0; version < 3; ++version) {
        const spi::SagaWrite write{.record = record, .history = {}};
        const auto reply = sagas()
                               .write({.fencing = {owner.scope, owner.id, owner.fences},
                                       .definition = travel,
                                       .writes = std::span(&write, 1)})
                               .value();
        EXPECT_TRUE(reply.written());
        record = next(record);
      }
    }
  };
  std::thread other([&] { write_all(records[1]); });
  write_all(records[0]);
  other.join();
  const auto all = saga_admin().list({.rows_max = 1000}).value();
  EXPECT_EQ(all.size(), 2U * sagas_each);
  EXPECT_TRUE(std::ranges::all_of(all, [](const auto& record) { return record.version == 3; }));
}

TEST_P(SagaConformance, OfTwoAtOnceOneGetsTheIsolationKey) {
  const auto owner = own_sagas();
  for (int round = 0; round < 10; ++round) {
    const auto key = "customer-" + std::to_string(round);
    std::array<SagaRecord, 2> records{fresh("a-" + key), fresh("b-" + key)};
    std::array<bool, 2> written{};
    const auto write_one = [&](std::size_t side) {
      records[side].isolate = key;
      const spi::SagaWrite write{.record = records[side], .history = {}};
      auto reply = sagas().write({.fencing = {owner.scope, owner.id, owner.fences},
                                  .definition = travel,
                                  .writes = std::span(&write, 1)});
      ASSERT_TRUE(reply.ok()) << reply.error().message;
      written[side] = reply->written();
      if (!written[side]) {
        EXPECT_EQ(reply->conflicting, std::vector{records[side].id});
      }
    };
    std::thread other([&] { write_one(1); });
    write_one(0);
    other.join();
    EXPECT_NE(written[0], written[1]);
  }
}

}  // namespace
}  // namespace sagabox::conformance
