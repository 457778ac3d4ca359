// Two orders, one rolled back: the other one arrives, with the payload that was written.
#include <sagabox/sagabox.hpp>
#include <sagabox/stores/memory.hpp>

#include <iostream>
#include <semaphore>
#include <string>

namespace {

constexpr auto topic = "orders.order.placed.v1";

void place_order(sagabox::memory::MemoryStore& store, sagabox::Outbox& outbox, std::string id,
                 bool keep) {
  auto connection = store.connect();
  connection.begin().value();
  connection.put("orders", id, "two chairs").value();
  auto tx = sagabox::memory::enlist(connection).value();
  outbox.write(tx, {.topic = topic, .payload = sagabox::json("{\"id\": " + id + "}")}).value();
  if (keep) {
    connection.commit().value();
    tx.committed();
  } else {
    connection.rollback().value();
    tx.rolled_back();
  }
}

}  // namespace

int main() {
  sagabox::memory::MemoryStore store;
  auto outbox = sagabox::Outbox::single_process(store, {.table = "orders"}).value();
  std::string received;
  std::counting_semaphore<> delivered{0};
  outbox
      .listen(topic,
              [&](const sagabox::Delivery& delivery) {
                received += delivery.payload().json();
                delivered.release();
                return sagabox::done();
              })
      .value();
  outbox.start().value();

  place_order(store, outbox, "16", false);
  place_order(store, outbox, "17", true);
  delivered.acquire();
  outbox.stop().value();

  const auto table = sagabox::TableName::parse("orders").value();
  const auto stats = store.outbox_admin().stats(table).value();
  std::cout << "received " << received << ", done " << stats.done << ", pending " << stats.pending
            << ", orders " << store.count("orders") << '\n';
  const bool right = received == "{\"id\": 17}" && stats.done == 1 && stats.pending == 0 &&
                     store.count("orders") == 1;
  return right ? 0 : 1;
}
