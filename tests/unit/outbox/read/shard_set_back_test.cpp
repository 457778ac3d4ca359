#include "unit/outbox/shard_world.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sagabox::outbox {
namespace {

using spi::Verdict;
using testing::row;
using testing::ShardWorld;
using testing::TopicGate;
using Numbers = std::vector<std::uint64_t>;

/// What was started and could not be sent.
class ShardSetBack : public ::testing::Test {
 protected:
  ShardSetBack() { world.own(); }

  ShardWorld make() {
    ShardWorld::Options options;
    options.settings.gate = &gate;
    return ShardWorld(options);
  }
  [[nodiscard]] std::string topic() const { return row(1).message->topic(); }
  Entry started() {
    auto entry = world.start();
    EXPECT_TRUE(entry);
    return std::move(*entry);
  }

  TopicGate gate;
  ShardWorld world = make();
};

TEST_F(ShardSetBack, WaitsUnwrittenUntilItsClassOpens) {
  world.write(1);
  world.read_until_calm();
  const auto entry = started();
  gate.close(topic());
  const auto completed = world.state.requeue(entry);
  EXPECT_FALSE(completed.accepted);
  EXPECT_TRUE(world.state.idle()) << "nothing runs, nothing is to be settled";
  world.read_until_calm();
  EXPECT_TRUE(world.ready.empty());
  EXPECT_TRUE(world.settle().empty());

  gate.open(topic());
  world.state.reopen();
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers({1}));
  world.settle();
  world.read_until_calm();
  EXPECT_TRUE(world.ready.empty()) << "once";
}

TEST_F(ShardSetBack, IsReadAgainAtOnceWhereItsClassIsOpen) {
  world.write(1);
  world.read_until_calm();
  EXPECT_TRUE(world.state.requeue(started()).read_on);
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers({1}));
}

TEST_F(ShardSetBack, KeepsTheOrderOfItsKey) {
  for (std::uint64_t sequence = 1; sequence <= 6; ++sequence) world.write(sequence, "k");
  world.read_until_calm();
  const auto head = started();
  gate.close(topic());
  (void)world.state.requeue(head);
  world.write(7, "k");
  world.read_until_calm();
  EXPECT_TRUE(world.ready.empty()) << "nobody overtakes it";
  gate.open(topic());
  world.state.reopen();
  Numbers ran;
  for (int round = 0; round < 20 && ran.size() < 7; ++round) {
    world.read_until_calm();
    for (const auto sequence : world.run()) ran.push_back(sequence);
    world.settle();
  }
  EXPECT_EQ(ran, Numbers({1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(ShardSetBack, ARetryWaitsForItsTimeAgainAndStillBlocksItsKey) {
  world.write(1, "k");
  world.write(2, "k");
  world.read_until_calm();
  world.finish(started(), Verdict::retry);
  world.settle();
  (void)world.read_due();
  const auto again = started();
  EXPECT_EQ(again.sequence, Sequence{1});
  gate.close(topic());
  (void)world.state.requeue(again);
  world.read_until_calm();
  (void)world.read_due();
  EXPECT_TRUE(world.ready.empty());
  gate.open(topic());
  world.state.reopen();
  world.read_until_calm();
  EXPECT_TRUE(world.ready.empty()) << "2 waits for 1";
  (void)world.read_due();
  EXPECT_EQ(world.run(), Numbers({1}));
  world.settle();
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers({2}));
}

TEST_F(ShardSetBack, OfAShardThatIsHandedOverLeavesItIdle) {
  world.write(1, "k");
  world.write(2, "k");
  world.read_until_calm();
  const auto entry = started();
  (void)world.state.drain();
  EXPECT_FALSE(world.state.idle());
  const auto completed = world.state.requeue(entry);
  EXPECT_FALSE(completed.accepted);
  EXPECT_FALSE(completed.next);
  EXPECT_TRUE(world.state.idle());
}

TEST_F(ShardSetBack, OfAShardThatWasLostAndCameBackIsReadAgain) {
  world.write(1);
  world.read_until_calm();
  const auto entry = started();
  (void)world.state.drop();
  world.own();
  world.read_until_calm();
  EXPECT_TRUE(world.ready.empty()) << "it is still on its way by the hand before";
  EXPECT_TRUE(world.state.requeue(entry).read_on);
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers({1}));
}

}  // namespace
}  // namespace sagabox::outbox
