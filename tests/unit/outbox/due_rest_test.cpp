#include "outbox/relay.hpp"
#include "ownership/worker.hpp"
#include "unit/outbox/shard_world.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <variant>

namespace sagabox::outbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A relay whose messages are all due and of a class that the test opens and closes.
class DueRestTest : public ::testing::Test {
 protected:
  void write(std::size_t count) {
    auto writer = Outbox::writer_only(store, {.table = table.str()}).value();
    std::vector<NewMessage> messages;
    for (std::size_t number = 0; number < count; ++number) {
      messages.push_back(
          {.topic = "down", .payload = json("{}"), .not_before = clock.wall_now() + seconds(1)});
    }
    store
        .transaction(
            [&](OwnedTransaction& tx) { return writer.write_all(tx, std::move(messages)); })
        .value();
    clock.advance(seconds(2));
  }
  void SetUp() override {
    store.outbox().prepare(table).value();
    gate.close("down");
    relay.attach(worker);
    while (worker.step()) {
    }
    relay.controls().apply(relay.controls().perform(), clock.boot_now());
  }
  /// How often what is due was read in this time.
  int due_reads(Duration time) {
    int reads = 0;
    for (const auto end = clock.boot_now() + time; clock.boot_now() < end;
         clock.advance(milliseconds(10))) {
      const auto now = clock.boot_now();
      while (auto plan = relay.intake().plan(now)) {
        if (std::holds_alternative<DueRead>(plan->what)) ++reads;
        relay.intake().apply(*plan, relay.intake().perform(*plan), now);
      }
    }
    return reads;
  }

  sagabox::testing::FakeClock clock;
  memory::MemoryStore store{{.shards = 1, .clock = &clock}};
  TableName table = TableName::parse("orders").value();
  OutboxOptions options{
      .cold_capacity = 10'000, .poll_interval = milliseconds(100), .clock = &clock};
  testing::TopicGate gate;
  Registry registry{no_metrics(), table.str()};
  Relay relay{store.outbox(), store.control(), table, options, registry, {.gate = &gate}};
  UlidSource ids{*options.clock, *options.random};
  ownership::Worker worker{{.store = store.ownership(), .ids = ids, .clock = *options.clock},
                           {{.scope = Relay::scope_of(table),
                             .shards = store.outbox().capabilities().shards,
                             .share = ownership::Share::all,
                             .holder = &relay}}};
};

TEST_F(DueRestTest, ManyThatCannotGoAreReadLessOftenAndAtOnceWhenTheyMay) {
  write(500);
  (void)due_reads(seconds(1));
  EXPECT_LE(due_reads(seconds(4)), 6) << "about once a second";
  gate.open("down");
  relay.intake().reopen();
  EXPECT_GE(due_reads(milliseconds(10)), 1);
  EXPECT_EQ(relay.snapshot().cold_depth, 500U);
}

TEST_F(DueRestTest, AFewAreLookedAtWithEveryPoll) {
  write(5);
  EXPECT_GE(due_reads(seconds(2)), 18);
}

}  // namespace
}  // namespace sagabox::outbox
