#include "conformance/hub/hub_conformance.hpp"
#include "conformance/idempotency/idempotency_conformance.hpp"
#include "conformance/idempotency/inbox_conformance.hpp"
#include "conformance/saga/saga_conformance.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <stdexcept>

namespace sagabox::conformance {
namespace {

using testing::connect_sqlite;
using testing::run_sql;

class SqliteUser final : public UserConnection {
 public:
  explicit SqliteUser(testing::SqliteConnection connection) : connection_(std::move(connection)) {}
  Status begin() override { return run("BEGIN IMMEDIATE"); }
  Status commit() override { return run("COMMIT"); }
  Status rollback() override { return run("ROLLBACK"); }
  Result<std::unique_ptr<Transaction>> enlist() override {
    auto enlisted = sqlite::enlist(connection_.get());
    if (!enlisted.ok()) return enlisted.error();
    return std::unique_ptr<Transaction>(
        std::make_unique<sqlite::Enlisted>(std::move(enlisted).value()));
  }

 private:
  Status run(const std::string& sql) {
    try {
      run_sql(connection_.get(), sql);
      return {};
    } catch (const std::runtime_error& error) {
      return Error{Code::unknown_internal, error.what()};
    }
  }

  testing::SqliteConnection connection_;
};

class SqliteFixture final : public StoreFixture {
 public:
  SqliteFixture()
      : store_(sqlite::open(folder_.file(),
                            {.lock_max = std::chrono::milliseconds(200), .clock = &clock_})
                   .value()),
        observer_(connect_sqlite(folder_.file(), std::chrono::seconds(5))) {}

  Store& store() override { return *store_; }
  void advance_time(Duration by) override { clock_.advance(by); }
  std::unique_ptr<UserConnection> connect() override {
    return std::make_unique<SqliteUser>(connect_sqlite(folder_.file(), std::chrono::seconds(5)));
  }
  Status corrupt(const TableName& table, Sequence sequence) override {
    // Nothing of it can be told, not even whose it is.
    run_sql(observer_.get(), "UPDATE \"" + table.str() +
                                 "_pending\" SET headers = '[1]', tenant = '' WHERE seq = " +
                                 std::to_string(sequence.value));
    return {};
  }
  Status put_history(const TableName& table, Sequence sequence, const std::string& json) override {
    run_sql(observer_.get(), "UPDATE \"" + table.str() + "_pending\" SET history = '" + json +
                                 "' WHERE seq = " + std::to_string(sequence.value));
    return {};
  }
  void remove_audit(std::uint64_t first, std::uint64_t last) override {
    run_sql(observer_.get(), "DELETE FROM sagabox_audit_log WHERE number BETWEEN " +
                                 std::to_string(first) + " AND " + std::to_string(last));
  }
  bool remove_audit_head() override {
    run_sql(observer_.get(), "DELETE FROM sagabox_audit_head");
    return true;
  }
  std::optional<StoredRow> look(const TableName& table, const MessageId& id) override {
    const std::string columns = ", seq, attempts, code, error FROM \"" + table.str();
    const std::string where = "\" WHERE id = '" + id.str() + "'";
    const auto row = run_sql(
        observer_.get(), "SELECT CASE WHEN due IS NULL THEN 0 ELSE 1 END" + columns + "_pending" +
                             where + " UNION ALL SELECT 2" + columns + "_archive" + where +
                             " UNION ALL SELECT CASE state WHEN 'dead' THEN 3 ELSE 4 END" +
                             columns + "_dead" + where);
    if (row.empty()) return std::nullopt;
    return StoredRow{.state = static_cast<StoredRow::State>(std::stoi(row[0])),
                     .sequence = Sequence{std::stoull(row[1])},
                     .attempts = static_cast<std::uint32_t>(std::stoul(row[2])),
                     .code = code_from_name(row[3]),
                     .error = row[4]};
  }

 private:
  testing::SqliteFolder folder_;
  testing::FakeClock clock_;
  std::unique_ptr<Store> store_;
  testing::SqliteConnection observer_;
};

StoreKind file_kind() {
  return {.name = "File",
          .make = [] { return std::make_unique<SqliteFixture>(); },
          .property_runs = 40};
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance, ::testing::Values(file_kind()), kind_name);
INSTANTIATE_TEST_SUITE_P(Sqlite, IdempotencyConformance, ::testing::Values(file_kind()), kind_name);
INSTANTIATE_TEST_SUITE_P(Sqlite, InboxConformance, ::testing::Values(file_kind()), kind_name);
INSTANTIATE_TEST_SUITE_P(Sqlite, SagaConformance, ::testing::Values(file_kind()), kind_name);
INSTANTIATE_TEST_SUITE_P(Sqlite, HubConformance, ::testing::Values(file_kind()), kind_name);

}  // namespace
}  // namespace sagabox::conformance
