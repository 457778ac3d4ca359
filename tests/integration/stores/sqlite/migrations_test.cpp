#include "stores/sqlite/migrations.hpp"

#include "integration/stores/sqlite/world.hpp"
#include "stores/sqlite/sql_files.hpp"

#include <array>
#include <filesystem>
#include <thread>

namespace sagabox::sqlite {
namespace {

class SqliteMigrations : public SqliteTest {
 protected:
  std::vector<spi::SchemaStep> status() { return schema()->status().value(); }
  void make() { store_ = open_store(); }

  std::unique_ptr<Store> store_;
};

TEST_F(SqliteMigrations, StatusTellsWhatIsAppliedToWhat) {
  sql("PRAGMA user_version = 1");
  const auto before = status();
  ASSERT_EQ(before.size(), 9U) << "three of the outbox, two of sagas and hub, one of each other";
  for (const auto& step : before) EXPECT_FALSE(step.applied_at.has_value());
  make();
  const auto after = status();
  ASSERT_EQ(after.size(), 6U) << "of three steps";
  EXPECT_EQ(after[0].outbox, "");
  EXPECT_EQ(after[1].outbox, "orders");
  for (const auto& step : after) EXPECT_TRUE(step.applied_at.has_value());
}

TEST_F(SqliteMigrations, MistypedPathIsToldAndNoFileIsMade) {
  const auto missing = folder_.file("mistyped.db");
  const auto schema = open_schema(missing).value();
  const auto refused = schema->down({.to = 0}).error();
  EXPECT_EQ(refused.code, Code::config_invalid);
  EXPECT_EQ(refused.message,
            "there is no file " + missing + "; give the path of a database that is there");
  for (const auto& step : schema->status().value()) EXPECT_FALSE(step.applied_at.has_value());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(SqliteMigrations, NamesThatCannotBeAreToldAndNothingIsMade) {
  make();
  const auto before = count("sqlite_schema");
  const auto refused = [&](const std::string& name) {
    const auto prepared = store_->outbox().prepare(TableName::parse(name).value());
    EXPECT_FALSE(prepared.ok()) << name;
    if (prepared.ok()) return std::string();
    EXPECT_EQ(prepared.error().code, Code::config_invalid);
    return prepared.error().message;
  };
  for (const auto* name : {"sagabox", "SagaBox"}) {
    EXPECT_EQ(refused(name), "outbox \"" + std::string(name) +
                                 "\": its tables would have the names of sagabox's own; choose "
                                 "another");
  }
  for (const auto* name : {"sqlite", "sqlite_orders", "SQLite_orders"}) {
    EXPECT_NE(refused(name).find("begin with sqlite_"), std::string::npos);
  }
  EXPECT_NE(refused("Orders").find("this file has an outbox \"orders\""), std::string::npos);
  EXPECT_EQ(count("sqlite_schema"), before);
  EXPECT_TRUE(store_->outbox().prepare(TableName::parse("sqlites").value()).ok());
}

TEST_F(SqliteMigrations, NameThatATableOfTheUserHasIsTold) {
  sql("CREATE TABLE orders_archive (n INTEGER)");
  const auto store = open(path()).value();
  const auto refused = store->outbox().prepare(table_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  EXPECT_NE(refused.error().message.find("orders_archive"), std::string::npos);
  EXPECT_NE(refused.error().message.find("choose another name"), std::string::npos);
  EXPECT_EQ(count("sqlite_schema WHERE name LIKE '%pending%'"), "0");
}

TEST_F(SqliteMigrations, UpTwiceChangesNothing) {
  make();
  write(*store_).value();
  schema()->up({}).value();
  schema()->up({}).value();
  store_->outbox().prepare(table_).value();
  EXPECT_EQ(count("orders_outbox"), "1");
  EXPECT_EQ(status().size(), 6U);
}

TEST_F(SqliteMigrations, TwoAtOnceBothSucceed) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto store = open(path(), {.lock_max = std::chrono::seconds(60)});
      ASSERT_TRUE(store.ok()) << store.error().text();
      const auto prepared = (*store)->outbox().prepare(table_);
      EXPECT_TRUE(prepared.ok()) << prepared.error().text();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count("sagabox_outbox"), "1");
  EXPECT_EQ(status().size(), 6U);
}

TEST_F(SqliteMigrations, DownTakesEverythingBackAndNothingElse) {
  sql("CREATE TABLE business (n INTEGER)");
  make();
  schema()->down({.to = 0}).value();
  EXPECT_EQ(count("sqlite_schema WHERE name NOT LIKE 'sqlite_%' AND name <> 'business'"), "0");
  EXPECT_EQ(count("business"), "0");
  schema()->down({.to = 0}).value();
  make();
  EXPECT_EQ(count("orders_outbox"), "0");
}

TEST_F(SqliteMigrations, DownRefusesToLosePendingMessages) {
  make();
  write(*store_).value();
  const auto refused = schema()->down({.to = 0});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::tx_invalid_state);
  EXPECT_NE(refused.error().message.find("orders"), std::string::npos);
  EXPECT_EQ(count("orders_outbox"), "1");
  schema()->down({.to = 0, .force = true}).value();
  EXPECT_EQ(count("sqlite_schema WHERE name LIKE '%orders%'"), "0");
}

TEST_F(SqliteMigrations, DownRefusesToLoseDeadLetters) {
  make();
  const auto written = write(*store_).value();
  const std::vector ids{written.id};
  const auto moved = store_->outbox_admin()
                         .move({.table = table_, .move = spi::Move::quarantine, .ids = ids})
                         .value();
  ASSERT_TRUE(moved.items.at(0).moved);
  EXPECT_EQ(schema()->down({.to = 0}).error().code, Code::tx_invalid_state);
  EXPECT_EQ(count("orders_dead"), "1");
}

/// An engine beside the outbox, as those to come are.
class SqliteEngines : public SqliteTest {
 protected:
  Migrations migrations() {
    auto sections = sql::Sections::parse(sql_files).value();
    return Migrations(sections, system_clock(), both_);
  }
  Status up(const spi::SchemaUp& request) { return migrations().up(writer(), request); }
  Status down(const spi::SchemaDown& request) { return migrations().down(writer(), request); }
  std::vector<spi::SchemaStep> status() {
    const auto reader = sqlite::Connection::open(path(), sqlite::Connection::Use::read, {}).value();
    return migrations().status(*reader).value();
  }
  Writer& writer() {
    if (!writer_) writer_ = Writer::open(path(), {}).value();
    return *writer_;
  }
  std::string tables(const std::string& like) {
    return count("sqlite_schema WHERE type = 'table' AND name LIKE '" + like + "'");
  }

