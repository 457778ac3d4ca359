#include "outbox/read/shard_state.hpp"

#include "core/key_hash.hpp"
#include "unit/outbox/shard_world.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sagabox::outbox {
namespace {

using spi::Verdict;
using std::chrono::seconds;
using testing::at;
using testing::row;
using testing::sequences;
using testing::ShardWorld;
using Numbers = std::vector<std::uint64_t>;
using Phase = ShardState::Phase;

TEST(ShardState, ReadsNothingBeforeItKnowsWhichKeysWaitForARetry) {
  ShardWorld world({});
  EXPECT_EQ(world.state.phase(), Phase::absent);
  EXPECT_TRUE(world.plan().empty());
  world.state.acquire({.shard = Shard{0}, .epoch = Epoch{7}});
  EXPECT_EQ(world.state.phase(), Phase::loading);
  EXPECT_TRUE(world.plan().empty());
  EXPECT_TRUE(world.state.eager());
  const spi::RetryingKey first{key_hash(tenant_default, "a"), Sequence{4}};
  world.state.keys_loaded(std::span(&first, 1), false);
  EXPECT_EQ(world.state.phase(), Phase::loading);
  EXPECT_EQ(world.state.keys_after(), Sequence{4});
  const spi::RetryingKey second{key_hash(tenant_default, "b"), Sequence{9}};
  world.state.keys_loaded(std::span(&second, 1), true);
  EXPECT_EQ(world.state.phase(), Phase::active);
  EXPECT_EQ(world.state.blocked_keys(), 2U);
  EXPECT_EQ(world.plan().size(), spi::lane_count);
  EXPECT_EQ(world.state.epoch(), Epoch{7});
}

TEST(ShardState, KeyThatWaitsForARetryAtTheTakeOverIsNotOvertaken) {
  ShardWorld world({});
  world.write(5, "a");
  world.waiting_rows.emplace(2, row(2, "a", 1));
  world.own();
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{});
  world.read_due();
  EXPECT_EQ(world.run(), Numbers{2});
  world.settle();
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{5});
}

TEST(ShardState, MessagesOfAKeyGoOneAfterTheOther) {
  ShardWorld world({});
  world.own();
  world.write(1, "a");
  world.write(2, "a");
  world.write(3, "b");
  world.write(4);
  world.read_until_calm();
  EXPECT_EQ(sequences(world.ready), (Numbers{1, 3, 4}));
  const auto head = world.start();
  world.finish(*head, Verdict::done);
  EXPECT_EQ(sequences(world.ready), (Numbers{3, 4, 2}));
}

TEST(ShardState, FailingHeadEvictsItsFollowersAndTheyResumeInOrder) {
  ShardWorld world({});
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence) world.write(sequence, "a");
  world.write(5, "b");
  world.read_until_calm();
  EXPECT_EQ(world.room.count(Source::cold), 5U);
  const auto head = world.start();
  world.finish(*head, Verdict::retry);
  EXPECT_EQ(world.state.blocked_keys(), 1U);
  EXPECT_EQ(world.room.count(Source::cold), 1U) << "what waits for a blocked key holds no room";
  world.settle();
  EXPECT_EQ(world.run(), Numbers{5}) << "other keys never wait for it";
  world.write(6, "a");
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{});
  world.read_due();
  EXPECT_EQ(world.run(), Numbers{1});
  world.settle();
  EXPECT_EQ(world.state.blocked_keys(), 0U);
  world.read_until_calm();
  EXPECT_EQ(world.run(), (Numbers{2, 3, 4, 6}));
}

TEST(ShardState, DeadHeadFreesItsKeyAtOnce) {
  ShardWorld world({});
  world.own();
  world.write(1, "a");
  world.write(2, "a");
  world.read_until_calm();
  world.finish(*world.start(), Verdict::dead);
  EXPECT_EQ(world.run(), Numbers{2});
}

