#include "outbox/relay.hpp"
#include "ownership/worker.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

namespace sagabox::outbox {
namespace {

using std::chrono::seconds;

/// A relay that is given more than it reads, or nothing.
class SafetyPassTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t capacity = 100;

  void SetUp() override {
    store.outbox().prepare(table).value();
    relay.attach(worker);
  }
  void write(std::size_t count) {
    auto writer = Outbox::writer_only(store, {.table = table.str()}).value();
    std::vector<NewMessage> messages(count, {.topic = "orders", .payload = json("{}")});
    store
        .transaction(
            [&](OwnedTransaction& tx) { return writer.write_all(tx, std::move(messages)); })
        .value();
  }
  /// A second: one read, and all that it brought is handled and settled. How many pages of it
  /// were of a safety pass.
  std::ptrdiff_t one_second() {
    clock.advance(seconds(1));
    while (worker.step()) {
    }
    relay.controls().apply(relay.controls().perform(), now());
    auto& intake = relay.intake();
    std::ptrdiff_t safety = 0;
    for (bool read = false; !read;) {
      intake.wake();
      const auto plan = intake.plan(now());
      if (!plan) break;
      if (const auto* fresh = std::get_if<FreshRead>(&plan->what)) {
        safety = std::ranges::count(fresh->pages, Purpose::safety, &PlannedRange::purpose);
        read = true;
      }
      intake.apply(*plan, intake.perform(*plan), now());
    }
    auto& runner = relay.dispatcher().runner(0);
    while (relay.dispatcher().take(runner, now()) == Dispatcher::Took::handler) {
      relay.dispatcher().complete(runner, done(), now());
    }
    while (auto plan = relay.settler().plan(now())) {
      auto reply = relay.settler().perform(*plan);
      relay.settler().apply(std::move(*plan), std::move(reply), now());
    }
    return safety;
  }
  /// The second in which the first page of a pass is read; 0: none.
  int pass_begins_within(int limit, std::size_t written_a_second) {
    for (int second = 1; second <= limit; ++second) {
      write(written_a_second);
      if (one_second() > 0) return second;
    }
    return 0;
  }
  [[nodiscard]] BootTime now() const { return clock.boot_now(); }

  sagabox::testing::FakeClock clock;
  memory::MemoryStore store{{.shards = 1, .clock = &clock}};
  TableName table = TableName::parse("orders").value();
  OutboxOptions options{.cold_capacity = capacity, .read_ahead = 0, .clock = &clock};
  Registry registry{no_metrics(), table.str()};
  Relay relay{store.outbox(), store.control(), table, options, registry};
  UlidSource ids{*options.clock, *options.random};
  ownership::Worker worker{{.store = store.ownership(), .ids = ids, .clock = *options.clock},
                           {{.scope = Relay::scope_of(table),
                             .shards = store.outbox().capabilities().shards,
                             .share = ownership::Share::all,
                             .holder = &relay}}};
};

TEST_F(SafetyPassTest, BeginsAfterItsIntervalWhereEverythingIsRead) {
  const auto begun = pass_begins_within(40, capacity / 2);
  EXPECT_GE(begun, 30);
  EXPECT_LE(begun, 33);
}

TEST_F(SafetyPassTest, LetsABacklogGoFirst) {
  EXPECT_EQ(pass_begins_within(60, 2 * capacity), 0);
  const auto begun = pass_begins_within(80, 0);
  EXPECT_GE(begun, 58) << "what has come in a minute takes another one";
  EXPECT_LE(begun, 63);
}

TEST_F(SafetyPassTest, OfOtherLanesWaitsForABacklogFourIntervalsAtMost) {
  const auto begun = pass_begins_within(170, 2 * capacity);
  EXPECT_GE(begun, 150);
  EXPECT_LE(begun, 153);
}

TEST_F(SafetyPassTest, RestsForWhatItsReadsTookNotForWhatABacklogDid) {
  ASSERT_GT(pass_begins_within(170, 2 * capacity), 0);
  for (int second = 0; second < 200; ++second) (void)one_second();
  EXPECT_GT(pass_begins_within(40, 0), 0);
}

}  // namespace
}  // namespace sagabox::outbox
