#include "outbox/read/cautious_gate.hpp"

#include "unit/outbox/rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sagabox::outbox {
namespace {

using testing::sequences;

Entry cautious_entry(std::uint64_t sequence, std::uint32_t attempts = 0, std::uint16_t shard = 0) {
  auto made = testing::entry(sequence);
  made.attempts = attempts;
  made.shard = Shard{shard};
  made.tenure = 1;
  return made;
}

std::vector<std::uint64_t> let_go(CautiousGate& gate) {
  std::vector<std::uint64_t> gone;
  while (auto next = gate.next()) {
    gone.push_back(next->sequence.value);
    gate.writing(std::move(*next));
  }
  return gone;
}

TEST(CautiousGate, LetsAFewGoTogether) {
  CautiousGate gate;
  for (std::uint64_t sequence = 1; sequence <= 6; ++sequence) gate.offer(cautious_entry(sequence));
  EXPECT_EQ(let_go(gate), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(gate.in_flight(), CautiousGate::together_max);
  EXPECT_EQ(gate.waiting(), 2U);
  gate.finished();
  EXPECT_EQ(let_go(gate), (std::vector<std::uint64_t>{5}));
}

TEST(CautiousGate, SuspectGoesAlone) {
  CautiousGate gate;
  gate.offer(cautious_entry(1));
  gate.offer(cautious_entry(2, 1));
  gate.offer(cautious_entry(3));
  EXPECT_EQ(let_go(gate), (std::vector<std::uint64_t>{1}));
  gate.finished();
  EXPECT_EQ(let_go(gate), (std::vector<std::uint64_t>{2})) << "nothing beside it";
  gate.finished();
  EXPECT_EQ(let_go(gate), (std::vector<std::uint64_t>{3}));
}

TEST(CautiousGate, IsDispatchedOnceItsAttemptIsWritten) {
  CautiousGate gate;
  gate.offer(cautious_entry(1, 0, 5));
  (void)let_go(gate);
  EXPECT_FALSE(gate.written(Shard{4}, Sequence{1}, 1)) << "another shard";
  EXPECT_FALSE(gate.written(Shard{5}, Sequence{2}, 1)) << "another message";
  EXPECT_FALSE(gate.written(Shard{5}, Sequence{1}, 2)) << "another tenure";
  const auto written = gate.written(Shard{5}, Sequence{1}, 1);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->sequence, Sequence{1});
  EXPECT_FALSE(gate.written(Shard{5}, Sequence{1}, 1)) << "once";
  EXPECT_EQ(gate.in_flight(), 1U) << "it runs now";
}

TEST(CautiousGate, DropGivesWhatWaitsAndWhatIsBeingWritten) {
  CautiousGate gate;
  gate.offer(cautious_entry(1, 0, 0));
  gate.offer(cautious_entry(2, 0, 1));
  gate.offer(cautious_entry(3, 0, 0));
  gate.offer(cautious_entry(4, 0, 0));
  gate.offer(cautious_entry(5, 0, 0));
  gate.offer(cautious_entry(6, 0, 1));
  (void)let_go(gate);
  ASSERT_TRUE(gate.written(Shard{0}, Sequence{1}, 1)) << "running: it ends by itself";
  auto dropped = sequences(gate.drop(Shard{0}));
  std::sort(dropped.begin(), dropped.end());
  EXPECT_EQ(dropped, (std::vector<std::uint64_t>{3, 4, 5}));
  EXPECT_EQ(gate.in_flight(), 2U) << "1 runs, 2 is being written";
  EXPECT_EQ(let_go(gate), (std::vector<std::uint64_t>{6}));
}

TEST(CautiousGate, DroppingASuspectLetsTheOthersGo) {
  CautiousGate gate;
  gate.offer(cautious_entry(1, 3, 0));
  gate.offer(cautious_entry(2, 0, 1));
  ASSERT_EQ(let_go(gate), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(sequences(gate.drop(Shard{0})), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(let_go(gate), (std::vector<std::uint64_t>{2}));
}

}  // namespace
}  // namespace sagabox::outbox
