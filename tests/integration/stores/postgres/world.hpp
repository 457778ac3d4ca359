#pragma once

#include "stores/postgres/driver/connection.hpp"
#include "support/postgres_database.hpp"
#include "support/postgres_server.hpp"

#include <sagabox/random.hpp>
#include <sagabox/stores/postgres.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sagabox::postgres {

/// A schema of its own on a real server; the names of its suites begin with Postgres.
class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto& server = sagabox::testing::PostgresServer::shared();
    if (!server.problem.empty()) GTEST_SKIP() << server.problem;
    database_ = std::make_unique<sagabox::testing::PostgresDatabase>();
  }

  [[nodiscard]] ConnectSettings settings() const { return {.url = database_->url()}; }
  std::unique_ptr<Store> open_store(Options options = {}) {
    options.schema = database_->schema();
    auto store = open(database_->url(), options).value();
    store->outbox().prepare(table_).value();
    return store;
  }
  [[nodiscard]] std::unique_ptr<spi::SchemaStore> schema() const {
    return open_schema(database_->url(), database_->options()).value();
  }
  std::shared_ptr<const Message> message(std::string id = {}) {
    return std::make_shared<const Message>(
        Message::build(
            {.topic = "orders.order.placed.v1", .payload = json("{}"), .id = std::move(id)},
            MessageRules{}, ids_, author_clock_)
            .value());
  }
  std::string in_schema(const std::string& name) const { return database_->schema() + "." + name; }
  std::string count(const std::string& name) {
    return database_->sql("SELECT count(*) FROM " + in_schema(name)).at(0);
  }
  /// Returns when a backend waits for a lock and its statement contains `part`.
  void until_blocked(const std::string& part) {
    const auto query =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
        "pid <> pg_backend_pid() AND query LIKE '%" +
        part + "%'";
    while (database_->sql(query).at(0) == "0") std::this_thread::yield();
  }

  std::unique_ptr<sagabox::testing::PostgresDatabase> database_;
  TableName table_ = TableName::parse("orders").value();
  sagabox::testing::FakeClock author_clock_;
  std::unique_ptr<Random> random_ = seeded_random(7);
  UlidSource ids_{author_clock_, *random_};
};

}  // namespace sagabox::postgres
