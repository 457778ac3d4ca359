#pragma once

#include "outbox/relay.hpp"
#include "ownership/worker.hpp"
#include "support/forwarding.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sagabox::outbox {

/// A relay that owns every shard of a store in memory. Nothing runs by itself: the test calls the
/// steps of its stages.
class RelayWorld : public ::testing::Test {
 protected:
  struct With {
    std::uint16_t shards = 1;
    OutboxOptions options{};
    spi::Gate* gate = nullptr;
    bool claims = false;  ///< the store says that rows belong to whoever claims them
    /// Most tests have no listener: `handle` answers for all.
    Unroutable unroutable = Unroutable::dead;
  };
  explicit RelayWorld(With with)
      : store({.shards = with.shards, .clock = &clock}),
        outbox(store.outbox(), with.claims),
        options(on(clock, std::move(with.options), with.unroutable)),
        relay(outbox, store.control(), table, options, registry, {.gate = with.gate}) {}

  void SetUp() override {
    store.outbox().prepare(table).value();
    relay.attach(worker);
    keep_shards();
  }
  void keep_shards() {
    while (worker.step()) {
    }
    relay.controls().apply(relay.controls().perform(), now());
  }
  void write(std::vector<NewMessage> messages) {
    auto writer = Outbox::writer_only(store, {.table = table.str()}).value();
    store
        .transaction(
            [&](OwnedTransaction& tx) { return writer.write_all(tx, std::move(messages)); })
        .value();
    relay.wake();
  }
  void write(std::size_t count) {
    write(std::vector<NewMessage>(count, {.topic = "orders", .payload = json("{}")}));
  }
  /// Until there is nothing to read, or no room for it.
  void read() {
    while (const auto plan = relay.intake().plan(now())) {
      relay.intake().apply(*plan, relay.intake().perform(*plan), now());
    }
  }
  /// Everything that was read.
  void handle() {
    auto& runner = relay.dispatcher().runner(0);
    while (relay.dispatcher().take(runner, now()) == Dispatcher::Took::handler) {
      relay.dispatcher().complete(runner, done(), now());
    }
  }
  void settle() {
    while (auto plan = relay.settler().plan(now())) {
      auto reply = relay.settler().perform(*plan);
      relay.settler().apply(std::move(*plan), std::move(reply), now());
    }
  }
  [[nodiscard]] BootTime now() const { return clock.boot_now(); }

  sagabox::testing::FakeClock clock;
  memory::MemoryStore store;

 private:
  class MaybeClaiming : public sagabox::testing::ForwardingStore {
   public:
    MaybeClaiming(spi::OutboxStore& to, bool claims) : ForwardingStore(to), claims_(claims) {}
    [[nodiscard]] spi::Capabilities capabilities() const override {
      auto own = ForwardingStore::capabilities();
      own.claims = claims_;
      return own;
    }

   private:
    bool claims_;
  };
  static OutboxOptions on(const Clock& clock, OutboxOptions options, Unroutable unroutable) {
    options.clock = &clock;
    options.unroutable = unroutable;
    return options;
  }
  MaybeClaiming outbox;

 protected:
  TableName table = TableName::parse("orders").value();
  OutboxOptions options;
  Registry registry{no_metrics(), table.str(), options.sink.get()};
  Relay relay;
  UlidSource ids{*options.clock, *options.random};
  ownership::Worker worker{{.store = store.ownership(), .ids = ids, .clock = *options.clock},
                           {{.scope = Relay::scope_of(table),
                             .shards = store.outbox().capabilities().shards,
                             .share = ownership::Share::all,
                             .holder = &relay}}};
};

}  // namespace sagabox::outbox
