#include "integration/postgres/world.hpp"

#include <sagabox/sagabox.hpp>
#include <sagabox/stores/postgres.hpp>

#include <libpq-fe.h>

#include <memory>
#include <string>

namespace sagabox::integration {
namespace {

/// A database of one's own, with nothing in it: the way a service begins.
class PostgresFirstService : public PostgresWorld {
 protected:
  static constexpr auto name = "first_service";

  void SetUp() override {
    PostgresWorld::SetUp();
    if (IsSkipped()) return;
    database->sql(std::string("DROP DATABASE IF EXISTS ") + name);
    database->sql(std::string("CREATE DATABASE ") + name);
    url = testing::PostgresServer::shared().url() + " dbname=" + name;
  }
  void TearDown() override {
    if (!url.empty()) database->sql(std::string("DROP DATABASE ") + name + " WITH (FORCE)");
  }

  std::string url;
};

struct Order {
  std::string id = "17";
};

void insert_order(PGconn* conn, const Order& order) {
  testing::run_sql(conn, "INSERT INTO purchase VALUES ('" + order.id + "')");
}
std::string to_json(const Order& order) { return R"({"id": )" + order.id + "}"; }

/// What the library promises that users type: it compiles and works as it stands here.
TEST_F(PostgresFirstService, IsWrittenAsItReads) {
  Inbox mailer;
  const testing::PgConnection connection(PQconnectdb(url.c_str()));
  PGconn* const conn = connection.get();
  testing::run_sql(conn, "CREATE TABLE purchase (id text PRIMARY KEY)");
  const Order order;

  auto store = sagabox::postgres::open(url).value();
  auto outbox = sagabox::Outbox::several_processes(*store, {.table = "orders"}).value();

  outbox
      .listen("orders.order.placed.v1",
              [&](const sagabox::Delivery& d) {
                mailer.add(d);
                return sagabox::done();  // or retry_after(30s), or reject("no such customer")
              })
      .value();
  outbox.start().value();

  // in a request handler, on the service's own connection and transaction
  PQclear(PQexec(conn, "BEGIN"));
  insert_order(conn, order);
  auto tx = sagabox::postgres::enlist(conn).value();
  outbox
      .write(tx, {.topic = "orders.order.placed.v1",
                  .key = order.id,  // same key, same order
                  .payload = sagabox::json(to_json(order))})
      .value();
  PQclear(PQexec(conn, "COMMIT"));
  tx.committed();  // optional: takes the fast path instead of the next poll

  EXPECT_TRUE(eventually([&] { return mailer.size() == 1; }));
  EXPECT_EQ(testing::run_sql(conn, "SELECT id FROM purchase").at(0), "17");

  // Shorter, where we may own the transaction.
  store
      ->transaction([&](auto& owned) {
        return outbox.write(owned, {.topic = "orders.order.placed.v1",
                                    .key = order.id,
                                    .payload = sagabox::json(to_json(order))});
      })
      .value();
  EXPECT_TRUE(eventually([&] { return mailer.size() == 2; }));

  // Without BEGIN.
  auto forgotten = sagabox::postgres::enlist(conn);
  const auto error = forgotten.ok() ? outbox
                                          .write(*forgotten, {.topic = "orders.order.placed.v1",
                                                              .payload = sagabox::json("{}")})
                                          .error()
                                    : forgotten.error();
  EXPECT_EQ(error.code, sagabox::Code::tx_no_transaction);
  EXPECT_NE(error.message.find("BEGIN"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace sagabox::integration
