#include "integration/stores/postgres/world.hpp"

#include <sagabox/stores/postgres/soci.hpp>

namespace sagabox::postgres {
namespace {

class PostgresSoci : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open_store();
    database_->sql("CREATE TABLE " + in_schema("business") + " (n integer)");
    session_.open(soci::postgresql, database_->url());
  }
  Result<Enlisted> enlist() { return postgres::enlist(session_, database_->schema()); }
  Status write(Transaction& tx) {
    const auto one = message();
    auto written = tx.outbox().insert(table_, std::span(&one, 1));
    if (!written.ok()) return written.error();
    return {};
  }
  void insert_business(int n) {
    session_ << "INSERT INTO " + in_schema("business") + " VALUES (:n)", soci::use(n);
  }

  std::unique_ptr<Store> store_;
  soci::session session_;
};

TEST_F(PostgresSoci, CommitPublishesBusinessRowAndMessage) {
  soci::transaction transaction(session_);
  insert_business(1);
  auto tx = enlist().value();
  write(tx).value();
  EXPECT_EQ(count("orders_outbox"), "0") << "not before the commit";
  transaction.commit();
  tx.committed();
  EXPECT_EQ(count("orders_outbox"), "1");
  EXPECT_EQ(count("business"), "1");
}

TEST_F(PostgresSoci, InboxSharesTheFateOfTheTransaction) {
  store_->inbox()->prepare().value();
  const auto first_time = [&](bool commits) {
    soci::transaction transaction(session_);
    auto tx = enlist().value();
    const bool first = tx.inbox().first_time("acme", "billing", "k1").value();
    insert_business(1);
    if (commits) transaction.commit();
    return first;
  };
  EXPECT_TRUE(first_time(false));
  EXPECT_TRUE(first_time(true));
  EXPECT_FALSE(first_time(false));
  EXPECT_EQ(count("inbox"), "1");
  EXPECT_EQ(count("business"), "1");
}

TEST_F(PostgresSoci, RollbackLeavesNothing) {
  {
    const soci::transaction forgotten(session_);
    auto tx = enlist().value();
    write(tx).value();
    insert_business(1);
  }
  session_.begin();
  auto tx = enlist().value();
  write(tx).value();
  session_.rollback();
  EXPECT_FALSE(tx.is_open());
  EXPECT_EQ(write(tx).error().code, Code::tx_no_transaction);
  EXPECT_EQ(count("orders_outbox"), "0");
  EXPECT_EQ(count("business"), "0");
}

TEST_F(PostgresSoci, ForgottenBeginIsToldAndNothingIsWritten) {
  EXPECT_EQ(enlist().error().code, Code::tx_no_transaction);
  EXPECT_EQ(count("orders_outbox"), "0");
}

TEST_F(PostgresSoci, FailedTransactionIsTold) {
  const soci::transaction transaction(session_);
  EXPECT_THROW(session_ << "SELECT 1 / 0", soci::soci_error);
  EXPECT_EQ(enlist().error().code, Code::tx_invalid_state);
}

TEST_F(PostgresSoci, ClosedSessionIsTold) {
  soci::session closed;
  EXPECT_EQ(postgres::enlist(closed).error().code, Code::config_invalid);
  EXPECT_FALSE(postgres::open(closed).ok());
}

TEST_F(PostgresSoci, SessionServesBothAfterwards) {
  for (int i = 0; i < 3; ++i) {
    soci::transaction transaction(session_);
    auto tx = enlist().value();
    write(tx).value();
    insert_business(i);
    write(tx).value();
    transaction.commit();
  }
  int rows = 0;
  session_ << "SELECT count(*) FROM " + in_schema("orders_outbox"), soci::into(rows);
  EXPECT_EQ(rows, 6);
}

TEST_F(PostgresSoci, StoreIsFoundFromTheSession) {
  const auto store = open(session_, database_->options()).value();
  EXPECT_EQ(store->name(), store_->name());
  EXPECT_EQ(store->outbox_admin().stats(table_).value().pending, 0U);
}

}  // namespace
}  // namespace sagabox::postgres
