#include "conformance/schema/schema_conformance.hpp"
#include "support/postgres_database.hpp"
#include "support/postgres_server.hpp"

#include <sagabox/stores/postgres.hpp>

namespace sagabox::conformance {
namespace {

class PostgresSchemaFixture final : public SchemaFixture {
 public:
  std::unique_ptr<spi::SchemaStore> schema() override {
    return postgres::open_schema(database_.url(), database_.options()).value();
  }
  std::unique_ptr<Store> store() override {
    return postgres::open(database_.url(), database_.options()).value();
  }
  void record_checksum(const spi::SchemaStep& step, const std::string& checksum) override {
    database_.sql("UPDATE " + record() + " SET checksum = '" + checksum + "' WHERE number = " +
                  std::to_string(step.number) + " AND outbox = '" + step.outbox + "'");
  }
  void forget_checksums() override {
    database_.sql("ALTER TABLE " + record() + " DROP COLUMN checksum");
  }
  void record_step(int number) override {
    database_.sql("INSERT INTO " + record() + " (number, name) VALUES (" + std::to_string(number) +
                  ", 'newer')");
  }

 private:
  [[nodiscard]] std::string record() const { return database_.schema() + ".migration"; }

  testing::PostgresDatabase database_;
};

INSTANTIATE_TEST_SUITE_P(Postgres, SchemaConformance,
                         ::testing::Values(SchemaKind{
                             .name = "Schema",
                             .make = [] { return std::make_unique<PostgresSchemaFixture>(); },
                             .reshards = true,
                             .missing = [] { return testing::PostgresServer::shared().problem; }}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace sagabox::conformance
