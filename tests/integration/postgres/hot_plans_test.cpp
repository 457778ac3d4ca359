#include "integration/postgres/plans.hpp"

namespace sagabox::integration {
namespace {

class PostgresPlans : public PlansWorld {
 protected:
  PostgresPlans() : PlansWorld(100'000) {}

  static Params of_tenant(const std::string& tenant, const std::optional<WallTime>& from = {}) {
    Params filter;
    filter.text(tenant)
        .null(postgres::Type::text)
        .null(postgres::Type::text)
        .null(postgres::Type::text)
        .null(postgres::Type::text);
    filter.null(postgres::Type::int8).null(postgres::Type::int8).boolean(false);
    filter.timestamptz(from).null(postgres::Type::timestamptz);
    return filter;
  }
};

TEST_F(PostgresPlans, HotStatementsWalkTheirIndexOnAFullTable) {
  fill();
  look_at_every_plan();
  database->sql("VACUUM ANALYZE " + outbox_table());
  look_at_every_plan();
}

TEST_F(PostgresPlans, WhatATenantHasIsFoundByTheTenant) {
  fill();
  const auto dead = database->schema() + ".orders_dead";
  database->sql("INSERT INTO " + outbox_table() +
                " (topic, payload, tenant) SELECT 'a.b.c.v1', '{}', 'tenant ' || n % 20 FROM "
                "generate_series(1, 200) AS n");
  database->sql("INSERT INTO " + dead +
                " (seq, id, shard, state, ended_at, attempts, replays, written_at, tenant, topic, "
                "aggregate_type, priority, payload, is_json, content_type, occurred_at) SELECT -n, "
                "'d' || n, 0, 'dead', at, 1, 0, at, 'tenant ' || n % 1000, 'a.b.c.v1', "
                "'__GLOBAL__', 1, '{}', true, 'application/json', at FROM (SELECT "
                "clock_timestamp() AS at) AS now, generate_series(1, 20000) AS n");
  database->sql("ANALYZE " + outbox_table());
  database->sql("ANALYZE " + dead);
  auto page = of_tenant("tenant 7");
  page.int8(0).int8(100).boolean(false);
  uses_only("orders_outbox_tenant", plan(of_kit("list_pending"), page));
  uses_only("orders_outbox_tenant", plan(of_kit("extent_pending"), of_tenant("tenant 7")));
  auto ended = of_tenant("tenant 7", WallTime{});
  ended.int8(-30'000).int8(100).boolean(false).text("dead");
  uses_only("orders_dead_tenant", plan(of_kit("list_ended"), ended));
}

TEST_F(PostgresPlans, CompetingStatementsWalkTheirIndexOnAFullTable) {
  fill();
  look_at_competing_plans();
  database->sql("VACUUM ANALYZE " + outbox_table());
  look_at_competing_plans();
}

/// Whatever the server thinks of the table at the moment when the plan is made: it is kept.
class PostgresKeptPlans : public PostgresPlans {
 protected:
  /// New, empty, with one row, emptied after many, and full. Of an emptied one the server thinks
  /// that its pages have no rows, however many have come since.
  template <class Look>
  void look_at_any_time(Look&& look) {
    const auto vacuum = [&] {
      database->sql("VACUUM ANALYZE " + outbox_table());
      database->sql("VACUUM ANALYZE " + claim_table());
    };
    look("new");
    vacuum();
    look("empty");
    database->sql("INSERT INTO " + outbox_table() + " (topic, payload) VALUES ('a.b.c.v1', '{}')");
    vacuum();
    look("one row");
    fill();
    fill_claims();
    database->sql("DELETE FROM " + outbox_table());
    database->sql("DELETE FROM " + claim_table());
    vacuum();
    look("emptied");
    database->sql("SELECT setval('" + database->schema() + ".orders_seq', 1, false)");
    fill();
    fill_claims();
    look("filled again");
    vacuum();
    look("full");
    database->sql("CREATE INDEX ON " + outbox_table() + " (topic, seq)");
    look("full, with an index of the user's");
  }
};

TEST_F(PostgresKeptPlans, OfReadsAreTheSameAtAnyTime) {
  const auto fresh = kept_plan_of_read(outbox->read);
  const auto due = kept_plan_of_read(outbox->read_due);
  EXPECT_NE(fresh.find("Index Scan using orders_outbox_fresh on "), std::string::npos) << fresh;
  EXPECT_NE(due.find("Index Scan using orders_outbox_waiting on "), std::string::npos) << due;
  look_at_any_time([&](const char* when) {
    EXPECT_EQ(kept_plan_of_read(outbox->read), fresh) << when;
    EXPECT_EQ(kept_plan_of_read(outbox->read_due), due) << when;
  });
}

TEST_F(PostgresKeptPlans, OfSettlesLookByTheKeyAtAnyTime) {
  look_at_any_time([&](const char* when) {
    SCOPED_TRACE(when);
    look_at_settle_plans();
  });
}

TEST_F(PostgresPlans, TableThatFilledAfterTheFirstReadsIsReadByItsIndex) {
  // What the server learns of a table makes it plan anew: not in between.
  database->sql("ALTER TABLE " + outbox_table() + " SET (autovacuum_enabled = off)");
  database->sql("ANALYZE " + outbox_table());
  for (int i = 0; i < 10; ++i) {
    (void)read_by_kept_plan(outbox->read, read_params());
    settle_by_kept_plan(outbox->delete_done, delete_params());
  }
  fill();
  look_at_every_plan();
  // The plan that was kept from the empty table would show in the statistics of the scans.
  const auto scans = [&] {
    database->sql("SELECT pg_stat_force_next_flush()");
    return std::stoll(
        database->sql("SELECT seq_tup_read FROM pg_stat_user_tables WHERE schemaname = '" +
                      database->schema() + "' AND relname = 'orders_outbox'")[0]);
  };
  const auto before = scans();
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(read_by_kept_plan(outbox->read, read_params()).size(), 500);
    settle_by_kept_plan(outbox->delete_done, delete_params());
  }
  (void)connection->run({"", "SELECT pg_stat_force_next_flush()"}, {}, Effect::none);
  EXPECT_EQ(scans(), before);
}

}  // namespace
}  // namespace sagabox::integration
