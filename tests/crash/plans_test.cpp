#include "integration/postgres/plans.hpp"

namespace sagabox::integration {
namespace {

/// A million pending messages on top of plans that were made when there were none.
class PostgresMillion : public PlansWorld {
 protected:
  PostgresMillion() : PlansWorld(1'000'000) {}

  void SetUp() override {
    PlansWorld::SetUp();
    if (IsSkipped()) return;
    // The fences of the statements hold: owner "me", epoch 1.
    const auto me = WorkerId::parse("me").value();
    const std::vector<spi::Scope> scopes{"outbox:orders"};
    (void)store->ownership().join(me, std::chrono::hours(1), scopes, 16).value();
    ASSERT_EQ(store->ownership().take(scopes[0], me, 16).value().size(), 16U);
  }

  using MessagePtr = std::shared_ptr<const Message>;
  struct Figures {
    std::int64_t scanned = 0;  ///< rows read one after the other, of all tables of the outbox
    std::int64_t fetched = 0;  ///< pending rows found by an index
  };
  Figures figures() {
    const auto now = database->sql(
        "SELECT sum(seq_tup_read), sum(idx_tup_fetch) FILTER (WHERE relname = 'orders_outbox') "
        "FROM pg_stat_user_tables WHERE schemaname = '" +
        database->schema() + "' AND relname LIKE 'orders\\_%'");
    return {std::stoll(now.at(0)), std::stoll(now.at(1))};
  }
  static void tell_figures(PGconn* on) {
    testing::run_sql(on, "SELECT pg_stat_force_next_flush()");
  }

  /// Really runs it, and counts.
  void fetches_at_most(std::int64_t rows_max, const Statement& statement, const Params& params) {
    const postgres::Call call{&statement, &params};
    fetches_at_most(rows_max, std::span(&call, 1));
  }
  /// Of the last of these.
  void fetches_at_most(std::int64_t rows_max, std::span<const postgres::Call> calls) {
    // One more to see where to stop, and what the planner looks at to know the ends of an index.
    constexpr std::int64_t looked_at_by_planner = 4;
    tell_figures(connection->handle());
    const auto before = figures();
    (void)connection->run(calls, Effect::commits).value();
    tell_figures(connection->handle());
    const auto after = figures();
    const auto& sql = calls.back().statement->sql;
    EXPECT_EQ(after.scanned, before.scanned) << sql;
    EXPECT_LE(after.fetched - before.fetched, rows_max + looked_at_by_planner) << sql;
  }
  void run_every_statement() {
    constexpr std::int64_t read_max = 16 * 65;
    constexpr std::int64_t keys_asked = 100;
    Params keys;
    keys.int2(3).int8(0).int8(keys_asked);
    const Params none;
    const auto fresh = read_params();
    const auto due = due_params();
    fetches_at_most(read_max, std::array{postgres::Call{&outbox->keep_plan, &none},
                                         postgres::Call{&outbox->read, &fresh}});
    fetches_at_most(read_max, std::array{postgres::Call{&outbox->keep_plan, &none},
                                         postgres::Call{&outbox->read_due, &due}});
    fetches_at_most(keys_asked + 1, outbox->retrying_keys, keys);
    each_settle([&](const Statement& before, const Statement& statement, const Params& params) {
      fetches_at_most(rows_in_batch, std::array{postgres::Call{&before, &none},
                                                postgres::Call{&statement, &params}});
    });
  }
  /// First claims, so that reads and later looks meet claimed rows.
  void run_competing_statements() {
    constexpr std::int64_t read_max = 16 * 65;
    constexpr std::int64_t looked_at_for_others = 4 * 1'000;
    set_gates();
    fetches_at_most(0, competing->own_gates, gates_params());
    fetches_at_most(read_max, competing->look_for_free, look_params());
    fetches_at_most(read_max + looked_at_for_others, competing->claim, claim_params());
    fetches_at_most(2 * read_max, competing->read_claimed, claimed_params());
  }