TEST(ShardState, SkipPolicyLetsTheKeyGoOnAndTheRetryTakesItsTurn) {
  ShardWorld::Options options;
  options.settings.head_policy = HeadPolicy::skip;
  ShardWorld world(options);
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) world.write(sequence, "a");
  world.read_until_calm();
  world.finish(*world.start(), Verdict::retry);
  world.settle();
  EXPECT_EQ(world.state.blocked_keys(), 0U);
  ASSERT_EQ(sequences(world.ready), Numbers{2});
  world.read_due();
  EXPECT_EQ(sequences(world.ready), Numbers{2}) << "one at a time all the same";
  EXPECT_EQ(world.run(), (Numbers{2, 1, 3})) << "it waits by its sequence";
}

TEST(ShardState, ParkedHeadLetsTheKeyGoOn) {
  ShardWorld::Options options;
  options.settings.head_policy = HeadPolicy::park;
  ShardWorld world(options);
  world.own();
  world.write(1, "a");
  world.write(2, "a");
  world.read_until_calm();
  world.finish(*world.start(), Verdict::park);
  world.settle();
  EXPECT_EQ(world.run(), Numbers{2});
}

TEST(ShardState, NoMoreThanTheChainBoundWaitsInMemory) {
  ShardWorld world({});
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 30; ++sequence) world.write(sequence, "a");
  world.read_until_calm();
  EXPECT_EQ(world.room.count(Source::cold), 5U) << "the head and four behind it";
  Numbers ran;
  for (int round = 0; round < 100 && ran.size() < 30; ++round) {
    if (const auto entry = world.start()) {
      ran.push_back(entry->sequence.value);
      world.finish(*entry, Verdict::done);
      world.settle();
    }
    EXPECT_LE(world.room.count(Source::cold), 5U);
    world.read_until_calm();
  }
  ASSERT_EQ(ran.size(), 30U);
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
}

TEST(ShardState, DelayedMessageDoesNotBlockItsKeyAndWaitsItsTurn) {
  ShardWorld world({});
  world.own();
  world.write_delayed(1, "a");
  world.write(2, "a");
  world.read_until_calm();
  world.read_due();
  EXPECT_EQ(world.run(), (Numbers{2, 1}));
}

TEST(ShardState, OrphanOfAnEarlierTenureKeepsItsRowAndItsKey) {
  ShardWorld world({});
  world.own();
  world.write(1, "a");
  world.write(2, "a");
  world.write(3);
  world.read_until_calm();
  const auto orphan = world.start();
  const auto other = std::find_if(world.ready.begin(), world.ready.end(),
                                  [](const Entry& e) { return e.sequence.value == 3; });
  ASSERT_NE(other, world.ready.end());
  EXPECT_EQ(world.state.drop(), 0U);
  EXPECT_EQ(world.run(), Numbers{}) << "queued ones are void";
  EXPECT_EQ(world.room.count(Source::cold), 0U);
  world.own();
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{3}) << "1 still runs, and 2 is behind it";
  EXPECT_FALSE(world.finish(*orphan, Verdict::done)) << "another owner may have settled it";
  EXPECT_EQ(world.state.settlements_waiting(), 1U) << "only that of 3";
  world.read_until_calm();
  EXPECT_EQ(world.run(), (Numbers{1, 2}));
}

TEST(ShardState, OtherMessageUnderAnOrphansSequenceGoesInItsTurn) {
  ShardWorld world({});
  world.own();
  world.write(1);
  world.read_until_calm();
  const auto orphan = world.start();
  world.state.drop();
  // A fail-over lost the row, and its sequence was drawn again.
  world.rows.clear();
  world.write(1, "a");
  world.write(2, "a");
  world.own();
  world.read_until_calm();
  const auto head = world.start();
  ASSERT_TRUE(head);
  EXPECT_EQ(head->sequence, Sequence{1});
  world.finish(*orphan, Verdict::done);
  world.read_until_calm();
  EXPECT_TRUE(world.ready.empty()) << "the one that runs is still in hand";
  world.finish(*head, Verdict::done);
  EXPECT_EQ(world.run(), Numbers{2});
}

