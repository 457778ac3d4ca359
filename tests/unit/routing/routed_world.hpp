#pragma once

#include "outbox/relay.hpp"
#include "ownership/worker.hpp"
#include "routing/forwarder.hpp"
#include "routing/route_table.hpp"
#include "support/timed_transport.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::routing {

/// The forwarder as a sink, without the router's thread.
class BareSink final : public spi::Sink {
 public:
  explicit BareSink(const RouterOptions& options)
      : forwarder(options, RouteTable::build(options).value(), [] {}) {}

  [[nodiscard]] std::optional<spi::ClassId> class_of(const Message& message) const override {
    return forwarder.class_of(message);
  }
  [[nodiscard]] bool closed(spi::ClassId id) const override { return forwarder.closed(id); }
  [[nodiscard]] bool samples(spi::ClassId id) const override { return forwarder.samples(id); }
  [[nodiscard]] bool takes(const Message& message) const override {
    return forwarder.table().find(message.topic()) != nullptr;
  }
  [[nodiscard]] std::uint32_t attempts_max(std::uint32_t of_table) const override {
    return of_table;
  }
  void join(spi::DispatchResults& results) override { forwarder.join(results); }
  void deliver(std::span<spi::Dispatch> dispatches, spi::DispatchResults& results) override {
    forwarder.deliver(dispatches, results);
  }
  void recall(spi::DispatchResults& results, Shard shard) override {
    forwarder.recall(results, shard);
  }
  void leave(spi::DispatchResults& results) override { forwarder.leave(results); }

  Forwarder forwarder;
};

/// A relay with one route to one destination, on a store in memory, in virtual time: everything
/// between the table and the transport is the real thing.
class RoutedWorld {
 public:
  struct With {
    std::uint16_t shards = 1;
    bool fair_tenants = false;
    std::uint32_t attempts_max = 5;
    std::uint32_t in_flight_max = 16;
    /// Bounds of the relay and the router are their defaults divided by this, so that fewer
    /// messages exceed them.
    std::uint32_t bounds_divided_by = 1;
  };
  using Kind = spi::SendResult::Kind;
  using Arrival = sagabox::testing::TimedTransport::Arrival;
  using Reply = sagabox::testing::TimedTransport::Reply;

  explicit RoutedWorld(With with)
      : store({.shards = with.shards, .clock = &clock}),
        transport(std::make_shared<sagabox::testing::TimedTransport>(clock, with.in_flight_max)),
        sink(std::make_shared<BareSink>(
            RouterOptions{.routes = {{.topic = "**", .to = {{"test:there"}}}},
                          .transports = {{"test", transport}},
                          .fair_tenants = with.fair_tenants,
                          .waiting_max = RouterOptions{}.waiting_max / with.bounds_divided_by,
                          .clock = &clock})) {
    options.sink = sink;
    options.clock = &clock;
    options.random = random.get();
    options.retry.attempts_max = with.attempts_max;
    options.hot_capacity /= with.bounds_divided_by;
    options.cold_capacity /= with.bounds_divided_by;
    options.read_ahead /= with.bounds_divided_by;
    options.unsettled_max /= with.bounds_divided_by;
    store.outbox().prepare(table).value();
    relay.emplace(store.outbox(), store.control(), table, options, registry());
    worker.emplace(
        ownership::WorkerParts{.store = store.ownership(), .ids = ids, .clock = clock},
        std::vector<ownership::ScopeOptions>{{.scope = outbox::Relay::scope_of(table),
                                              .shards = store.outbox().capabilities().shards,
                                              .share = ownership::Share::all,
                                              .holder = &*relay}});
    relay->attach(*worker);
    keep_shards();
  }
  ~RoutedWorld() { transport->close(now()); }
  RoutedWorld(const RoutedWorld&) = delete;
  RoutedWorld& operator=(const RoutedWorld&) = delete;

