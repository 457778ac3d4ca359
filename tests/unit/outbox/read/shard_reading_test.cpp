#include "outbox/read/shard_state.hpp"
#include "unit/feed/model_table.hpp"
#include "unit/outbox/shard_world.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace sagabox::outbox {
namespace {

using spi::Verdict;
using std::chrono::seconds;
using testing::horizon;
using testing::message;
using testing::row;
using testing::sequences;
using testing::ShardWorld;
using testing::TopicGate;
using Numbers = std::vector<std::uint64_t>;

spi::Row about(std::uint64_t sequence, const char* topic, std::string key = {}) {
  return row(sequence, message({.topic = topic, .key = std::move(key)}));
}

TEST(ShardReading, StopsWhereThereIsNoRoomAndGoesOnFromThere) {
  ShardWorld::Options options;
  options.room.cold_capacity = 2;
  ShardWorld world(options);
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) world.write(sequence);
  Numbers ran;
  for (int round = 0; round < 5; ++round) {
    world.read();
    EXPECT_LE(world.room.count(Source::cold), 2U);
    for (const auto sequence : world.run()) ran.push_back(sequence);
    world.settle();
  }
  EXPECT_EQ(ran, (Numbers{1, 2, 3, 4, 5}));
}

TEST(ShardReading, ResumedKeyLosesNothingWhereThereIsNoRoom) {
  ShardWorld::Options options;
  options.room.cold_capacity = 3;
  options.settings.chain_max = 8;
  ShardWorld world(options);
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 6; ++sequence) world.write(sequence, "a");
  world.read();
  world.finish(*world.start(), Verdict::retry);
  world.settle();
  for (int round = 0; round < 4; ++round) world.read();
  world.read_due();
  Numbers ran;
  for (int round = 0; round < 30; ++round) {
    for (const auto sequence : world.run()) ran.push_back(sequence);
    world.settle();
    world.read();
  }
  EXPECT_EQ(ran, (Numbers{1, 2, 3, 4, 5, 6}));
}

TEST(ShardReading, ReadBegunBeforeASettleDispatchesNothingTwice) {
  ShardWorld world({});
  world.own();
  world.write(1);
  world.read_until_calm();
  ASSERT_EQ(world.run(), Numbers{1});
  world.state.begin_safety_pass();
  const auto ticket = world.state.tracker().read_begun();
  auto pages = world.plan();
  if (pages[1].purpose != Purpose::safety) pages = world.plan();
  auto [stale, exhausted] = world.show(pages[1]);
  ASSERT_EQ(stale.size(), 1U);
  world.settle();
  (void)world.apply(pages[1], stale, exhausted);
  world.state.tracker().read_seen(ticket);
  EXPECT_TRUE(world.ready.empty());
  EXPECT_EQ(world.state.tracked(), 0U);
}

/// Pages of the blocked keys, as the store knows them.
void count_blocked_keys(ShardWorld& world) {
  while (const auto page = world.state.blocked_keys_page()) {
    std::vector<spi::RetryingKey> keys;
    for (const auto& [sequence, waiting] : world.waiting_rows) {
      if (!ShardWorld::is_retrying(waiting) || !waiting.message->has_key() ||
          Sequence{sequence} <= page->after) {
        continue;
      }
      keys.push_back({waiting.message->key_hash(), Sequence{sequence}});
    }
    world.state.blocked_keys_seen(*page, keys, true);
  }
}

TEST(ShardReading, ManyBlockedKeysDelayNoOtherKey) {
  ShardWorld::Options options;
  options.settings.blocked_keys_max = 2;
  ShardWorld world(options);
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 50; ++sequence) {
    world.write(sequence, "key " + std::to_string(sequence));
  }
  world.read_until_calm();
  EXPECT_EQ(world.run(Verdict::retry).size(), 50U);
  world.settle();
  EXPECT_EQ(world.state.blocked_keys(), 50U);
  for (std::uint64_t sequence = 51; sequence <= 100; ++sequence) {
    world.write(sequence, "key " + std::to_string(sequence - 50));
  }
  world.write(101, "other");
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{101});
  world.settle();
}

