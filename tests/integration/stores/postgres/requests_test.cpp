#include "integration/stores/postgres/kept_plans.hpp"
#include "integration/stores/postgres/world.hpp"
#include "spi/barrier_rules.hpp"

#include <array>
#include <optional>
#include <stdexcept>

namespace sagabox::postgres {
namespace {

using sagabox::testing::run_sql;

/// Records of requests, the inbox and the barrier as other sessions and languages meet them.
class PostgresRequests : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open(database_->url(), database_->options()).value();
    store_->idempotency()->prepare().value();
    store_->inbox()->prepare().value();
    user_ = database_->connect();
    sql("SET search_path = " + database_->schema());
  }
  std::vector<std::string> sql(const std::string& text) { return run_sql(user_.get(), text); }

  static spi::IdempotencyCheck check_by(std::uint64_t ticket) {
    return {.key = {"acme", "billing", "k1"},
            .request_hash = sha256("payload"),
            .ticket = IdempotencyTicket{ticket},
            .lease = std::chrono::seconds(15),
            .ttl = std::chrono::hours(1)};
  }
  Result<std::vector<spi::IdempotencyCheckReply>> check(std::uint64_t ticket) {
    const auto one = check_by(ticket);
    return store_->idempotency()->check(std::span(&one, 1));
  }
  /// As `check_by` would.
  std::string insert_by(std::uint64_t ticket) {
    return "INSERT INTO idempotency (tenant, consumer, key, request_hash, ticket, created_at, "
           "changed_at, lease_until, expires_at) VALUES ('acme', 'billing', 'k1', decode('" +
           hex(sha256("payload")) + "', 'hex'), " + std::to_string(ticket) +
           ", now(), now(), now() + interval '1 minute', now() + interval '1 hour')";
  }
  std::string call_barrier(const std::string& direction) {
    return sql("SELECT barrier(saga => 's1', step => 'pay', direction => '" + direction +
               "', deadline => now() + interval '1 hour')")
        .at(0);
  }

  std::unique_ptr<Store> store_;
  sagabox::testing::PgConnection user_;
};

TEST_F(PostgresRequests, RowNewerThanTheSnapshotIsLookedUpAgain) {
  sql("BEGIN");
  sql(insert_by(7));
  std::optional<spi::IdempotencyCheckReply> reply;
  std::thread checking([&] { reply = check(8).value().at(0); });
  until_blocked("idempotency AS known");
  sql("COMMIT");
  checking.join();
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->taken);
  EXPECT_EQ(reply->record.ticket, IdempotencyTicket{7});
}

TEST_F(PostgresRequests, KeyOfATransactionThatRollsBackIsLetThrough) {
  sql("BEGIN");
  sql(insert_by(7));
  std::optional<spi::IdempotencyCheckReply> reply;
  std::thread checking([&] { reply = check(8).value().at(0); });
  until_blocked("idempotency AS known");
  sql("ROLLBACK");
  checking.join();
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->taken);
}

// The statement's snapshot still shows the record that has expired; it has been replaced since.
TEST_F(PostgresRequests, OldVersionInTheSnapshotIsNotAnswered) {
  sql(insert_by(7));
  sql("UPDATE idempotency SET state = 'succeeded', result = 'old', expires_at = now()");
  sql("BEGIN");
  sql("UPDATE idempotency SET state = 'in_flight', result = NULL, ticket = 9, "
      "expires_at = now() + interval '1 hour'");
  std::optional<spi::IdempotencyCheckReply> reply;
  std::thread checking([&] { reply = check(8).value().at(0); });
  until_blocked("idempotency AS known");
  sql("COMMIT");
  checking.join();
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->taken);
  EXPECT_EQ(reply->record.state, IdempotencyState::in_flight);
  EXPECT_EQ(reply->record.ticket, IdempotencyTicket{9});
}

