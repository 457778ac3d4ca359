#include "integration/stores/sqlite/world.hpp"

#include <stdexcept>
#include <thread>

namespace sagabox::sqlite {
namespace {

using sagabox::testing::run_sql;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Verdicts {
  int committed = 0;
  int rolled_back = 0;
  int abandoned = 0;
};

class Told final : public TransactionObserver {
 public:
  explicit Told(Verdicts& verdicts) : verdicts_(verdicts) {}
  void committed() noexcept override { ++verdicts_.committed; }
  void rolled_back() noexcept override { ++verdicts_.rolled_back; }
  void abandoned() noexcept override { ++verdicts_.abandoned; }

 private:
  Verdicts& verdicts_;
};

class SqliteTransaction : public SqliteTest {
 protected:
  void user(const std::string& text) { run_sql(user_.get(), text); }

  std::unique_ptr<Store> store_ = open_store({.lock_max = milliseconds(50)});
  Connection user_ = connect();
};

TEST_F(SqliteTransaction, ForgottenBeginIsTold) {
  const auto refused = enlist(user_.get());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text(),
            "TX.NO_TRANSACTION: write() needs an open transaction on this connection; call BEGIN "
            "IMMEDIATE first");
  EXPECT_EQ(enlist(nullptr).error().code, Code::storage_unavailable);
}

TEST_F(SqliteTransaction, BusinessRowsAndMessageShareTheirFate) {
  sql("CREATE TABLE business (n INTEGER)");
  for (const auto* end : {"ROLLBACK", "COMMIT"}) {
    user("BEGIN IMMEDIATE; INSERT INTO business VALUES (1)");
    auto tx = enlist(user_.get()).value();
    write(tx, message()).value();
    user(end);
    EXPECT_FALSE(tx.is_open());
  }
  EXPECT_EQ(count("business"), "1");
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(SqliteTransaction, EnlistedIsNotOpenForALaterTransaction) {
  user("BEGIN IMMEDIATE");
  auto tx = enlist(user_.get()).value();
  user("COMMIT; BEGIN IMMEDIATE");
  EXPECT_FALSE(tx.is_open());
  EXPECT_EQ(write(tx, message()).error().code, Code::tx_no_transaction);
  user("COMMIT");
  EXPECT_EQ(count("orders_outbox"), "0");
}

TEST_F(SqliteTransaction, PlainBeginTakesPartAndIsNotOpenForALaterOne) {
  user("BEGIN");
  auto tx = enlist(user_.get()).value();
  EXPECT_TRUE(tx.is_open());
  write(tx, message()).value();
  EXPECT_TRUE(tx.is_open());
  user("COMMIT; BEGIN IMMEDIATE");
  EXPECT_FALSE(tx.is_open());
  user("COMMIT");
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(SqliteTransaction, PlainBeginWaitsForTheRightToWrite) {
  auto other = connect();
  run_sql(other.get(), "BEGIN IMMEDIATE; CREATE TABLE business (n INTEGER)");
  // Asked while we wait: then the other one is done.
  sqlite3_busy_handler(
      user_.get(),
      [](void* connection, int) {
        run_sql(static_cast<sqlite3*>(connection), "COMMIT");
        return 1;
      },
      other.get());
  user("BEGIN");
  auto tx = enlist(user_.get()).value();
  write(tx, message()).value();
  user("COMMIT");
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(SqliteTransaction, TransactionThatReadBeforeAnotherWroteIsToldWhatToDo) {
  user("BEGIN; SELECT count(*) FROM orders_outbox");
  write(*store_).value();
  auto tx = enlist(user_.get()).value();
  const auto refused = write(tx, message());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::storage_conflict);
  EXPECT_NE(refused.error().message.find("BEGIN IMMEDIATE"), std::string::npos);
  EXPECT_TRUE(tx.is_open()) << "until its ROLLBACK";
}

TEST_F(SqliteTransaction, SavepointsBelongToTheTransaction) {
  user("BEGIN IMMEDIATE");
  auto tx = enlist(user_.get()).value();
  write(tx, message("kept")).value();
  user("SAVEPOINT s");
  write(tx, message("lost")).value();
  user("ROLLBACK TO SAVEPOINT s");
  EXPECT_TRUE(tx.is_open());
  write(tx, message("last")).value();
  user("COMMIT");
  EXPECT_EQ(count("orders_outbox WHERE id IN ('kept', 'last')"), "2");
  EXPECT_EQ(count("orders_outbox"), "2");
  EXPECT_EQ(store_->outbox_admin().stats(table_).value().pending, 2U);
}

TEST_F(SqliteTransaction, BorrowedConnectionCanBeClosedAndOpenedAgain) {
  for (const bool at_once : {true, false, true}) {
    for (int i = 0; i < 3; ++i) {
      user("BEGIN IMMEDIATE");
      auto tx = enlist(user_.get()).value();
      write(tx, message()).value();
      user("COMMIT");
    }
    EXPECT_EQ(at_once ? sqlite3_close(user_.release()) : sqlite3_close_v2(user_.release()),
              SQLITE_OK)
        << "nothing of ours is left on it";
    user_ = connect();
  }
  EXPECT_EQ(count("orders_outbox"), "9");
}

TEST_F(SqliteTransaction, BorrowedConnectionIsLeftAsItWas) {
  user("BEGIN IMMEDIATE");
  {
    auto tx = enlist(user_.get()).value();
    write(tx, message()).value();
  }
  EXPECT_EQ(sqlite3_get_autocommit(user_.get()), 0);
  user("CREATE TABLE business (n INTEGER); ROLLBACK; BEGIN IMMEDIATE");
  auto again = enlist(user_.get()).value();
  write(again, message()).value();
  user("COMMIT; VACUUM");
  EXPECT_EQ(count("orders_outbox"), "1");
  EXPECT_EQ(count("sqlite_schema WHERE name = 'sagabox_enlisted'"), "0");
}

TEST_F(SqliteTransaction, EnlistedMakesNoTables) {
  auto empty = sagabox::testing::connect_sqlite(folder_.file("empty.db"));
  run_sql(empty.get(), "BEGIN IMMEDIATE");
  auto tx = enlist(empty.get()).value();
  const auto refused = write(tx, message());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  EXPECT_NE(refused.error().message.find("prepare()"), std::string::npos);
  run_sql(empty.get(), "COMMIT");
  EXPECT_EQ(run_sql(empty.get(), "SELECT count(*) FROM sqlite_schema").at(0), "0");
}

TEST_F(SqliteTransaction, BatchThatFailsLeavesNothingForACommit) {
  sql("CREATE TRIGGER no_third BEFORE INSERT ON orders_pending WHEN NEW.id = 'third' "
      "BEGIN SELECT RAISE(FAIL, 'no'); END");
  const std::vector batch{message("first"), message("second"), message("third")};
  user("BEGIN IMMEDIATE");
  auto tx = enlist(user_.get()).value();
  EXPECT_FALSE(tx.outbox().insert(table_, batch).ok());
  user("COMMIT");
  EXPECT_EQ(count("orders_outbox"), "0");
  EXPECT_EQ(store_->outbox_admin().stats(table_).value().pending, 0U);
}

TEST_F(SqliteTransaction, ObserversHearHowItEnded) {
  Verdicts verdicts;
  auto committed = store_->begin().value();
  committed->observe(std::make_unique<Told>(verdicts));
  committed->commit().value();
  EXPECT_EQ(verdicts.committed, 1);
  auto rolled_back = store_->begin().value();
  rolled_back->observe(std::make_unique<Told>(verdicts));
  rolled_back.reset();
  EXPECT_EQ(verdicts.rolled_back, 1);
  EXPECT_EQ(verdicts.abandoned, 0);
}

TEST_F(SqliteTransaction, OwnTransactionTakesBusinessRowsToo) {
  sql("CREATE TABLE business (n INTEGER)");
  auto tx = store_->begin().value();
  ASSERT_NE(connection_of(*tx), nullptr);
  run_sql(connection_of(*tx), "INSERT INTO business VALUES (1)");
  write(*tx, message()).value();
  EXPECT_EQ(count("business"), "0");
  tx->commit().value();
  EXPECT_EQ(connection_of(*tx), nullptr);
  EXPECT_EQ(count("business"), "1");
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(SqliteTransaction, OneOfManyThreadsFailsAlone) {
  sql("CREATE TABLE business (n INTEGER UNIQUE)");
  store_ = open_store({.lock_max = seconds(60)});
  constexpr int threads = 4;
  constexpr int rounds = 20;
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        const auto id = std::to_string(t) + "-" + std::to_string(i);
        const bool fails = i % 3 == 0;
        const auto written = store_->transaction([&](OwnedTransaction& tx) -> Result<Written> {
          run_sql(connection_of(tx),
                  "INSERT INTO business VALUES (" + std::to_string(t * 100 + i) + ")");
          auto one = write(tx, message(id));
          if (fails) return Error{Code::tx_handler_failed, "as asked"};
          return one;
        });
        EXPECT_EQ(written.ok(), !fails);
      }
    });
  }
  for (auto& thread : running) thread.join();
  const auto kept = std::to_string(threads * (rounds - (rounds + 2) / 3));
  EXPECT_EQ(count("business"), kept);
  EXPECT_EQ(count("orders_outbox"), kept);
}