TEST(ShardReading, OverflowOfBlockedKeysGoesOnInOrderOnceItIsRecounted) {
  ShardWorld::Options options;
  options.settings.blocked_keys_max = 2;
  ShardWorld world(options);
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 20; ++sequence) {
    world.write(sequence, "key " + std::to_string(sequence));
  }
  world.read_until_calm();
  EXPECT_EQ(world.run(Verdict::retry).size(), 20U);
  world.settle();
  for (std::uint64_t sequence = 21; sequence <= 40; ++sequence) {
    world.write(sequence, "key " + std::to_string(sequence - 20));
  }
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{});
  // Half of the heads succeed, the others fail again.
  world.read_due();
  std::size_t ran = 0;
  while (const auto entry = world.start()) {
    world.finish(*entry, entry->sequence.value <= 10 ? Verdict::done : Verdict::retry);
    ++ran;
  }
  EXPECT_EQ(ran, 20U);
  world.settle();
  Numbers followed;
  for (int round = 0; round < 200; ++round) {
    world.now += seconds(1);
    count_blocked_keys(world);
    world.read_until_calm();
    for (const auto sequence : world.run()) followed.push_back(sequence);
    world.settle();
  }
  EXPECT_EQ(followed, (Numbers{21, 22, 23, 24, 25, 26, 27, 28, 29, 30}));
  world.read_due();
  EXPECT_EQ(world.run().size(), 10U);
  world.settle();
  followed.clear();
  for (int round = 0; round < 200; ++round) {
    world.now += seconds(1);
    count_blocked_keys(world);
    world.read_until_calm();
    for (const auto sequence : world.run()) followed.push_back(sequence);
    world.settle();
  }
  EXPECT_EQ(followed, (Numbers{31, 32, 33, 34, 35, 36, 37, 38, 39, 40}));
  EXPECT_EQ(world.state.blocked_keys(), 0U);
}

TEST(ShardReading, OverflowThatEmptiesWhileItIsTakenUpLeavesNoKeyBehind) {
  ShardWorld::Options options;
  options.settings.blocked_keys_max = 0;
  options.rows_each = 2;
  ShardWorld world(options);
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 10; ++sequence) {
    world.write(sequence, "key " + std::to_string(sequence));
  }
  Numbers ran;
  for (int round = 0; round < 20; ++round) world.read();
  EXPECT_EQ(world.run(Verdict::retry).size(), 10U);
  world.settle();
  for (std::uint64_t sequence = 11; sequence <= 20; ++sequence) {
    world.write(sequence, "key " + std::to_string(sequence - 10));
  }
  for (int round = 0; round < 20; ++round) world.read();
  // A check that nobody's recount asked for resumes the class; another ends amid its catch-up.
  world.state.check_blocked_keys();
  count_blocked_keys(world);
  world.read();
  world.read_due();
  EXPECT_EQ(world.run().size(), 10U);
  world.settle();
  world.state.check_blocked_keys();
  count_blocked_keys(world);
  for (int round = 0; round < 200 && !world.rows.empty(); ++round) {
    world.now += seconds(1);
    world.read();
    count_blocked_keys(world);
    for (const auto sequence : world.run()) ran.push_back(sequence);
    world.settle();
  }
  EXPECT_EQ(ran.size(), 10U);
  EXPECT_TRUE(world.rows.empty());
}

