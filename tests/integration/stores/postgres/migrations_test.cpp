#include "stores/postgres/operate/migrations.hpp"

#include "integration/stores/postgres/world.hpp"
#include "stores/postgres/sql_files.hpp"

#include <array>
#include <thread>

namespace sagabox::postgres {
namespace {

class PostgresMigrations : public PostgresTest {
 protected:
  std::vector<spi::SchemaStep> status() { return schema()->status().value(); }
  Status down(const spi::SchemaDown& request = {.to = 0}) { return schema()->down(request); }
  std::string schemas() {
    return database_
        ->sql("SELECT count(*) FROM pg_namespace WHERE nspname = '" + database_->schema() + "'")
        .at(0);
  }
  void write() {
    store_
        ->transaction([&](OwnedTransaction& tx) {
          const auto one = message();
          return tx.outbox().insert(table_, std::span(&one, 1));
        })
        .value();
  }
  void make() { store_ = open_store(); }
  static std::span<const Migration> steps() { return engines().front().steps; }
  void prepare_without_rights();

  std::unique_ptr<Store> store_;
};

TEST_F(PostgresMigrations, StatusTellsWhatIsAppliedToWhat) {
  auto before = status();
  std::size_t known = 0;
  for (const auto& engine : engines()) known += engine.steps.size();
  ASSERT_EQ(before.size(), known);
  for (const auto& step : before) EXPECT_FALSE(step.applied_at.has_value());
  make();
  auto after = status();
  ASSERT_EQ(after.size(), 2 * steps().size());
  EXPECT_EQ(after[0].outbox, "");
  EXPECT_EQ(after[1].outbox, "orders");
  for (const auto& step : after) EXPECT_TRUE(step.applied_at.has_value());
}

TEST_F(PostgresMigrations, UpTwiceChangesNothing) {
  make();
  write();
  schema()->up({}).value();
  schema()->up({}).value();
  store_->outbox().prepare(table_).value();
  EXPECT_EQ(count("orders_outbox"), "1");
  EXPECT_EQ(status().size(), 2 * steps().size());
}

TEST_F(PostgresMigrations, TwoAtOnceBothSucceed) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto store = open(database_->url(), database_->options()).value();
      const auto prepared = store->outbox().prepare(table_);
      EXPECT_TRUE(prepared.ok()) << prepared.error().text();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count("outbox"), "1");
  EXPECT_EQ(status().size(), 2 * steps().size());
}

TEST_F(PostgresMigrations, DownTakesEverythingBack) {
  make();
  down().value();
  EXPECT_EQ(schemas(), "0");
  down().value();
  make();
  EXPECT_EQ(count("orders_outbox"), "0");
}

TEST_F(PostgresMigrations, DownToAStepKeepsTheMessagesAndUpBringsTheRestBack) {
  make();
  write();
  for (const auto& step : steps()) {
    down({.to = step.number}).value();
    write();
    schema()->up({}).value();
    database_->sql("SELECT " + in_schema("enqueue('t', '{}', outbox => 'orders')"));
  }
  EXPECT_EQ(count("orders_outbox"), std::to_string(1 + 2 * steps().size()));
}

TEST_F(PostgresMigrations, DownRefusesToLosePendingMessages) {
  make();
  write();
  const auto refused = down();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::tx_invalid_state);
  EXPECT_NE(refused.error().message.find("orders"), std::string::npos);
  EXPECT_EQ(count("orders_outbox"), "1");
  down({.to = 0, .force = true}).value();
  EXPECT_EQ(schemas(), "0");
}

TEST_F(PostgresMigrations, DownRefusesToLoseDeadLetters) {
  make();
  database_->sql("INSERT INTO " + in_schema("orders_dead") +
                 " (seq, id, shard, state, ended_at, attempts, replays, written_at, tenant, topic, "
                 "aggregate_type, priority, payload, is_json, content_type, occurred_at) VALUES "
                 "(1, 'x', 0, 'dead', now(), 1, 0, now(), 't', 't', 'a', 1, '', true, 'c', now())");
  EXPECT_FALSE(down().ok());
  EXPECT_EQ(count("orders_dead"), "1");
}

