#include "integration/stores/postgres/world.hpp"

#include <sagabox/open.hpp>

namespace sagabox::postgres {
namespace {

using sagabox::testing::PgConnection;

class PostgresOpen : public PostgresTest {
 protected:
  void write(Store& store) {
    const auto one = message();
    store
        .transaction(
            [&](OwnedTransaction& tx) { return tx.outbox().insert(table_, std::span(&one, 1)); })
        .value();
  }
};

TEST_F(PostgresOpen, StoreIsFoundFromTheCallersConnection) {
  const auto direct = open_store();
  auto connection = database_->connect();
  const auto store = open(connection.get(), database_->options()).value();
  EXPECT_EQ(store->name(), direct->name());
  sagabox::testing::run_sql(connection.get(), "BEGIN; SELECT 1");
  write(*store);
  EXPECT_EQ(count("orders_outbox"), "1") << "over a connection of its own";
  EXPECT_EQ(PQtransactionStatus(connection.get()), PQTRANS_INTRANS);
  connection.reset();
  write(*store);
  EXPECT_EQ(count("orders_outbox"), "2");
}

TEST_F(PostgresOpen, ParametersOfTheConnectionAreTakenAsTheyAre) {
  const auto role = database_->schema() + "_o'brien\\ x";
  database_->sql("CREATE ROLE \"" + role + "\" LOGIN PASSWORD 'it''s \\ me'");
  const auto& server = sagabox::testing::PostgresServer::shared();
  const auto port = std::to_string(server.port);
  const PgConnection connection(PQsetdbLogin("127.0.0.1", port.c_str(), nullptr, nullptr,
                                             "postgres", role.c_str(), "it's \\ me"));
  ASSERT_EQ(PQstatus(connection.get()), CONNECTION_OK) << PQerrorMessage(connection.get());
  const auto store = open(connection.get(), database_->options()).value();
  auto tx = store->begin().value();
  EXPECT_EQ(sagabox::testing::run_sql(connection_of(*tx), "SELECT current_user").at(0), role);
  tx.reset();
  database_->sql("DROP ROLE \"" + role + "\"");
}

TEST_F(PostgresOpen, BrokenConnectionIsTold) {
  EXPECT_EQ(open(static_cast<PGconn*>(nullptr)).error().code, Code::storage_unavailable);
  const PgConnection broken(PQconnectdb("host=127.0.0.1 port=1 password=hunter2"));
  const auto refused = open(broken.get());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::storage_unavailable);
  EXPECT_EQ(refused.error().message.find("hunter2"), std::string::npos);
}

TEST_F(PostgresOpen, StoreIsFoundByItsUrl) {
  const auto port = std::to_string(sagabox::testing::PostgresServer::shared().port);
  for (const std::string scheme : {"postgres://", "postgresql://"}) {
    const auto store = sagabox::open_store(scheme + "postgres@127.0.0.1:" + port + "/postgres",
                                           {.shards = 4, .schema = database_->schema()})
                           .value();
    EXPECT_EQ(store->name(), "postgres://127.0.0.1:" + port + "/postgres");
    EXPECT_EQ(store->outbox().capabilities().shards, 4U);
    store->outbox().prepare(table_).value();
    write(*store);
  }
  EXPECT_EQ(count("orders_outbox"), "2");
  EXPECT_EQ(database_->sql("SELECT shards FROM " + in_schema("outbox")).at(0), "4");
}

}  // namespace
}  // namespace sagabox::postgres