TEST(ShardReading, DueRowsWithKeysDoNotStarveBehindABacklogThatFillsTheRoom) {
  ShardWorld::Options options;
  options.room.cold_capacity = 3;
  options.rows_each = 3;
  ShardWorld world(options);
  world.own();
  world.write_delayed(1, "late");
  for (std::uint64_t sequence = 2; sequence <= 100; ++sequence) world.write(sequence);
  Numbers ran;
  for (int round = 0; round < 3; ++round) {
    if (!world.state.keeps_due()) world.read_due_only();
    world.read();
    for (const auto sequence : world.run()) ran.push_back(sequence);
    world.settle();
  }
  EXPECT_NE(std::find(ran.begin(), ran.end(), 1U), ran.end());
}

TEST(ShardReading, KeysBehindAClosedGateAreBoundedInMemoryAndDelayNoOther) {
  TopicGate gate;
  gate.close("down");
  ShardWorld::Options options;
  options.settings.key_memory.passed_bytes_max = 2'048;
  options.settings.gate = &gate;
  ShardWorld world(options);
  world.own();
  constexpr std::uint64_t behind = 1'000;
  for (std::uint64_t sequence = 1; sequence <= behind; ++sequence) {
    world.write(about(sequence, "down", "key " + std::to_string(sequence)));
  }
  constexpr std::uint64_t others = 100;
  for (std::uint64_t number = 1; number <= others; ++number) {
    world.write(about(behind + number, "up", "other " + std::to_string(number)));
    // And of the keys behind the gate, which must not overtake.
    world.write(about(behind + others + number, "up", "key " + std::to_string(number)));
  }
  world.read_until_calm();
  const auto ran = world.run();
  world.settle();
  EXPECT_LE(world.state.passed_key_bytes(), 2'048U);
  EXPECT_GT(ran.size(), others * 8 / 10) << "some wait that need not";
  for (const auto sequence : ran) EXPECT_LE(sequence, behind + others);
  gate.open("down");
  world.state.reopen();
  std::map<std::string, std::uint64_t> last;
  std::size_t delivered = ran.size();
  for (int round = 0; round < 100 && !world.rows.empty(); ++round) {
    world.read();
    while (const auto entry = world.start()) {
      auto& before = last[entry->message->key()];
      EXPECT_LT(before, entry->sequence.value);
      before = entry->sequence.value;
      world.finish(*entry, Verdict::done);
      ++delivered;
    }
    world.settle();
  }
  EXPECT_EQ(delivered, behind + 2 * others);
  EXPECT_EQ(world.state.passed_key_bytes(), 0U);
}

TEST(ShardReading, GateThatOpensForAMomentCostsOnePageNotTheWholeBacklog) {
  TopicGate gate;
  gate.close("down");
  ShardWorld::Options options;
  options.rows_each = 10;
  options.settings.gate = &gate;
  ShardWorld world(options);
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 500; ++sequence) {
    world.write(about(sequence, "down", "key " + std::to_string(sequence)));
  }
  world.read_until_calm();
  EXPECT_TRUE(world.ready.empty());
  gate.open("down");
  world.state.reopen();
  gate.close("down");
  int reads = 0;
  do {
    world.read();
    ++reads;
  } while (world.state.eager());
  EXPECT_LE(reads, 3);
}

TEST(ShardReading, DelayedMessageDoesNotOvertakeEarlierOnesOfItsKey) {
  ShardWorld world({});
  world.own();
  world.write(1, "a");
  world.write_delayed(2, "a");
  world.write_delayed(3, "b");
  world.write_delayed(4, "");
  world.read_due_only();
  EXPECT_EQ(world.run(), Numbers{4}) << "nobody knows yet what lies before 2 and 3";
  world.read();
  EXPECT_EQ(world.run(), (Numbers{1, 3, 2})) << "2 waits behind 1";
}

