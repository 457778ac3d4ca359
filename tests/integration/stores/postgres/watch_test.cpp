#include "integration/stores/postgres/world.hpp"

namespace sagabox::postgres {
namespace {

using Values = std::vector<std::string>;

class PostgresWatch : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open_store();
    database_->sql("CREATE TABLE " + watched_ +
                   " (id int PRIMARY KEY, \"it's\" text, secret text); CREATE TABLE pairs "
                   "(a int, b int, PRIMARY KEY (a, b))");
  }
  std::string watch(const std::string& table, const std::string& more) {
    try {
      database_->sql("SELECT " +
                     in_schema("watch_table('" + table + "', 'orders.order.{event}.v1'") + more +
                     ", outbox => 'orders')");
    } catch (const std::runtime_error& refused) {
      return refused.what();
    }
    return "";
  }
  /// Topic, key and payload of the newest message, and takes it away.
  Values newest() {
    return database_->sql("DELETE FROM " + in_schema("orders_outbox") +
                          " WHERE seq = (SELECT max(seq) "
                          "FROM " +
                          in_schema("orders_outbox") +
                          ") RETURNING topic, key, convert_from(payload, 'UTF8')::jsonb - "
                          "'{table,schema}'::text[]");
  }

  std::unique_ptr<Store> store_;
  std::string watched_ = "\"Or ders\"";

  void TearDown() override {
    if (database_) database_->sql("DROP TABLE IF EXISTS " + watched_);
    PostgresTest::TearDown();
  }
};