TEST(ShardState, OrphanThatReturnsDuringAReadIsNotForgotten) {
  ShardWorld world({});
  world.own();
  world.write(1, "a");
  world.write(2, "a");
  world.read_until_calm();
  const auto orphan = world.start();
  world.state.drop();
  world.run();
  world.own();
  world.write(3);
  world.read_until_calm();
  world.run();
  world.settle();
  const auto pages = world.plan();
  world.finish(*orphan, Verdict::done);
  for (const auto& page : pages) (void)world.apply(page, {}, true);
  world.read_until_calm();
  EXPECT_EQ(world.run(), (Numbers{1, 2}));
}

TEST(ShardState, OrphanWhoseRowWaitsForARetryBlocksItsKeyUntilThatHasGone) {
  ShardWorld world({});
  world.own();
  world.write(1, "a");
  world.write(2, "a");
  world.read_until_calm();
  const auto orphan = world.start();
  world.state.drop();
  world.run();
  // Another owner had it and put it back.
  world.commit({.sequence = Sequence{1}, .verdict = Verdict::retry, .attempts = 1});
  world.own();
  world.read_until_calm();
  world.read_due();
  EXPECT_EQ(world.run(), Numbers{}) << "it still runs here";
  world.finish(*orphan, Verdict::done);
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{}) << "2 must not overtake it";
  world.read_due();
  EXPECT_EQ(world.run(), Numbers{1});
  world.settle();
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{2});
}

TEST(ShardState, DrainingTakesNothingNewAndIsIdleWhenAllIsSettled) {
  ShardWorld world({});
  world.own();
  world.write(1, "a");
  world.write(2, "a");
  world.write(3);
  world.read_until_calm();
  const auto running = world.start();
  EXPECT_FALSE(world.state.idle());
  world.state.drain();
  EXPECT_TRUE(world.plan().empty());
  EXPECT_EQ(world.run(), Numbers{}) << "queued ones are given back";
  EXPECT_FALSE(world.state.reserve(Sequence{9}, at(seconds(60))));
  EXPECT_FALSE(world.state.idle());
  EXPECT_TRUE(world.finish(*running, Verdict::done));
  EXPECT_EQ(world.run(), Numbers{}) << "the next of the key stays for the next owner";
  EXPECT_FALSE(world.state.idle());
  world.settle();
  EXPECT_TRUE(world.state.idle());
  EXPECT_EQ(world.room.count(Source::cold), 0U);
}

TEST(ShardState, HandOverTakesBackAttemptsWrittenForDispatchesNotBegun) {
  ShardWorld world({});
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    world.write(row(sequence, "", static_cast<std::uint32_t>(sequence - 1)));
  }
  world.own(true);
  world.read();
  ASSERT_EQ(sequences(world.cautious), (Numbers{1, 2, 3}));
  // 1 runs, the attempt of 2 is in the store, that of 3 still on its way.
  ASSERT_TRUE(world.state.spend_ahead(world.cautious[0]));
  ASSERT_TRUE(world.state.spend_ahead(world.cautious[1]));
  world.settle();
  ASSERT_TRUE(world.state.start(world.cautious[0]));
  ASSERT_TRUE(world.state.spend_ahead(world.cautious[2]));
  EXPECT_EQ(world.rows.at(2).attempts, 2U);

  EXPECT_EQ(world.state.drain(), 2U);
  EXPECT_TRUE(world.finish(world.cautious[0], Verdict::done));
  EXPECT_FALSE(world.state.idle()) << "not before it is written";
  EXPECT_EQ(world.state.drain(), 0U) << "once";
  EXPECT_FALSE(world.state.start(world.cautious[1]));
  EXPECT_FALSE(world.state.spend_ahead(world.cautious[2]));
  world.settle();
  EXPECT_TRUE(world.state.idle());
  EXPECT_EQ(world.rows.at(2).attempts, 1U);
  EXPECT_EQ(world.rows.at(3).attempts, 2U);
}