TEST(ShardReading, DelayedMessageWaitsUntilReadingHasPassedIt) {
  ShardWorld::Options options;
  options.rows_each = 3;
  ShardWorld world(options);
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 10; ++sequence) world.write(sequence, "a");
  world.write_delayed(11, "a");
  Numbers ran;
  for (int round = 0; round < 20; ++round) {
    world.read_due_only();
    world.read();
    for (const auto sequence : world.run()) ran.push_back(sequence);
    world.settle();
  }
  EXPECT_EQ(ran, (Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(ShardReading, DelayedMessagesOfOneKeyThatAreDueTogetherGoInOrder) {
  ShardWorld world({});
  world.own();
  std::vector<spi::Row> due{row(7, "a"), row(5, "a"), row(6, "a")};
  for (const auto& one : due) world.waiting_rows.emplace(one.sequence.value, one);
  ShardState::Taken taken;
  world.state.take_due(due, true, taken);
  EXPECT_TRUE(taken.ready.empty());
  world.read();
  EXPECT_EQ(world.run(), (Numbers{5, 6, 7}));
}

TEST(ShardReading, RetriedReleasedAndDelayedMessagesThatAreDueTogetherGoInTheOrderOfTheirKey) {
  ShardWorld world({});
  world.own();
  world.write(2, "a");
  world.read_until_calm();
  ASSERT_EQ(world.run(Verdict::retry), Numbers{2});
  world.settle();
  world.write(4, "a");
  world.write_delayed(5, "a");
  // Released: pending under its own sequence, and its key does not wait for it.
  world.write_delayed(3, "a");
  world.read_until_calm();
  Numbers ran;
  for (int round = 0; round < 6; ++round) {
    world.read_due();
    for (const auto sequence : world.run()) ran.push_back(sequence);
    world.settle();
    world.read_until_calm();
    for (const auto sequence : world.run()) ran.push_back(sequence);
    world.settle();
  }
  EXPECT_EQ(ran.size(), 4U);
  EXPECT_EQ(ran.front(), 2U) << "its key waits for it";
  const auto at = [&](std::uint64_t sequence) { return std::ranges::find(ran, sequence); };
  EXPECT_LT(at(3), at(5));
  EXPECT_LT(at(4), at(5)) << "a delayed one does not overtake what was written before it";
}

TEST(ShardReading, DelayedMessageWaitsForWhatAGateKeepsBack) {
  TopicGate gate;
  gate.close("down");
  ShardWorld::Options options;
  options.settings.gate = &gate;
  ShardWorld world(options);
  world.own();
  world.write(about(1, "down", "a"));
  world.waiting_rows.emplace(2, about(2, "up", "a"));
  world.read_due();
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{});
  gate.open("down");
  world.state.reopen();
  world.read_until_calm();
  world.read_due();
  EXPECT_EQ(world.run(), (Numbers{1, 2}));
}

TEST(ShardReading, ClosedGateKeepsItsClassBackAndLetsTheOthersGo) {
  TopicGate gate;
  gate.close("down");
  ShardWorld::Options options;
  options.settings.gate = &gate;
  ShardWorld world(options);
  world.own();
  world.write(about(1, "down"));
  world.write(about(2, "up"));
  world.write(about(3, "down"));
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{2});
  world.settle();
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{});
  gate.open("down");
  world.state.reopen();
  world.write(about(4, "down"));
  world.read_until_calm();
  EXPECT_EQ(world.run(), (Numbers{1, 3, 4}));
}

TEST(ShardReading, MessageKeptBackByAGateIsNotOvertakenInItsKey) {
  TopicGate gate;
  gate.close("down");
  ShardWorld::Options options;
  options.settings.gate = &gate;
  ShardWorld world(options);
  world.own();
  world.write(about(1, "down", "a"));
  world.write(about(2, "up", "a"));
  world.write(about(3, "up", "b"));
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{3});
  world.settle();
  world.write(about(4, "up", "a"));
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{});
  gate.open("down");
  world.state.reopen();
  world.write(about(5, "up", "a"));
  world.read_until_calm();
  EXPECT_EQ(world.run(), (Numbers{1, 2, 4, 5}));
}

