#include "integration/outbox/world.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <atomic>
#include <memory>

namespace sagabox::integration {
namespace {

using testing::connect_sqlite;
using testing::run_sql;

/// Outboxes on a file.
class SqliteDelivery : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Store> open() const {
    return sqlite::open(folder.file(), {.lock_max = seconds(60)}).value();
  }
  [[nodiscard]] testing::SqliteConnection connect() const {
    return connect_sqlite(folder.file(), seconds(60));
  }
  static OutboxOptions defaults() {
    OutboxOptions options;
    options.table = "orders";
    options.retry.backoff_min = milliseconds(1);
    options.retry.backoff_max = milliseconds(5);
    options.lease = seconds(30);
    return options;
  }
  Listener into(Inbox& to) {
    return [&to](const Delivery& d) {
      to.add(d);
      return done();
    };
  }
  static Outbox started(Store& on, Listener listener, OutboxOptions options = defaults()) {
    auto outbox = Outbox::several_processes(on, std::move(options)).value();
    outbox.listen(topic, std::move(listener)).value();
    outbox.start().value();
    return outbox;
  }
  void write(Outbox& outbox, std::vector<NewMessage> messages) {
    (void)store
        ->transaction(
            [&](OwnedTransaction& tx) { return outbox.write_all(tx, std::move(messages)); })
        .value();
  }
  [[nodiscard]] spi::TableStats stats() { return store->outbox_admin().stats(table).value(); }
  [[nodiscard]] bool settles_to(std::uint64_t delivered) {
    return eventually([&] { return stats().pending == 0 && stats().done == delivered; });
  }

  const TableName table = TableName::parse("orders").value();
  testing::SqliteFolder folder;
  std::unique_ptr<Store> store = open();
  Inbox inbox;
};

TEST_F(SqliteDelivery, WhatASavepointUndidIsNotDeliveredThoughItsTransactionCommits) {
  auto outbox = started(*store, into(inbox));
  ASSERT_TRUE(eventually([&] { return outbox.snapshot().shards_owned == 1; }));
  const auto write_three = [&](Transaction& tx, sqlite3* connection) {
    (void)outbox.write(tx, placed("\"kept\"")).value();
    run_sql(connection, "SAVEPOINT here");
    EXPECT_TRUE(outbox.write(tx, placed("\"undone\"")).value()->in_savepoint);
    run_sql(connection, "ROLLBACK TO here");
    (void)outbox.write(tx, placed("\"kept\"")).value();
    run_sql(connection, "RELEASE here");
  };
  auto owned = store->begin().value();
  write_three(*owned, sqlite::connection_of(*owned));
  owned->commit().value();
  owned.reset();
  auto connection = connect();
  run_sql(connection.get(), "BEGIN IMMEDIATE");
  auto borrowed = sqlite::enlist(connection.get()).value();
  write_three(borrowed, connection.get());
  run_sql(connection.get(), "COMMIT");
  borrowed.committed();

  ASSERT_TRUE(settles_to(4));
  outbox.stop().value();
  ASSERT_EQ(inbox.size(), 4U);
  for (const auto& received : inbox.all()) EXPECT_EQ(received.payload, "\"kept\"");
}

TEST_F(SqliteDelivery, MessageOfABorrowedTransactionComesAndARollbackLeavesNothing) {
  auto outbox = started(*store, into(inbox));
  auto connection = connect();
  run_sql(connection.get(), "CREATE TABLE invoice (id INTEGER)");
  const auto order = [&](const std::string& payload, const std::string& end) {
    run_sql(connection.get(), "BEGIN IMMEDIATE; INSERT INTO invoice VALUES (1)");
    auto tx = sqlite::enlist(connection.get()).value();
    (void)outbox.write(tx, placed(payload)).value();
    run_sql(connection.get(), end);
  };

  order("\"lost\"", "ROLLBACK");
  order("\"kept\"", "COMMIT");

  ASSERT_TRUE(settles_to(1));
  ASSERT_EQ(inbox.size(), 1U);
  EXPECT_EQ(inbox.all()[0].payload, "\"kept\"");
  EXPECT_EQ(run_sql(connection.get(), "SELECT count(*) FROM invoice").at(0), "1");
}

TEST_F(SqliteDelivery, PlainInsertOfAnotherLanguageIsDeliveredOrDiesAndSaysWhy) {
  auto outbox = started(*store, into(inbox));
  run_sql(connect().get(),
          "INSERT INTO orders_outbox (topic, payload) VALUES ('orders.order.placed.v1', "
          "'{\"id\":1}'), ('orders.order.placed.v1', '{broken')");
  ASSERT_TRUE(eventually([&] { return stats().done == 1 && stats().dead == 1; }));
  EXPECT_EQ(inbox.all().at(0).payload, "{\"id\":1}");
  const auto row = store->outbox_admin().list({.table = table}).value().rows.at(0);
  EXPECT_EQ(row.error.find("{broken"), std::string::npos);
}

TEST_F(SqliteDelivery, KeysComeInOrderThoughSomeFailAndManyWrite) {
  std::atomic<int> calls = 0;
  auto outbox = started(*store, [&](const Delivery& d) -> Outcome {
    if (++calls % 7 == 0) return retry("not now");
    inbox.add(d);
    return done();
  });
  constexpr int threads = 3;
  constexpr int batches = 20;
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < batches; ++i) {
        std::vector<NewMessage> messages;
        for (int key = 0; key < 3; ++key) {
          messages.push_back(
              placed(std::to_string(100 + i), std::to_string(t) + "/" + std::to_string(key)));
        }
        messages.push_back(placed("\"without a key\""));
        write(outbox, std::move(messages));
      }
    });
  }
  for (auto& writer : writers) writer.join();

  ASSERT_TRUE(settles_to(threads * batches * 4));
  for (int t = 0; t < threads; ++t) {
    for (int key = 0; key < 3; ++key) {
      const auto came = inbox.payloads_of_key(std::to_string(t) + "/" + std::to_string(key));
      EXPECT_EQ(came.size(), batches);
      EXPECT_TRUE(std::ranges::is_sorted(came));
    }
  }
}

