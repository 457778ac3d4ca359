#include "core/key_hash.hpp"
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

/// Asks the store which keys wait, page by page, as intake does.
bool ask_which_keys_wait(ShardWorld& world, std::size_t page = 1000) {
  bool resumed = false;
  while (const auto asked = world.state.blocked_keys_page()) {
    std::vector<spi::RetryingKey> keys;
    auto at = world.waiting_rows.upper_bound(asked->after.value);
    for (; at != world.waiting_rows.end() && keys.size() < page; ++at) {
      if (at->second.attempts == 0 || !at->second.message->has_key()) continue;
      keys.push_back({at->second.message->key_hash(), Sequence{at->first}});
    }
    resumed |= world.state.blocked_keys_seen(*asked, keys, at == world.waiting_rows.end());
  }
  return resumed;
}

bool check_blocked_keys(ShardWorld& world, std::size_t page = 1000) {
  world.state.check_blocked_keys();
  return ask_which_keys_wait(world, page);
}

ShardWorld::Options with_gate(const TopicGate& gate) {
  ShardWorld::Options options;
  options.settings.gate = &gate;
  return options;
}

spi::Row of_topic(std::uint64_t sequence, std::string topic, std::string key = {}) {
  return row(sequence, testing::message({.topic = Topic(std::move(topic)), .key = std::move(key)}));
}

TEST(ShardOperator, KeyWhoseBlockerWasTakenAwayGoesOn) {
  ShardWorld world({});
  world.own();
  world.write(1, "a");
  world.write(2, "a");
  world.write(3, "b");
  world.write(4, "b");
  world.read_until_calm();
  EXPECT_EQ(world.run(Verdict::retry), (Numbers{1, 3}));
  world.settle();
  EXPECT_EQ(world.state.blocked_keys(), 2U);
  world.waiting_rows.erase(1);
  EXPECT_TRUE(check_blocked_keys(world));
  EXPECT_EQ(world.state.blocked_keys(), 1U) << "3 is still there";
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{2});
}

TEST(ShardOperator, CheckOverSeveralPagesKeepsEveryKeyThatWaits) {
  ShardWorld world({});
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 7; ++sequence) {
    world.write(sequence, "k" + std::to_string(sequence));
  }
  world.read_until_calm();
  world.run(Verdict::retry);
  world.settle();
  EXPECT_FALSE(check_blocked_keys(world, 2));
  EXPECT_EQ(world.state.blocked_keys(), 7U);
  world.waiting_rows.erase(3);
  world.waiting_rows.erase(7);
  check_blocked_keys(world, 2);
  EXPECT_EQ(world.state.blocked_keys(), 5U);
}

TEST(ShardOperator, BlockerWhoseRetryIsNotWrittenYetIsNotGivenUp) {
  ShardWorld world({});
  world.own();
  world.write(1, "a");
  world.write(2, "a");
  world.read_until_calm();
  EXPECT_EQ(world.run(Verdict::retry), Numbers{1});
  EXPECT_FALSE(check_blocked_keys(world)) << "the store does not know of the retry yet";
  EXPECT_EQ(world.state.blocked_keys(), 1U);
  world.settle();
  EXPECT_FALSE(check_blocked_keys(world));
  EXPECT_EQ(world.state.blocked_keys(), 1U);
}

TEST(ShardOperator, BlockerTakenUpDuringTheCheckIsNotGivenUp) {
  ShardWorld world({});
  world.own();
  world.write(1, "a");
  world.write(2, "a");
  world.read_until_calm();
  world.run(Verdict::retry);
  world.settle();
  world.state.check_blocked_keys();
  const auto asked = world.state.blocked_keys_page();
  ASSERT_TRUE(asked);
  world.read_due();
  const auto head = world.start();
  ASSERT_TRUE(head);
  EXPECT_FALSE(world.state.blocked_keys_seen(*asked, {}, true));
  world.read_until_calm();
  EXPECT_TRUE(world.ready.empty()) << "2 waits for 1, which runs";
  world.finish(*head, Verdict::done);
  world.settle();
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{2});
}