TEST(ShardReading, DueRowKeptBackByAGateGoesInALaterPass) {
  TopicGate gate;
  gate.close("down");
  ShardWorld::Options options;
  options.settings.gate = &gate;
  ShardWorld world(options);
  world.own();
  world.waiting_rows.emplace(1, about(1, "down"));
  world.read_due();
  EXPECT_EQ(world.run(), Numbers{});
  gate.open("down");
  world.read_due();
  EXPECT_EQ(world.run(), Numbers{1});
}

TEST(ShardReading, DuePassGoesOnPageByPageAndBeginsAgain) {
  ShardWorld world({});
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) world.write_delayed(sequence, "");
  world.read_due(2);
  EXPECT_TRUE(world.state.due_pass_open());
  EXPECT_EQ(sequences(world.ready), (Numbers{1, 2}));
  world.read_due(2);
  world.read_due(2);
  EXPECT_FALSE(world.state.due_pass_open());
  EXPECT_EQ(world.run(), (Numbers{1, 2, 3, 4, 5}));
}

TEST(ShardReading, RecentRowsWaitAndDoNotKeepTheReaderBusy) {
  ShardWorld::Options options;
  options.settings.skip_recent = seconds(1);
  options.rows_each = 2;
  ShardWorld world(options);
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 6; ++sequence) {
    auto fresh = row(sequence);
    fresh.written_at = world.wall;
    world.write(fresh);
  }
  world.read();
  EXPECT_TRUE(world.ready.empty());
  EXPECT_FALSE(world.state.eager()) << "until the next poll";
  world.wall += seconds(1);
  for (int round = 0; round < 6; ++round) world.read();
  EXPECT_EQ(world.run(), (Numbers{1, 2, 3, 4, 5, 6}));
}

TEST(ShardReading, SafetyPassFindsWhatNoRuleFoundAndReadingAheadGoesOn) {
  ShardWorld::Options options;
  options.rows_each = 2;
  ShardWorld world(options);
  world.own();
  world.write(200);
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{200});
  world.settle();
  // Against all rules, behind the position of a store without late commits.
  for (std::uint64_t sequence = 1; sequence <= 20; ++sequence) world.write(sequence, "a");
  world.state.begin_safety_pass();
  world.read();
  EXPECT_TRUE(world.state.in_safety_pass());
  world.write(300);
  for (int round = 0; round < 4; ++round) world.read();
  const auto ready = sequences(world.ready);
  EXPECT_NE(std::find(ready.begin(), ready.end(), 300), ready.end())
      << "new rows do not wait for the end of the pass";
  for (int round = 0; round < 100; ++round) {
    world.read();
    world.run();
    world.settle();
  }
  EXPECT_FALSE(world.state.in_safety_pass());
  EXPECT_TRUE(world.rows.empty());
}

TEST(ShardReading, PageAsideIsFollowedByTheForwardReadItTookThePlaceOf) {
  ShardWorld world({});
  world.own();
  world.read_until_calm();
  world.state.begin_safety_pass();
  world.write(1);
  EXPECT_EQ(world.read()[1], Purpose::safety);
  EXPECT_TRUE(world.ready.empty()) << "only forward reads go ahead";
  EXPECT_TRUE(world.state.eager());
  world.read_until_calm();
  EXPECT_EQ(world.run(), Numbers{1});
}

TEST(ShardReading, PageAsideThatFailedIsAskedForAgain) {
  ShardWorld world({});
  world.own();
  world.write(1);
  world.read_until_calm();
  world.state.begin_safety_pass();
  ASSERT_EQ(world.plan()[1].purpose, Purpose::safety);
  EXPECT_EQ(world.plan()[1].purpose, Purpose::safety) << "the store did not answer";
  world.read();
  EXPECT_EQ(world.plan()[1].purpose, Purpose::forward);
}

