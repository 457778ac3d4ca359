#include "integration/stores/postgres/world.hpp"
#include "support/pgbouncer.hpp"

#include <optional>
#include <set>

namespace sagabox::postgres {
namespace {

using sagabox::testing::Pgbouncer;
using sagabox::testing::PgConnection;
using sagabox::testing::PostgresServer;
using sagabox::testing::run_sql;
using std::chrono::milliseconds;

/// Everything goes through a pgbouncer in transaction mode.
class PostgresPooler : public PostgresTest {
 protected:
  void SetUp() override {
    if (const auto missing = Pgbouncer::missing(); !missing.empty()) GTEST_SKIP() << missing;
    PostgresTest::SetUp();
    pooler_.emplace(PostgresServer::shared(), database_->clock_query());
    store_ = open(pooler_->url(), database_->options()).value();
    store_->outbox().prepare(table_).value();
  }
  void write(Transaction& tx) {
    const auto one = message();
    tx.outbox().insert(table_, std::span(&one, 1)).value();
  }
  [[nodiscard]] PgConnection connect() const {
    return PgConnection(PQconnectdb(pooler_->url().c_str()));
  }
  /// What `sql` says on every connection that the pooler has to the server.
  std::set<std::string> everywhere(const std::string& sql) {
    std::set<std::string> answers;
    std::set<std::string> processes;
    std::vector<PgConnection> open;
    for (int i = 0; i < 2 * Pgbouncer::spread; ++i) {
      auto& connection = open.emplace_back(connect());
      run_sql(connection.get(), "BEGIN");
      processes.insert(run_sql(connection.get(), "SELECT pg_backend_pid()").at(0));
      answers.insert(run_sql(connection.get(), sql).at(0));
    }
    EXPECT_GE(processes.size(), std::size_t{Pgbouncer::spread});
    return answers;
  }

