#include "integration/stores/postgres/world.hpp"

#include <stdexcept>

namespace sagabox::postgres {
namespace {

using sagabox::testing::PgConnection;
using sagabox::testing::run_sql;
using std::chrono::milliseconds;

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

class PostgresTransaction : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open_store({.writers_max = 2, .connection_wait_max = milliseconds(1)});
    user_ = database_->connect();
  }
  Result<Enlisted> enlist() { return postgres::enlist(user_.get(), database_->schema()); }
  void sql(const std::string& text) { run_sql(user_.get(), text); }
  Result<Written> write(Transaction& tx, const std::shared_ptr<const Message>& one) {
    auto written = tx.outbox().insert(table_, std::span(&one, 1));
    if (!written.ok()) return written.error();
    return written->front();
  }
  /// As a settle moves it.
  std::string archive_sql(const std::string& id) const {
    const std::string columns =
        "seq, id, shard, attempts, replays, written_at, tenant, topic, aggregate_type, priority, "
        "payload, is_json, content_type, occurred_at";
    return "WITH gone AS (DELETE FROM " + in_schema("orders_outbox") + " WHERE id = '" + id +
           "' RETURNING *) INSERT INTO " + in_schema("orders_archive") + " (" + columns +
           ", ended_at) SELECT " + columns + ", clock_timestamp() FROM gone";
  }

  std::unique_ptr<Store> store_;
  PgConnection user_;
};

TEST_F(PostgresTransaction, ForgottenBeginIsTold) {
  const auto refused = enlist();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text(),
            "TX.NO_TRANSACTION: write() needs an open transaction on this connection; call BEGIN "
            "first");
}

TEST_F(PostgresTransaction, FailedTransactionIsTold) {
  sql("BEGIN");
  auto tx = enlist().value();
  EXPECT_THROW(sql("SELECT 1 / 0"), std::runtime_error);
  EXPECT_TRUE(tx.is_open()) << "until its ROLLBACK";
  EXPECT_EQ(write(tx, message()).error().code, Code::tx_invalid_state);
  EXPECT_EQ(enlist().error().code, Code::tx_invalid_state);
}

TEST_F(PostgresTransaction, EnlistedIsNotOpenForALaterTransaction) {
  sql("BEGIN");
  auto tx = enlist().value();
  sql("COMMIT; BEGIN");
  EXPECT_FALSE(tx.is_open());
  EXPECT_EQ(write(tx, message()).error().code, Code::tx_no_transaction);
  sql("COMMIT");
  EXPECT_EQ(count("orders_outbox"), "0");
}