TEST(ShardReading, SafetyPageDoesNotOvertakeALateCommitOfTheSameKey) {
  ShardWorld::Options options;
  options.settings.store.late_commits = spi::LateCommits::visible;
  ShardWorld world(options);
  world.own();
  const auto read = [&](const spi::Horizon& seen) {
    for (const auto& page : world.plan()) {
      auto [shown, exhausted] = world.show(page);
      (void)world.apply(page, shown, exhausted, seen);
    }
  };
  world.write(5);
  read(horizon({}, 1));
  world.write(12);
  world.write(15);
  // Transaction 1 has drawn 10 for key a and takes its time.
  for (int count = 0; count < 12; ++count) read(horizon({1}, 2));
  EXPECT_EQ(world.run(), (Numbers{5, 12, 15}));
  world.state.begin_safety_pass();
  auto pages = world.plan();
  if (pages[1].purpose != Purpose::safety) pages = world.plan();
  ASSERT_EQ(pages[1].purpose, Purpose::safety);
  // Its first page is cut, so that the next begins behind 10.
  (void)world.apply(pages[1], {world.rows.at(5), world.rows.at(12)}, false, horizon({1}, 2));
  world.write(10, "a");
  world.write(20, "a");
  for (int count = 0; count < 6; ++count) read(horizon({}, 3));
  EXPECT_EQ(world.run(), (Numbers{10, 20}));
}

TEST(ShardReading, WhatIsInHandDoesNotFillThePagesOfALongTransaction) {
  ShardWorld::Options options;
  options.settings.store.late_commits = spi::LateCommits::visible;
  options.rows_each = 3;
  ShardWorld world(options);
  world.own();
  for (std::uint64_t sequence = 1; sequence <= 12; ++sequence) world.write(sequence);
  for (int count = 0; count < 4; ++count) {
    for (const auto& page : world.plan()) {
      auto [shown, exhausted] = world.show(page);
      (void)world.apply(page, shown, exhausted, horizon({1}, 2));
    }
  }
  EXPECT_EQ(world.ready.size(), 12U);
}

/// Everything at once: late commits, failing heads, gates, little room, hand-overs.
class ShardLife {
 public:
  explicit ShardLife(const ShardWorld::Options& options, TopicGate& gate)
      : gate_(gate), world_(options) {
    world_.own();
  }

  void step() {
    switch (*rc::gen::inRange(0, 13)) {
      case 0:
        if (table_.open().size() < 4) (void)table_.begin(world_.now);
        break;
      case 1:
      case 2:
      case 3:
        write();
        break;
      case 4:
        if (!table_.open().empty()) commit(any_open());
        break;
      case 5:
        gate_.close("down");
        break;
      case 6:
        open_gate();
        break;
      case 7:
        if (*rc::gen::inRange(0, 10) == 9) hand_over();
        break;
      case 8:
        finish(*rc::gen::inRange(0, 3) == 2 ? Verdict::retry : Verdict::done);
        break;
      case 9:
        world_.state.begin_safety_pass();
        break;
      case 10:
        world_.now += std::chrono::milliseconds(700);
        break;
      default:
        read();
    }
  }

  void come_to_rest() {
    while (!table_.open().empty()) commit(table_.open().begin()->first);
    open_gate();
    // The overflow of blocked keys is recounted ever more rarely while little is done meanwhile.
    for (int round = 0; round < 20'000 && !at_rest(); ++round) {
      world_.now += seconds(1);
      read();
      finish(Verdict::done);
    }
    RC_ASSERT(world_.rows.empty());
    RC_ASSERT(world_.waiting_rows.empty());
    RC_ASSERT(running_.empty());
    RC_ASSERT(world_.room.count(Source::cold) == 0U);
    RC_ASSERT(world_.state.tracked() == 0U);
    RC_ASSERT(world_.state.blocked_keys() == 0U);
  }

