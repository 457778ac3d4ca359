#include "conformance/ownership/ownership_conformance.hpp"
#include "support/postgres_database.hpp"
#include "support/postgres_server.hpp"

namespace sagabox::ownership {
namespace {

using testing::ManualClock;

/// The database's clock stands still, too, and is set to the workers' before every call.
class PostgresPlace final : public Place, private spi::OwnershipStore {
 public:
  PostgresPlace() {
    database_.sql("UPDATE sagabox_test.shift SET stands = '2026-01-01 00:00:00Z' WHERE name = '" +
                  database_.schema() + "'");
    store_ = postgres::open(database_.url(), database_.options()).value();
    store_->outbox().prepare(TableName::parse("orders").value()).value();
  }

  spi::OwnershipStore& store() override { return *this; }
  ManualClock& clock() override { return clock_; }

 private:
  Result<spi::LeaseReply> join(const WorkerId& worker, Duration ttl,
                               std::span<const spi::Scope> scopes, std::uint16_t count) override {
    return now().join(worker, ttl, scopes, count);
  }
  Result<spi::LeaseReply> renew(const WorkerId& worker, Duration ttl) override {
    return now().renew(worker, ttl);
  }
  Result<spi::Census> census(const spi::Scope& scope) override { return now().census(scope); }
  Result<std::vector<spi::OwnedShard>> take(const spi::Scope& scope, const WorkerId& worker,
                                            std::uint16_t shards_max) override {
    return now().take(scope, worker, shards_max);
  }
  Status release(const spi::Scope& scope, const WorkerId& worker,
                 std::span<const spi::OwnedShard> given) override {
    return now().release(scope, worker, given);
  }
  Status withdraw(const WorkerId& worker, std::span<const spi::Scope> scopes) override {
    return now().withdraw(worker, scopes);
  }
  Status leave(const WorkerId& worker) override { return now().leave(worker); }

  spi::OwnershipStore& now() {
    if (clock_.boot_now() > told_) {
      database_.advance_time(clock_.boot_now() - told_);
      told_ = clock_.boot_now();
    }
    return store_->ownership();
  }

  ManualClock clock_;
  BootTime told_ = clock_.boot_now();
  sagabox::testing::PostgresDatabase database_;
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(
    Postgres, OwnershipConformance,
    ::testing::Values(Backend{
        .name = "postgres",
        .make = [] { return std::make_unique<PostgresPlace>(); },
        .missing = [] { return sagabox::testing::PostgresServer::shared().problem; }}),
    [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace sagabox::ownership