  MessagePtr message(const std::string& id) {
    return std::make_shared<const Message>(
        Message::build({.topic = topic, .payload = json("{}"), .id = id}, {}, ids, system_clock())
            .value());
  }
  /// A new message, one that is pending, and one that has been delivered.
  void write_each_kind(OwnedTransaction& tx, const std::string& fresh) {
    const std::vector all{message(fresh), message("pending"), message("delivered")};
    const auto written = tx.outbox().insert(table, all).value();
    EXPECT_FALSE(written.at(0).duplicate);
    EXPECT_TRUE(written.at(1).duplicate);
    EXPECT_TRUE(written.at(2).duplicate);
  }
  /// Always on the same connection.
  void writes_scan_nothing(const std::string& fresh) {
    auto tx = store->begin().value();
    tell_figures(postgres::connection_of(*tx));
    tx->commit().value();
    const auto before = figures();
    tx = store->begin().value();
    write_each_kind(*tx, fresh);
    tell_figures(postgres::connection_of(*tx));
    tx->commit().value();
    EXPECT_EQ(figures().scanned, before.scanned) << "by an insert";
  }
  void fill_archive() {
    database->sql("INSERT INTO " + database->schema() +
                  ".orders_archive (seq, id, shard, ended_at, attempts, replays, written_at, "
                  "tenant, topic, aggregate_type, priority, payload, is_json, content_type, "
                  "occurred_at) SELECT -n, 'a' || n, 0, at, 1, 0, at, 'default', "
                  "'a.b.c.v1', '__GLOBAL__', 1, '{}', true, 'application/json', at FROM "
                  "(SELECT clock_timestamp() AS at) AS now, generate_series(1, 300000) AS n");
  }

  UlidSource ids{system_clock(), system_random()};
};

TEST_F(PostgresMillion, PlansMadeOnAnEmptyTableServeAFullOne) {
  // Vacuumed and empty is what an outbox is most of the time, and what plans are made for then.
  // Later only when the test says so: it makes the server plan anew.
  database->sql("ALTER TABLE " + outbox_table() + " SET (autovacuum_enabled = off)");
  database->sql("VACUUM ANALYZE " + outbox_table());
  {
    auto tx = store->begin().value();
    const std::vector both{message("pending"), message("delivered")};
    const auto written = tx->outbox().insert(table, both).value();
    tx->commit().value();
    const spi::Settlement done{.sequence = written[1].sequence,
                               .shard = written[1].shard,
                               .id = written[1].id,
                               .verdict = spi::Verdict::done,
                               .attempts = 1};
    const spi::Fence fence{written[1].shard, Epoch{1}};
    const auto reply = store->outbox().settle(
        {.table = table,
         .fencing = {"outbox:orders", WorkerId::parse("me").value(), {&fence, 1}},
         .items = std::span(&done, 1)});
    EXPECT_EQ(reply->parts.at(0).rows, 1U);
  }
  for (int i = 0; i < 10; ++i) {
    (void)read_by_kept_plan(outbox->read, read_params());
    (void)read_by_kept_plan(outbox->read_due, due_params());
    each_settle([&](const Statement& before, const Statement& statement, const Params& params) {
      (void)run_after(before, statement, params);
    });
    set_gates();
    (void)connection->run(competing->own_gates, gates_params(), Effect::none).value();
    (void)connection->run(competing->look_for_free, look_params(), Effect::none).value();
    (void)connection->run(competing->claim, claim_params(), Effect::commits).value();
    (void)connection->run(competing->read_claimed, claimed_params(), Effect::none).value();
    auto tx = store->begin().value();
    write_each_kind(*tx, "w" + std::to_string(i));
    tx->rollback().value();
  }
  fill();
  fill_archive();

  look_at_every_plan();
  look_at_competing_plans();
  run_every_statement();
  run_competing_statements();
  writes_scan_nothing("first");
  database->sql("VACUUM ANALYZE " + outbox_table());
  look_at_every_plan();
  look_at_competing_plans();
  run_every_statement();
  run_competing_statements();
  writes_scan_nothing("second");
}

}  // namespace
}  // namespace sagabox::integration
