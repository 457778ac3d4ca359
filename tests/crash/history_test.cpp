#include "crash/history.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sagabox::crash {
namespace {

using Kind = Delivered::Kind;

/// Two messages of a key and one without, delivered by one relay as it should be.
History good() {
  return {.truths = {{.id = "a", .sequence = 1, .key = "k", .ordered = true},
                     {.id = "b", .sequence = 2, .key = "k", .ordered = true},
                     {.id = "c", .sequence = 3}},
          .promises = {{"a", End::committed},
                       {"b", End::committed},
                       {"c", End::in_doubt},
                       {"undone", End::rolled_back}},
          .delivered = {{.kind = Kind::failed, .id = "a", .sequence = 1, .epoch = 1},
                        {.id = "c", .sequence = 3, .epoch = 1},
                        {.id = "a", .sequence = 1, .epoch = 1, .attempt = 2},
                        {.id = "b", .sequence = 2, .epoch = 1}},
          .take_overs = {},
          .pending = {},
          .buried = {},
          .archived = {"a", "b", "c"}};
}

void expect_problem(const History& history, const std::string& text) {
  const auto problems = problems_of(history);
  for (const auto& problem : problems) {
    if (problem.find(text) != std::string::npos) return;
  }
  ADD_FAILURE() << "not found: " << text << " among " << problems.size();
}

TEST(CrashHistory, GoodOneHasNoProblem) {
  EXPECT_EQ(problems_of(good()), std::vector<std::string>{});
}

TEST(CrashHistory, LostMessageIsFound) {
  auto history = good();
  history.delivered.pop_back();
  expect_problem(history, "b (sequence 2) was not delivered");
  history.archived.pop_back();
  expect_problem(history, "c is not in the archive");
  history.pending = {"c"};
  expect_problem(history, "c is still pending");
}

TEST(CrashHistory, WithoutRetentionNothingMayBeLeft) {
  auto history = good();
  history.retained = false;
  expect_problem(history, "a is kept for no reason");
  history.archived.clear();
  EXPECT_EQ(problems_of(history), std::vector<std::string>{});
}

TEST(CrashHistory, FailedAttemptIsNoDelivery) {
  auto history = good();
  history.delivered[3].kind = Kind::failed;
  expect_problem(history, "b (sequence 2) was not delivered");
}

TEST(CrashHistory, MessageFromNowhereIsFound) {
  auto history = good();
  history.delivered.push_back({.id = "undone", .sequence = 9});
  expect_problem(history, "was never committed");
  history = good();
  history.delivered[1].sequence = 4;
  expect_problem(history, "has sequence 3");
}

TEST(CrashHistory, BrokenPromiseIsFound) {
  auto history = good();
  history.promises.push_back({"gone", End::committed});
  expect_problem(history, "gone was committed and is not there");
  history = good();
  history.truths.push_back({.id = "undone", .sequence = 9});
  expect_problem(history, "undone was rolled back and is there");
}

TEST(CrashHistory, OvertakingIsFoundAlsoByAFirstAttempt) {
  auto history = good();
  std::swap(history.delivered[2], history.delivered[3]);
  expect_problem(history, "overtook a");
  history = good();
  history.delivered.insert(history.delivered.begin() + 1,
                           {.kind = Kind::failed, .id = "b", .sequence = 2, .epoch = 1});
  history.delivered.back().attempt = 2;
  expect_problem(history, "overtook a");
}

TEST(CrashHistory, DelayedMessagesAndLooseKeysHaveNoOrder) {
  auto history = good();
  std::swap(history.delivered[2], history.delivered[3]);
  history.truths[0].delayed = true;
  EXPECT_EQ(problems_of(history), std::vector<std::string>{});
  history.truths[0].delayed = false;
  history.truths[1].ordered = false;
  EXPECT_EQ(problems_of(history), std::vector<std::string>{});
}

TEST(CrashHistory, RepeatNeedsATakeOverBetween) {
  auto history = good();
  history.delivered.push_back({.id = "c", .sequence = 3, .epoch = 2});
  expect_problem(history, "nobody was replaced between");
  history.take_overs = {{.shard = 0, .epoch = 2}};
  EXPECT_EQ(problems_of(history), std::vector<std::string>{});
  history.take_overs = {{.shard = 1, .epoch = 2}};
  expect_problem(history, "nobody was replaced between");
  history.take_overs = {{.shard = 0, .epoch = 1}, {.shard = 0, .epoch = 3}};
  expect_problem(history, "nobody was replaced between");
}

TEST(CrashHistory, MessageSettledTwiceOrDeadIsFound) {
  auto history = good();
  history.archived.push_back("a");
  expect_problem(history, "a was settled twice");
  history = good();
  history.buried = {"a"};
  expect_problem(history, "a is a dead letter");
}

TEST(JournalTest, TornLineTakesNoOtherWithIt) {
  const auto file =
      std::filesystem::path(::testing::TempDir()) / ("sagabox-journal-" + std::to_string(getpid()));
  const Delivered one{.id = "a", .sequence = 1, .epoch = 1};
  const Delivered next{.id = "c", .sequence = 3, .epoch = 2};
  std::string whole;
  {
    const Journal journal(file);
    journal.append(one.line());
    std::ifstream in(file);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(file) << whole << whole.substr(0, length);
    const Journal journal(file);
    journal.append(next.line());
    const auto delivered = read_relay_notes(file).delivered;
    // The last character is the line's end, which the next line brings, too.
    const std::size_t expected = length + 1 == whole.size() ? 3 : 2;
    ASSERT_EQ(delivered.size(), expected) << length;
    EXPECT_EQ(delivered.front().id, "a");
    EXPECT_EQ(delivered.back().id, "c");
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace sagabox::crash
