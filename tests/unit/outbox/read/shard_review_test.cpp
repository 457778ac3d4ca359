#include "outbox/read/shard_state.hpp"
#include "unit/outbox/shard_world.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sagabox::outbox {
namespace {

using spi::Verdict;
using std::chrono::seconds;
using testing::message;
using testing::row;
using testing::ShardWorld;
using testing::TopicGate;

spi::Row row_about(std::uint64_t sequence, const char* topic, std::string key) {
  return row(sequence, message({.topic = topic, .key = std::move(key)}));
}

/// A route that is limited below its load: one of its messages goes now and then, others come.
class LimitedRoute {
 public:
  explicit LimitedRoute(std::size_t key_bytes_max = flow::PassedOver::key_bytes_default)
      : world(options_of(gate, key_bytes_max)) {
    gate.close("lim");
    world.own();
  }
  void write(const char* topic, std::uint64_t key) {
    ++last_;
    world.write(row_about(last_, topic, "key " + std::to_string(key)));
  }
  /// A second goes by. Checks the order of each key.
  void pass_a_second() {
    world.now += seconds(1);
    write("lim", 1'000'000 + last_);
    write("lim", 1'000'000 + last_);
    gate.open("lim");
    world.state.reopen();
    read_until_one_of_the_route();
    gate.close("lim");
    world.read_until_calm();
    run();
  }
  /// Everything that is ready.
  void run() {
    while (!world.ready.empty()) {
      const auto entry = world.start();
      if (!entry) continue;
      const auto& message = *entry->message;
      if (message.topic() == "lim") gate.close("lim");
      auto& before = last_of_key_[message.key()];
      EXPECT_LT(before, entry->sequence.value) << message.key() << " is out of order";
      before = entry->sequence.value;
      for (const auto& [sequence, other] : world.rows) {
        if (sequence >= entry->sequence.value) break;
        EXPECT_NE(other.message->key(), message.key()) << sequence << " was to go first";
      }
      ++delivered[message.topic()];
      world.finish(*entry, Verdict::done);
      world.settle();
    }
  }

 private:
  static ShardWorld::Options options_of(TopicGate& gate, std::size_t key_bytes_max) {
    ShardWorld::Options options;
    options.rows_each = 20;
    options.settings.gate = &gate;
    options.settings.key_memory.passed_bytes_max = key_bytes_max;
    return options;
  }
  void read_until_one_of_the_route() {
    const auto before = delivered["lim"];
    for (int reads = 0; reads < 100 && delivered["lim"] == before; ++reads) {
      world.read();
      run();
    }
  }
  std::uint64_t last_ = 0;
  std::map<std::string, std::uint64_t> last_of_key_;

