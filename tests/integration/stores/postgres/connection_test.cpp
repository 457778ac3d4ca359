#include "stores/postgres/driver/connection.hpp"

#include "integration/stores/postgres/world.hpp"

#include <array>
#include <atomic>

namespace sagabox::postgres {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

class PostgresConnection : public PostgresTest {
 protected:
  std::unique_ptr<Connection> connect(ConnectSettings settings) {
    return Connection::open(settings).value();
  }
  std::unique_ptr<Connection> connect() { return connect(settings()); }
  static Result<Rows> run(Connection& connection, std::string sql, Effect effect = Effect::none) {
    return connection.run({"", std::move(sql)}, {}, effect);
  }
  static std::string backend(Connection& connection) {
    return std::to_string(run(connection, "SELECT pg_backend_pid()").value().int4(0, 0));
  }
};

TEST_F(PostgresConnection, ValuesComeBackAsTheyWent) {
  auto connection = connect();
  const WallTime time{std::chrono::microseconds(1'767'000'000'123'456)};
  const std::string every("\0\xff\\x41", 5);
  Params params;
  params.boolean(true)
      .int2(-7)
      .int4(-70'000)
      .int8(-7'000'000'000)
      .text("é'; --")
      .bytea(every)
      .timestamptz(time)
      .null(Type::text)
      .microseconds(milliseconds(1500));
  const auto rows =
      connection->run({"all", "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9"}, params, Effect::none)
          .value();
  EXPECT_TRUE(rows.boolean(0, 0));
  EXPECT_EQ(rows.int2(0, 1), -7);
  EXPECT_EQ(rows.int4(0, 2), -70'000);
  EXPECT_EQ(rows.int8(0, 3), -7'000'000'000);
  EXPECT_EQ(rows.text(0, 4), "é'; --");
  EXPECT_EQ(rows.text(0, 5), every);
  EXPECT_EQ(rows.timestamptz(0, 6), time);
  EXPECT_TRUE(rows.is_null(0, 7));
  EXPECT_EQ(rows.text(0, 7), "");
  EXPECT_EQ(rows.int8(0, 8), 1'500'000);
}

TEST_F(PostgresConnection, ArraysKeepOrderAndNulls) {
  auto connection = connect();
  const std::vector<std::optional<std::string_view>> words{"a", std::nullopt, "", "{,\"}"};
  const std::vector<std::int16_t> none;
  Params params;
  params.array(Type::text, words, [](const auto& word) { return word; })
      .array(Type::int2, none, [](std::int16_t number) { return number; });
  const auto rows =
      connection
          ->run({"", "SELECT word, cardinality($2) FROM unnest($1) AS word"}, params, Effect::none)
          .value();
  ASSERT_EQ(rows.size(), 4);
  EXPECT_EQ(rows.text(0, 0), "a");
  EXPECT_TRUE(rows.is_null(1, 0));
  EXPECT_FALSE(rows.is_null(2, 0));
  EXPECT_EQ(rows.text(3, 0), "{,\"}");
  EXPECT_EQ(rows.int4(0, 1), 0);
}

TEST_F(PostgresConnection, InfiniteTimesAreTheFarthestWeHave) {
  auto connection = connect();
  const auto rows =
      run(*connection, "SELECT 'infinity'::timestamptz, '-infinity'::timestamptz").value();
  EXPECT_EQ(rows.timestamptz(0, 0), WallTime::max());
  EXPECT_EQ(rows.timestamptz(0, 1), WallTime::min());
}

TEST_F(PostgresConnection, StatementsArePreparedOnce) {
  auto connection = connect();
  const Statement one{"one", "SELECT 1"};
  const Params none;
  const std::array calls{Call{&one, &none}, Call{&one, &none}};
  EXPECT_EQ(connection->run(calls, Effect::none).value().size(), 2U);
  EXPECT_EQ(connection->run(one, none, Effect::none).value().int4(0, 0), 1);
  const auto known = run(*connection, "SELECT count(*) FROM pg_prepared_statements").value();
  EXPECT_EQ(known.int8(0, 0), 1);
}

TEST_F(PostgresConnection, StatementThatCouldNotBePreparedIsTriedAgain) {
  auto connection = connect();
  const Statement late{"late", "SELECT 1 FROM " + in_schema("not_yet")};
  const auto failed = connection->run(late, {}, Effect::none);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::config_invalid);
  database_->sql("CREATE SCHEMA " + database_->schema() + "; CREATE TABLE " + in_schema("not_yet") +
                 " (n integer)");
  EXPECT_TRUE(connection->run(late, {}, Effect::none).ok());
}

TEST_F(PostgresConnection, BatchOutsideATransactionIsAllOrNothing) {
  database_->sql("CREATE SCHEMA " + database_->schema() + "; CREATE TABLE " + in_schema("t") +
                 " (n integer)");
  auto connection = connect();
  const Statement good{"good", "INSERT INTO " + in_schema("t") + " VALUES (1)"};
  const Statement bad{"bad", "SELECT 1 / 0"};
  const Params none;
  const std::array calls{Call{&good, &none}, Call{&bad, &none}, Call{&good, &none}};
  EXPECT_FALSE(connection->run(calls, Effect::commits).ok());
  EXPECT_EQ(count("t"), "0");
  EXPECT_TRUE(connection->run(good, none, Effect::commits).ok()) << "the connection goes on";
  EXPECT_EQ(count("t"), "1");
}

TEST_F(PostgresConnection, LargeBatchBothWaysDoesNotLockUp) {
  auto connection = connect();
  const std::string megabyte(1 << 20, 'x');
  Params params;
  params.text(megabyte);
  const Statement echo{"echo", "SELECT $1"};
  const std::vector<Call> calls(24, Call{&echo, &params});
  const auto answers = connection->run(calls, Effect::none).value();
  ASSERT_EQ(answers.size(), calls.size());
  EXPECT_EQ(answers.back().text(0, 0), megabyte);
}

TEST_F(PostgresConnection, ServerErrorsHaveOurCodesAndQuoteNoData) {
  database_->sql("CREATE SCHEMA " + database_->schema() + "; CREATE TABLE " + in_schema("t") +
                 " (n text UNIQUE CHECK (n <> 'secret-1'))");
  auto connection = connect();
  const auto code = [&](const std::string& sql) {
    const auto result = run(*connection, sql, Effect::commits);
    EXPECT_FALSE(result.ok()) << sql;
    if (result.ok()) return Code::tx_timeout;
    EXPECT_EQ(result.error().message.find("secret"), std::string::npos) << result.error().message;
    return result.error().code;
  };
  run(*connection, "INSERT INTO " + in_schema("t") + " VALUES ('secret-2')", Effect::commits)
      .value();
  EXPECT_EQ(code("INSERT INTO " + in_schema("t") + " VALUES ('secret-2')"), Code::storage_conflict);
  EXPECT_EQ(code("INSERT INTO " + in_schema("t") + " VALUES ('secret-1')"),
            Code::schema_validation_failed);
  EXPECT_EQ(code("SELECT 'secret'::integer"), Code::schema_validation_failed);
  EXPECT_EQ(code("SELECT * FROM " + in_schema("nowhere")), Code::config_invalid);
  EXPECT_EQ(code("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$"), Code::storage_conflict);
  EXPECT_EQ(code("DO $$ BEGIN RAISE SQLSTATE '53300'; END $$"), Code::storage_unavailable);
  EXPECT_EQ(code("DO $$ BEGIN RAISE SQLSTATE 'XX000'; END $$"), Code::unknown_internal);
}

TEST_F(PostgresConnection, WaitForARowIsBounded) {
  database_->sql("CREATE SCHEMA " + database_->schema() + "; CREATE TABLE " + in_schema("t") +
                 " AS SELECT 1 AS n");
  auto holder = database_->connect();
  sagabox::testing::run_sql(holder.get(), "BEGIN; UPDATE " + in_schema("t") + " SET n = 2");
  auto hasty = settings();
  hasty.lock_max = milliseconds(1);
  auto connection = connect(hasty);
  const auto blocked = run(*connection, "UPDATE " + in_schema("t") + " SET n = 3", Effect::commits);
  ASSERT_FALSE(blocked.ok());
  EXPECT_EQ(blocked.error().code, Code::storage_conflict);
}

TEST_F(PostgresConnection, LongStatementIsCancelled) {
  auto hasty = settings();
  hasty.statement_max = milliseconds(500);  // connecting takes some too
  auto connection = connect(hasty);
  const auto cancelled = run(*connection, "SELECT pg_sleep(60)");
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, Code::storage_unavailable);
  EXPECT_TRUE(connection->reusable());
}

/// Jumps far ahead whenever it is asked.
class RacingClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall_now() const override { return {}; }
  [[nodiscard]] BootTime boot_now() const override { return BootTime(hours(++calls_)); }

 private:
  mutable std::atomic<int> calls_{0};
};

TEST_F(PostgresConnection, ServerThatDoesNotAnswerCountsAsGone) {
  auto holder = connect();
  run(*holder, "SELECT pg_advisory_lock(4711)").value();
  for (const auto effect : {Effect::none, Effect::commits}) {
    auto connection = connect();
    const RacingClock racing;
    PreparedNames prepared;
    Link link(connection->handle(), &prepared, {&racing, Duration(seconds(1))});
    const auto lost = link.run({"", "SELECT pg_advisory_lock(4711)"}, {}, effect);
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.error().code,
              effect == Effect::none ? Code::storage_unavailable : Code::storage_in_doubt);
    EXPECT_TRUE(link.lost());
  }
}

TEST_F(PostgresConnection, LostWhileReadingMeansTryAgain) {
  auto connection = connect();
  const auto pid = backend(*connection);
  ASSERT_TRUE(connection->reusable());
  database_->sql("SELECT pg_terminate_backend(" + pid + ", 10000)");
  EXPECT_FALSE(connection->reusable()) << "seen without asking the server";
  const auto lost = run(*connection, "SELECT 1");
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, Code::storage_unavailable);
}

TEST_F(PostgresConnection, LostDuringCommitIsInDoubt) {
  // The commit stops in a deferred trigger, on a lock that somebody else holds.
  database_->sql(
      "CREATE SCHEMA " + database_->schema() + "; CREATE TABLE " + in_schema("t") +
      " (n integer); CREATE FUNCTION " + in_schema("stop()") +
      " RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(4712); RETURN "
      "NULL; END $$; CREATE CONSTRAINT TRIGGER stop AFTER INSERT ON " +
      in_schema("t") + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION " +
      in_schema("stop()"));
  auto holder = database_->connect();
  sagabox::testing::run_sql(holder.get(), "SELECT pg_advisory_lock(4712)");
  auto connection = connect();
  connection->begin().value();
  run(*connection, "INSERT INTO " + in_schema("t") + " VALUES (1)").value();
  const auto pid = backend(*connection);
  Status committed;
  std::thread committer([&] { committed = connection->commit(); });
  until_blocked("COMMIT");
  database_->sql("SELECT pg_terminate_backend(" + pid + ", 10000)");
  committer.join();
  ASSERT_FALSE(committed.ok());
  EXPECT_EQ(committed.error().code, Code::storage_in_doubt);
  EXPECT_FALSE(is_retry_safe(committed.error().code));
}

TEST_F(PostgresConnection, CommitOfAFailedTransactionSaysSo) {
  auto connection = connect();
  connection->begin().value();
  EXPECT_FALSE(run(*connection, "SELECT 1 / 0").ok());
  const auto committed = connection->commit();
  ASSERT_FALSE(committed.ok());
  EXPECT_EQ(committed.error().code, Code::tx_invalid_state);
  EXPECT_TRUE(connection->reusable()) << "rolled back";
}

TEST_F(PostgresConnection, PlansAreMadeForTheParameters) {
  const auto mode = [&](bool custom) {
    auto with = settings();
    with.custom_plans = custom;
    return std::string(
        run(*connect(with), "SELECT current_setting('plan_cache_mode')").value().text(0, 0));
  };
  EXPECT_EQ(mode(true), "force_custom_plan");
  EXPECT_EQ(mode(false), "auto");
}

TEST_F(PostgresConnection, TimelineIsTheServersAndStays) {
  const auto first = connect()->timeline();
  EXPECT_NE(first, Timeline{});
  EXPECT_EQ(connect()->timeline(), first);
}

TEST_F(PostgresConnection, UnreachableServerIsUnavailable) {
  auto nowhere = settings();
  nowhere.url = "postgres://bob:hunter2@127.0.0.1:1/orders";
  const auto refused = Connection::open(nowhere);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::storage_unavailable);
  EXPECT_EQ(refused.error().message.find("hunter2"), std::string::npos);
}

TEST_F(PostgresConnection, UnknownDatabaseIsAMistakeOfTheConfiguration) {
  auto wrong = settings();
  wrong.url = sagabox::testing::PostgresServer::shared().url() + " dbname=no_such_database";
  const auto refused = Connection::open(wrong);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
}

}  // namespace
}  // namespace sagabox::postgres
