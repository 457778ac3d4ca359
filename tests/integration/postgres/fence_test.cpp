#include "integration/postgres/world.hpp"

#include <algorithm>

namespace sagabox::integration {
namespace {

using testing::run_sql;

/// The store without an engine, where statements meet on the server.
class PostgresRaces : public PostgresWorld {
 protected:
  void SetUp() override {
    PostgresWorld::SetUp();
    if (IsSkipped()) return;
    store->outbox().prepare(table).value();
  }

  Written write_one(Transaction& tx, std::string key = {}) {
    UlidSource ids(system_clock(), system_random());
    const auto message = std::make_shared<const Message>(
        Message::build(placed("{}", std::move(key)), {}, ids, system_clock()).value());
    return tx.outbox().insert(table, std::span(&message, 1)).value().front();
  }
  Written write_one(std::string key = {}) {
    auto tx = store->begin().value();
    const auto written = write_one(*tx, std::move(key));
    tx->commit().value();
    return written;
  }
  spi::ReadReply read(Shard shard, Sequence after = {}) {
    const spi::Range range{shard, spi::Lane{1}, after, 100};
    return store->outbox().read(table, std::span(&range, 1), 1 << 20).value();
  }
};

TEST_F(PostgresRaces, StaleSettleThatWaitedForATakeOverChangesNothing) {
  const auto worker = WorkerId::parse("stale").value();
  (void)store->ownership().join(worker, seconds(60), orders_scopes, 16).value();
  const auto shards = store->ownership().take(orders_scopes[0], worker, 16).value();
  const auto written = write_one("k");
  const auto held = std::ranges::find(shards, written.shard, &spi::OwnedShard::shard);
  ASSERT_NE(held, shards.end());
  const spi::Fence fence{held->shard, held->epoch};

  // Another takes the shard over, and has not committed yet when the settle arrives.
  auto taker = database->connect();
  run_sql(taker.get(), "BEGIN");
  run_sql(taker.get(), "UPDATE " + database->schema() +
                           ".shard_owner SET owner = 'next', epoch = epoch + 1 WHERE scope = "
                           "'outbox:orders' AND shard = " +
                           std::to_string(held->shard.value));
  for (const auto verdict : {spi::Verdict::done, spi::Verdict::retry, spi::Verdict::dead}) {
    const spi::Settlement item{.sequence = written.sequence,
                               .shard = written.shard,
                               .id = written.id,
                               .verdict = verdict,
                               .attempts = 1};
    if (verdict != spi::Verdict::done) {
      // Later ones meet what has been committed.
      const auto reply = store->outbox().settle({.table = table,
                                                 .fencing = {"outbox:orders", worker, {&fence, 1}},
                                                 .items = std::span(&item, 1)});
      EXPECT_FALSE(reply->parts.at(0).held);
      continue;
    }
    std::optional<Result<spi::SettleReply>> reply;
    std::thread settler([&] {
      reply = store->outbox().settle({.table = table,
                                      .fencing = {"outbox:orders", worker, {&fence, 1}},
                                      .items = std::span(&item, 1)});
    });
    EXPECT_TRUE(eventually([&] {
      return database->sql(
                 "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                 "AND query LIKE '%" +
                 database->schema() + "%'")[0] != "0";
    })) << "the settle waits for the row";
    run_sql(taker.get(), "COMMIT");
    settler.join();
    ASSERT_TRUE(reply->ok()) << reply->error().text();
    EXPECT_FALSE((*reply)->parts.at(0).held);
    EXPECT_EQ((*reply)->parts.at(0).rows, 0U);
  }
  const auto rows = read(written.shard).rows;
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].attempts, 0U);
  EXPECT_EQ(store->audit().head().value().number, 0U);
}

TEST_F(PostgresRaces, TakeOverWaitsForASettleThatHoldsTheShard) {
  const auto worker = WorkerId::parse("owner").value();
  (void)store->ownership().join(worker, seconds(60), orders_scopes, 16).value();
  const auto shards = store->ownership().take(orders_scopes[0], worker, 16).value();
  auto settling = database->connect();
  run_sql(settling.get(), "BEGIN");
  run_sql(settling.get(), "SELECT FROM " + database->schema() +
                              ".shard_owner WHERE scope = 'outbox:orders' FOR SHARE");
  store->ownership().leave(worker).value();
  const auto next = WorkerId::parse("next").value();
  (void)store->ownership().join(next, seconds(60), orders_scopes, 16).value();
  EXPECT_TRUE(store->ownership().take(orders_scopes[0], next, 16).value().empty())
      << "while a settle is under way";
  run_sql(settling.get(), "COMMIT");
  EXPECT_EQ(store->ownership().take(orders_scopes[0], next, 16).value().size(), shards.size());
}