TEST_F(SqliteTransaction, WriterOfAnotherConnectionIsAConflictAfterAWhile) {
  user("BEGIN IMMEDIATE");
  const auto refused = store_->begin();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::storage_conflict);
  EXPECT_TRUE(is_retry_safe(refused.error().code));
  EXPECT_NE(refused.error().message.find("write lock"), std::string::npos);
  user("COMMIT");
  EXPECT_TRUE(store_->begin().ok());
}

TEST_F(SqliteTransaction, ReadersDoNotWaitForWriters) {
  write(*store_).value();
  auto tx = store_->begin().value();
  write(*tx, message()).value();
  EXPECT_EQ(readable(*store_), 1U);
  EXPECT_EQ(store_->outbox_admin().stats(table_).value().pending, 1U);
}

TEST_F(SqliteTransaction, FullDatabaseIsToldAndNothingIsKept) {
  auto tx = store_->begin().value();
  run_sql(connection_of(*tx), "PRAGMA max_page_count = 1");  // raised to what it has
  const auto large = std::make_shared<const Message>(
      Message::build({.topic = "a.b.c.v1", .payload = bytes(std::string(100'000, 'x'))},
                     MessageRules{}, ids_, author_clock_)
          .value());
  const auto refused = write(*tx, large);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::storage_unavailable);
  EXPECT_NE(refused.error().message.find("make room"), std::string::npos);
  (void)tx->commit();
  EXPECT_EQ(count("orders_outbox"), "0");
  EXPECT_EQ(store_->outbox_admin().stats(table_).value().pending, 0U);
  auto again = store_->begin().value();
  run_sql(connection_of(*again), "PRAGMA max_page_count = 1000000");
  write(*again, message()).value();
  again->commit().value();
  EXPECT_EQ(count("orders_outbox"), "1");
}

/// Sixteen of them go in by one statement.
TEST_F(SqliteTransaction, ManyPlainMessagesKeepTheirOrderAndTheirDuplicates) {
  std::vector<std::shared_ptr<const Message>> batch;
  for (int i = 0; i < 40; ++i) batch.push_back(message());
  batch[20] = batch[3];
  const auto with_delay = std::make_shared<const Message>(
      Message::build({.topic = "a.b.c.v1",
                      .key = "k",
                      .payload = json("{}"),
                      .not_before = system_clock().wall_now() + std::chrono::hours(1)},
                     MessageRules{}, ids_, author_clock_)
          .value());
  batch.push_back(with_delay);
  for (int i = 0; i < 20; ++i) batch.push_back(message());
  auto tx = store_->begin().value();
  const auto written = tx->outbox().insert(table_, batch).value();
  tx->commit().value();
  ASSERT_EQ(written.size(), batch.size());
  std::uint64_t next = 0;
  for (std::size_t at = 0; at < batch.size(); ++at) {
    EXPECT_EQ(written[at].id, batch[at]->id()) << at;
    EXPECT_EQ(written[at].duplicate, at == 20) << at;
    EXPECT_EQ(written[at].sequence.value, at == 20 ? written[3].sequence.value : ++next) << at;
  }
  EXPECT_EQ(count("orders_outbox"), "60");
  EXPECT_EQ(readable(*store_), 59U);
  EXPECT_EQ(store_->outbox_admin().stats(table_).value().pending, 60U);
}

/// What a statement of sixteen had written when it failed goes, too; what others have stays.
TEST_F(SqliteTransaction, BatchThatFailsInTheMiddleLeavesNothing) {
  write(*store_).value();
  std::vector<std::shared_ptr<const Message>> batch;
  for (int i = 0; i < 30; ++i) batch.push_back(message());
  sql("CREATE TRIGGER refuse BEFORE INSERT ON orders_pending WHEN NEW.id = '" +
      batch[20]->id().str() + "' BEGIN SELECT RAISE(FAIL, 'refused'); END");
  auto tx = store_->begin().value();
  EXPECT_FALSE(tx->outbox().insert(table_, batch).ok());
  tx->commit().value();
  EXPECT_EQ(count("orders_outbox"), "1");
  EXPECT_EQ(readable(*store_), 1U);
}

TEST_F(SqliteTransaction, StoreIsFoundFromAConnection) {
  const auto found = open(user_.get(), {}).value();
  write(*found).value();
  EXPECT_EQ(readable(*store_), 1U);
  auto memory = sagabox::testing::connect_sqlite(":memory:");
  EXPECT_EQ(open(memory.get()).error().code, Code::config_invalid);
  EXPECT_EQ(open(static_cast<sqlite3*>(nullptr)).error().code, Code::config_invalid);
}

}  // namespace
}  // namespace sagabox::sqlite