TEST(ShardState, AttemptWrittenAheadOfALostShardIsNotTakenBackInTheNextTenure) {
  ShardWorld world({});
  world.write(1);
  world.own(true);
  world.read();
  ASSERT_EQ(world.cautious.size(), 1U);
  ASSERT_TRUE(world.state.spend_ahead(world.cautious[0]));
  world.state.drop();
  EXPECT_FALSE(world.state.spend_ahead(world.cautious[0]));
  world.own(true);
  EXPECT_EQ(world.state.drain(), 0U);
  EXPECT_TRUE(world.state.idle());
}

TEST(ShardState, DropGivesBackThePlacesOfItsSettlements) {
  ShardWorld world({});
  world.own();
  world.write(1);
  world.write(2);
  world.read_until_calm();
  EXPECT_EQ(world.run(), (Numbers{1, 2}));
  world.state.settle_beside({.settlement = {.verdict = Verdict::attempt},
                             .tenure = world.state.tenure(),
                             .holds_place = false});
  EXPECT_EQ(world.state.drop(), 2U);
  EXPECT_EQ(world.state.settlements_waiting(), 0U);
  EXPECT_EQ(world.state.tracked(), 0U);
  EXPECT_EQ(world.state.drop(), 0U);
}

TEST(ShardState, SettleOfAnEarlierTenureIsIgnored) {
  ShardWorld world({});
  world.own();
  world.write(1);
  world.read_until_calm();
  world.run();
  std::vector<Settling> batch;
  world.state.collect(10, batch);
  ASSERT_EQ(batch.size(), 1U);
  world.state.drop();
  world.own();
  world.read_until_calm();
  ASSERT_EQ(world.ready.size(), 1U);
  world.state.settled(batch[0].settlement, batch[0].tenure);
  EXPECT_EQ(world.state.tracked(), 1U) << "the row is in hand again";
}

TEST(ShardState, UndecodableRowIsBuriedOnce) {
  ShardWorld world({});
  world.own();
  world.write(testing::undecodable_row(1));
  world.write(2);
  const auto pages = world.plan();
  auto [shown, exhausted] = world.show(pages[1]);
  const auto taken = world.apply(pages[1], shown, exhausted);
  ASSERT_EQ(taken.buried.size(), 1U);
  EXPECT_EQ(taken.buried[0].settlement.code, Code::schema_validation_failed);
  EXPECT_EQ(taken.buried[0].message, nullptr);
  EXPECT_EQ(sequences(world.ready), Numbers{2}) << "it does not stop the batch";
  world.state.begin_safety_pass();
  world.read_until_calm();
  EXPECT_EQ(world.settle().size(), 1U) << "not a second time while its settle is on its way";
  EXPECT_FALSE(world.rows.contains(1));
}

TEST(ShardState, RowWithoutAttemptsLeftIsBuriedAndFreesItsKey) {
  ShardWorld world({});
  world.write(2, "a");
  world.waiting_rows.emplace(1, row(1, "a", 3));
  world.own();
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{});
  const auto taken = world.read_due();
  ASSERT_EQ(taken.buried.size(), 1U);
  EXPECT_EQ(taken.buried[0].settlement.verdict, Verdict::dead);
  EXPECT_EQ(taken.buried[0].settlement.code, Code::tx_deadletter);
  ASSERT_NE(taken.buried[0].message, nullptr);
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{2});
}

