#include "integration/stores/sqlite/world.hpp"
#include "stores/sqlite/sql_files.hpp"

#include <string>

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

}  // namespace
}  // namespace sagabox::sqlite