TEST_F(PostgresRaces, YoungTransactionWithALowerSequenceIsNamedByTheReadThatPassesIt) {
  // The old one has its number first and draws last; the young one has drawn and is still open. A
  // snapshot names nobody above the last transaction that ended, and that is the old one.
  auto old = database->connect();
  run_sql(old.get(), "BEGIN");
  const auto old_id = run_sql(old.get(), "SELECT pg_current_xact_id()").at(0);
  auto young = store->begin().value();
  const auto low = write_one(*young, "k");
  auto enlisted = postgres::enlist(old.get(), database->schema()).value();
  const auto high = write_one(enlisted, "k");
  ASSERT_LT(low.sequence, high.sequence);
  run_sql(old.get(), "COMMIT");

  const auto passing = read(low.shard);

  ASSERT_EQ(passing.rows.size(), 1U);
  EXPECT_EQ(passing.rows[0].sequence, high.sequence);
  const auto& horizon = passing.horizon.value();
  EXPECT_TRUE(std::ranges::any_of(horizon.in_progress, [&](TransactionId id) {
    return id.value > std::stoull(old_id);
  })) << "the young one";
  young->commit().value();
  const auto after = read(low.shard).horizon.value();
  EXPECT_TRUE(std::ranges::all_of(horizon.in_progress, [&](TransactionId id) {
    return id < after.next || std::ranges::binary_search(after.in_progress, id);
  })) << "and it can be told that it has ended";
}

TEST_F(PostgresRaces, TransactionOfThousandsOfSavepointsIsNamedToo) {
  auto open = database->connect();
  run_sql(open.get(), "BEGIN");
  run_sql(open.get(), "CREATE TEMP TABLE t (n int)");
  run_sql(open.get(),
          "DO $$ BEGIN FOR i IN 1..6000 LOOP BEGIN INSERT INTO t VALUES (i); EXCEPTION WHEN "
          "OTHERS THEN NULL; END; END LOOP; END $$");
  const auto id = std::stoull(run_sql(open.get(), "SELECT pg_current_xact_id()").at(0));
  const auto horizon = read(Shard{0}).horizon.value();
  EXPECT_TRUE(std::ranges::binary_search(horizon.in_progress, TransactionId{id}));
  EXPECT_LT(horizon.in_progress.size(), 5000U);
  run_sql(open.get(), "ROLLBACK");
}

TEST_F(PostgresRaces, PreparedTransactionIsInProgressUntilItEnds) {
  auto connection = database->connect();
  run_sql(connection.get(), "BEGIN");
  auto enlisted = postgres::enlist(connection.get(), database->schema()).value();
  const auto written = write_one(enlisted, "k");
  const auto id =
      TransactionId{std::stoull(run_sql(connection.get(), "SELECT pg_current_xact_id()").at(0))};
  const std::string name = "'" + database->schema() + "'";
  run_sql(connection.get(), "PREPARE TRANSACTION " + name);

  const auto during = read(written.shard);
  EXPECT_TRUE(during.rows.empty());
  EXPECT_TRUE(std::ranges::binary_search(during.horizon->in_progress, id));
  run_sql(connection.get(), "COMMIT PREPARED " + name);
  const auto after = read(written.shard);
  EXPECT_EQ(after.rows.size(), 1U);
  EXPECT_FALSE(std::ranges::binary_search(after.horizon->in_progress, id));
}

TEST_F(PostgresRaces, LargePayloadsAreFetchedWithinTheBytesAsked) {
  UlidSource ids(system_clock(), system_random());
  std::vector<std::shared_ptr<const Message>> messages;
  for (int i = 0; i < 4; ++i) {
    NewMessage draft{.topic = topic, .key = "k", .payload = bytes(std::string(300'000, 'x'))};
    messages.push_back(std::make_shared<const Message>(
        Message::build(std::move(draft), {}, ids, system_clock()).value()));
  }
  const auto written =
      store->transaction([&](OwnedTransaction& tx) { return tx.outbox().insert(table, messages); })
          .value();
  const auto reply = read(written[0].shard);
  ASSERT_EQ(reply.rows.size(), 3U) << "of 300,000 bytes each into 1 MiB";
  for (const auto& row : reply.rows) EXPECT_EQ(row.message->payload().size(), 300'000U);
  EXPECT_FALSE(reply.parts.at(0).exhausted);
}

}  // namespace
}  // namespace sagabox::integration
