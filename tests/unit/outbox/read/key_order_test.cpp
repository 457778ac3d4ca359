#include "outbox/read/key_order.hpp"

#include "core/key_hash.hpp"
#include "unit/outbox/rows.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sagabox::outbox {
namespace {

using testing::entry;
using testing::sequences;
using Place = KeyOrder::Place;

std::uint64_t hash(std::string_view key) { return key_hash(tenant_default, key); }

class KeyOrderTest : public ::testing::Test {
 protected:
  Place offer(std::uint64_t sequence, const std::string& key = "a") {
    auto offered = entry(sequence, key);
    return order.offer(offered);
  }
  std::optional<std::uint64_t> advance(const std::string& key = "a") {
    const auto next = order.advance(hash(key));
    return next ? std::optional(next->sequence.value) : std::nullopt;
  }

  KeyOrder order{{.chain_max = 3, .blocked_max = 4}};
};

TEST_F(KeyOrderTest, FirstGoesTheOthersWaitInSequence) {
  EXPECT_EQ(offer(10), Place::head);
  EXPECT_EQ(offer(30), Place::waiting);
  EXPECT_EQ(offer(20), Place::waiting) << "committed late";
  EXPECT_EQ(advance(), 20U);
  EXPECT_EQ(advance(), 30U);
  EXPECT_EQ(advance(), std::nullopt);
  EXPECT_EQ(offer(40), Place::head);
}

TEST_F(KeyOrderTest, KeysDoNotWaitForEachOther) {
  EXPECT_EQ(offer(1, "a"), Place::head);
  EXPECT_EQ(offer(2, "b"), Place::head);
}

TEST_F(KeyOrderTest, NoMoreThanTheBoundWaitAndTheRefusedIsUntouched) {
  ASSERT_EQ(offer(1), Place::head);
  for (std::uint64_t sequence = 2; sequence <= 4; ++sequence) {
    ASSERT_EQ(offer(sequence), Place::waiting);
  }
  auto fifth = entry(5, "a");
  EXPECT_EQ(order.offer(fifth), Place::full);
  EXPECT_NE(fifth.message, nullptr);
  EXPECT_FALSE(order.roomy(hash("a")));
  EXPECT_EQ(advance(), 2U);
  EXPECT_FALSE(order.roomy(hash("a"))) << "two of three wait";
  EXPECT_EQ(advance(), 3U);
  EXPECT_TRUE(order.roomy(hash("a")));
}

TEST_F(KeyOrderTest, BlockedKeyLetsNobodyButItsHeadGo) {
  ASSERT_EQ(offer(1), Place::head);
  ASSERT_EQ(offer(2), Place::waiting);
  ASSERT_EQ(offer(3), Place::waiting);
  EXPECT_EQ(sequences(order.block(hash("a"), Sequence{1})), (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(order.blocked(), 1U);
  EXPECT_EQ(offer(2), Place::blocked);
  EXPECT_FALSE(order.roomy(hash("a")));
  EXPECT_EQ(offer(1), Place::head) << "its retry is due";
  EXPECT_EQ(order.blocked(), 0U);
  EXPECT_EQ(offer(2), Place::waiting);
}

TEST_F(KeyOrderTest, SeveralBlockersGoLowestFirstAndOneAtATime) {
  EXPECT_TRUE(order.block(hash("a"), Sequence{7}).empty());
  EXPECT_TRUE(order.block(hash("a"), Sequence{5}).empty());
  EXPECT_TRUE(order.block(hash("a"), Sequence{5}).empty());
  EXPECT_EQ(order.blocked(), 1U);
  EXPECT_EQ(offer(7), Place::blocked);
  EXPECT_EQ(offer(5), Place::head);
  EXPECT_EQ(order.blocked(), 1U) << "7 still stands in the way";
  EXPECT_EQ(offer(7), Place::blocked) << "5 runs";
  EXPECT_EQ(advance(), std::nullopt);
  EXPECT_EQ(offer(9), Place::blocked);
  EXPECT_EQ(offer(7), Place::head);
  EXPECT_EQ(order.blocked(), 0U);
}

TEST_F(KeyOrderTest, UnblockNamesTheKeyAndFreesItWithTheLastBlocker) {
  (void)order.block(hash("a"), Sequence{5});
  (void)order.block(hash("a"), Sequence{6});
  EXPECT_EQ(order.unblock(Sequence{4}), std::nullopt);
  EXPECT_EQ(order.unblock(Sequence{5}), hash("a"));
  EXPECT_EQ(offer(9), Place::blocked);
  EXPECT_EQ(order.unblock(Sequence{6}), hash("a"));
  EXPECT_EQ(order.blocked(), 0U);
  EXPECT_EQ(offer(9), Place::head);
  EXPECT_EQ(order.unblock(Sequence{9}), std::nullopt) << "a head blocks by running, not by name";
}

TEST_F(KeyOrderTest, ReleaseGivesUpTheHeadAndKeepsTheBlockers) {
  (void)order.block(hash("a"), Sequence{1});
  (void)order.block(hash("a"), Sequence{2});
  ASSERT_EQ(offer(1), Place::head);
  EXPECT_TRUE(order.release(hash("a")).empty());
  EXPECT_EQ(offer(3), Place::blocked);
  EXPECT_EQ(offer(2), Place::head);
  ASSERT_EQ(offer(4), Place::waiting);
  EXPECT_EQ(sequences(order.release(hash("a"))), (std::vector<std::uint64_t>{4}));
  EXPECT_EQ(offer(5), Place::head);
  EXPECT_TRUE(order.release(hash("nobody")).empty());
}

TEST_F(KeyOrderTest, ClearGivesEverythingThatWaits) {
  ASSERT_EQ(offer(1, "a"), Place::head);
  ASSERT_EQ(offer(2, "a"), Place::waiting);
  ASSERT_EQ(offer(3, "b"), Place::head);
  ASSERT_EQ(offer(4, "b"), Place::waiting);
  (void)order.block(hash("c"), Sequence{5});
  auto waiting = sequences(order.clear());
  std::sort(waiting.begin(), waiting.end());
  EXPECT_EQ(waiting, (std::vector<std::uint64_t>{2, 4}));
  EXPECT_EQ(order.blocked(), 0U);
  EXPECT_EQ(offer(6, "c"), Place::head);
}

TEST_F(KeyOrderTest, BeyondTheBoundItIsOnlyKnownThatAKeyMayBeBlocked) {
  for (std::uint64_t number = 1; number <= 6; ++number) {
    (void)order.block(hash("k" + std::to_string(number)), Sequence{number});
  }
  EXPECT_EQ(order.blocked(), 6U);
  EXPECT_TRUE(order.overflowed());
  EXPECT_TRUE(order.blocks(hash("k4"), Sequence{4}));
  EXPECT_FALSE(order.has_blocker(hash("k5")));
  EXPECT_EQ(offer(14, "k4"), Place::blocked);
  EXPECT_EQ(offer(15, "k5"), Place::maybe_blocked);
  EXPECT_EQ(offer(20, "other"), Place::head);
  auto retry = entry(5, "k5");
  retry.was_retrying = true;
  EXPECT_EQ(order.offer(retry), Place::head) << "it is what its key waits for";
  EXPECT_TRUE(retry.was_blocking);
  EXPECT_EQ(offer(15, "k5"), Place::maybe_blocked);
}

TEST_F(KeyOrderTest, RecountOfTheOverflowKeepsThoseThatAreStillBlocked) {
  for (std::uint64_t number = 1; number <= 7; ++number) {
    (void)order.block(hash("k" + std::to_string(number)), Sequence{number});
  }
  EXPECT_FALSE(order.end_recount()) << "none goes on";
  order.begin_recount();
  order.still_blocked(hash("k1"), Sequence{1});
  order.still_blocked(hash("k6"), Sequence{6});
  (void)order.block(hash("k8"), Sequence{8});
  EXPECT_EQ(offer(17, "k7"), Place::maybe_blocked) << "not before the end of the count";
  EXPECT_TRUE(order.end_recount());
  EXPECT_EQ(order.blocked(), 6U);
  EXPECT_EQ(offer(15, "k5"), Place::head);
  EXPECT_EQ(offer(16, "k6"), Place::maybe_blocked);
  EXPECT_EQ(offer(17, "k7"), Place::head);
  EXPECT_EQ(offer(18, "k8"), Place::maybe_blocked) << "blocked meanwhile";
}

TEST_F(KeyOrderTest, RecountDoesNotForgetAFailureThatIsNotSettledYet) {
  for (std::uint64_t number = 1; number <= 4; ++number) {
    (void)order.block(hash("k" + std::to_string(number)), Sequence{number});
  }
  (void)order.block_unsettled(hash("k5"), Sequence{5});
  order.begin_recount();
  EXPECT_TRUE(order.end_recount());
  EXPECT_EQ(offer(15, "k5"), Place::maybe_blocked) << "the store could not show it";
  order.settled(Sequence{5});
  order.begin_recount();
  EXPECT_TRUE(order.end_recount());
  EXPECT_EQ(offer(15, "k5"), Place::head);
}

/// Offers rows in sequence, ends or fails heads at random, offers again what was not kept.
RC_GTEST_PROP(KeyOrderProperty, EachKeyGoesInOrderAndOneAtATime, ()) {
  const auto chain_max = *rc::gen::inRange<std::size_t>(1, 4);
  KeyOrder order({.chain_max = chain_max});
  const std::vector<std::string> names{"a", "b", "c"};
  struct Key {
    std::set<std::uint64_t> store;  // not kept by `order` and not running: reads show them
    std::optional<std::uint64_t> running;
    std::optional<std::uint64_t> retrying;
    std::uint64_t done_last = 0;
    std::size_t waiting = 0;
  };
  std::map<std::string, Key> keys;
  std::uint64_t next = 1;
  const auto finish = [&](const std::string& name, bool fails) {
    auto& key = keys[name];
    if (!key.running) return;
    const auto head = *std::exchange(key.running, std::nullopt);
    if (fails) {
      key.retrying = head;
      for (const auto& evicted : order.block(hash(name), Sequence{head})) {
        key.store.insert(evicted.sequence.value);
      }
      key.waiting = 0;
      return;
    }
    RC_ASSERT(head > key.done_last);
    key.done_last = head;
    if (auto following = order.advance(hash(name))) {
      key.running = following->sequence.value;
      --key.waiting;
    }
    RC_ASSERT(key.running.has_value() || key.waiting == 0U);
  };
  const auto read = [&](const std::string& name) {
    auto& key = keys[name];
    if (key.retrying) {
      auto due = entry(*key.retrying, name);
      RC_ASSERT(order.offer(due) == Place::head);
      RC_ASSERT(!key.running);
      key.running = std::exchange(key.retrying, std::nullopt);
    }
    // Like the shard: what follows a row that was not kept is not offered.
    while (!key.store.empty()) {
      auto fresh = entry(*key.store.begin(), name);
      const auto sequence = fresh.sequence.value;
      const auto place = order.offer(fresh);
      if (place == Place::full || place == Place::blocked) break;
      key.store.erase(key.store.begin());
      if (place == Place::waiting) {
        RC_ASSERT(++key.waiting <= chain_max);
        continue;
      }
      RC_ASSERT(!key.running);
      key.running = sequence;
    }
  };
  const auto steps = *rc::gen::inRange(1, 150);
  for (int step = 0; step < steps; ++step) {
    const auto& name = names[*rc::gen::inRange<std::size_t>(0, names.size())];
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        keys[name].store.insert(next++);
        break;
      case 1:
        read(name);
        break;
      default:
        finish(name, *rc::gen::arbitrary<bool>());
    }
  }
  for (const auto& name : names) {
    auto& key = keys[name];
    for (int round = 0; round < 200; ++round) {
      read(name);
      finish(name, false);
    }
    RC_ASSERT(key.store.empty());
    RC_ASSERT(key.waiting == 0U);
  }
  RC_ASSERT(order.blocked() == 0U);
}

}  // namespace
}  // namespace sagabox::outbox
