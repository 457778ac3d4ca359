#include "conformance/schema/schema_conformance.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/stores/sqlite.hpp>

namespace sagabox::conformance {
namespace {

class SqliteSchemaFixture final : public SchemaFixture {
 public:
  std::unique_ptr<spi::SchemaStore> schema() override {
    return sqlite::open_schema(folder_.file(), {.lock_max = std::chrono::seconds(60)}).value();
  }
  std::unique_ptr<Store> store() override { return sqlite::open(folder_.file()).value(); }
  void record_checksum(const spi::SchemaStep& step, const std::string& checksum) override {
    sql("UPDATE sagabox_migration SET checksum = '" + checksum +
        "' WHERE number = " + std::to_string(step.number) + " AND outbox = '" + step.outbox + "'");
  }
  void forget_checksums() override { sql("ALTER TABLE sagabox_migration DROP COLUMN checksum"); }
  void record_step(int number) override {
    sql("INSERT INTO sagabox_migration (number, name, applied_at) VALUES (" +
        std::to_string(number) + ", 'newer', 0)");
  }

 private:
  void sql(const std::string& text) {
    const auto user = testing::connect_sqlite(folder_.file(), std::chrono::seconds(5));
    testing::run_sql(user.get(), text);
  }

  testing::SqliteFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, SchemaConformance,
                         ::testing::Values(SchemaKind{
                             .name = "File",
                             .make = [] { return std::make_unique<SqliteSchemaFixture>(); }}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace sagabox::conformance