TEST(ShardState, UncleanTakeOverGoesCautiouslyUntilEverythingHasBeenLookedAt) {
  ShardWorld world({});
  world.write(1);
  world.write(2);
  world.own(true);
  EXPECT_TRUE(world.state.cautious());
  EXPECT_FALSE(world.state.reserve(Sequence{9}, at(seconds(60)))) << "no hot path meanwhile";
  world.read();
  EXPECT_EQ(sequences(world.cautious), (Numbers{1, 2}));
  EXPECT_TRUE(world.cautious[0].cautious);
  EXPECT_TRUE(world.state.cautious()) << "waiting rows have not been looked at";
  world.read_due();
  EXPECT_FALSE(world.state.cautious());
  world.write(3);
  world.read_until_calm();
  EXPECT_EQ(sequences(world.ready), Numbers{3});
}

TEST(ShardState, CautionEndsAfterWhatAProcessCanHaveInFlight) {
  ShardWorld::Options options;
  options.settings.cautious_rows = 2;
  ShardWorld world(options);
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence) world.write(sequence);
  world.own(true);
  world.read();
  EXPECT_EQ(sequences(world.cautious), (Numbers{1, 2}));
  EXPECT_EQ(sequences(world.ready), (Numbers{3, 4}));
}

TEST(ShardState, UncleanTakeOverGoesCautiouslyWithDueRowsThatWaitForAPage) {
  ShardWorld::Options options;
  options.rows_each = 2;
  ShardWorld world(options);
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) world.write(sequence);
  world.write_delayed(9, "a");
  world.own(true);
  world.read_until_calm();
  world.read_due_only();
  EXPECT_TRUE(world.state.cautious()) << "9 waits for a page";
  world.write(4);
  world.write(5);
  world.write(6);
  world.read();
  EXPECT_TRUE(world.state.cautious()) << "the page did not reach 9";
  world.read_until_calm();
  world.read_due();
  EXPECT_EQ(sequences(world.cautious), (Numbers{1, 2, 3, 4, 5, 6, 9}));
  EXPECT_FALSE(world.state.cautious());
}

TEST(ShardState, CleanTakeOverIsNotCautious) {
  ShardWorld world({});
  world.own(false);
  EXPECT_FALSE(world.state.cautious());
}

TEST(ShardState, HotReservationIsTakenByTheFirstOfCommitAndRead) {
  ShardWorld world({});
  world.own();
  const auto tenure = world.state.tenure();
  ASSERT_TRUE(world.state.reserve(Sequence{1}, at(seconds(60))));
  ASSERT_TRUE(world.state.reserve(Sequence{2}, at(seconds(60))));
  world.write(1);
  world.write(2);
  EXPECT_TRUE(world.state.claim(Sequence{1}, tenure));
  world.read_until_calm();
  EXPECT_EQ(sequences(world.ready), Numbers{2});
  EXPECT_FALSE(world.state.claim(Sequence{2}, tenure));
}

TEST(ShardState, ReservationOfAnEarlierTenureIsVoid) {
  ShardWorld world({});
  world.own();
  const auto tenure = world.state.tenure();
  ASSERT_TRUE(world.state.reserve(Sequence{1}, at(seconds(60))));
  EXPECT_TRUE(world.state.idle()) << "it never holds up a hand-over";
  world.state.drop();
  world.own();
  EXPECT_FALSE(world.state.claim(Sequence{1}, tenure));
  ASSERT_TRUE(world.state.reserve(Sequence{1}, at(seconds(60))));
  world.state.cancel(Sequence{1}, tenure);
  EXPECT_TRUE(world.state.claim(Sequence{1}, world.state.tenure()));
}

TEST(ShardState, PageOfAnEarlierTenureIsIgnored) {
  ShardWorld world({});
  world.own();
  world.write(1);
  const auto pages = world.plan();
  world.state.drop();
  world.own();
  for (const auto& page : pages) {
    auto [shown, exhausted] = world.show(page);
    (void)world.apply(page, shown, exhausted);
  }
  EXPECT_TRUE(world.ready.empty());
}

}  // namespace
}  // namespace sagabox::outbox