  std::optional<Pgbouncer> pooler_;
  std::unique_ptr<Store> store_;
};

TEST_F(PostgresPooler, TransactionsMeetSeveralServerProcesses) {
  std::set<std::string> processes;
  auto connection = connect();
  for (int i = 0; i < 2 * Pgbouncer::spread; ++i) {
    processes.insert(run_sql(connection.get(), "SELECT pg_backend_pid()").at(0));
  }
  EXPECT_GE(processes.size(), 2U) << "else nothing here proves anything";
}

TEST_F(PostgresPooler, NothingIsLeftInTheSessionsOfOthers) {
  for (int i = 0; i < 3 * Pgbouncer::spread; ++i) {
    auto tx = store_->begin().value();
    write(*tx);
    tx->commit().value();
    (void)store_->outbox_admin().stats(table_).value();
    (void)store_->ownership().census("outbox:orders").value();
    const spi::Range range{Shard{3}, spi::Lane{1}, Sequence{0}, 10};
    (void)store_->outbox().read(table_, std::span(&range, 1), 1'000'000).value();
    const spi::DueRange due{Shard{3}, WallTime{}, Sequence{0}, 10};
    (void)store_->outbox().read_due(table_, std::span(&due, 1), 1'000'000).value();
  }
  for (const auto* setting : {"statement_timeout", "lock_timeout", "plan_cache_mode",
                              "enable_seqscan", "default_transaction_isolation"}) {
    EXPECT_EQ(everywhere("SELECT setting = reset_val FROM pg_settings WHERE name = '" +
                         std::string(setting) + "'"),
              std::set<std::string>{"t"})
        << setting;
  }
  EXPECT_EQ(everywhere("SELECT count(*) FROM pg_prepared_statements"), std::set<std::string>{"0"});
}

TEST_F(PostgresPooler, LimitsHoldInEveryTransaction) {
  const auto hasty = open(pooler_->url(), {.schema = database_->schema(),
                                           .statement_max = milliseconds(12'345),
                                           .lock_max = milliseconds(50)})
                         .value();
  for (int i = 0; i < 2 * Pgbouncer::spread; ++i) {
    auto tx = hasty->begin().value();
    PGconn* connection = connection_of(*tx);
    EXPECT_EQ(run_sql(connection, "SHOW statement_timeout").at(0), "12345ms");
    EXPECT_EQ(run_sql(connection, "SHOW lock_timeout").at(0), "50ms");
    EXPECT_EQ(run_sql(connection, "SHOW transaction_isolation").at(0), "read committed");
  }
  auto holder = database_->connect();
  run_sql(holder.get(), "BEGIN; LOCK TABLE " + in_schema("shard_owner"));
  EXPECT_EQ(hasty->ownership().census("outbox:orders").error().code, Code::storage_conflict)
      << "outside a transaction of ours too";
}

TEST_F(PostgresPooler, BorrowedTransactionsPrepareNothing) {
  auto connection = connect();
  for (int i = 0; i < 2 * Pgbouncer::spread; ++i) {
    run_sql(connection.get(), "BEGIN");
    auto tx = enlist(connection.get(), database_->schema()).value();
    write(tx);
    write(tx);
    run_sql(connection.get(), "COMMIT");
  }
  EXPECT_EQ(count("orders_outbox"), std::to_string(4 * Pgbouncer::spread));
  EXPECT_EQ(everywhere("SELECT count(*) FROM pg_prepared_statements"), std::set<std::string>{"0"});
}

TEST_F(PostgresPooler, RefusedStartupParameterIsTold) {
  const auto refused = open(pooler_->url() + " options='-c search_path=x'");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  EXPECT_NE(refused.error().message.find("ignore_startup_parameters"), std::string::npos)
      << refused.error().message;
}

TEST_F(PostgresPooler, ServerWithAnotherDefaultIsolationIsTold) {
  const Pgbouncer strict(PostgresServer::shared(),
                         "SET default_transaction_isolation = serializable");
  const auto refused = open(strict.url(), database_->options());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  EXPECT_NE(refused.error().message.find("default_transaction_isolation"), std::string::npos);
}

TEST_F(PostgresPooler, PoolerThatHidesItselfCanBeNamed) {
  // Without one, what is set ends with each transaction all the same.
  const auto store =
      open(database_->url(), {.schema = database_->schema(), .writers_max = 1, .pooled = true})
          .value();
  auto tx = store->begin().value();
  EXPECT_EQ(run_sql(connection_of(*tx), "SHOW statement_timeout").at(0), "30s");
  write(*tx);
  PGconn* connection = connection_of(*tx);
  tx->commit().value();
  EXPECT_EQ(run_sql(connection, "SHOW statement_timeout").at(0), "0");
  EXPECT_EQ(run_sql(connection, "SELECT count(*) FROM pg_prepared_statements").at(0), "0");
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(PostgresPooler, AnotherServerBehindItIsAnotherTimeline) {
  const auto& server = PostgresServer::shared();
  const auto standby = server.start_replica();
  ASSERT_EQ(standby.problem, "");
  Pgbouncer pooler(server, "SELECT 1");
  const auto connection = Connection::open({.url = pooler.url()}).value();
  ASSERT_TRUE(connection->pooled());
  const Statement one{"", "SELECT 1"};
  const auto before = connection->timeline();
  (void)connection->run(one, {}, Effect::none).value();
  EXPECT_EQ(connection->timeline(), before);

  pooler.lead_to(standby);
  const auto replica = connection->run(one, {}, Effect::none);
  ASSERT_FALSE(replica.ok());
  EXPECT_EQ(replica.error().code, Code::storage_unavailable);
  ASSERT_TRUE(standby.promote());
  (void)connection->run(one, {}, Effect::none).value();
  EXPECT_NE(connection->timeline(), before) << "over the same connection";
  PostgresServer::stop(standby.folder);
}

TEST_F(PostgresPooler, ReshardAndMigrationsWorkThroughIt) {
  for (int i = 0; i < 5; ++i) {
    auto tx = store_->begin().value();
    write(*tx);
    tx->commit().value();
  }
  const auto schema = open_schema(pooler_->url(), database_->options()).value();
  EXPECT_TRUE(schema->reshard({.outbox = table_, .shards = 4}).value().changed);
  EXPECT_EQ(schema->status().value().back().shards, 4U);
  schema->up({}).value();
  EXPECT_EQ(schema->down({.to = 0}).error().code, Code::tx_invalid_state);
  schema->down({.to = 0, .force = true}).value();
}

}  // namespace
}  // namespace sagabox::postgres
