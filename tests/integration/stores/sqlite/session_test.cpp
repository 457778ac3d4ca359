#include "stores/sqlite/session.hpp"

#include "integration/stores/sqlite/world.hpp"

#include <array>

namespace sagabox::sqlite {
namespace {

sql::Statement statement_of(std::vector<std::string> sql) { return {"test", "", std::move(sql)}; }

const auto create_rows =
    statement_of({"CREATE TABLE rows (n INTEGER, t TEXT, b BLOB, at INTEGER)"});
const auto add_row = statement_of({"INSERT INTO rows VALUES (?1, ?2, ?3, ?4)"});

/// What roles of the kit rely on.
class SqliteSession : public SqliteTest {
 protected:
  void SetUp() override {
    (void)open_store();
    writer_ = Writer::open(path(), {}).value();
    readers_ = std::make_unique<Readers>(path(), Options{});
    sessions_ = std::make_unique<SqliteSessions>(*writer_, *readers_, system_clock());
    auto session = sessions_->begin().value();
    (void)session->run(create_rows).value();
    session->commit().value();
  }

  std::unique_ptr<Writer> writer_;
  std::unique_ptr<Readers> readers_;
  std::unique_ptr<SqliteSessions> sessions_;
};

TEST_F(SqliteSession, ValuesComeBackAsTheyWereBound) {
  const WallTime at{std::chrono::microseconds(1'700'000'000'000'001)};
  const std::string bytes("\0\xff", 2);
  const auto answer = statement_of({"SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7"});
  auto rows = sessions_->reader().value()->run(
      answer, {-5, "text", sql::Bytes(bytes), at, true, std::optional<std::string>(), UINT64_MAX});
  const auto row = rows->front();
  EXPECT_EQ(row.integer(0), -5);
  EXPECT_EQ(row.text(1), "text");
  EXPECT_EQ(row.text(2), bytes);
  EXPECT_EQ(row.time(3), at);
  EXPECT_TRUE(row.boolean(4));
  EXPECT_EQ(row.maybe_text(5), std::nullopt);
  EXPECT_EQ(row.integer(6), INT64_MAX);
}

TEST_F(SqliteSession, ListsAreJsonTextOrRunTheStatementForEachElement) {
  auto session = sessions_->begin().value();
  const auto joined =
      statement_of({"SELECT group_concat(i.value || t.value) FROM json_each(?1) AS i "
                    "JOIN json_each(?2) AS t ON t.key = i.key"});
  const std::vector<std::int64_t> numbers{7, 8};
  const std::vector<std::string> texts{"a\"", "b"};
  EXPECT_EQ(session->run(joined, {numbers, texts})->front().text(0), "7a\",8b");
  const std::vector<sql::Bytes> blobs{sql::Bytes("x"), sql::Bytes(std::string_view("\0", 1))};
  (void)session->run(add_row, {numbers, texts, blobs, 5}).value();
  session->commit().value();
  EXPECT_EQ(sql("SELECT group_concat(n || t || hex(b) || at) FROM rows").at(0), "7a\"785,8b005");
}

TEST_F(SqliteSession, SeveralStatementsAnswerWithTheLastRows) {
  auto session = sessions_->begin().value();
  const auto both = statement_of(
      {"INSERT INTO rows (n) VALUES (?1)", "SELECT count(*) FROM rows", "DELETE FROM rows"});
  const std::array calls{sql::Call{&both, {1}}, sql::Call{&add_row, {2, "t", sql::Bytes(), 0}}};
  const auto answers = session->run(calls).value();
  EXPECT_EQ(answers[0].front().integer(0), 1);
  EXPECT_TRUE(answers[1].empty());
}

TEST_F(SqliteSession, OneValueTooFewIsAnErrorAndOneTooManyIsNot) {
  auto session = sessions_->reader().value();
  EXPECT_FALSE(session->run(statement_of({"SELECT ?2"}), {1}).ok());
  EXPECT_TRUE(session->run(statement_of({"SELECT ?1"}), {1, 2}).ok());
}

TEST_F(SqliteSession, WorkIsCommittedUnlessItFails) {
  const auto work = [](bool fails) {
    return [fails](sql::Session& session) -> Status {
      (void)session.run(add_row, {1, "t", sql::Bytes(), 0}).value();
      if (fails) return Error{Code::storage_conflict, "no"};
      return {};
    };
  };
  EXPECT_FALSE(sql::in_transaction(*sessions_, work(true)).ok());
  EXPECT_EQ(count("rows"), "0");
  EXPECT_TRUE(sql::in_transaction(*sessions_, work(false)).ok());
  EXPECT_EQ(count("rows"), "1");
}

TEST_F(SqliteSession, AutocommitCommitsEachRunOrNothingOfIt) {
  const auto fails = statement_of({"INSERT INTO nowhere VALUES (1)"});
  auto session = sessions_->autocommit().value();
  const std::array calls{sql::Call{&add_row, {1, "t", sql::Bytes(), 0}}, sql::Call{&fails, {}}};
  EXPECT_FALSE(session->run(calls).ok());
  EXPECT_EQ(count("rows"), "0");
  EXPECT_TRUE(session->run(add_row, {1, "t", sql::Bytes(), 0}).ok());
  EXPECT_EQ(count("rows"), "1");
}

TEST_F(SqliteSession, OfABorrowedTransactionSharesItsFate) {
  const auto user = connect();
  for (const auto* end : {"ROLLBACK", "COMMIT"}) {
    sagabox::testing::run_sql(user.get(), "BEGIN IMMEDIATE");
    auto tx = enlist(user.get()).value();
    auto session = session_of(tx).value();
    (void)session->run(add_row, {1, "t", sql::Bytes(), session->now().value()}).value();
    sagabox::testing::run_sql(user.get(), end);
    EXPECT_EQ(session->run(add_row, {1, "t", sql::Bytes(), 0}).error().code,
              Code::tx_no_transaction);
    EXPECT_EQ(session_of(tx).error().code, Code::tx_no_transaction);
  }
  EXPECT_EQ(count("rows"), "1");
}

TEST_F(SqliteSession, OfATransactionOfTheStoreSharesItsFate) {
  auto store = open_store();
  for (const bool commit : {false, true}) {
    auto tx = store->begin().value();
    (void)session_of(*tx).value()->run(add_row, {1, "t", sql::Bytes(), 0}).value();
    (commit ? tx->commit() : tx->rollback()).value();
    EXPECT_FALSE(session_of(*tx).ok());
  }
  EXPECT_EQ(count("rows"), "1");
}

}  // namespace
}  // namespace sagabox::sqlite