TEST(ShardOperator, PageOfAnEarlierCheckSaysNothingAboutALaterOne) {
  ShardWorld world({});
  world.own();
  world.write(1, "a");
  world.write(2, "a");
  world.write(3, "b");
  world.read_until_calm();
  const auto first = world.start();
  ASSERT_TRUE(first);
  EXPECT_EQ(world.run(Verdict::retry), Numbers{3});
  world.settle();
  world.state.check_blocked_keys();
  const auto asked = world.state.blocked_keys_page();
  ASSERT_TRUE(asked);
  // What the store shows now; the answer takes its time.
  const std::vector<spi::RetryingKey> shown{
      {world.waiting_rows.at(3).message->key_hash(), Sequence{3}}};
  world.finish(*first, Verdict::retry);
  world.settle();
  world.state.check_blocked_keys();
  EXPECT_FALSE(world.state.blocked_keys_seen(*asked, shown, true));
  EXPECT_EQ(world.state.blocked_keys(), 2U) << "1 waits for its retry";
  world.read_until_calm();
  EXPECT_TRUE(world.ready.empty()) << "2 must not overtake 1";
  EXPECT_TRUE(world.state.blocked_keys_page()) << "the later check still asks";
}

TEST(ShardOperator, MessageTakenAwayDuringTheFirstLookIsLookedForAgain) {
  ShardWorld world({});
  world.write(2, "a");
  world.state.acquire({.shard = Shard{0}, .epoch = Epoch{1}});
  const spi::RetryingKey gone{key_hash(tenant_default, "a"), Sequence{1}};
  world.state.keys_loaded(std::span(&gone, 1), false);
  world.state.check_blocked_keys();
  world.state.keys_loaded({}, true);
  const auto page = world.state.blocked_keys_page();
  ASSERT_TRUE(page);
  world.state.blocked_keys_seen(*page, {}, true);
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{2});
}

TEST(ShardOperator, NothingIsAskedWhileNoKeyIsBlocked) {
  ShardWorld world({});
  world.own();
  world.write(1, "a");
  world.read_until_calm();
  world.state.check_blocked_keys();
  EXPECT_FALSE(world.state.blocked_keys_page());
}

TEST(ShardOperator, QueuedMessageWhoseTopicIsPausedWaitsAndGoesInOrderAfterwards) {
  TopicGate gate;
  ShardWorld world(with_gate(gate));
  world.own();
  world.write(of_topic(1, "t"));
  world.write(of_topic(2, "u"));
  world.write(of_topic(3, "t", "a"));
  world.write(of_topic(4, "u", "a"));
  world.read_until_calm();
  gate.close("t");
  EXPECT_EQ(world.run(), Numbers{2}) << "4 must not overtake 3";
  EXPECT_EQ(world.room.count(Source::cold), 0U);
  world.settle();
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{});
  gate.open("t");
  world.state.reopen();
  world.read_until_calm();
  EXPECT_EQ(world.run(), (Numbers{1, 3, 4}));
}

TEST(ShardOperator, RetryThatIsPutOffStillBlocksItsKey) {
  TopicGate gate;
  ShardWorld world(with_gate(gate));
  world.own();
  world.write(of_topic(1, "t", "a"));
  world.write(of_topic(2, "u", "a"));
  world.read_until_calm();
  EXPECT_EQ(world.run(Verdict::retry), Numbers{1});
  world.settle();
  world.read_due();
  ASSERT_EQ(world.ready.size(), 1U);
  gate.close("t");
  EXPECT_EQ(world.run(), Numbers{});
  world.read_until_calm();
  world.read_due();
  EXPECT_EQ(world.run(), Numbers{}) << "2 must not overtake 1";
  EXPECT_EQ(world.state.blocked_keys(), 1U);
  gate.open("t");
  world.state.reopen();
  world.read_until_calm();
  world.read_due();
  EXPECT_EQ(world.run(), Numbers{1});
  world.settle();
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{2});
}

TEST(ShardOperator, RetryTakenAwayWhileItWasQueuedDoesNotBlockItsKeyWhenItIsPutOff) {
  TopicGate gate;
  ShardWorld world(with_gate(gate));
  world.own();
  world.write(of_topic(1, "t", "a"));
  world.write(of_topic(2, "u", "a"));
  world.read_until_calm();
  EXPECT_EQ(world.run(Verdict::retry), Numbers{1});
  world.settle();
  world.read_due();
  ASSERT_EQ(world.ready.size(), 1U);
  world.waiting_rows.erase(1);
  EXPECT_FALSE(check_blocked_keys(world)) << "1 is in hand";
  gate.close("t");
  EXPECT_EQ(world.run(), Numbers{});
  world.read_until_calm();
  EXPECT_TRUE(ask_which_keys_wait(world));
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{2});
  EXPECT_EQ(world.state.blocked_keys(), 0U);
}

