#include "conformance/claim_conformance.hpp"
#include "conformance/hub/hub_conformance.hpp"
#include "conformance/idempotency/idempotency_conformance.hpp"
#include "conformance/idempotency/inbox_conformance.hpp"
#include "conformance/saga/saga_conformance.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgres_database.hpp"
#include "support/postgres_server.hpp"

#include <sagabox/stores/postgres.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

namespace sagabox::conformance {
namespace {

using testing::PgConnection;
using testing::run_sql;

class PostgresConnection final : public UserConnection {
 public:
  PostgresConnection(PgConnection connection, std::string schema)
      : connection_(std::move(connection)), schema_(std::move(schema)) {}
  Status begin() override { return run("BEGIN"); }
  Status commit() override { return run("COMMIT"); }
  Status rollback() override { return run("ROLLBACK"); }
  Result<std::unique_ptr<Transaction>> enlist() override {
    auto enlisted = postgres::enlist(connection_.get(), schema_);
    if (!enlisted.ok()) return enlisted.error();
    return std::unique_ptr<Transaction>(
        std::make_unique<postgres::Enlisted>(std::move(enlisted).value()));
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

  PgConnection connection_;
  std::string schema_;
};

/// A store as the relays of one claim mode meet it.
class StoreInMode final : public Store {
 public:
  StoreInMode(std::unique_ptr<Store> store, ClaimMode mode)
      : store_(std::move(store)), roles_(store_->claim_roles(mode).value()) {}

  spi::OutboxStore& outbox() override { return roles_.outbox; }
  spi::OutboxAdminStore& outbox_admin() override { return store_->outbox_admin(); }
  spi::ControlStore& control() override { return store_->control(); }
  spi::OwnershipStore& ownership() override { return roles_.ownership; }
  spi::AuditStore& audit() override { return store_->audit(); }
  spi::DoctorStore* doctor() override { return store_->doctor(); }
  spi::IdempotencyStore* idempotency() override { return store_->idempotency(); }
  spi::InboxStore* inbox() override { return store_->inbox(); }
  spi::SagaStore* sagas() override { return store_->sagas(); }
  spi::SagaAdminStore* saga_admin() override { return store_->saga_admin(); }
  std::optional<HubRoles> hub() override { return store_->hub(); }
  Result<std::unique_ptr<OwnedTransaction>> begin() override { return store_->begin(); }
  [[nodiscard]] std::string name() const override { return store_->name(); }

 private:
  std::unique_ptr<Store> store_;
  ClaimRoles roles_;
};

class PostgresFixture final : public StoreFixture {
 public:
  enum class Way : std::uint8_t { direct, pooled };

  explicit PostgresFixture(ClaimMode mode, Way way = Way::direct) {
    // The store is not told of the pooler: it finds out.
    if (way == Way::pooled) {
      pooler_.emplace(testing::PostgresServer::shared(), database_.clock_query());
    }
    store_ =
        std::make_unique<StoreInMode>(postgres::open(url(), database_.options()).value(), mode);
  }

