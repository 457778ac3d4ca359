#include "outbox/dispatcher.hpp"

#include "outbox/relay.hpp"
#include "ownership/worker.hpp"

#include <sagabox/stores/memory.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace sagabox::outbox {
namespace {

/// A relay that owns its shards; the test calls its steps.
class DispatcherTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store.outbox().prepare(table).value();
    relay.attach(worker);
    while (worker.step()) {
    }
    relay.controls().apply(relay.controls().perform(), now());
  }
  void write(std::size_t count) {
    auto writer = Outbox::writer_only(store, {.table = table.str()}).value();
    std::vector<NewMessage> messages;
    for (std::size_t number = 0; number < count; ++number) {
      messages.push_back({.topic = "orders.order.placed.v1", .payload = json("{}")});
    }
    store
        .transaction(
            [&](OwnedTransaction& tx) { return writer.write_all(tx, std::move(messages)); })
        .value();
    relay.wake();
  }
  void read() {
    while (const auto plan = relay.intake().plan(now())) {
      relay.intake().apply(*plan, relay.intake().perform(*plan), now());
    }
  }
  void settle() {
    while (auto plan = relay.settler().plan(now())) {
      auto reply = relay.settler().perform(*plan);
      relay.settler().apply(std::move(*plan), std::move(reply), now());
    }
  }
  [[nodiscard]] BootTime now() const { return options.clock->boot_now(); }

  memory::MemoryStore store;
  TableName table = TableName::parse("orders").value();
  OutboxOptions options{};
  Registry registry{no_metrics(), table.str()};
  Relay relay{store.outbox(), store.control(), table, options, registry};
  UlidSource ids{*options.clock, *options.random};
  ownership::Worker worker{{.store = store.ownership(), .ids = ids, .clock = *options.clock},
                           {{.scope = Relay::scope_of(table),
                             .shards = store.outbox().capabilities().shards,
                             .share = ownership::Share::all,
                             .holder = &relay}}};
};

TEST_F(DispatcherTest, EveryRunningHandlerHearsTheStopWhileDeadlinesAreWatched) {
  constexpr int rounds = 20'000;
  write(rounds);
  auto& dispatcher = relay.dispatcher();
  auto& runner = dispatcher.runner(0);
  std::atomic<bool> over{false};
  std::thread watching([&] {
    while (!over) dispatcher.check_deadlines(now());
  });
  int heard = 0;
  for (int round = 0; round < rounds; ++round) {
    while (dispatcher.take(runner, now()) == Dispatcher::Took::nothing) read();
    dispatcher.tell_all_to_stop();
    if (runner.delivery().stop_token().stop_requested()) ++heard;
    dispatcher.complete(runner, done(), now());
    settle();
  }
  over = true;
  watching.join();
  EXPECT_EQ(heard, rounds);
}

}  // namespace
}  // namespace sagabox::outbox
