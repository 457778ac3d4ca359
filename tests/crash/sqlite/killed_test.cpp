#include "crash/eventually.hpp"
#include "crash/seeds.hpp"
#include "crash/sqlite/ground.hpp"

#include <sagabox/random.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

namespace sagabox::crash {
namespace {

using std::chrono::microseconds;

/// Processes write to a file and deliver from it until SIGKILL, again and again.
class SqliteKilled : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr int rounds = 50;

  /// SAGABOX_CRASH_TIMES: so many times as many rounds.
  static int times(int count) {
    const char* text = std::getenv("SAGABOX_CRASH_TIMES");
    return text == nullptr ? count : count * std::atoi(text);
  }

  /// Killed by us after a while, or by itself at a certain act on the disk.
  void round(SqliteGround& ground, Random& random, std::size_t processes) {
    std::vector<Process> running;
    const auto promises = [&] {
      std::error_code none_yet;
      const auto size = std::filesystem::file_size(ground.file("promises"), none_yet);
      return none_yet ? 0 : size;
    };
    const auto promised = promises();
    for (std::size_t at = 0; at < processes; ++at) {
      std::map<std::string, std::string> settings{{"seed", std::to_string(random.below(1U << 30))},
                                                  {"writers", "2"}};
      if (random.below(2) == 0) settings["dies_at"] = std::to_string(1 + random.below(800));
      running.push_back(ground.start(settings));
    }
    // Some die while they begin, most when they are at work.
    const bool at_work = random.below(4) != 0;
    for (auto& process : running) {
      if (at_work) {
        ASSERT_TRUE(eventually([&] { return promises() > promised || !process.is_running(); }));
      }
      std::this_thread::sleep_for(microseconds(random.below(40'000)));
      process.signal(SIGKILL);
      ASSERT_EQ(process.wait(), 128 + SIGKILL) << "ended by itself: " << ground.last_words();
    }
    ASSERT_EQ(ground.damage(), "");
    if (random.below(4) == 0) ground.lose_shared_memory();
  }

  static void tell(const History& history, int rounds_done) {
    std::set<std::string> ids;
    std::size_t repeats = 0;
    for (const auto& one : history.delivered) {
      if (one.kind == Delivered::Kind::done && !ids.insert(one.id).second) ++repeats;
    }
    std::cout << rounds_done << " rounds, " << history.truths.size() << " messages, "
              << history.promises.size() << " promises, " << repeats << " repeats, "
              << history.take_overs.size() << " unclean take-overs\n";
  }
};

TEST_P(SqliteKilled, NothingIsLostOrFromNowhereAndKeysStayInOrder) {
  const auto seed = GetParam();
  SqliteGround ground(seed % 4 >= 2);
  const auto random = seeded_random(seed);
  const auto take_overs_min = static_cast<std::size_t>(rounds) / 10;
  int done = 0;
  for (; done < times(rounds) && !HasFailure(); ++done) round(ground, *random, 1 + seed % 2);
  // A slow machine kills most processes before they own anything.
  while (done < 4 * times(rounds) && !HasFailure() &&
         ground.history().take_overs.size() <= take_overs_min) {
    round(ground, *random, 1 + seed % 2);
    ++done;
  }
  auto last = ground.start({});
  EXPECT_TRUE(ground.drained());
  EXPECT_EQ(last.stop(), 0);
  const auto history = ground.history();
  tell(history, done);
  EXPECT_EQ(ground.damage(), "");
  EXPECT_EQ(ground.problems(), "") << "again: ./dev torture crash " << seed;
  EXPECT_GT(history.truths.size(), static_cast<std::size_t>(rounds));
  EXPECT_GT(history.take_overs.size(), take_overs_min);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SqliteKilled, ::testing::ValuesIn(wanted_seeds(4)));

/// Processes that break a promise: the checker must find it, or it proves nothing.
class SqliteBroken : public ::testing::Test {
 protected:
  void expect_problem(const std::string& text) {
    const auto found = ground.problems();
    EXPECT_NE(found.find(text), std::string::npos) << found;
  }
  SqliteGround ground{true};
};

TEST_F(SqliteBroken, HandlerThatAnswersBeforeItHasDoneItsWorkLosesMessages) {
  auto process = ground.start({{"broken", "answers_early"}, {"writers", "1"}});
  ASSERT_TRUE(eventually([&] { return !ground.history().archived.empty(); }));
  process.kill();
  process = ground.start({});
  EXPECT_TRUE(ground.drained());
  EXPECT_EQ(process.stop(), 0);
  expect_problem("was not delivered");
}

TEST_F(SqliteBroken, ProducerThatPromisesBeforeTheCommitBreaksItsPromise) {
  EXPECT_EQ(ground.start({{"broken", "promises_early"}, {"writers", "1"}}).wait(), 128 + SIGKILL);
  expect_problem("was committed and is not there");
}

TEST_F(SqliteBroken, CountsThatDoNotFitAndDamageAreFound) {
  EXPECT_EQ(ground.damage(), "");
  const auto connection = testing::connect_sqlite(ground.file());
  testing::run_sql(connection.get(), "UPDATE sagabox_outbox SET done = 1");
  EXPECT_EQ(ground.damage(), "the counts are not what is there");
}

}  // namespace
}  // namespace sagabox::crash