 private:
  bool at_rest() const {
    return world_.rows.empty() && world_.waiting_rows.empty() && running_.empty() &&
           world_.state.tracked() == 0U && world_.state.blocked_keys() == 0U;
  }
  std::uint64_t any_open() const {
    return std::next(table_.open().begin(),
                     *rc::gen::inRange(0, static_cast<int>(table_.open().size())))
        ->first;
  }
  void write() {
    if (table_.open().empty()) return;
    (void)table_.write(any_open(), *rc::gen::element<std::string>("", "a", "b", "c"));
  }
  void commit(std::uint64_t transaction) {
    for (const auto sequence : table_.open().at(transaction).drawn) {
      auto written = about(sequence, *rc::gen::element("up", "down"), table_.key_of(sequence));
      if (*rc::gen::inRange(0, 5) == 0) {
        world_.waiting_rows.emplace(sequence, std::move(written));
      } else {
        world_.write(std::move(written));
      }
    }
    table_.commit(transaction);
  }
  void open_gate() {
    gate_.open("down");
    world_.state.reopen();
  }
  void read() {
    const auto seen = table_.read({}, 0).horizon;
    for (const auto& page : world_.plan()) {
      auto [shown, exhausted] = world_.show(page);
      (void)world_.apply(page, shown, exhausted, seen);
    }
    // As intake does.
    if (!world_.state.keeps_due()) world_.read_due_only(2);
    if (*rc::gen::inRange(0, 4) == 0) count_blocked_keys(world_);
    while (auto entry = world_.start()) {
      const auto& key = entry->message->key();
      if (!key.empty()) {
        RC_ASSERT(running_keys_.insert(key).second);
        RC_ASSERT(!overtakes(*entry));
      }
      running_.push_back(std::move(*entry));
    }
  }
  /// An earlier message of its key is pending that does not merely wait for its time.
  bool overtakes(const Entry& entry) const {
    const auto comes_first = [&](const auto& other) {
      return other.first < entry.sequence.value &&
             other.second.message->key() == entry.message->key();
    };
    return std::ranges::any_of(world_.rows, comes_first) ||
           std::ranges::any_of(world_.waiting_rows, [&](const auto& other) {
             return comes_first(other) && ShardWorld::is_retrying(other.second);
           });
  }
  void finish(Verdict verdict) {
    if (running_.empty()) return;
    const auto entry = running_.front();
    running_.erase(running_.begin());
    const auto& key = entry.message->key();
    running_keys_.erase(key);
    RC_ASSERT(world_.finish(entry, verdict));
    world_.settle();
  }
  void hand_over() {
    world_.state.drain();
    while (!world_.ready.empty()) RC_ASSERT(!world_.start());
    while (!running_.empty()) finish(Verdict::done);
    RC_ASSERT(world_.state.idle());
    RC_ASSERT(world_.state.drop() == 0U);
    RC_ASSERT(world_.room.count(Source::cold) == 0U);
    world_.own();
  }

  TopicGate& gate_;
  ShardWorld world_;
  feed::testing::ModelTable table_;
  std::vector<Entry> running_;
  std::set<std::string> running_keys_;
};

RC_GTEST_PROP(ShardProperty, EverythingIsDeliveredAndKeysKeepTheirOrder, ()) {
  TopicGate gate;
  ShardWorld::Options options;
  options.settings.store.late_commits = spi::LateCommits::visible;
  options.settings.attempts_max = 1000;
  options.settings.gate = &gate;
  options.settings.chain_max = *rc::gen::inRange(1U, 4U);
  options.settings.blocked_keys_max = *rc::gen::inRange(0U, 3U);
  options.settings.key_memory.passed_bytes_max = 256;
  options.room.cold_capacity = *rc::gen::inRange(2U, 12U);
  options.rows_each = *rc::gen::inRange(1U, 8U);
  ShardLife life(options, gate);
  const auto steps = *rc::gen::inRange(1, 400);
  for (int step = 0; step < steps; ++step) life.step();
  life.come_to_rest();
}

}  // namespace
}  // namespace sagabox::outbox
