#include "outbox/dispatch/unrouted.hpp"
#include "outbox/read/shard_state.hpp"
#include "unit/outbox/shard_world.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace sagabox::outbox {
namespace {

using testing::row;
using testing::sequences;
using testing::ShardWorld;
using Numbers = std::vector<std::uint64_t>;

ShardWorld::Options claiming() {
  ShardWorld::Options options;
  options.settings.store.claims = true;
  return options;
}

/// The page of the normal lane that takes what others have left.
PlannedRange sweep_of(ShardWorld& world) {
  world.state.begin_safety_pass();
  auto page = world.plan().at(1);
  if (page.purpose != Purpose::safety) page = world.plan().at(1);
  return page;
}

TEST(ShardClaims, OnlyTheSafetyPassTakesFromOthers) {
  ShardWorld world(claiming());
  world.own();
  for (const auto& page : world.plan()) EXPECT_FALSE(page.range.others_too);
  world.read_until_calm();
  EXPECT_TRUE(sweep_of(world).range.others_too);

  ShardWorld sharded({});
  sharded.own();
  sharded.read_until_calm();
  const auto page = sweep_of(sharded);
  EXPECT_EQ(page.purpose, Purpose::safety);
  EXPECT_FALSE(page.range.others_too);
}

TEST(ShardClaims, ClaimedMessageGoesThoughItIsAheadOfTheOwnOnes) {
  ShardWorld world(claiming());
  world.own();
  world.write(1);
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{1});
  world.settle();
  const auto page = sweep_of(world);
  const auto taken = world.apply(page, {row(7), row(9, "k"), row(11)}, true);
  EXPECT_EQ(taken.admitted, 1U) << "one with a key is our own: it waits for the read ahead";
  EXPECT_EQ(sequences(world.ready), Numbers{7});
}

TEST(ShardClaims, SweepThatFindsSomethingGoesOnAtOnce) {
  ShardWorld world(claiming());
  world.own();
  world.write(100);
  world.read_until_calm();
  (void)world.run();
  world.settle();
  ASSERT_FALSE(world.state.eager());
  (void)world.apply(sweep_of(world), {row(7), row(8)}, false);
  EXPECT_TRUE(world.state.eager());
  for (int reads = 0; reads < 4; ++reads) world.read();
  EXPECT_FALSE(world.state.eager()) << "nothing more was left";
}

TEST(ShardClaims, NothingIsTakenFromOthersForAMinuteAfterARowWithoutARoute) {
  const Registry registry(no_metrics(), "orders");
  const auto table = TableName::parse("orders").value();
  // The rows are old by the clock.
  const Unrouted unrouted(
      {.registry = registry, .table = table, .clock = system_clock(), .log = no_log()},
      {.grace = std::chrono::hours(100'000)});
  auto options = claiming();
  options.settings.gate = &unrouted;
  ShardWorld world(options);
  world.own();
  world.read_until_calm();
  const auto page = sweep_of(world);
  ASSERT_TRUE(page.range.others_too);
  (void)world.apply(page, {row(7)}, true);
  EXPECT_EQ(sequences(world.ready), Numbers{7}) << "the dispatcher releases its claim";
  (void)world.run();
  world.settle();
  world.read_until_calm();
  const auto resting = sweep_of(world);
  EXPECT_EQ(resting.purpose, Purpose::safety);
  EXPECT_FALSE(resting.range.others_too);
  world.now += std::chrono::seconds(61);
  world.read_until_calm();
  EXPECT_TRUE(sweep_of(world).range.others_too);
}

TEST(ShardClaims, NothingTakesTheHotPath) {
  ShardWorld world(claiming());
  world.own();
  EXPECT_FALSE(world.state.reserve(Sequence{1}, BootTime::max()));
  ShardWorld sharded({});
  sharded.own();
  EXPECT_TRUE(sharded.state.reserve(Sequence{1}, BootTime::max()));
}

}  // namespace
}  // namespace sagabox::outbox