  Store& store() override { return *store_; }
  void prepared() override { database_.remember(); }
  void advance_time(Duration by) override { database_.advance_time(by); }
  std::unique_ptr<UserConnection> connect() override {
    return std::make_unique<PostgresConnection>(PgConnection(PQconnectdb(url().c_str())),
                                                database_.schema());
  }
  Status corrupt(const TableName& table, Sequence sequence) override {
    // Nothing of it can be told, not even whose it is, where its shard does not come from that.
    database_.sql("UPDATE " + name(table, "_outbox") +
                  " SET headers = '[1]', tenant = CASE WHEN key IS NULL THEN '' ELSE tenant END "
                  "WHERE seq = " +
                  std::to_string(sequence.value));
    return {};
  }
  Status put_history(const TableName& table, Sequence sequence, const std::string& json) override {
    database_.sql("UPDATE " + name(table, "_outbox") + " SET history = '" + json +
                  "' WHERE seq = " + std::to_string(sequence.value));
    return {};
  }
  void remove_audit(std::uint64_t first, std::uint64_t last) override {
    database_.sql("DELETE FROM " + database_.schema() + ".audit_log WHERE number BETWEEN " +
                  std::to_string(first) + " AND " + std::to_string(last));
  }
  bool remove_audit_head() override {
    database_.sql("DELETE FROM " + database_.schema() + ".audit_head");
    return true;
  }
  std::optional<StoredRow> look(const TableName& table, const MessageId& id) override {
    const std::string where = " WHERE id = '" + id.str() + "'";
    const std::string columns = ", seq, attempts, code, error FROM ";
    const auto row = database_.sql("SELECT CASE WHEN due IS NULL THEN 0 ELSE 1 END" + columns +
                                   name(table, "_outbox") + where + " UNION ALL SELECT 2" +
                                   columns + name(table, "_archive") + where +
                                   " UNION ALL SELECT CASE state WHEN 'dead' THEN 3 ELSE 4 END" +
                                   columns + name(table, "_dead") + where);
    if (row.empty()) return std::nullopt;
    return StoredRow{.state = static_cast<StoredRow::State>(std::stoi(row[0])),
                     .sequence = Sequence{std::stoull(row[1])},
                     .attempts = static_cast<std::uint32_t>(std::stoul(row[2])),
                     .code = code_from_name(row[3]),
                     .error = row[4]};
  }
  std::optional<TransactionId> id_of(OwnedTransaction& open) override {
    return TransactionId{
        std::stoull(run_sql(postgres::connection_of(open), "SELECT pg_current_xact_id()").at(0))};
  }
  std::optional<TransactionId> writer_of(const TableName& table, Sequence sequence) override {
    return TransactionId{std::stoull(database_
                                         .sql("SELECT xid FROM " + name(table, "_outbox") +
                                              " WHERE seq = " + std::to_string(sequence.value))
                                         .at(0))};
  }

 private:
  [[nodiscard]] std::string name(const TableName& table, std::string_view suffix) const {
    return database_.schema() + ".\"" + table.str() + std::string(suffix) + "\"";
  }

  [[nodiscard]] std::string url() const { return pooler_ ? pooler_->url() : database_.url(); }

  testing::PostgresDatabase database_{testing::PostgresDatabase::Schema::reused};
  std::optional<testing::Pgbouncer> pooler_;
  std::unique_ptr<Store> store_;
};

/// In each of the four.
constexpr int property_runs = 20;

StoreKind in_mode(std::string name, ClaimMode mode) {
  return {.name = std::move(name),
          .make = [mode] { return std::make_unique<PostgresFixture>(mode); },
          .missing = [] { return testing::PostgresServer::shared().problem; },
          .property_runs = property_runs};
}

StoreKind pooled() {
  return {.name = "Pooled",
          .make =
              [] {
                return std::make_unique<PostgresFixture>(ClaimMode::sharded,
                                                         PostgresFixture::Way::pooled);
              },
          .missing = testing::Pgbouncer::missing,
          .property_runs = property_runs};
}

INSTANTIATE_TEST_SUITE_P(Postgres, StoreConformance,
                         ::testing::Values(in_mode("Sharded", ClaimMode::sharded),
                                           in_mode("Leader", ClaimMode::leader),
                                           in_mode("Competing", ClaimMode::competing), pooled()),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(Postgres, ClaimConformance,
                         ::testing::Values(in_mode("Competing", ClaimMode::competing)), kind_name);

INSTANTIATE_TEST_SUITE_P(Postgres, IdempotencyConformance,
                         ::testing::Values(in_mode("Store", ClaimMode::sharded), pooled()),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(Postgres, SagaConformance,
                         ::testing::Values(in_mode("Store", ClaimMode::sharded), pooled()),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(Postgres, HubConformance,
                         ::testing::Values(in_mode("Store", ClaimMode::sharded), pooled()),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(Postgres, InboxConformance,
                         ::testing::Values(in_mode("Store", ClaimMode::sharded), pooled()),
                         kind_name);

}  // namespace
}  // namespace sagabox::conformance