TEST_F(SqliteDelivery, StandByTakesOverAtOnceWhenTheOwnerStops) {
  const auto other_store = open();
  Inbox other;
  auto first = started(*store, into(inbox));
  ASSERT_TRUE(eventually([&] { return first.snapshot().shards_owned == 1; }));
  auto second = started(*other_store, into(other));
  write(first, {placed("1")});
  ASSERT_TRUE(settles_to(1));
  EXPECT_EQ(other.size(), 0U);

  first.stop().value();

  auto writes = Outbox::writer_only(*store, defaults()).value();
  write(writes, {placed("2")});
  ASSERT_TRUE(settles_to(2));
  EXPECT_EQ(other.size(), 1U);
}

TEST_F(SqliteDelivery, SeveralTablesAndFilesAtOnce) {
  testing::SqliteFolder elsewhere;
  const auto other_file = sqlite::open(elsewhere.file()).value();
  auto options = defaults();
  options.table = "billing";
  Inbox billing;
  Inbox other;
  auto orders_outbox = started(*store, into(inbox));
  auto billing_outbox = started(*store, into(billing), options);
  auto other_outbox = started(*other_file, into(other));
  write(orders_outbox, {placed("1")});
  write(billing_outbox, {placed("2")});
  (void)other_file
      ->transaction([&](OwnedTransaction& tx) { return other_outbox.write(tx, placed("3")); })
      .value();
  ASSERT_TRUE(eventually([&] { return inbox.size() + billing.size() + other.size() == 3; }));
  EXPECT_EQ(inbox.all().at(0).payload, "1");
  EXPECT_EQ(billing.all().at(0).payload, "2");
  EXPECT_EQ(other.all().at(0).payload, "3");
}

}  // namespace
}  // namespace sagabox::integration
