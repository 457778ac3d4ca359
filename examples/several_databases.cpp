// Two databases in one program, each with its own outbox: an order in orders.db becomes an invoice
// in billing.db. No transaction spans both. The message carries the news across, perhaps twice, and
// its id makes sure that there is one invoice all the same.

#include "sql.hpp"

#include <sagabox/sagabox.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <iostream>
#include <semaphore>
#include <string>

using sagabox::Delivery;
using sagabox::OwnedTransaction;
using sagabox::sqlite::connection_of;

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const auto orders = sagabox::sqlite::open(folder + "/orders.db").value();
  const auto billing = sagabox::sqlite::open(folder + "/billing.db").value();
  auto orders_outbox = sagabox::Outbox::single_process(*orders, {.table = "orders"}).value();
  auto billing_outbox = sagabox::Outbox::single_process(*billing, {.table = "billing"}).value();

  const auto write_invoice = [&](const Delivery& order) {
    auto written = billing->transaction([&](OwnedTransaction& tx) {
      sqlite3* connection = connection_of(tx);
      sql::run(connection,
               "CREATE TABLE IF NOT EXISTS invoices (message TEXT PRIMARY KEY, total INTEGER)");
      sql::run(connection, "INSERT OR IGNORE INTO invoices (message, total) VALUES (?, 80)",
               order.id().str());
      // The same id again is not a second message.
      return billing_outbox.write(tx, {.topic = "billing.invoice.written.v1",
                                       .payload = sagabox::json(R"({"total": 80})"),
                                       .id = order.id().str()});
    });
    if (!written.ok()) return sagabox::retry(written.error().message);
    return sagabox::done();
  };

  std::counting_semaphore<> sent{0};
  const auto send_invoice = [&](const Delivery& invoice) {
    std::cout << "invoice sent: " << invoice.payload().json() << '\n';
    sent.release();
    return sagabox::done();
  };

  orders_outbox.listen("orders.order.placed.v1", write_invoice).value();
  billing_outbox.listen("billing.invoice.written.v1", send_invoice).value();
  orders_outbox.start().value();
  billing_outbox.start().value();

  orders
      ->transaction([&](OwnedTransaction& tx) {
        sqlite3* connection = connection_of(tx);
        sql::run(connection, "CREATE TABLE IF NOT EXISTS orders (what TEXT)");
        sql::run(connection, "INSERT INTO orders (what) VALUES ('two chairs')");
        return orders_outbox.write(tx, {.topic = "orders.order.placed.v1",
                                        .payload = sagabox::json(R"({"what": "two chairs"})")});
      })
      .value();

  sent.acquire();
  orders_outbox.stop().value();
  billing_outbox.stop().value();
}
