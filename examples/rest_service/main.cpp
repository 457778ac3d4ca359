// A REST service whose endpoint may be called again and again:
//
//   curl -d '{"what": "two chairs"}' -H 'Idempotency-Key: 42' localhost:8080/orders
//
// writes an order and its message in one transaction. A client that got no answer asks again with
// the same key: it gets the answer of the first time, and nothing happens twice. orders.cpp is what
// matters here; http_server.cpp is Boost.Beast.

#include "http_server.hpp"
#include "orders.hpp"

#include <sagabox/sagabox.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <cstdlib>
#include <iostream>
#include <syncstream>

int main(int argc, char** argv) {
  const auto store = sagabox::sqlite::open(argc > 1 ? argv[1] : "orders.db").value();
  const auto port = static_cast<std::uint16_t>(argc > 2 ? std::atoi(argv[2]) : 8080);
  auto outbox = sagabox::Outbox::single_process(*store, {.table = "orders"}).value();
  outbox
      .listen("orders.order.placed.v1",
              [](const sagabox::Delivery& delivery) {
                std::osyncstream(std::cout) << "delivered " << delivery.payload().json() << '\n'
                                            << std::flush;
                return sagabox::done();
              })
      .value();
  outbox.start().value();

  Orders orders(*store, outbox);
  serve(
      port,
      [](std::uint16_t bound) {
        std::cout << "listening on http://127.0.0.1:" << bound << "/orders\n" << std::flush;
      },
      [&](const Request& request) -> Answer {
        if (request.path != "/orders") return {404, R"({"error": "there is only /orders"})"};
        if (request.method != "POST") return {405, R"({"error": "POST an order"})"};
        return orders.place(request.idempotency_key, request.body);
      });
  outbox.stop().value();
}