/// An older schema has no room for an id that is there twice; what is lost is not in its way.
TEST_F(PostgresMigrations, ForcedDownTakesEverythingBackThoughIdsAreRepeated) {
  make();
  for (const auto* tenant : {"acme", "other"}) {
    database_->sql("SELECT " + in_schema("enqueue('t', '{}', outbox => 'orders', id => 'same', ") +
                   "tenant => '" + tenant + "')");
  }
  for (const auto* sequence : {"100", "101"}) {
    database_->sql(
        "INSERT INTO " + in_schema("orders_dead") +
        " (seq, id, shard, state, ended_at, attempts, replays, written_at, tenant, topic, "
        "aggregate_type, priority, payload, is_json, content_type, occurred_at) VALUES (" +
        sequence +
        ", 'dead', 0, 'dead', now(), 1, 0, now(), 't', 't', 'a', 1, '', true, 'c', now())");
  }
  const auto refused = down({.to = 5, .force = true});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("an id is there twice"), std::string::npos)
      << refused.error().text();
  EXPECT_FALSE(down().ok()) << "not without force";
  EXPECT_EQ(count("orders_outbox"), "2");
  EXPECT_EQ(count("orders_dead"), "2");

  down({.to = 0, .force = true}).value();

  EXPECT_EQ(schemas(), "0");
  make();
  EXPECT_EQ(count("orders_outbox"), "0");
}

/// An engine beside the outbox, as those to come are.
class PostgresEngines : public PostgresTest {
 protected:
  Migrations migrations() {
    auto sections = sql::Sections::parse(sql_files, database_->schema()).value();
    return {sections, Names::parse(database_->schema()).value(), settings(), 16, both_};
  }
  std::string tables(const std::string& like) {
    return database_
        ->sql("SELECT count(*) FROM pg_tables WHERE schemaname = '" + database_->schema() +
              "' AND tablename LIKE '" + like + "'")
        .at(0);
  }
  std::string schemas() {
    return database_
        ->sql("SELECT count(*) FROM pg_namespace WHERE nspname = '" + database_->schema() + "'")
        .at(0);
  }

  static constexpr std::array note_steps_{
      Migration{1, "notes", R"(CREATE TABLE "{schema}".note (text text))",
                R"(DROP TABLE "{schema}".note)"},
      Migration{2, "authors", R"(ALTER TABLE "{schema}".note ADD COLUMN author text)",
                R"(ALTER TABLE "{schema}".note DROP COLUMN author)"}};
  const std::array<Engine, 2> both_{
      engines().front(), Engine{.name = "notes", .record = "note_migration", .steps = note_steps_}};
};

TEST_F(PostgresEngines, OneIsMadeAndRemovedWithoutTheTablesOfTheOther) {
  migrations().up({.engine = "notes"}).value();
  EXPECT_EQ(tables("%"), "2") << "its record and its table";
  const auto steps = migrations().status().value();
  ASSERT_EQ(steps.size(), 2U);
  for (const auto& step : steps) {
    EXPECT_EQ(step.engine, "notes");
    EXPECT_TRUE(step.applied_at.has_value());
  }
  migrations().down({.engine = "notes", .to = 1}).value();
  EXPECT_THROW(database_->sql("SELECT author FROM " + in_schema("note")), std::runtime_error);
  migrations().down({.engine = "notes", .to = 0}).value();
  EXPECT_EQ(schemas(), "0");
}

TEST_F(PostgresEngines, StepsAreNumberedApart) {
  migrations().up({.outbox = table_}).value();
  EXPECT_EQ(tables("note"), "0");
  migrations().up({.engine = "notes"}).value();
  EXPECT_EQ(migrations().status().value().size(), 2 * engines().front().steps.size() + 2);
  EXPECT_EQ(migrations().up({.engine = "notes", .outbox = table_}).error().code,
            Code::config_invalid);
  migrations().down({.to = 0}).value();
  EXPECT_EQ(tables("orders%"), "0");
  EXPECT_EQ(tables("note"), "1");
  migrations().down({.engine = "notes", .to = 0}).value();
  EXPECT_EQ(schemas(), "0");
}

TEST_F(PostgresMigrations, AnotherShardCountIsRefused) {
  make();
  const auto store = open(database_->url(), {.schema = database_->schema(), .shards = 8}).value();
  const auto prepared = store->outbox().prepare(table_);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, Code::config_invalid);
  EXPECT_NE(prepared.error().message.find("16"), std::string::npos) << prepared.error().message;
}

