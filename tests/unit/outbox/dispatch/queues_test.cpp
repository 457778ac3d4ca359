#include "outbox/dispatch/fair_queues.hpp"
#include "outbox/dispatch/ring.hpp"
#include "outbox/dispatch/room.hpp"
#include "unit/outbox/rows.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <deque>
#include <set>
#include <thread>
#include <vector>

namespace sagabox::outbox {
namespace {

TEST(Ring, KeepsOrderAndSaysWhenItIsFullOrEmpty) {
  Ring<int> ring(4);
  int value = 0;
  EXPECT_FALSE(ring.pop(value));
  for (int number = 1; number <= 4; ++number) EXPECT_TRUE(ring.push(number));
  int refused = 5;
  EXPECT_FALSE(ring.push(refused));
  EXPECT_EQ(refused, 5);
  for (int number = 1; number <= 4; ++number) {
    ASSERT_TRUE(ring.pop(value));
    EXPECT_EQ(value, number);
  }
  EXPECT_FALSE(ring.pop(value));
  EXPECT_TRUE(ring.seems_empty());
}

TEST(Ring, PopLeavesNothingOfTheValueBehind) {
  Ring<std::shared_ptr<int>> ring(2);
  auto value = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = value;
  ASSERT_TRUE(ring.push(value));
  EXPECT_EQ(value, nullptr) << "moved from";
  std::shared_ptr<int> popped;
  ASSERT_TRUE(ring.pop(popped));
  popped.reset();
  EXPECT_TRUE(watched.expired());
}

RC_GTEST_PROP(RingProperty, BehavesLikeABoundedQueue, ()) {
  const auto capacity = *rc::gen::inRange<std::size_t>(2, 9);
  Ring<int> ring(capacity);
  std::deque<int> model;
  const auto steps = *rc::gen::container<std::vector<bool>>(rc::gen::arbitrary<bool>());
  int next = 0;
  for (const bool push : steps) {
    int value = next;
    if (push) {
      const bool pushed = ring.push(value);
      RC_ASSERT(pushed || model.size() >= capacity);
      if (pushed) model.push_back(next++);
    } else {
      const bool popped = ring.pop(value);
      RC_ASSERT(popped == !model.empty());
      if (!popped) continue;
      RC_ASSERT(value == model.front());
      model.pop_front();
    }
    RC_ASSERT(ring.seems_empty() == model.empty());
  }
}

Entry queued_entry(std::uint64_t sequence, Source source) {
  static const auto message = testing::message({});
  return {.message = message, .sequence = Sequence{sequence}, .source = source};
}

TEST(FairQueues, AreTakenFromTwoToOne) {
  FairQueues queues(100, 100);
  for (std::uint64_t number = 0; number < 30; ++number) {
    queues.push(queued_entry(number, Source::hot));
    queues.push(queued_entry(number, Source::cold));
  }
  std::uint32_t turn = 0;
  int hot = 0;
  Entry taken;
  for (int number = 0; number < 30; ++number) {
    ASSERT_TRUE(queues.pop(taken, turn));
    hot += taken.source == Source::hot ? 1 : 0;
  }
  EXPECT_EQ(hot, 20);
}

TEST(FairQueues, EmptyOneLosesItsTurnToTheOther) {
  FairQueues queues(100, 100);
  std::uint32_t turn = 0;
  Entry taken;
  for (std::uint64_t number = 0; number < 6; ++number)
    queues.push(queued_entry(number, Source::cold));
  for (int number = 0; number < 6; ++number) {
    ASSERT_TRUE(queues.pop(taken, turn));
    EXPECT_EQ(taken.source, Source::cold);
  }
  EXPECT_FALSE(queues.pop(taken, turn));
  for (std::uint64_t number = 0; number < 6; ++number)
    queues.push(queued_entry(number, Source::hot));
  EXPECT_FALSE(queues.seems_empty());
  for (int number = 0; number < 6; ++number) {
    ASSERT_TRUE(queues.pop(taken, turn));
    EXPECT_EQ(taken.source, Source::hot);
  }
  EXPECT_TRUE(queues.seems_empty());
}

/// The smallest queues, so that the rings go round all the time while consumers are interrupted.
TEST(FairQueues, LoseAndRepeatNothingWithManyThreads) {
  constexpr std::uint64_t each = 5000;
  constexpr std::uint64_t producers = 2;
  constexpr std::size_t consumers = 3;
  Room room({.hot_capacity = 2, .cold_capacity = 2});
  FairQueues queues(2, 2);
  std::atomic<std::uint64_t> left{each * producers};
  std::vector<std::vector<std::uint64_t>> got(consumers);
  std::vector<std::thread> threads;
  for (std::uint64_t producer = 0; producer < producers; ++producer) {
    threads.emplace_back([&, producer] {
      const auto source = producer == 0 ? Source::hot : Source::cold;
      for (std::uint64_t number = 0; number < each; ++number) {
        while (!room.take(source, 1)) std::this_thread::yield();
        queues.push(queued_entry(producer * each + number, source));
      }
    });
  }
  for (std::size_t consumer = 0; consumer < consumers; ++consumer) {
    threads.emplace_back([&, consumer] {
      std::uint32_t turn = 0;
      Entry taken;
      while (left.load() > 0) {
        if (!queues.pop(taken, turn)) {
          std::this_thread::yield();
          continue;
        }
        room.release(taken.source, 1);
        got[consumer].push_back(taken.sequence.value);
        left.fetch_sub(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::uint64_t> all;
  for (const auto& part : got) {
    for (const auto number : part) EXPECT_TRUE(all.insert(number).second) << number;
  }
  EXPECT_EQ(all.size(), each * producers);
  EXPECT_TRUE(queues.seems_empty());
}

}  // namespace
}  // namespace sagabox::outbox