// Statements are prepared while the table is empty, and their plans stay when it has filled.
TEST_F(PostgresRequests, PlansOfAnEmptyTableUseItsIndexes) {
  struct Prepared {
    const char* name;
    const char* types;
    const char* values;
  };
  constexpr std::array statements{
      KeptStatement{"idempotency_take",
                    "text, text, text, bytea, bigint, bigint, bigint, timestamptz",
                    "'acme', 'billing', 'k', '', 1, 1, 1, NULL"},
      KeptStatement{"idempotency_look", "text, text, text, timestamptz",
                    "'acme', 'billing', 'k', NULL"},
      KeptStatement{"idempotency_finish", "text, text, text, bigint, timestamptz, bytea, bytea",
                    "'acme', 'billing', 'k', 1, NULL, '', ''"},
      KeptStatement{"idempotency_fail", "text, text, text, bigint, timestamptz, text, text, text",
                    "'acme', 'billing', 'k', 1, NULL, 'failed', '', ''"},
      KeptStatement{"idempotency_renew", "text, text, text, bigint, timestamptz, bigint",
                    "'acme', 'billing', 'k', 1, NULL, 1"},
      KeptStatement{"idempotency_purge_expired", "bigint, timestamptz", "10, NULL"},
      KeptStatement{"idempotency_purge_key", "text, text, text", "'acme', 'billing', 'k'"},
      KeptStatement{"idempotency_list", "text, text, text, text, text, bigint",
                    "'', '', '', NULL, NULL, 10"},
      KeptStatement{"idempotency_list_of_tenant", "text, text, text, text, text, bigint",
                    "'acme', '', '', NULL, NULL, 10"},
      KeptStatement{"idempotency_list_of_consumer", "text, text, text, text, text, bigint",
                    "'acme', 'billing', '', 'billing', NULL, 10"},
      KeptStatement{"idempotency_get", "text, text, text", "'acme', 'billing', 'k'"},
      KeptStatement{"inbox_renew", "text, text, text, bigint, timestamptz",
                    "'acme', 'billing', 'k', 1, NULL"},
      KeptStatement{"inbox_taken", "text, text, text", "'acme', 'billing', 'k'"},
      KeptStatement{"inbox_purge_keys", "bigint, bigint, timestamptz", "10, 1, NULL"},
      KeptStatement{"inbox_purge_barriers", "bigint, timestamptz", "10, NULL"},
  };
  for (const auto* table : {"idempotency", "inbox", "barrier"}) {
    database_->sql("VACUUM " + in_schema(table));
  }
  expect_kept_plans_use_indexes(settings(), database_->schema(), statements);
}

TEST_F(PostgresRequests, FirstTimeInSqlSharesTheFateOfItsTransaction) {
  const auto first_time = [&] {
    return sql("SELECT first_time('acme', 'billing', 'k1')").at(0) == "t";
  };
  sql("BEGIN");
  EXPECT_TRUE(first_time());
  EXPECT_FALSE(first_time());
  sql("ROLLBACK");
  sql("BEGIN");
  EXPECT_TRUE(first_time());
  sql("COMMIT");
  EXPECT_FALSE(first_time());
  const auto tx = store_->begin().value();
  EXPECT_FALSE(tx->inbox().first_time("acme", "billing", "k1").value()) << "one inbox for all";
  EXPECT_TRUE(tx->inbox().first_time("acme", "shipping", "k1").value());
}

TEST_F(PostgresRequests, SecondConsumerWaitsForTheFirstOnesTransaction) {
  for (const bool commits : {false, true}) {
    sql("BEGIN");
    EXPECT_EQ(sql("SELECT first_time('acme', 'billing', 'k1')").at(0), "t");
    std::optional<bool> first;
    std::thread second([&] {
      const auto tx = store_->begin().value();
      first = tx->inbox().first_time("acme", "billing", "k1").value();
      tx->rollback().value();
    });
    until_blocked("inbox");
    sql(commits ? "COMMIT" : "ROLLBACK");
    second.join();
    EXPECT_EQ(first, !commits);
  }
}