  void write(std::vector<NewMessage> messages) {
    auto writer =
        Outbox::writer_only(store, {.table = table.str(), .clock = &clock, .random = random.get()})
            .value();
    store
        .transaction(
            [&](OwnedTransaction& tx) { return writer.write_all(tx, std::move(messages)); })
        .value();
    relay->wake();
  }
  static NewMessage message(std::string topic, std::string key = {},
                            std::string tenant = "default") {
    return {.topic = std::move(topic),
            .key = std::move(key),
            .payload = json("{}"),
            .tenant = std::move(tenant)};
  }
  /// Time passes until `done`, at most for so long. False: it was not enough.
  bool run_until(const std::function<bool()>& done, Duration at_most) {
    const auto end = now() + at_most;
    while (!done()) {
      if (now() >= end) return false;
      // To ask takes longer than a step.
      for (int steps = 0; steps < 10; ++steps) step();
    }
    return true;
  }
  void run(Duration time) {
    run_until([] { return false; }, time);
  }

  [[nodiscard]] std::size_t arrived(const std::string& topic) const {
    return transport->answered[{topic, true}];
  }
  [[nodiscard]] std::size_t refused(const std::string& topic) const {
    return transport->answered[{topic, false}];
  }
  [[nodiscard]] std::size_t requests() const { return transport->log.size(); }
  [[nodiscard]] spi::TableStats stats() { return store.outbox_admin().stats(table).value(); }
  std::vector<MessageRecord> list(MessageState state) {
    return store.outbox_admin()
        .list({.table = table, .state = state, .rows_max = 100'000})
        .value()
        .rows;
  }
  [[nodiscard]] BootTime now() const { return clock.boot_now(); }
  void answer(std::function<Reply(const spi::Parcel&)> script) {
    transport->script = std::move(script);
  }
  /// Messages of this topic get this answer, others arrive.
  void answer_topic(const std::string& topic, const spi::SendResult& result) {
    answer([=](const spi::Parcel& parcel) {
      return parcel.message->topic() == topic ? Reply{.result = result} : Reply{};
    });
  }

  sagabox::testing::FakeClock clock;
  std::unique_ptr<Random> random = seeded_random(1);
  memory::MemoryStore store;
  std::shared_ptr<sagabox::testing::TimedTransport> transport;
  std::shared_ptr<BareSink> sink;

 private:
  static constexpr Duration tick = std::chrono::milliseconds(5);

  const outbox::Registry& registry() {
    return registry_.emplace(no_metrics(), table.str(), sink.get());
  }
  void keep_shards() {
    while (worker->step()) {
    }
    relay->controls().apply(relay->controls().perform(), now());
    kept_ = now();
  }
  void step() {
    const auto next = std::min(transport->next(), sink->forwarder.wake_at());
    clock.advance(next > now() + 10 * tick ? 10 * tick : std::max<Duration>(tick, next - now()));
    if (now() - kept_ >= std::chrono::seconds(1)) {
      keep_shards();
      relay->tick(now());
    }
    transport->answer();
    for (int pass = 0; pass < 2; ++pass) {
      sink->forwarder.pump();
      while (const auto plan = relay->intake().plan(now())) {
        relay->intake().apply(*plan, relay->intake().perform(*plan), now());
      }
      auto& runner = relay->dispatcher().runner(0);
      (void)relay->dispatcher().take(runner, now());
      while (auto plan = relay->settler().plan(now())) {
        auto reply = relay->settler().perform(*plan);
        relay->settler().apply(std::move(*plan), std::move(reply), now());
      }
    }
  }

  TableName table = TableName::parse("orders").value();
  OutboxOptions options;
  std::optional<outbox::Registry> registry_;
  UlidSource ids{clock, *random};
  std::optional<outbox::Relay> relay;
  std::optional<ownership::Worker> worker;
  BootTime kept_{};
};

}  // namespace sagabox::routing
