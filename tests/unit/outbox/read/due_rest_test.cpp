#include "unit/outbox/relay_world.hpp"
#include "unit/outbox/shard_world.hpp"

#include <variant>

namespace sagabox::outbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct ClosedGate {
  ClosedGate() { gate.close("down"); }
  testing::TopicGate gate;
};

/// A relay whose messages are all due and of a class that the test opens and closes.
class DueRestTest : private ClosedGate, public RelayWorld {
 protected:
  DueRestTest()
      : RelayWorld({.options = {.cold_capacity = 10'000, .poll_interval = milliseconds(100)},
                    .gate = &gate}) {}
  void write_due(std::size_t count) {
    write(std::vector<NewMessage>(
        count,
        {.topic = "down", .payload = json("{}"), .not_before = clock.wall_now() + seconds(1)}));
    clock.advance(seconds(2));
  }
  void open() { gate.open("down"); }
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
};

TEST_F(DueRestTest, ManyThatCannotGoAreReadLessOftenAndAtOnceWhenTheyMay) {
  write_due(500);
  (void)due_reads(seconds(1));
  EXPECT_LE(due_reads(seconds(4)), 6) << "about once a second";
  open();
  relay.intake().reopen();
  EXPECT_GE(due_reads(milliseconds(10)), 1);
  EXPECT_EQ(relay.snapshot().cold_depth, 500U);
}

TEST_F(DueRestTest, AFewAreLookedAtWithEveryPoll) {
  write_due(5);
  EXPECT_GE(due_reads(seconds(2)), 18);
}

}  // namespace
}  // namespace sagabox::outbox