TEST_F(PostgresRequests, FirstTimeInSqlKeepsAKeyThatIsAskedForAgain) {
  const auto day = std::chrono::hours(24);
  EXPECT_EQ(sql("SELECT first_time('acme', 'billing', 'k1')").at(0), "t");
  database_->advance_time(day * 7);
  EXPECT_EQ(sql("SELECT first_time('acme', 'billing', 'k1')").at(0), "f");
  const auto written = sql("SELECT xmin FROM inbox");
  EXPECT_EQ(sql("SELECT first_time('acme', 'billing', 'k1')").at(0), "f");
  EXPECT_EQ(sql("SELECT xmin FROM inbox"), written) << "once an hour";
  database_->advance_time(day * 3);
  EXPECT_EQ(store_->inbox()->purge({}).value().keys, 0U);
  EXPECT_EQ(sql("SELECT first_time('acme', 'billing', 'k1')").at(0), "f");
}

TEST_F(PostgresRequests, RenewalWaitsForTheOneBeforeAndIsMadeIfThatRollsBack) {
  EXPECT_EQ(sql("SELECT first_time('acme', 'billing', 'k1')").at(0), "t");
  for (const bool commits : {false, true}) {
    database_->advance_time(std::chrono::hours(2));
    sql("BEGIN");
    EXPECT_EQ(sql("SELECT first_time('acme', 'billing', 'k1')").at(0), "f");
    std::optional<bool> first;
    std::thread second([&] {
      const auto tx = store_->begin().value();
      first = tx->inbox().first_time("acme", "billing", "k1").value();
      tx->commit().value();
    });
    until_blocked("inbox");
    sql(commits ? "COMMIT" : "ROLLBACK");
    second.join();
    EXPECT_EQ(first, false);
    EXPECT_EQ(store_->inbox()->purge({.older_than = std::chrono::hours(1)}).value().keys, 0U);
  }
}

TEST_F(PostgresRequests, WhatIsNoNameIsRefusedInSql) {
  for (const auto* call :
       {"first_time('', 'billing', 'k')", "first_time('acme', NULL, 'k')",
        "first_time('acme', 'billing', repeat('k', 256))", "barrier('s1', 'pay', 'undo', now())",
        "barrier('s1', 'pay', NULL, now())", "barrier('s1', 'pay', 'action', NULL)"}) {
    EXPECT_THROW(sql(std::string("SELECT ") + call), std::runtime_error) << call;
  }
}

// All orders of up to five calls, against the pure decision.
TEST_F(PostgresRequests, BarrierInSqlDecidesAsTheRulesDo) {
  constexpr unsigned calls = 5;
  for (unsigned order = 0; order < (1U << calls); ++order) {
    sql("DELETE FROM barrier");
    std::optional<spi::BarrierState> state;
    for (unsigned call = 0; call < calls; ++call) {
      const auto direction =
          (order >> call & 1U) == 0 ? BarrierDirection::action : BarrierDirection::compensation;
      const auto step = spi::decide_barrier(state, direction);
      ASSERT_EQ(call_barrier(std::string(barrier_direction_name(direction))),
                barrier_answer_name(step.answer))
          << "order " << order << ", call " << call;
      state = step.after;
    }
  }
}

TEST_F(PostgresRequests, BarrierOfBothLanguagesIsOne) {
  EXPECT_EQ(call_barrier("action"), "run");
  const BarrierCall call{
      .saga = "s1", .step = "pay", .deadline = system_clock().wall_now() + std::chrono::hours(1)};
  const auto answer =
      store_->transaction([&](OwnedTransaction& tx) { return tx.inbox().barrier(call); });
  EXPECT_EQ(answer.value(), BarrierAnswer::repeated);
  EXPECT_EQ(call_barrier("compensation"), "run");
}

