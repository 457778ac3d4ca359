#include "integration/postgres/world.hpp"

#include <atomic>
#include <cstdlib>

namespace sagabox::integration {
namespace {

using testing::run_sql;

class PostgresDelivery : public PostgresWorld {};

TEST_F(PostgresDelivery, MessageOfABorrowedTransactionComesAndARollbackLeavesNothing) {
  auto outbox = started(*store, into_inbox());
  auto connection = database->connect();
  run_sql(connection.get(), "CREATE TABLE " + database->schema() + ".invoice (id int)");
  const auto order = [&](const std::string& payload, const std::string& end) {
    run_sql(connection.get(), "BEGIN");
    run_sql(connection.get(), "INSERT INTO " + database->schema() + ".invoice VALUES (1)");
    auto tx = postgres::enlist(connection.get(), database->schema()).value();
    (void)outbox.write(tx, placed(payload)).value();
    run_sql(connection.get(), end);
  };

  order("\"lost\"", "ROLLBACK");
  order("\"kept\"", "COMMIT");

  ASSERT_TRUE(settles_to(1));
  ASSERT_EQ(inbox.size(), 1U);
  EXPECT_EQ(inbox.all()[0].payload, "\"kept\"");
  EXPECT_EQ(database->sql("SELECT count(*) FROM " + database->schema() + ".invoice")[0], "1");
}

TEST_F(PostgresDelivery, WhatASavepointUndidIsNotDeliveredThoughItsTransactionCommits) {
  auto outbox = started(*store, into_inbox());
  ASSERT_TRUE(eventually([&] { return outbox.snapshot().shards_owned == 16; }));
  auto tx = store->begin().value();
  PGconn* connection = postgres::connection_of(*tx);
  EXPECT_FALSE(outbox.write(*tx, placed("\"kept\"")).value()->in_savepoint);
  run_sql(connection, "SAVEPOINT here");
  EXPECT_TRUE(outbox.write(*tx, placed("\"undone\"")).value()->in_savepoint);
  run_sql(connection, "ROLLBACK TO here");
  (void)outbox.write(*tx, placed("\"kept\"")).value();
  run_sql(connection, "RELEASE here");
  tx->commit().value();

  ASSERT_TRUE(settles_to(2));
  outbox.stop().value();
  ASSERT_EQ(inbox.size(), 2U);
  for (const auto& received : inbox.all()) EXPECT_EQ(received.payload, "\"kept\"");
}

TEST_F(PostgresDelivery, PlainInsertOfAnotherLanguageIsDelivered) {
  auto outbox = started(*store, into_inbox());
  database->sql("INSERT INTO " + outbox_table() +
                " (topic, payload) VALUES ('orders.order.placed.v1', '{\"id\":1}')");
  ASSERT_TRUE(settles_to(1));
  EXPECT_EQ(inbox.all().at(0).payload, "{\"id\":1}");
}

TEST_F(PostgresDelivery, PlainInsertThatIsNoMessageDiesAndSaysWhy) {
  auto outbox = started(*store, into_inbox());
  database->sql("INSERT INTO " + outbox_table() +
                " (topic, payload) VALUES ('orders.order.placed.v1', '{broken')");
  ASSERT_TRUE(eventually([&] { return stats().dead == 1; }));
  const auto row =
      store->outbox_admin().list({.table = table, .with_payload = true}).value().rows.at(0);
  EXPECT_NE(row.decode_error.find("payload"), std::string::npos) << row.decode_error;
  EXPECT_EQ(row.error.find("{broken"), std::string::npos);
  EXPECT_EQ(inbox.size(), 0U);
}

TEST_F(PostgresDelivery, TwoProcessesShareTheShardsAndDeliverEverythingOnceInOrder) {
  const auto other_store = open();
  Inbox other;
  auto first = started(*store, into_inbox());
  auto second = started(*other_store, [&](const Delivery& d) {
    other.add(d);
    return done();
  });
  ASSERT_TRUE(eventually(
      [&] { return first.snapshot().shards_owned == 8 && second.snapshot().shards_owned == 8; }));

  for (int batch = 0; batch < 50; ++batch) {
    std::vector<NewMessage> messages;
    for (int key = 0; key < 20; ++key) {
      messages.push_back(placed(std::to_string(1000 + batch), "key " + std::to_string(key)));
    }
    (void)store
        ->transaction(
            [&](OwnedTransaction& tx) { return first.write_all(tx, std::move(messages)); })
        .value();
  }

  ASSERT_TRUE(settles_to(1000));
  EXPECT_GT(inbox.size(), 0U);
  EXPECT_GT(other.size(), 0U);
  auto times = inbox.times_by_id();
  for (const auto& [id, count] : other.times_by_id()) times[id] += count;
  EXPECT_EQ(times.size(), 1000U);
  for (const auto& [id, count] : times) EXPECT_EQ(count, 1U) << id;
  for (int key = 0; key < 20; ++key) {
    const auto name = "key " + std::to_string(key);
    auto payloads = inbox.payloads_of_key(name);
    for (auto& payload : other.payloads_of_key(name)) payloads.push_back(payload);
    EXPECT_EQ(payloads.size(), 50U);
    EXPECT_TRUE(std::ranges::is_sorted(payloads)) << name;
  }
}

TEST_F(PostgresDelivery, LateCommitOfALowerSequenceIsDeliveredAndOthersDoNotWait) {
  auto outbox = started(*store, into_inbox());
  auto late = store->begin().value();
  (void)outbox.write(*late, placed("\"late\"")).value();
  for (int i = 0; i < 100; ++i) write(outbox, placed("\"early\""));
  ASSERT_TRUE(eventually([&] { return inbox.size() == 100; })) << "nobody waits for the late one";
  late->commit().value();
  ASSERT_TRUE(settles_to(101));
  EXPECT_EQ(inbox.all().back().payload, "\"late\"");
  EXPECT_LT(inbox.all().back().sequence, inbox.all().front().sequence);
}

TEST_F(PostgresDelivery, EverythingIsDeliveredThoughConnectionsAreCutAllTheTime) {
  const auto cut_store =
      postgres::open(database->url() + " application_name=cut_" + database->schema(),
                     database->options())
          .value();
  auto outbox = started(*cut_store, into_inbox());
  auto producer = Outbox::writer_only(*store, defaults()).value();
  std::atomic<bool> written{false};
  std::thread cutter([&] {
    auto connection = database->connect();
    while (!written.load()) {
      run_sql(connection.get(),
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
              "'cut_" +
                  database->schema() + "'");
      run_sql(connection.get(), "SELECT pg_sleep(0.05)");
    }
  });
  for (int i = 0; i < 500; ++i) write(producer, placed(std::to_string(1000 + i), "k"));
  written.store(true);
  cutter.join();

  ASSERT_TRUE(settles_to(500));
  std::vector<std::string> firsts;
  for (auto& payload : inbox.payloads_of_key("k")) {
    if (firsts.empty() || payload > firsts.back()) firsts.push_back(payload);
  }
  EXPECT_EQ(firsts.size(), 500U) << "each came, and for the first time in order";
}

class PostgresRestart : public ::testing::Test {};

TEST_F(PostgresRestart, OutboxGoesOnAfterTheServerCrashed) {
  if (const auto& problem = testing::PostgresServer::shared().problem; !problem.empty()) {
    GTEST_SKIP() << problem;
  }
  const auto server = testing::PostgresServer::start(getpid());
  ASSERT_EQ(server.problem, "");
  const testing::PgConnection connection(PQconnectdb(server.url().c_str()));
  const auto programs =
      run_sql(connection.get(), "SELECT setting FROM pg_config WHERE name = 'BINDIR'").at(0);
  const auto store = postgres::open(server.url()).value();
  OutboxOptions options;
  options.table = "orders";
  Inbox inbox;
  auto outbox = Outbox::single_process(*store, options).value();
  outbox
      .listen(topic,
              [&](const Delivery& d) {
                inbox.add(d);
                return done();
              })
      .value();
  outbox.start().value();
  std::size_t committed = 0;
  const auto write_some = [&] {
    for (int i = 0; i < 100; ++i) {
      auto result = store->transaction([&](OwnedTransaction& tx) {
        return outbox.write(tx, {.topic = topic, .payload = json("{}")});
      });
      if (result.ok()) ++committed;
    }
  };
  write_some();

  const std::string as_owner = geteuid() == 0 ? "runuser -u postgres -- " : "";
  const std::string restart = "cd / && " + as_owner + programs + "/pg_ctl -D " +
                              (server.folder / "data").string() +
                              " -m immediate -w restart >/dev/null 2>&1 </dev/null";
  ASSERT_EQ(std::system(restart.c_str()), 0);

  EXPECT_TRUE(eventually([&] { return store->begin().ok(); }));
  const auto before = committed;
  write_some();
  EXPECT_GT(committed, before);
  EXPECT_TRUE(eventually([&] { return inbox.times_by_id().size() >= committed; }));
  const auto table = TableName::parse("orders").value();
  EXPECT_TRUE(eventually([&] {
    const auto now = store->outbox_admin().stats(table);
    return now.ok() && now->pending == 0 && now->done >= committed;
  }));
  outbox.stop().value();
  testing::PostgresServer::stop(server.folder);
}

}  // namespace
}  // namespace sagabox::integration
