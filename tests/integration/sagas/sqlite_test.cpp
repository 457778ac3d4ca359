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

INSTANTIATE_TEST_SUITE_P(Sqlite, SagasTest,
                         ::testing::Values(SagaStoreCase{"sqlite", open_saga_file}),
                         saga_store_name);

}  // namespace
}  // namespace sagabox::integration