  static constexpr std::array note_steps_{
      Migration{1, "notes", "CREATE TABLE sagabox_note (text TEXT) STRICT",
                "DROP TABLE sagabox_note"},
      Migration{2, "authors", "ALTER TABLE sagabox_note ADD COLUMN author TEXT",
                "ALTER TABLE sagabox_note DROP COLUMN author"}};
  const std::array<Engine, 2> both_{
      engines().front(),
      Engine{.name = "notes", .record = "sagabox_note_migration", .steps = note_steps_}};
  std::unique_ptr<Writer> writer_;
};

TEST_F(SqliteEngines, OneIsMadeAndRemovedWithoutTheTablesOfTheOther) {
  up({.engine = "notes"}).value();
  EXPECT_EQ(tables("sagabox%"), "2") << "its record and its table";
  ASSERT_EQ(status().size(), 2U);
  for (const auto& step : status()) {
    EXPECT_EQ(step.engine, "notes");
    EXPECT_TRUE(step.applied_at.has_value());
  }
  down({.engine = "notes", .to = 1}).value();
  EXPECT_THROW(sql("SELECT author FROM sagabox_note"), std::runtime_error);
  down({.engine = "notes", .to = 0}).value();
  EXPECT_EQ(tables("sagabox%"), "0");
}

TEST_F(SqliteEngines, StepsAreNumberedApart) {
  up({.outbox = table_}).value();
  EXPECT_EQ(tables("sagabox_note"), "0");
  up({.engine = "notes"}).value();
  EXPECT_EQ(status().size(), 2 * engines().front().steps.size() + 2);
  EXPECT_EQ(up({.engine = "notes", .outbox = table_}).error().code, Code::config_invalid);
  down({.to = 0}).value();
  EXPECT_EQ(tables("orders%"), "0");
  EXPECT_EQ(tables("sagabox_note"), "1");
  EXPECT_EQ(status().size(), 2U);
}

TEST_F(SqliteMigrations, LongestAndMixedCaseNamesWork) {
  make();
  const auto table = TableName::parse("A" + std::string(47, 'z')).value();
  store_->outbox().prepare(table).value();
  const auto one = message();
  store_
      ->transaction(
          [&](OwnedTransaction& tx) { return tx.outbox().insert(table, std::span(&one, 1)); })
      .value();
  EXPECT_EQ(count("\"" + table.str() + "_outbox\""), "1");
}

TEST_F(SqliteMigrations, PreparedTablesNeedNoLock) {
  make();
  auto user = connect();
  sagabox::testing::run_sql(user.get(), "BEGIN IMMEDIATE");
  EXPECT_TRUE(store_->outbox().prepare(table_).ok());
}

TEST_F(SqliteMigrations, TableChecksWhatItIsGiven) {
  make();
  write(*store_).value();
  EXPECT_THROW(sql("UPDATE orders_pending SET attempts = -1"), std::runtime_error);
  EXPECT_THROW(sql("UPDATE orders_pending SET priority = 3"), std::runtime_error);
  EXPECT_THROW(sql("UPDATE orders_pending SET due = 1"), std::runtime_error)
      << "fresh, but it waits: nobody would read it";
  EXPECT_THROW(sql("UPDATE orders_pending SET place = seq"), std::runtime_error);
}

TEST_F(SqliteMigrations, SeveralFilesInOneProcessAreApart) {
  make();
  const auto other = open(folder_.file("other.db")).value();
  other->outbox().prepare(table_).value();
  EXPECT_EQ(write(*store_, "same").value().sequence, write(*other, "same").value().sequence);
  EXPECT_EQ(readable(*store_), 1U);
  EXPECT_EQ(readable(*other), 1U);
  EXPECT_NE(store_->name(), other->name());
}

}  // namespace
}  // namespace sagabox::sqlite
