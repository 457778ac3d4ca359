#include "integration/sagas/world.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <utility>

namespace sagabox::integration {
namespace {

std::shared_ptr<Store> open_saga_file() {
  struct Kept {
    testing::SqliteFolder folder;
    std::unique_ptr<Store> store = sqlite::open(folder.file()).value();
  };
  auto kept = std::make_shared<Kept>();
  auto* const store = kept->store.get();
  return {std::move(kept), store};
}

/// Programs of other languages have INSERT.
TEST(SqliteSagas, RowsOfAnotherLanguageStartASagaAndSignalIt) {
  const testing::SqliteFolder folder;
  const auto store = sqlite::open(folder.file()).value();
  auto sagas = Sagas::create(*store, {.poll_interval = std::chrono::milliseconds(20)}).value();
  SagaDefinition definition{.name = "travel"};
  definition.steps = {{.name = "paid", .wait = SagaWait::signal}};
  sagas.define(definition).value();
  sagas.start().value();
  const auto connection = testing::connect_sqlite(folder.file(), std::chrono::minutes(1));
  const auto sql = [&](const std::string& text) {
    return testing::run_sql(connection.get(), text);
  };
  const auto start = [&] {
    return sql(
               R"(INSERT INTO sagabox_saga_inbox (definition, body)
                  VALUES ('travel', '{"input":{"city":"Oslo"}}') RETURNING saga)")
        .at(0);
  };
  sql("BEGIN");
  const auto never = start();
  sql("ROLLBACK");
  sql("BEGIN");
  const auto saga = start();
  sql("INSERT INTO sagabox_saga_inbox (saga, definition, kind, body) VALUES ('" + saga +
      R"(', 'travel', 'signal', '{"name":"paid"}'))");
  sql("COMMIT");
  const auto found = [&](const std::string& id) {
    return store->saga_admin()->get(SagaId::parse(id).value()).value();
  };
  for (int look = 0; look < 4000; ++look) {
    if (const auto seen = found(saga); seen && seen->state == SagaState::completed) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const auto seen = found(saga);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->state, SagaState::completed);
  EXPECT_FALSE(found(never)) << "no commit, no saga";
}

INSTANTIATE_TEST_SUITE_P(Sqlite, SagasTest,
                         ::testing::Values(SagaStoreCase{"sqlite", open_saga_file}),
                         saga_store_name);
INSTANTIATE_TEST_SUITE_P(Sqlite, SagaRoutesTest,
                         ::testing::Values(SagaStoreCase{"sqlite", open_saga_file}),
                         saga_store_name);

}  // namespace
}  // namespace sagabox::integration
