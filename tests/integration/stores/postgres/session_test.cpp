#include "stores/postgres/driver/session.hpp"

#include "integration/stores/postgres/world.hpp"

#include <array>

namespace sagabox::postgres {
namespace {

using sagabox::testing::run_sql;

sql::Statement named(std::string name, std::vector<std::string> sql) {
  return {std::move(name), "", std::move(sql)};
}

/// What roles of the kit rely on.
class PostgresSession : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    (void)open_store();
    database_->sql("CREATE TABLE " + rows_table() + " (n int8, t text, b bytea, at timestamptz)");
    add_row_ = named("add", {"INSERT INTO " + rows_table() +
                             " SELECT * FROM unnest($1::int8[], $2::text[], $3::bytea[], "
                             "$4::timestamptz[])"});
    pool_ = std::make_unique<Pool>(settings(), Pool::Limits{}, "tests");
    sessions_ = std::make_unique<PostgresSessions>(*pool_);
  }
  [[nodiscard]] std::string rows_table() const { return in_schema("rows"); }
  [[nodiscard]] static sql::Values one_row() {
    return {std::vector<std::int64_t>{1}, std::vector<std::string>{"t"},
            std::vector{sql::Bytes("\xff")}, std::vector{WallTime{}}};
  }

  sql::Statement add_row_;
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<PostgresSessions> sessions_;
};

TEST_F(PostgresSession, ValuesComeBackAsTheyWereBound) {
  const WallTime at{std::chrono::microseconds(1'700'000'000'000'001)};
  const std::string bytes("\0\xff", 2);
  const auto answer = named("answer", {"SELECT $1, $2, $3, $4, $5, $6, $7, 3::int2, 4::int4"});
  auto session = sessions_->reader().value();
  auto rows = session->run(
      answer, {-5, "text", sql::Bytes(bytes), at, true, std::optional<std::string>(), UINT64_MAX});
  const auto row = rows->front();
  EXPECT_EQ(row.integer(0), -5);
  EXPECT_EQ(row.text(1), "text");
  EXPECT_EQ(row.text(2), bytes);
  EXPECT_EQ(row.time(3), at);
  EXPECT_TRUE(row.boolean(4));
  EXPECT_EQ(row.maybe_text(5), std::nullopt);
  EXPECT_EQ(row.integer(6), INT64_MAX);
  EXPECT_EQ(row.integer(7), 3);
  EXPECT_EQ(row.integer(8), 4);
}

TEST_F(PostgresSession, ListsAreArrays) {
  auto session = sessions_->begin().value();
  (void)session
      ->run(add_row_, {std::vector<std::int64_t>{7, 8}, std::vector<std::string>{"a\"", "b"},
                       std::vector{sql::Bytes("x"), sql::Bytes(std::string_view("\0", 1))},
                       std::vector{WallTime{}, WallTime{}}})
      .value();
  session->commit().value();
  EXPECT_EQ(database_->sql("SELECT string_agg(n || t || encode(b, 'hex'), ',' ORDER BY n) FROM " +
                           rows_table()),
            std::vector<std::string>{"7a\"78,8b00"});
}

TEST_F(PostgresSession, SeveralStatementsAnswerWithTheLastRows) {
  auto session = sessions_->begin().value();
  const auto both =
      named("both", {"INSERT INTO " + rows_table() + " (n) VALUES ($1)",
                     "SELECT count(*) FROM " + rows_table(), "DELETE FROM " + rows_table()});
  const std::array calls{sql::Call{&both, {1}}, sql::Call{&add_row_, one_row()}};
  const auto answers = session->run(calls).value();
  EXPECT_EQ(answers[0].front().integer(0), 1);
  EXPECT_TRUE(answers[1].empty());
}

TEST_F(PostgresSession, OneValueTooFewIsAnErrorAndOneTooManyIsNot) {
  EXPECT_FALSE(sessions_->reader().value()->run(named("few", {"SELECT $2::int8"}), {1}).ok());
  EXPECT_TRUE(sessions_->reader().value()->run(named("many", {"SELECT $1"}), {1, 2}).ok());
}

TEST_F(PostgresSession, WorkIsCommittedUnlessItFails) {
  const auto work = [&](bool fails) {
    return [this, fails](sql::Session& session) -> Status {
      (void)session.run(add_row_, one_row()).value();
      if (fails) return Error{Code::storage_conflict, "no"};
      return {};
    };
  };
  EXPECT_FALSE(sql::in_transaction(*sessions_, work(true)).ok());
  EXPECT_EQ(count("rows"), "0");
  EXPECT_TRUE(sql::in_transaction(*sessions_, work(false)).ok());
  EXPECT_EQ(count("rows"), "1");
}

TEST_F(PostgresSession, AutocommitCommitsEachRunOrNothingOfIt) {
  const auto fails = named("fails", {"SELECT 1 / 0"});
  auto session = sessions_->autocommit().value();
  const std::array calls{sql::Call{&add_row_, one_row()}, sql::Call{&fails, {}}};
  EXPECT_FALSE(session->run(calls).ok());
  EXPECT_EQ(count("rows"), "0");
  EXPECT_TRUE(session->run(add_row_, one_row()).ok());
  EXPECT_EQ(count("rows"), "1");
}

TEST_F(PostgresSession, OfABorrowedTransactionSharesItsFate) {
  auto store = open_store();
  auto user = database_->connect();
  for (const auto* end : {"ROLLBACK", "COMMIT"}) {
    run_sql(user.get(), "BEGIN");
    auto tx = enlist(user.get(), database_->schema()).value();
    auto session = session_of(tx).value();
    (void)session->run(add_row_, one_row()).value();
    EXPECT_TRUE(session->now().ok());
    run_sql(user.get(), end);
    EXPECT_EQ(session->run(add_row_, one_row()).error().code, Code::tx_no_transaction);
    EXPECT_EQ(session_of(tx).error().code, Code::tx_no_transaction);
  }
  EXPECT_EQ(count("rows"), "1");
}

TEST_F(PostgresSession, OfATransactionOfTheStoreSharesItsFate) {
  auto store = open_store();
  for (const bool commit : {false, true}) {
    auto tx = store->begin().value();
    (void)session_of(*tx).value()->run(add_row_, one_row()).value();
    (commit ? tx->commit() : tx->rollback()).value();
    EXPECT_FALSE(session_of(*tx).ok());
  }
  EXPECT_EQ(count("rows"), "1");
}

}  // namespace
}  // namespace sagabox::postgres
