// An order and its message in one transaction, and a handler in the same program. Everything lies
// in one file: stop the program at any point, start it again, and it goes on.

#include "sql.hpp"

#include <sagabox/sagabox.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <iostream>
#include <semaphore>
#include <stdexcept>
#include <string>

int main(int argc, char** argv) {
  const auto store = sagabox::sqlite::open(argc > 1 ? argv[1] : "shop.db").value();
  auto outbox = sagabox::Outbox::single_process(*store, {.table = "orders"}).value();

  std::counting_semaphore<> delivered{0};
  outbox
      .listen("orders.order.placed.v1",
              [&](const sagabox::Delivery& delivery) {
                std::cout << "delivered: " + std::string(delivery.payload().json()) + "\n";
                delivered.release();
                return sagabox::done();  // or retry("…"), reject("…"); a throw is a retry
              })
      .value();
  outbox.start().value();

  const auto place_order = [&](sagabox::OwnedTransaction& tx, const std::string& what) {
    sqlite3* connection = sagabox::sqlite::connection_of(tx);
    sql::run(connection, "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, what TEXT)");
    sql::run(connection, "INSERT INTO orders (what) VALUES (?)", what);
    return outbox.write(tx, {.topic = "orders.order.placed.v1",
                             .payload = sagabox::json("{\"what\": \"" + what + "\"}")});
  };

  // Committed together when the function returns …
  store->transaction([&](auto& tx) { return place_order(tx, "two chairs"); }).value();

  // … and rolled back together when it throws or returns an error: nobody hears of the table.
  try {
    (void)store->transaction([&](auto& tx) {
      (void)place_order(tx, "a table").value();
      if (true) throw std::runtime_error("sold out");
      return sagabox::Status();
    });
  } catch (const std::runtime_error& error) {
    std::cout << "not ordered: " + std::string(error.what()) + "\n";
  }

  delivered.acquire();
  outbox.stop().value();  // finishes what is running
}
