#include "stores/sqlite/connection.hpp"
#include "stores/sqlite/expected.hpp"
#include "stores/sqlite/insert.hpp"
#include "stores/sqlite/sql_files.hpp"
#include "stores/sqlite/statements.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sagabox::integration {
namespace {

using sqlite::Sql;

/// What SQLite will do for each statement that runs all day, on a table that is empty or full.
class SqlitePlans : public ::testing::Test {
 protected:
  void SetUp() override {
    store->outbox().prepare(table).value();
    connection =
        sqlite::Connection::open(folder.file(), sqlite::Connection::Use::write, {}).value();
    expected.introduce(connection->link()).value();
  }

  /// Every lane, retries and delayed ones; archived and dead ones beside them.
  void fill() {
    sql("WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000) "
        "INSERT INTO orders_outbox (id, topic, payload, key, priority, not_before) "
        "SELECT 'id-' || n, 'a.b.c.v1', '{}', CASE n % 2 WHEN 0 THEN 'k' || n END, n % 3, "
        "CASE n % 10 WHEN 0 THEN 9e15 + n END FROM n");
    for (const std::string into : {"orders_archive", "orders_dead"}) {
      const std::string state = into == "orders_dead" ? "state, " : "";
      const std::string dead = into == "orders_dead" ? "'dead', " : "";
      sql("INSERT INTO " + into + " (" + state +
          "seq, id, ended_at, attempts, replays, written_at, tenant, topic, aggregate_type, "
          "priority, is_json, content_type, occurred_at, payload) SELECT " +
          dead +
          "seq + 100000, 'old-' || id, 1, 1, 0, 1, tenant, topic, aggregate_type, priority, "
          "is_json, content_type, occurred_at, payload FROM orders_pending LIMIT 5000");
    }
  }

  void sql(const std::string& text) { connection->link().script(text).value(); }

  /// One line a step, as the shell shows them.
  std::string plan(const Sql& statement) {
    const Sql explain{"EXPLAIN QUERY PLAN " + statement.text};
    sqlite::Link link(connection->handle());
    auto run = link.run(explain);
    std::string text;
    while (run.step().value()) text += std::string(run.text(3)) + "\n";
    return text;
  }

  void searches(const Sql& statement, const std::vector<std::string>& steps) {
    const auto text = plan(statement);
    EXPECT_EQ(text.find("SCAN orders"), std::string::npos) << statement.text << text;
    EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << statement.text << text;
    EXPECT_EQ(text.find("AUTOMATIC"), std::string::npos) << statement.text << text;
    for (const auto& step : steps) {
      EXPECT_NE(text.find(step), std::string::npos) << step << "\n" << statement.text << text;
    }
  }

  void look_at_every_plan() {
    auto sections = sql::Sections::parse(sqlite::sql_files).value();
    const auto outbox = sql::PerTable<sqlite::OutboxStatements>(sections).of(table);
    const auto insert = sql::PerTable<sqlite::InsertStatements>(sections).of(table);
    const auto stats = sections.take("admin_stats").for_table(table);
    const sqlite::SharedStatements shared(sections);
    const std::string by_place = "SEARCH orders_pending USING INTEGER PRIMARY KEY (rowid";
    const std::string by_due = "SEARCH orders_pending USING INDEX orders_pending_due (due>";
    searches(outbox.read, {by_place + ">? AND rowid<?)"});
    searches(outbox.read_due, {by_due});
    searches(outbox.retrying_keys, {by_place + ">? AND rowid<?)"});
    searches(outbox.remove, {by_place + "=?)"});
    searches(outbox.remove_run, {by_place + ">? AND rowid<?)"});
    searches(outbox.archive_run, {by_place + ">? AND rowid<?)"});
    searches(outbox.failures, {by_place + "=?)"});
    searches(outbox.retry, {by_place + "=?)"});
    searches(outbox.attempt, {by_place + "=?)"});
    searches(outbox.failed_attempt, {by_place + "=?)"});
    searches(outbox.bury, {by_place + "=?)"});
    searches(outbox.buried, {"SEARCH orders_dead USING INTEGER PRIMARY KEY (rowid=?)"});
    searches(insert.last, {by_place + ">?)", "SEARCH sagabox_outbox USING PRIMARY KEY (name=?)"});
    searches({stats.parts().front().sql},
             {by_place + ">?)", "SEARCH sagabox_outbox USING PRIMARY KEY (name=?)"});
    searches(insert.insert, {});
    searches(insert.pending,
             {"SEARCH orders_pending USING INDEX orders_pending_id (id=? AND tenant=?)"});
    searches(insert.ended,
             {"SEARCH orders_archive USING COVERING INDEX orders_archive_id (id=? AND tenant=?)",
              "SEARCH orders_dead USING COVERING INDEX orders_dead_id (id=? AND tenant=?)"});
    searches(shared.hold, {"SEARCH sagabox_owner USING INDEX"});
    searches(shared.count, {"SEARCH sagabox_outbox USING PRIMARY KEY (name=?)"});
  }

  const TableName table = TableName::parse("orders").value();
  testing::SqliteFolder folder;
  std::unique_ptr<Store> store = sqlite::open(folder.file()).value();
  std::unique_ptr<sqlite::Connection> connection;
  sqlite::Expected expected;
};

TEST_F(SqlitePlans, HotStatementsSearchByPlaceOrIdInAnEmptyTable) { look_at_every_plan(); }

TEST_F(SqlitePlans, HotStatementsSearchByPlaceOrIdInAFullTable) {
  fill();
  look_at_every_plan();
}

TEST_F(SqlitePlans, WhatAnalyzeSawChangesNothing) {
  sql("ANALYZE");
  look_at_every_plan();
  fill();
  sql("ANALYZE");
  look_at_every_plan();
}

TEST_F(SqlitePlans, AStatementWithoutItsIndexIsNoticed) {
  sql("DROP INDEX orders_pending_due");
  auto sections = sql::Sections::parse(sqlite::sql_files).value();
  const auto outbox = sql::PerTable<sqlite::OutboxStatements>(sections).of(table);
  EXPECT_EQ(plan(outbox.read_due).find("orders_pending_due"), std::string::npos);
  EXPECT_NE(plan(outbox.read_due).find("TEMP B-TREE"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::integration