TEST_F(PostgresRequests, ConsumersNeedExecuteOnly) {
  const auto role = database_->schema() + "_consumer";
  database_->sql("CREATE ROLE " + role);
  database_->sql("GRANT USAGE ON SCHEMA " + database_->schema() + " TO " + role);
  sql("SET ROLE " + role);
  EXPECT_THROW(sql("SELECT first_time('acme', 'billing', 'k1')"), std::runtime_error);
  EXPECT_THROW(call_barrier("action"), std::runtime_error);
  sql("RESET ROLE");
  database_->sql("GRANT EXECUTE ON FUNCTION " + in_schema("first_time") + ", " +
                 in_schema("barrier") + " TO " + role);
  sql("SET ROLE " + role);
  EXPECT_EQ(sql("SELECT first_time('acme', 'billing', 'k1')").at(0), "t");
  EXPECT_EQ(call_barrier("action"), "run");
  EXPECT_THROW(sql("SELECT * FROM inbox"), std::runtime_error);
  sql("RESET ROLE");
  database_->sql("DROP OWNED BY " + role);
  database_->sql("DROP ROLE " + role);
}

TEST_F(PostgresRequests, ConsumersInCppNeedTheDocumentedRightsOnly) {
  const auto role = database_->schema() + "_cpp";
  database_->sql("CREATE ROLE " + role);
  database_->sql("GRANT USAGE ON SCHEMA " + database_->schema() + " TO " + role);
  database_->sql("GRANT INSERT, SELECT, UPDATE (taken_at) ON " + in_schema("inbox") + " TO " +
                 role);
  sql("SET ROLE " + role);
  const auto first_time = [&] {
    sql("BEGIN");
    auto tx = enlist(user_.get(), database_->schema()).value();
    const bool first = tx.inbox().first_time("acme", "billing", "k1").value();
    sql("COMMIT");
    return first;
  };
  EXPECT_TRUE(first_time());
  database_->advance_time(std::chrono::hours(2));
  EXPECT_FALSE(first_time());
  sql("RESET ROLE");
  database_->sql("DROP OWNED BY " + role);
  database_->sql("DROP ROLE " + role);
}

// A function or operator of another user does not get into what runs on a caller's connection.
TEST_F(PostgresRequests, SearchPathOfTheCallerDoesNotMatter) {
  database_->sql("CREATE SCHEMA IF NOT EXISTS " + database_->schema() + "_own");
  sql("SET search_path = " + database_->schema() + "_own, pg_catalog");
  sql("CREATE FUNCTION never(text, text) RETURNS boolean LANGUAGE sql AS "
      "'SELECT false'; CREATE OPERATOR = (LEFTARG = text, RIGHTARG = text, FUNCTION = never)");
  sql("SET search_path = " + database_->schema() + "_own, pg_catalog");
  std::vector<BarrierAnswer> answers;
  const auto first_time = [&] {
    sql("BEGIN");
    auto tx = enlist(user_.get(), database_->schema()).value();
    const bool first = tx.inbox().first_time("acme", "billing", "k1").value();
    const BarrierCall call{.saga = "s1",
                           .step = "pay",
                           .direction = BarrierDirection::compensation,
                           .deadline = system_clock().wall_now() + std::chrono::hours(1)};
    answers.push_back(
        tx.inbox().barrier({.saga = call.saga, .step = "pay", .deadline = call.deadline}).value());
    answers.push_back(tx.inbox().barrier(call).value());
    sql("COMMIT");
    return first;
  };
  EXPECT_TRUE(first_time());
  database_->advance_time(std::chrono::hours(2));
  EXPECT_FALSE(first_time());
  EXPECT_EQ(store_->inbox()->purge({.older_than = std::chrono::hours(1)}).value().keys, 0U)
      << "the key was renewed";
  EXPECT_EQ(answers, (std::vector{BarrierAnswer::run, BarrierAnswer::run, BarrierAnswer::too_late,
                                  BarrierAnswer::repeated}));
}

}  // namespace
}  // namespace sagabox::postgres
