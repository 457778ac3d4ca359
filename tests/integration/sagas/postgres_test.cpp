#include "integration/sagas/world.hpp"
#include "support/postgres_database.hpp"

#include <sagabox/stores/postgres.hpp>

#include <utility>

namespace sagabox::integration {
namespace {

std::shared_ptr<Store> open_saga_schema() {
  struct Kept {
    testing::PostgresDatabase database;
    std::unique_ptr<Store> store = postgres::open(database.url(), database.options()).value();
  };
  auto kept = std::make_shared<Kept>();
  auto* const store = kept->store.get();
  return {std::move(kept), store};
}

INSTANTIATE_TEST_SUITE_P(Postgres, SagasTest,
                         ::testing::Values(SagaStoreCase{"postgres", open_saga_schema}),
                         saga_store_name);
INSTANTIATE_TEST_SUITE_P(Postgres, SagaRoutesTest,
                         ::testing::Values(SagaStoreCase{"postgres", open_saga_schema}),
                         saga_store_name);

}  // namespace
}  // namespace sagabox::integration
