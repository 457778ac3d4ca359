#include "integration/stores/postgres/world.hpp"

#include <sagabox/stores/postgres/pqxx.hpp>

/// libpqxx 6.4 forgets the result of a statement that found its connection broken.
extern "C" const char* __lsan_default_suppressions() { return "leak:libpqxx"; }  // NOLINT

namespace sagabox::postgres {
namespace {

class PostgresPqxx : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open_store();
    database_->sql("CREATE TABLE " + in_schema("business") + " (n integer)");
    connection_ = std::make_unique<pqxx::connection>(database_->url());
  }
  Result<Enlisted> enlist(pqxx::dbtransaction& tx) {
    return postgres::enlist(tx, database_->schema());
  }
  Status write(Transaction& tx) {
    const auto one = message();
    auto written = tx.outbox().insert(table_, std::span(&one, 1));
    if (!written.ok()) return written.error();
    return {};
  }
  std::string insert_business() { return "INSERT INTO " + in_schema("business") + " VALUES (1)"; }

  std::unique_ptr<Store> store_;
  std::unique_ptr<pqxx::connection> connection_;
};

TEST_F(PostgresPqxx, CommitPublishesBusinessRowAndMessage) {
  pqxx::work work(*connection_);
  work.exec(insert_business());
  auto tx = enlist(work).value();
  write(tx).value();
  EXPECT_EQ(count("orders_outbox"), "0") << "not before the commit";
  work.commit();
  tx.committed();
  EXPECT_EQ(count("orders_outbox"), "1");
  EXPECT_EQ(count("business"), "1");
}

TEST_F(PostgresPqxx, InboxSharesTheFateOfTheTransaction) {
  store_->inbox()->prepare().value();
  const auto first_time = [&](bool commits) {
    pqxx::work work(*connection_);
    auto tx = enlist(work).value();
    const bool first = tx.inbox().first_time("acme", "billing", "k1").value();
    work.exec(insert_business());
    if (commits) work.commit();
    return first;
  };
  EXPECT_TRUE(first_time(false));
  EXPECT_TRUE(first_time(true));
  EXPECT_FALSE(first_time(false));
  EXPECT_EQ(count("inbox"), "1");
  EXPECT_EQ(count("business"), "1");
}

TEST_F(PostgresPqxx, AbortLeavesNothing) {
  {
    pqxx::work work(*connection_);
    auto tx = enlist(work).value();
    write(tx).value();
    work.exec(insert_business());
    work.abort();
    EXPECT_FALSE(tx.is_open());
    EXPECT_EQ(write(tx).error().code, Code::tx_no_transaction);
  }
  {
    pqxx::work forgotten(*connection_);
    auto tx = enlist(forgotten).value();
    write(tx).value();
  }
  EXPECT_EQ(count("orders_outbox"), "0");
  EXPECT_EQ(count("business"), "0");
}

TEST_F(PostgresPqxx, MessageMayBeTheFirstStatement) {
  pqxx::work work(*connection_);
  auto tx = enlist(work).value();
  write(tx).value();
  work.commit();
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(PostgresPqxx, LazyConnectionIsOpened) {
  pqxx::lazyconnection lazy(database_->url());
  pqxx::work work(lazy);
  auto tx = enlist(work).value();
  write(tx).value();
  work.commit();
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(PostgresPqxx, EndedTransactionIsToldAndNothingIsWritten) {
  pqxx::work work(*connection_);
  work.exec("SELECT 1");
  work.commit();
  EXPECT_EQ(enlist(work).error().code, Code::tx_no_transaction);
  EXPECT_EQ(count("orders_outbox"), "0");
}

TEST_F(PostgresPqxx, FailedTransactionIsTold) {
  pqxx::work work(*connection_);
  auto tx = enlist(work).value();
  EXPECT_THROW(work.exec("SELECT 1 / 0"), pqxx::sql_error);
  EXPECT_EQ(enlist(work).error().code, Code::tx_no_transaction) << "libpqxx has ended it";
  EXPECT_FALSE(write(tx).ok());
}

TEST_F(PostgresPqxx, BrokenConnectionIsTold) {
  pqxx::work work(*connection_);
  work.exec("SELECT 1");
  database_->sql("SELECT pg_terminate_backend(" + std::to_string(connection_->backendpid()) +
                 ", 10000)");
  EXPECT_EQ(enlist(work).error().code, Code::storage_unavailable);
}

TEST_F(PostgresPqxx, SubtransactionTakesItsMessagesBack) {
  pqxx::work work(*connection_);
  work.exec(insert_business());
  {
    pqxx::subtransaction part(work);
    auto tx = enlist(part).value();
    write(tx).value();
    part.abort();
  }
  {
    pqxx::subtransaction part(work);
    auto tx = enlist(part).value();
    write(tx).value();
    part.commit();
  }
  work.commit();
  EXPECT_EQ(count("orders_outbox"), "1");
}

template <class Any>
concept Enlists = requires(Any& any) { postgres::enlist(any); };

TEST_F(PostgresPqxx, WhatCannotBeRolledBackDoesNotCompile) {
  static_assert(Enlists<pqxx::work>);
  static_assert(Enlists<pqxx::robusttransaction<>>);
  static_assert(!Enlists<pqxx::nontransaction>);
}

TEST_F(PostgresPqxx, ConnectionServesBothAfterwards) {
  for (int i = 0; i < 3; ++i) {
    pqxx::work work(*connection_);
    auto tx = enlist(work).value();
    write(tx).value();
    work.exec_params("INSERT INTO " + in_schema("business") + " VALUES ($1)", i);
    write(tx).value();
    work.commit();
  }
  EXPECT_EQ(count("orders_outbox"), "6");
  EXPECT_EQ(count("business"), "3");
}

}  // namespace
}  // namespace sagabox::postgres
