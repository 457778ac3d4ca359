#pragma once

#include "support/sqlite_database.hpp"

#include <sagabox/random.hpp>
#include <sagabox/stores/sqlite.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace sagabox::sqlite {

/// A file of its own.
class SqliteTest : public ::testing::Test {
 protected:
  using Connection = sagabox::testing::SqliteConnection;

  [[nodiscard]] std::string path() const { return folder_.file(); }
  std::unique_ptr<Store> open_store(const Options& options = {}) {
    auto store = open(path(), options).value();
    store->outbox().prepare(table_).value();
    return store;
  }
  [[nodiscard]] std::unique_ptr<spi::SchemaStore> schema() const {
    return open_schema(path()).value();
  }
  [[nodiscard]] Connection connect(Duration lock_max = std::chrono::seconds(10)) const {
    return sagabox::testing::connect_sqlite(path(), lock_max);
  }
  std::vector<std::string> sql(const std::string& text) {
    if (!observer_) observer_ = connect();
    return sagabox::testing::run_sql(observer_.get(), text);
  }
  std::string count(const std::string& from) { return sql("SELECT count(*) FROM " + from).at(0); }

  std::shared_ptr<const Message> message(std::string id = {}) {
    return std::make_shared<const Message>(
        Message::build(
            {.topic = "orders.order.placed.v1", .payload = json("{}"), .id = std::move(id)},
            MessageRules{}, ids_, author_clock_)
            .value());
  }
  Result<Written> write(Transaction& tx, const std::shared_ptr<const Message>& one) {
    auto written = tx.outbox().insert(table_, std::span(&one, 1));
    if (!written.ok()) return written.error();
    return written->front();
  }
  Result<Written> write(Store& store, std::string id = {}) {
    const auto one = message(std::move(id));
    return store.transaction([&](OwnedTransaction& tx) { return write(tx, one); });
  }
  std::size_t readable(Store& store) {
    const spi::Range all{Shard{0}, spi::Lane{1}, {}, 1000};
    return store.outbox().read(table_, std::span(&all, 1), 1'000'000).value().rows.size();
  }

  sagabox::testing::SqliteFolder folder_;
  Connection observer_;
  TableName table_ = TableName::parse("orders").value();
  sagabox::testing::FakeClock author_clock_;
  std::unique_ptr<Random> random_ = seeded_random(7);
  UlidSource ids_{author_clock_, *random_};
};

}  // namespace sagabox::sqlite