TEST_F(PostgresWatch, EveryChangeOfARowIsAMessageOfItsTransaction) {
  ASSERT_EQ(watch(watched_, ""), "");
  database_->sql("INSERT INTO " + watched_ + " VALUES (1, 'x', 's')");
  EXPECT_EQ(newest(), (Values{"orders.order.inserted.v1", "1",
                              R"({"new": {"id": 1, "it's": "x", "secret": "s"}, "old": null, )"
                              R"("event": "inserted"})"}));
  database_->sql("UPDATE " + watched_ + " SET \"it's\" = 'y'");
  EXPECT_EQ(newest(), (Values{"orders.order.updated.v1", "1",
                              R"({"new": {"id": 1, "it's": "y", "secret": "s"}, "old": {"id": 1, )"
                              R"("it's": "x", "secret": "s"}, "event": "updated"})"}));
  database_->sql("BEGIN; DELETE FROM " + watched_ + "; ROLLBACK");
  EXPECT_EQ(count("orders_outbox"), "0");
  database_->sql("DELETE FROM " + watched_);
  EXPECT_EQ(newest().at(0), "orders.order.deleted.v1");
}

TEST_F(PostgresWatch, OnlyChosenColumnsAndEvents) {
  ASSERT_EQ(watch(watched_, ", events => '{insert,update}', columns => '{id,\"it''s\"}'"), "");
  database_->sql("INSERT INTO " + watched_ + " VALUES (1, 'x', 'hidden')");
  EXPECT_EQ(newest().at(2).find("hidden"), std::string::npos);
  database_->sql("UPDATE " + watched_ + " SET secret = 'other'; DELETE FROM " + watched_);
  EXPECT_EQ(count("orders_outbox"), "0");
}

TEST_F(PostgresWatch, AgainReplacesTheSettingsAndUnwatchEndsIt) {
  ASSERT_EQ(watch(watched_, ""), "");
  ASSERT_EQ(watch(watched_, ", key_column => 'it''s'"), "");
  database_->sql("INSERT INTO " + watched_ + " VALUES (1, 'x', 's')");
  EXPECT_EQ(newest().at(1), "x");
  EXPECT_EQ(count("orders_outbox"), "0") << "one message a change";
  const auto unwatch = "SELECT " + in_schema("unwatch_table('" + watched_ + "', 'orders')");
  EXPECT_EQ(database_->sql(unwatch), Values{"t"});
  EXPECT_EQ(database_->sql(unwatch), Values{"f"});
  database_->sql("INSERT INTO " + watched_ + " VALUES (2, 'x', 's')");
  EXPECT_EQ(count("orders_outbox"), "0");
}

TEST_F(PostgresWatch, SaysWhatIsWrong) {
  const auto refused = [&](const std::string& table, const std::string& more,
                           const std::string& expected) {
    const auto said = watch(table, more);
    EXPECT_NE(said.find(expected), std::string::npos) << said;
  };
  refused(watched_, ", key_column => 'nix'", "'nix' is no column of");
  refused(watched_, ", columns => '{id,nix}'", "'nix' is no column of");
  refused(watched_, ", events => '{truncate}'", "events: give one or more of");
  refused("pairs", "", "has no primary key of one column");
  refused(in_schema("orders_messages"), ", key_column => 'id'", "is no table");
  for (const auto* own : {"shard_owner", "orders_outbox", "orders_dead", "orders_archive_rest"}) {
    refused(in_schema(own), ", key_column => ''", "is a table of sagabox");
  }
  EXPECT_EQ(watch("pairs", ", key_column => ''"), "");
}

TEST_F(PostgresWatch, MigratingDownEndsIt) {
  ASSERT_EQ(watch(watched_, ""), "");
  schema()->down({.to = 0}).value();
  database_->sql("INSERT INTO " + watched_ + " VALUES (1, 'x', 's')");
}

class PostgresView : public PostgresTest {};

TEST_F(PostgresView, ShowsEveryMessageAndPayloadsThatAreText) {
  const auto store = open_store();
  const auto one = [&](const std::string& what) {
    return database_->sql("SELECT state, payload, age < interval '1 hour' FROM " +
                          in_schema("orders_messages") + " WHERE id = '" + what + "'");
  };
  database_->sql("SELECT " +
                 in_schema("enqueue('t', '{\"a\":1}', id => 'fresh', outbox => 'orders')"));
  database_->sql(
      "SELECT " +
      in_schema("enqueue('t', '{}', id => 'later', delay => '1 h', outbox => 'orders')"));
  database_->sql("SELECT " +
                 in_schema("enqueue('t', '\\x00'::bytea, id => 'bytes', outbox => 'orders')"));
  database_->sql("INSERT INTO " + in_schema("orders_outbox") +
                 " (id, topic, payload) VALUES ('broken', 't', '\\xff')");
  EXPECT_EQ(one("fresh"), (Values{"pending", "{\"a\":1}", "t"}));
  EXPECT_EQ(one("later"), (Values{"waiting", "{}", "t"}));
  EXPECT_EQ(one("bytes"), (Values{"pending", "", "t"}));
  EXPECT_EQ(one("broken"), (Values{"pending", "", "t"}));
  database_->sql(
      "INSERT INTO " + in_schema("orders_dead") +
      " (seq, id, shard, state, ended_at, attempts, replays, written_at, tenant, topic, "
      "aggregate_type, priority, payload, is_json, content_type, occurred_at, error) VALUES "
      "(9, 'x', 0, 'dead', now(), 1, 0, now(), 't', 't', 'a', 1, '{}', true, 'c', now(), "
      "'it broke')");
  EXPECT_EQ(database_->sql("SELECT state, error FROM " + in_schema("orders_messages") +
                           " WHERE id = 'x'"),
            (Values{"dead", "it broke"}));
}

class PostgresHorizon : public PostgresTest {};

TEST_F(PostgresHorizon, OldestTransactionAndSlotsAreInTheStats) {
  const auto store = open_store();
  const auto holder = database_->connect();
  sagabox::testing::run_sql(holder.get(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
  const auto age = [&] {
    return store->outbox_admin().stats(table_).value().oldest_transaction.value();
  };
  // Others use the server too, and theirs may be older.
  const auto of_holder = [&] {
    const auto microseconds = database_->sql(
        "SELECT (extract(epoch FROM clock_timestamp() - xact_start) * 1000000)::bigint FROM "
        "pg_stat_activity WHERE pid = " +
        std::to_string(PQbackendPID(holder.get())));
    return std::chrono::microseconds(std::stoll(microseconds.at(0)));
  };
  const auto first = of_holder();
  EXPECT_GT(first, Duration{});
  EXPECT_GE(age(), first);
  const auto later = of_holder();
  EXPECT_GT(later, first);
  EXPECT_GE(age(), later);
  EXPECT_TRUE(store->outbox_admin().stats(table_)->slot_transactions.has_value());
  const auto pid = std::to_string(PQbackendPID(holder.get()));
  EXPECT_EQ(database_->sql("SELECT count(*) FROM " + in_schema("horizon_holders()") +
                           " WHERE kind = 'transaction' AND transactions >= 0"),
            Values{"1"})
      << pid;
}

}  // namespace
}  // namespace sagabox::postgres
