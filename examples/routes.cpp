// Messages leave by routes: every order goes to a file as a line of JSON, and to a function that
// fails once. What the file has is not sent there again.

#include <sagabox/open.hpp>
#include <sagabox/sagabox.hpp>
#include <sagabox/transports/custom.hpp>

#include <atomic>
#include <iostream>
#include <semaphore>
#include <string>

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const auto store = sagabox::open_store("sqlite:" + folder + "/shop.db").value();

  std::atomic<int> calls{0};
  std::binary_semaphore charged{0};
  auto functions = std::make_shared<sagabox::Functions>();
  functions
      ->add("charge_card",
            [&](const sagabox::Delivery& delivery) {
              if (calls++ == 0) return sagabox::retry("the card's bank does not answer");
              std::cout << "charged at attempt " << delivery.attempt() << '\n';
              charged.release();
              return sagabox::done();
            })
      .value();

  const auto router =
      sagabox::Router::open(
          {.routes = {{.topic = "orders.order.*.v1",
                       .to = {{"file:" + folder + "/orders.jsonl"}, {"fn:charge_card"}}}},
           .transports = {{"file", sagabox::open_transport("file:").value()}, {"fn", functions}}})
          .value();
  auto outbox =
      sagabox::Outbox::single_process(*store, {.table = "orders", .sink = router}).value();
  outbox.start().value();

  store
      ->transaction([&](auto& tx) {
        return outbox.write(tx, {.topic = "orders.order.placed.v1",
                                 .payload = sagabox::json(R"({"what": "two chairs"})")});
      })
      .value();

  charged.acquire();
  outbox.stop().value();
}