 public:
  TopicGate gate;
  ShardWorld world;
  std::map<std::string, std::size_t> delivered;
};

TEST(ShardReview, KeyThatHasNothingLeftInALimitedClassDoesNotWaitForItsEnd) {
  LimitedRoute route;
  for (std::uint64_t key = 1; key <= 300; ++key) route.write("lim", key);
  for (int second = 0; second < 10; ++second) route.pass_a_second();
  const auto gone = route.delivered["lim"];
  ASSERT_GE(gone, 5U);
  // Of keys that have had theirs, and of one that still waits.
  for (std::uint64_t key = 1; key <= 5; ++key) route.write("up", key);
  route.write("up", 300);
  for (int second = 0; second < 5; ++second) route.pass_a_second();
  EXPECT_EQ(route.delivered["up"], 5U);
  EXPECT_GT(route.world.rows.size(), 250U) << "the class has not come to its end";
}

TEST(ShardReview, KeyFollowsItsMessageOutOfALimitedClassSoon) {
  LimitedRoute route;
  for (std::uint64_t key = 1; key <= 300; ++key) route.write("lim", key);
  for (std::uint64_t key = 1; key <= 5; ++key) route.write("up", key);
  route.world.read_until_calm();
  EXPECT_EQ(route.delivered["up"], 0U);
  for (int second = 0; second < 20 && route.delivered["up"] < 5; ++second) route.pass_a_second();
  EXPECT_EQ(route.delivered["up"], 5U);
  EXPECT_GT(route.world.rows.size(), 250U);
}

TEST(ShardReview, KeyThatHitsAFullFilterFalselyGoesWhileTheClassIsDown) {
  LimitedRoute route(1'024);
  for (std::uint64_t key = 1; key <= 1'000; ++key) route.write("lim", key);
  for (std::uint64_t key = 1; key <= 100; ++key) route.write("up", 2'000 + key);
  for (int second = 0; second < 60 && route.delivered["up"] < 100; ++second) {
    route.world.now += seconds(1);
    route.world.read_until_calm();
    route.run();
  }
  EXPECT_EQ(route.delivered["up"], 100U);
  EXPECT_EQ(route.delivered["lim"], 0U);
}

TEST(ShardReview, KeyWhoseMessageAnOperatorTookAwayGoesWhileTheClassIsDown) {
  LimitedRoute route;
  route.write("lim", 1);
  route.write("lim", 2);
  route.write("up", 1);
  route.write("up", 2);
  route.world.read_until_calm();
  ASSERT_EQ(route.world.run().size(), 0U);
  route.world.rows.erase(1);
  route.world.state.check_blocked_keys();
  route.world.now += seconds(1);
  route.world.read_until_calm();
  EXPECT_EQ(route.world.run(), std::vector<std::uint64_t>{3}) << "2 still stands before 4";
}

TEST(ShardReview, KeyDoesNotWaitForAMessageThatAnOperatorTookAwayWhileItWasQueued) {
  LimitedRoute route;
  auto& world = route.world;
  route.gate.open("lim");
  route.write("lim", 1);
  world.read_until_calm();
  ASSERT_EQ(world.ready.size(), 1U);
  world.rows.erase(1);
  world.state.check_blocked_keys();
  route.gate.close("lim");
  EXPECT_EQ(world.run().size(), 0U) << "it waits with its class";
  route.write("up", 1);
  world.read_until_calm();
  world.now += seconds(1);
  world.read_until_calm();
  EXPECT_EQ(world.run(), std::vector<std::uint64_t>{2});
}

TEST(ShardReview, KeyDoesNotWaitForAMessageThatAnOperatorTookAwaySinceTheReadBegan) {
  LimitedRoute route;
  auto& world = route.world;
  route.write("lim", 1);
  const auto pages = world.plan();
  std::vector<std::vector<spi::Row>> shown;
  for (const auto& page : pages) shown.push_back(world.show(page).first);
  world.rows.erase(1);
  world.state.check_blocked_keys();
  for (std::size_t at = 0; at < pages.size(); ++at) (void)world.apply(pages[at], shown[at], true);
  route.write("up", 1);
  world.read_until_calm();
  world.now += seconds(1);
  world.read_until_calm();
  EXPECT_EQ(world.run(), std::vector<std::uint64_t>{2});
}

TEST(ShardReview, KeyDoesNotWaitForAMessageThatCannotBeReadAnyMore) {
  LimitedRoute route;
  auto& world = route.world;
  route.write("lim", 1);
  route.write("lim", 2);
  route.write("up", 1);
  route.write("up", 2);
  world.read_until_calm();
  ASSERT_EQ(world.run().size(), 0U);
  world.rows.at(1).message.reset();
  world.state.begin_safety_pass();
  world.read_until_calm();
  ASSERT_EQ(world.settle().size(), 1U) << "it is dead";
  world.now += seconds(1);
  world.read_until_calm();
  EXPECT_EQ(world.run(), std::vector<std::uint64_t>{3}) << "2 still stands before 4";
}

TEST(ShardReview, DelayedMessageDoesNotWaitForOneThatAnOperatorTookAway) {
  LimitedRoute route;
  auto& world = route.world;
  route.write("lim", 1);
  route.write("lim", 2);
  world.read_until_calm();
  world.rows.erase(1);
  world.state.check_blocked_keys();
  world.write_delayed(3, "key 1");
  world.write_delayed(4, "key 2");
  (void)world.read_due();
  ASSERT_EQ(world.run().size(), 0U) << "it is not known yet that 1 is gone";
  world.now += seconds(1);
  world.read_until_calm();
  (void)world.read_due();
  EXPECT_EQ(world.run(), std::vector<std::uint64_t>{3}) << "2 still stands before 4";
}

TEST(ShardReview, KeyDoesNotWaitForAMessageThatWasSettledSinceTheReadBegan) {
  LimitedRoute route;
  route.gate.open("lim");
  route.write("lim", 1);
  auto& world = route.world;
  const auto ticket = world.state.tracker().read_begun();
  const auto pages = world.plan();
  std::vector<std::vector<spi::Row>> shown;
  for (const auto& page : pages) shown.push_back(world.show(page).first);
  world.read();
  ASSERT_EQ(world.run().size(), 1U);
  world.settle();
  route.gate.close("lim");
  for (std::size_t at = 0; at < pages.size(); ++at) (void)world.apply(pages[at], shown[at], true);
  world.state.tracker().read_seen(ticket);
  route.write("up", 1);
  world.read_until_calm();
  EXPECT_EQ(world.run(), std::vector<std::uint64_t>{2});
}

TEST(ShardReview, TellsWhatAMessageMayWaitFor) {
  LimitedRoute route;
  for (std::uint64_t key = 1; key <= 5; ++key) route.write("lim", key);
  route.write("up", 3);
  route.write("up", 77);
  route.world.read_until_calm();
  const auto told = [&](std::uint64_t sequence, const char* topic, const std::string& key) {
    return route.world.state.owner_view(*message({.topic = topic, .key = key}), Sequence{sequence})
        .value();
  };
  const auto behind = told(6, "up", "key 3");
  ASSERT_EQ(behind.key_behind.size(), 1U);
  EXPECT_EQ(behind.key_behind[0].topic, "lim");
  EXPECT_FALSE(behind.in_line);
  EXPECT_TRUE(told(2, "lim", "key 2").in_line);
  EXPECT_TRUE(told(2, "lim", "key 2").key_behind.empty());
  const auto free = told(7, "up", "key 77");
  EXPECT_TRUE(free.in_hand.has_value());
  EXPECT_TRUE(free.key_behind.empty());
  route.world.state.drain();
  EXPECT_FALSE(
      route.world.state.owner_view(*message({.topic = "up", .key = "key 3"}), Sequence{6}));
}

}  // namespace
}  // namespace sagabox::outbox