TEST_F(PostgresMigrations, LongestAndMixedCaseNamesWork) {
  make();
  const std::string longest = "A" + std::string(47, 'z');
  const auto table = TableName::parse(longest).value();
  store_->outbox().prepare(table).value();
  const auto one = message();
  store_
      ->transaction(
          [&](OwnedTransaction& tx) { return tx.outbox().insert(table, std::span(&one, 1)); })
      .value();
  EXPECT_EQ(count("\"" + longest + "_outbox\""), "1");
}

/// As a role that may look at the tables and nothing more.
void PostgresMigrations::prepare_without_rights() {
  const std::string role = database_->schema() + "_role";
  database_->sql("CREATE ROLE " + role + " LOGIN; GRANT USAGE ON SCHEMA " + database_->schema() +
                 " TO " + role + "; GRANT SELECT ON ALL TABLES IN SCHEMA " + database_->schema() +
                 " TO " + role);
  const auto store = open(database_->url() + " user=" + role, database_->options()).value();
  const auto prepared = store->outbox().prepare(table_);
  EXPECT_TRUE(prepared.ok()) << prepared.error().text();
  database_->sql("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(PostgresMigrations, PreparedTablesNeedNoRightToMakeTables) {
  make();
  prepare_without_rights();
}

TEST_F(PostgresMigrations, SchemaOfANewerVersionNeedsNoRightToMakeTablesEither) {
  make();
  database_->sql("INSERT INTO " + in_schema("migration") +
                 " (number, outbox, name) VALUES (999, '', 'newer'), (999, 'orders', 'newer')");
  prepare_without_rights();
}

TEST_F(PostgresMigrations, ArchiveHasADayForYesterdayAndTheDaysAhead) {
  make();
  const auto partitions = [&] {
    return database_
        ->sql("SELECT count(*) FROM pg_inherits WHERE inhparent = '" + in_schema("orders_archive") +
              "'::regclass")
        .at(0);
  };
  EXPECT_EQ(partitions(), "6");
  database_->sql("SELECT " + in_schema("archive_ahead('orders', 3)"));
  EXPECT_EQ(partitions(), "6") << "made once";
  database_->sql("SELECT " + in_schema("archive_ahead('orders', 5)"));
  EXPECT_EQ(partitions(), "8");
}

TEST_F(PostgresMigrations, PurgeOfDoneRowsMakesTheDaysAhead) {
  make();
  const auto last = [&] {
    return database_
        ->sql("SELECT max(inhrelid::regclass::text) FROM pg_inherits WHERE inhparent = '" +
              in_schema("orders_archive") + "'::regclass AND inhrelid::regclass::text LIKE '%_a2%'")
        .at(0);
  };
  const auto before = last();
  database_->advance_time(std::chrono::hours(24 * 2));
  store_->outbox_admin().purge({.table = table_, .older_than = std::chrono::hours(1)}).value();
  EXPECT_GT(last(), before);
}

TEST_F(PostgresMigrations, TablesAreMadeForAQueue) {
  make();
  const auto options =
      database_->sql("SELECT array_to_string(reloptions, ' ') FROM pg_class WHERE oid = '" +
                     in_schema("orders_outbox") + "'::regclass");
  EXPECT_NE(options.at(0).find("autovacuum_vacuum_scale_factor=0"), std::string::npos);
  EXPECT_NE(options.at(0).find("vacuum_truncate=off"), std::string::npos);
  // A transaction must show in snapshots before it draws a number.
  const auto order = database_->sql(
      "SELECT (SELECT attnum FROM pg_attribute WHERE attrelid = t AND attname = 'xid') < (SELECT "
      "attnum FROM pg_attribute WHERE attrelid = t AND attname = 'seq'), seqcache FROM (SELECT '" +
      in_schema("orders_outbox") + "'::regclass AS t) x, pg_sequence WHERE seqrelid = '" +
      in_schema("orders_seq") + "'::regclass");
  EXPECT_EQ(order, (std::vector<std::string>{"t", "1"}));
  EXPECT_THROW(database_->sql("INSERT INTO " + in_schema("orders_outbox") +
                              " (topic, payload, attempts) VALUES ('t', '', -1)"),
               std::runtime_error);
}

}  // namespace
}  // namespace sagabox::postgres