TEST_F(PostgresTransaction, EnlistedIsNotOpenForTheTransactionChainedToItsOwn) {
  for (const auto* end : {"COMMIT AND CHAIN", "ROLLBACK AND CHAIN"}) {
    sql("BEGIN");
    auto tx = enlist().value();
    write(tx, message()).value();
    sql(end);
    const auto refused = write(tx, message());
    ASSERT_FALSE(refused.ok()) << end;
    EXPECT_EQ(refused.error().code, Code::tx_no_transaction);
    EXPECT_FALSE(tx.is_open()) << end;
    auto next = enlist().value();
    EXPECT_TRUE(write(next, message()).ok()) << end;
    sql("ROLLBACK");
  }
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(PostgresTransaction, ChainedTransactionsAreToldFromTheirOwnAlsoByBlindInserts) {
  const auto write_blind = [&](Enlisted& tx) {
    const auto one = message();
    return tx.outbox().insert_blind(table_, std::span(&one, 1));
  };
  const auto refuses_after = [&](const std::string& end) {
    auto tx = enlist().value();
    write_blind(tx).value();
    sql(end);
    const auto refused = write_blind(tx);
    EXPECT_EQ(refused.ok() ? Code{} : refused.error().code, Code::tx_no_transaction) << end;
    sql("ROLLBACK");
  };
  sql("BEGIN");
  refuses_after("ROLLBACK AND CHAIN");  // what has begun before we saw it may have savepoints
  sql("BEGIN");
  refuses_after("ROLLBACK AND CHAIN");
  sql("BEGIN");
  sql("SAVEPOINT here");
  sql("RELEASE here");
  refuses_after("ROLLBACK AND CHAIN");
  sql("BEGIN");
  refuses_after("COMMIT AND CHAIN");
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(PostgresTransaction, SavepointsAreRolledBackUnderBlindInserts) {
  const auto write_blind = [&](Enlisted& tx) {
    const auto one = message();
    return tx.outbox().insert_blind(table_, std::span(&one, 1));
  };
  for (const bool first_in_savepoint : {false, true, false, true}) {
    sql("BEGIN");
    auto tx = enlist().value();
    if (!first_in_savepoint) write_blind(tx).value();
    sql("SAVEPOINT here");
    write_blind(tx).value();
    sql("ROLLBACK TO here");
    EXPECT_TRUE(write_blind(tx).ok());
    sql("COMMIT");
  }
  EXPECT_EQ(count("orders_outbox"), "6");
}

TEST_F(PostgresTransaction, BlindInsertsOfFreshIdsBringNothingBack) {
  const auto returning = [&] {
    return run_sql(user_.get(),
                   "SELECT count(*) FILTER (WHERE statement ~ 'RETURNING') || ' of ' || count(*) "
                   "FROM pg_prepared_statements WHERE statement ~ '^INSERT'")
        .front();
  };
  sql("BEGIN");
  (void)enlist().value();
  sql("ROLLBACK");
  sql("BEGIN");
  auto tx = enlist().value();
  const std::vector fresh{message(), message(), message()};
  tx.outbox().insert_blind(table_, std::span(fresh).first(1)).value();
  const auto written = tx.outbox().insert_blind(table_, std::span(fresh).last(2)).value();
  ASSERT_EQ(written.size(), 2U);
  EXPECT_EQ(written[1].id, fresh[2]->id());
  EXPECT_EQ(written[1].sequence, Sequence{});
  EXPECT_EQ(returning(), "0 of 2");
  EXPECT_NE(write(tx, message()).value().sequence, Sequence{});
  EXPECT_EQ(returning(), "1 of 3");
  sql("COMMIT");
}

TEST_F(PostgresTransaction, BlindInsertsNoticeATriggerThatLeavesSomeOut) {
  sql("CREATE FUNCTION pg_temp.none() RETURNS trigger LANGUAGE plpgsql AS "
      "$$BEGIN RETURN NULL; END$$");
  sql("CREATE TRIGGER none BEFORE INSERT ON " + in_schema("orders_outbox") +
      " FOR EACH ROW EXECUTE FUNCTION pg_temp.none()");
  sql("BEGIN");
  auto tx = enlist().value();
  const auto one = message();
  const auto refused = tx.outbox().insert_blind(table_, std::span(&one, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  sql("ROLLBACK");
}

TEST_F(PostgresTransaction, RollbackIsToldWhenItIsFound) {
  sql("BEGIN");
  auto tx = enlist().value();
  write(tx, message()).value();
  Verdicts verdicts;
  tx.observe(std::make_unique<Told>(verdicts));
  sql("ROLLBACK AND CHAIN");
  EXPECT_FALSE(write(tx, message()).ok());
  EXPECT_EQ(verdicts.rolled_back, 1);
  tx.committed();
  EXPECT_EQ(verdicts.committed, 0);
}

TEST_F(PostgresTransaction, LongNamesThatDifferAtTheEndAreNotMixedUp) {
  const std::string name(47, 'o');
  std::vector<TableName> tables;
  for (const auto* end : {"a", "b"}) {
    tables.push_back(TableName::parse(name + end).value());
    store_->outbox().prepare(tables.back()).value();
  }
  sql("BEGIN");
  auto tx = enlist().value();
  const auto one = message();
  const auto two = message();
  for (const auto& table : tables) {
    ASSERT_TRUE(tx.outbox().insert(table, std::span(&one, 1)).ok());
    const std::vector batch{message(), two};
    ASSERT_TRUE(tx.outbox().insert(table, batch).ok());
  }
  sql("COMMIT");
  for (const auto& table : tables) EXPECT_EQ(count(table.str() + "_outbox"), "3");
}

TEST_F(PostgresTransaction, SavepointsBelongToTheTransaction) {
  sql("BEGIN");
  auto tx = enlist().value();
  write(tx, message("kept")).value();
  sql("SAVEPOINT s");
  write(tx, message("lost")).value();
  sql("ROLLBACK TO SAVEPOINT s");
  EXPECT_TRUE(tx.is_open());
  write(tx, message("last")).value();
  sql("COMMIT");
  EXPECT_EQ(count("orders_outbox WHERE id IN ('kept', 'last')"), "2");
  EXPECT_EQ(count("orders_outbox"), "2");
}

TEST_F(PostgresTransaction, BusinessRowsAndMessageShareTheirFate) {
  database_->sql("CREATE TABLE " + in_schema("business") + " (n integer)");
  for (const auto* end : {"ROLLBACK", "COMMIT"}) {
    sql("BEGIN; INSERT INTO " + in_schema("business") + " VALUES (1)");
    auto tx = enlist().value();
    write(tx, message()).value();
    sql(end);
  }
  EXPECT_EQ(count("business"), "1");
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(PostgresTransaction, BorrowedConnectionIsLeftAsItWas) {
  ASSERT_EQ(PQsetnonblocking(user_.get(), 1), 0);
  sql("BEGIN");
  {
    auto tx = enlist().value();
    write(tx, message()).value();
  }
  EXPECT_EQ(PQisnonblocking(user_.get()), 1);
  EXPECT_EQ(PQpipelineStatus(user_.get()), PQ_PIPELINE_OFF);
  EXPECT_EQ(PQtransactionStatus(user_.get()), PQTRANS_INTRANS);
  sql("COMMIT");
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(PostgresTransaction, BusyConnectionIsToldAndLeftAlone) {
  sql("BEGIN");
  auto tx = enlist().value();
  ASSERT_EQ(PQenterPipelineMode(user_.get()), 1);
  EXPECT_EQ(write(tx, message()).error().code, Code::tx_invalid_state);
  EXPECT_EQ(PQpipelineStatus(user_.get()), PQ_PIPELINE_ON);
  ASSERT_EQ(PQexitPipelineMode(user_.get()), 1);
  EXPECT_TRUE(write(tx, message()).ok());
}

TEST_F(PostgresTransaction, ForgottenPreparedStatementsCostOneRetry) {
  for (int i = 0; i < 2; ++i) {
    sql("BEGIN");
    auto tx = enlist().value();
    write(tx, message()).value();
    sql("COMMIT");
  }
  sql("DISCARD ALL");
  sql("BEGIN");
  auto tx = enlist().value();
  const auto refused = write(tx, message());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::storage_conflict);
  EXPECT_TRUE(is_retry_safe(refused.error().code));
  sql("ROLLBACK");
  for (int i = 0; i < 2; ++i) {
    sql("DISCARD ALL");
    sql("BEGIN");
    auto again = enlist().value();
    EXPECT_TRUE(write(again, message()).ok()) << "from now on without prepared statements";
    sql("COMMIT");
  }
}

TEST_F(PostgresTransaction, ResetConnectionStartsAnew) {
  sql("BEGIN");
  auto before = enlist().value();
  write(before, message()).value();
  PQreset(user_.get());
  EXPECT_FALSE(before.is_open());
  sql("BEGIN");
  EXPECT_FALSE(before.is_open());
  auto tx = enlist().value();
  EXPECT_TRUE(write(tx, message()).ok());
  sql("COMMIT");
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(PostgresTransaction, IdSettledWhileItIsWrittenAgainIsADuplicate) {
  const auto one = message("my-order-17");
  const auto first = store_
                         ->transaction([&](OwnedTransaction& tx) {
                           return tx.outbox().insert(table_, std::span(&one, 1));
                         })
                         .value()
                         .front();
  sql("BEGIN; " + archive_sql(one->id().str()));
  Result<std::vector<Written>> again = Error{};
  std::thread writer([&] {
    again = store_->transaction(
        [&](OwnedTransaction& tx) { return tx.outbox().insert(table_, std::span(&one, 1)); });
  });
  until_blocked("INSERT INTO");
  sql("COMMIT");
  writer.join();
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_TRUE(again->front().duplicate);
  EXPECT_EQ(again->front().sequence, first.sequence);
  EXPECT_EQ(count("orders_outbox"), "0") << "the second one was taken back";
  EXPECT_EQ(count("orders_archive"), "1");
}

TEST_F(PostgresTransaction, OwnIdInTheArchiveIsFoundHoweverOld) {
  const auto one = message("my-order-17");
  store_
      ->transaction(
          [&](OwnedTransaction& tx) { return tx.outbox().insert(table_, std::span(&one, 1)); })
      .value();
  sql(archive_sql("my-order-17"));
  sql("UPDATE " + in_schema("orders_archive") + " SET ended_at = '2001-01-01'");
  const auto again = store_
                         ->transaction([&](OwnedTransaction& tx) {
                           return tx.outbox().insert(table_, std::span(&one, 1));
                         })
                         .value();
  EXPECT_TRUE(again.front().duplicate);
}

TEST_F(PostgresTransaction, ObserversHearHowItEnded) {
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

TEST_F(PostgresTransaction, CommitInDoubtIsAbandoned) {
  // The commit stops in a deferred trigger, on a lock that somebody else holds.
  database_->sql(
      "CREATE FUNCTION " + in_schema("stop()") +
      " RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(4713); RETURN "
      "NULL; END $$; CREATE CONSTRAINT TRIGGER stop AFTER INSERT ON " +
      in_schema("orders_outbox") + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION " +
      in_schema("stop()"));
  sql("SELECT pg_advisory_lock(4713)");
  Verdicts verdicts;
  auto tx = store_->begin().value();
  tx->observe(std::make_unique<Told>(verdicts));
  write(*tx, message()).value();
  const int pid = PQbackendPID(connection_of(*tx));
  Status committed;
  std::thread committer([&] { committed = tx->commit(); });
  until_blocked("COMMIT");
  database_->sql("SELECT pg_terminate_backend(" + std::to_string(pid) + ", 10000)");
  committer.join();
  ASSERT_FALSE(committed.ok());
  EXPECT_EQ(committed.error().code, Code::storage_in_doubt);
  EXPECT_EQ(verdicts.abandoned, 1);
  EXPECT_EQ(verdicts.committed + verdicts.rolled_back, 0);
  EXPECT_TRUE(store_->begin().ok()) << "its connection was replaced";
}

TEST_F(PostgresTransaction, TriggerThatLeavesMessagesOutIsTold) {
  database_->sql("CREATE FUNCTION " + in_schema("leave_out") +
                 "() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.seq % 3 = 0 THEN RETURN "
                 "NULL; END IF; RETURN NEW; END'");
  database_->sql("CREATE TRIGGER leave_out BEFORE INSERT ON " + in_schema("orders_outbox") +
                 " FOR EACH ROW EXECUTE FUNCTION " + in_schema("leave_out") + "()");
  const std::vector<std::shared_ptr<const Message>> messages{message(), message(), message()};
  const auto refused = store_->transaction(
      [&](OwnedTransaction& tx) { return tx.outbox().insert(table_, messages); });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  EXPECT_EQ(count("orders_outbox"), "0");
}

TEST_F(PostgresTransaction, OwnTransactionTakesBusinessRowsToo) {
  database_->sql("CREATE TABLE " + in_schema("business") + " (n integer)");
  auto tx = store_->begin().value();
  ASSERT_NE(connection_of(*tx), nullptr);
  run_sql(connection_of(*tx), "INSERT INTO " + in_schema("business") + " VALUES (1)");
  write(*tx, message()).value();
  EXPECT_EQ(count("business"), "0");
  tx->commit().value();
  EXPECT_EQ(connection_of(*tx), nullptr);
  EXPECT_EQ(count("business"), "1");
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(PostgresTransaction, LeasesAreRenewedWhateverElseWaits) {
  auto& ownership = store_->ownership();
  const auto worker = ids_.next<WorkerId>();
  const std::vector<spi::Scope> scopes{"outbox:orders"};
  ASSERT_TRUE(ownership.join(worker, std::chrono::seconds(15), scopes, 16).value().live);
  const auto taken = ownership.take(scopes[0], worker, 1).value();
  ASSERT_EQ(taken.size(), 1U);
  auto first = store_->begin().value();
  auto second = store_->begin().value();
  EXPECT_FALSE(store_->begin().ok()) << "no connection left for transactions";
  sql("BEGIN; SELECT FROM " + in_schema("shard_owner") + " FOR SHARE");
  std::thread releasing([&] { (void)ownership.release(scopes[0], worker, taken); });
  until_blocked("shard_owner o SET owner = CASE");
  EXPECT_TRUE(ownership.renew(worker, std::chrono::seconds(15)).value().live);
  sql("COMMIT");
  releasing.join();
}

TEST_F(PostgresTransaction, NameHasNoCredentials) {
  const auto& server = sagabox::testing::PostgresServer::shared();
  const auto port = std::to_string(server.port);
  const auto store = open("postgres://postgres:hunter2@127.0.0.1:" + port + "/postgres").value();
  EXPECT_EQ(store->name(), "postgres://127.0.0.1:" + port + "/postgres");
  const auto refused = open("postgres://bob:hunter2@[nonsense");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  EXPECT_EQ(refused.error().message.find("hunter2"), std::string::npos);
}

TEST_F(PostgresTransaction, WrongOptionsAreNamed) {
  const auto told = [&](Options options, std::string_view field) {
    const auto refused = open(database_->url(), options);
    EXPECT_FALSE(refused.ok());
    return !refused.ok() && refused.error().code == Code::config_invalid &&
           refused.error().message.find(field) != std::string::npos;
  };
  EXPECT_TRUE(told({.schema = "a b"}, "schema"));
  EXPECT_TRUE(told({.schema = "x\"; DROP TABLE y"}, "schema"));
  EXPECT_TRUE(told({.shards = 0}, "shards"));
  EXPECT_TRUE(told({.writers_max = 0}, "writers_max"));
  EXPECT_TRUE(told({.relay_connections_max = 0}, "relay_connections_max"));
  EXPECT_TRUE(told({.claim_rows_max = 0}, "claim_rows_max"));
  EXPECT_TRUE(told({.claim_rows_max = 1001}, "claim_rows_max"));
  EXPECT_TRUE(told({.statement_max = Duration{}}, "statement_max"));
}

}  // namespace
}  // namespace sagabox::postgres
