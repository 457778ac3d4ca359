#include "unit/outbox/shard_world.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sagabox::outbox {
namespace {

using testing::row;
using testing::ShardWorld;
using testing::TopicGate;
using SampleNumbers = std::vector<std::uint64_t>;

/// Messages that go before earlier ones of their class.
class ShardSamples : public ::testing::Test {
 protected:
  ShardSamples() {
    world.own();
    gate.close(topic());
    world.write(1, "a");
    world.write(2);
    world.read_until_calm();
    EXPECT_TRUE(world.ready.empty());
    gate.sampling = true;
    world.write(3, "a");
    world.write(4, "b");
    world.write(5);
  }
  ShardWorld make() {
    ShardWorld::Options options;
    options.settings.gate = &gate;
    return ShardWorld(options);
  }
  [[nodiscard]] std::string topic() const { return row(1).message->topic(); }
  /// What is left goes once its class opens.
  SampleNumbers rest() {
    gate.sampling = false;
    gate.open(topic());
    world.state.reopen();
    SampleNumbers gone;
    for (;;) {
      world.read_until_calm();
      const auto now = world.run();
      world.settle();
      if (now.empty()) return gone;
      gone.insert(gone.end(), now.begin(), now.end());
    }
  }

  TopicGate gate;
  ShardWorld world = make();
};

TEST_F(ShardSamples, NewOnesGoUnlessAnEarlierOneOfTheirKeyWaits) {
  world.read_until_calm();
  EXPECT_EQ(world.run(), SampleNumbers({4, 5}));
  world.settle();
  EXPECT_EQ(rest(), SampleNumbers({1, 2, 3})) << "those in front wait, and nothing goes twice";
}

TEST_F(ShardSamples, OneThatMayNotGoAnyMoreWhenItsTurnComesWaitsWithItsClass) {
  world.read_until_calm();
  gate.sampling = false;  // as where its topic was paused
  EXPECT_TRUE(world.run().empty());
  EXPECT_EQ(rest().size(), 5U);
}

TEST_F(ShardSamples, OneThatCouldNotBeSentWaitsWithItsClassAndItsKeyWithIt) {
  world.read_until_calm();
  const auto sample = world.start();
  ASSERT_TRUE(sample);
  EXPECT_TRUE(sample->sample);
  ASSERT_EQ(sample->sequence, Sequence{4});
  (void)world.state.requeue(*sample);
  world.write(6, "b");
  world.read_until_calm();
  EXPECT_EQ(world.run(), SampleNumbers({5}));
  world.settle();
  EXPECT_EQ(rest(), SampleNumbers({1, 2, 4, 3, 6})) << "3 after 1, and 6 after 4";
}

}  // namespace
}  // namespace sagabox::outbox
