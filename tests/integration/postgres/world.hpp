#pragma once

#include "integration/outbox/world.hpp"
#include "support/postgres_database.hpp"
#include "support/postgres_server.hpp"

#include <sagabox/stores/postgres.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Outboxes on a real PostgreSQL.
namespace sagabox::integration {

inline constexpr std::uint16_t shard_count = 16;
inline const std::vector<spi::Scope> orders_scopes{"outbox:orders"};

class PostgresWorld : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto& problem = testing::PostgresServer::shared().problem; !problem.empty()) {
      GTEST_SKIP() << problem;
    }
    database.emplace();
    store = open();
  }

  [[nodiscard]] std::unique_ptr<Store> open() const {
    return postgres::open(database->url(), database->options()).value();
  }
  static OutboxOptions defaults() {
    OutboxOptions options;
    options.table = "orders";
    options.retry.backoff_min = milliseconds(1);
    options.retry.backoff_max = milliseconds(5);
    options.poll_interval = milliseconds(10);
    options.lease = seconds(30);
    return options;
  }
  Listener into_inbox() {
    return [this](const Delivery& d) {
      inbox.add(d);
      return done();
    };
  }
  static Outbox started(Store& on, Listener listener, OutboxOptions options = defaults()) {
    auto outbox = Outbox::several_processes(on, std::move(options)).value();
    outbox.listen(topic, std::move(listener)).value();
    outbox.start().value();
    return outbox;
  }
  Written write(Outbox& outbox, NewMessage message) {
    return *store
                ->transaction(
                    [&](OwnedTransaction& tx) { return outbox.write(tx, std::move(message)); })
                .value();
  }
  [[nodiscard]] spi::TableStats stats() { return store->outbox_admin().stats(table).value(); }
  [[nodiscard]] bool settles_to(std::uint64_t done) {
    return eventually([&] {
      const auto now = store->outbox_admin().stats(table);
      return now.ok() && now->pending == 0 && now->done == done;
    });
  }
  [[nodiscard]] std::string outbox_table() const { return database->schema() + ".orders_outbox"; }

  const TableName table = TableName::parse("orders").value();
  std::optional<testing::PostgresDatabase> database;
  std::unique_ptr<Store> store;
  Inbox inbox;
};

}  // namespace sagabox::integration
