#include "integration/stores/sqlite/world.hpp"
#include "stores/sqlite/sql_files.hpp"

#include <string>
#include <utility>

namespace sagabox::sqlite {
namespace {

class SqliteSagaFigures : public SqliteTest {};

// Read every 15 s by every process: not all sagas, of which a few wait.
TEST_F(SqliteSagaFigures, AreReadFromIndexes) {
  const auto store = open_store();
  store->sagas()->prepare().value();
  auto sections = sql::Sections::parse(sql_files).value();
  const auto statement = sections.take("saga_backlog");
  const auto user = connect();
  std::string plan;
  for (const auto& part : statement.parts()) {
    const auto rows = sagabox::testing::rows_of(user.get(), "EXPLAIN QUERY PLAN " + part.sql);
    for (const auto& row : rows) plan += row.at(3) + "\n";
  }
  EXPECT_EQ(plan.find("SCAN sagabox_saga"), std::string::npos) << plan;
  for (const auto* index :
       {"sagabox_saga_active", "sagabox_saga_dead", "sagabox_saga_person", "sagabox_saga_due"}) {
    EXPECT_NE(plan.find(index), std::string::npos) << index << "\n" << plan;
  }
}

// A saga's commands are looked for while somebody waits, and strays all the time.
TEST_F(SqliteSagaFigures, WhatOperatorsAskIsReadFromIndexes) {
  const auto store = open_store();
  store->sagas()->prepare().value();
  auto sections = sql::Sections::parse(sql_files).value();
  const auto user = connect();
  for (const auto& [name, index] : {std::pair("saga_pending", "sagabox_saga_inbox_saga"),
                                    std::pair("saga_without_due", "sagabox_saga_without_due")}) {
    const auto statement = sections.take(name);
    std::string plan;
    for (const auto& part : statement.parts()) {
      const auto rows = sagabox::testing::rows_of(user.get(), "EXPLAIN QUERY PLAN " + part.sql);
      for (const auto& row : rows) plan += row.at(3) + "\n";
    }
    EXPECT_EQ(plan.find("SCAN sagabox_saga"), std::string::npos) << plan;
    EXPECT_NE(plan.find(index), std::string::npos) << plan;
  }
}

TEST_F(SqliteSagaFigures, MigrateDownRefusesWhileSagasAreActive) {
  open_store()->sagas()->prepare().value();
  sql("INSERT INTO sagabox_saga (id, tenant, definition, definition_version, state, quarantined, "
      "version, key, isolate, started_at, changed_at, body) VALUES ('s1', 'acme', 'travel', 1, "
      "'paused', 0, 1, '', '', 0, 0, '{}')");
  const spi::SchemaDown everything{.engine = "saga", .to = 0};
  EXPECT_EQ(schema()->down(everything).error().code, Code::tx_invalid_state);
  sql("UPDATE sagabox_saga SET state = 'failed'");
  schema()->down(everything).value();
  EXPECT_EQ(sql("SELECT count(*) FROM sqlite_schema WHERE name = 'sagabox_saga'").at(0), "0");
}

}  // namespace
}  // namespace sagabox::sqlite