TEST(ShardOperator, RetryReadBeforeItWasTakenAwayDoesNotBlockItsKeyWhenItIsPutOff) {
  TopicGate gate;
  ShardWorld world(with_gate(gate));
  world.own();
  world.write(of_topic(1, "t", "a"));
  world.read_until_calm();
  EXPECT_EQ(world.run(Verdict::retry), Numbers{1});
  world.settle();
  world.state.check_blocked_keys();
  const auto asked = world.state.blocked_keys_page();
  ASSERT_TRUE(asked);
  world.read_due();
  world.waiting_rows.erase(1);
  EXPECT_FALSE(world.state.blocked_keys_seen(*asked, {}, true)) << "1 is in hand";
  gate.close("t");
  EXPECT_EQ(world.run(), Numbers{});
  world.read_until_calm();
  EXPECT_TRUE(world.state.blocked_keys_page());
  ask_which_keys_wait(world);
  EXPECT_EQ(world.state.blocked_keys(), 0U);
}

TEST(ShardOperator, CheckThatRunsIsNotGivenUpForAnother) {
  TopicGate gate;
  ShardWorld world(with_gate(gate));
  world.own();
  world.write(of_topic(1, "t", "a"));
  world.write(of_topic(2, "t", "b"));
  world.read_until_calm();
  world.run(Verdict::retry);
  world.settle();
  world.read_due_only(1);
  world.state.check_blocked_keys();
  world.read_due_only(1);
  ASSERT_EQ(world.ready.size(), 2U);
  world.waiting_rows.erase(2);
  gate.close("t");
  EXPECT_FALSE(world.start()) << "1 was taken up before the check";
  world.read();
  EXPECT_FALSE(ask_which_keys_wait(world)) << "2 is in hand";
  EXPECT_FALSE(world.start()) << "2 was taken up during the check";
  world.read();
  ask_which_keys_wait(world);
  world.read();
  ask_which_keys_wait(world);
  EXPECT_EQ(world.state.blocked_keys(), 1U) << "1 waits, 2 is gone";
}

TEST(ShardOperator, OnlyWhatACheckPassedOverIsAskedForAgain) {
  TopicGate gate;
  ShardWorld world(with_gate(gate));
  world.own();
  world.write(of_topic(1, "t", "a"));
  world.read_until_calm();
  world.run(Verdict::retry);
  world.settle();
  world.read_due();
  gate.close("t");
  EXPECT_EQ(world.run(), Numbers{});
  world.read_until_calm();
  EXPECT_FALSE(world.state.blocked_keys_page()) << "nothing was checked while 1 was in hand";
}

TEST(ShardOperator, DelayedMessageThatIsPutOffBlocksNobody) {
  TopicGate gate;
  ShardWorld world(with_gate(gate));
  world.own();
  world.waiting_rows.emplace(1, of_topic(1, "t", "a"));
  world.read_due();
  gate.close("t");
  EXPECT_EQ(world.run(), Numbers{});
  world.write(of_topic(2, "u", "a"));
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{2});
  world.settle();
  gate.open("t");
  world.state.reopen();
  world.read_due();
  EXPECT_EQ(world.run(), Numbers{1});
}

TEST(ShardOperator, PausedMessageThatHoldsUpNobodyDoesNotHoldUpItsKeyWhenItWasQueued) {
  TopicGate gate;
  ShardWorld world(with_gate(gate));
  world.own();
  auto delayed = of_topic(1, "held", "a");
  world.waiting_rows.emplace(1, delayed);
  world.read_due();
  world.write(of_topic(2, "free", "a"));
  world.read_until_calm();
  ASSERT_EQ(world.ready.size(), 1U) << "2 waits behind 1 in memory";
  gate.close("held");
  EXPECT_EQ(world.run(), Numbers{});
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{2});
  world.settle();
  gate.open("held");
  world.state.reopen();
  world.read_due();
  EXPECT_EQ(world.run(), Numbers{1});
}

}  // namespace
}  // namespace sagabox::outbox
