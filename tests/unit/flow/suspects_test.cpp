#include "flow/suspects.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace sagabox::flow {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class SuspectsTest : public ::testing::Test {
 protected:
  Suspects::Judged fail(std::uint64_t message, bool down = false) {
    return suspects.failed(message, down, now);
  }
  BootTime now{seconds(1000)};
  Suspects suspects;
};

TEST_F(SuspectsTest, OneThatFailsAgainAfterOthersHaveArrivedIsToBlame) {
  EXPECT_FALSE(fail(1).blamed);
  suspects.arrived();
  EXPECT_TRUE(fail(1).blamed);
}

TEST_F(SuspectsTest, WhereNothingArrivesNobodyIs) {
  for (int round = 0; round < 10; ++round) {
    for (std::uint64_t message = 1; message <= 10; ++message) EXPECT_FALSE(fail(message).blamed);
  }
}

TEST_F(SuspectsTest, AfterThatItIsToBlameAlsoWhileNothingElseIsSent) {
  fail(1);
  suspects.arrived();
  fail(1);
  EXPECT_TRUE(fail(1).blamed);
  EXPECT_FALSE(fail(2).blamed) << "another one, for the first time";
  EXPECT_FALSE(fail(1).blamed) << "that may be the destination";
}

TEST_F(SuspectsTest, WhileItsDestinationIsDownNobodyIsToBlame) {
  fail(1);
  suspects.arrived();
  EXPECT_FALSE(fail(1, true).blamed);
}

TEST_F(SuspectsTest, ManyAtOnceAreEachToBlame) {
  for (std::uint64_t message = 1; message <= 1000; ++message) {
    fail(message);
    suspects.arrived();
  }
  for (std::uint64_t message = 1; message <= 1000; ++message) {
    EXPECT_TRUE(fail(message).blamed) << message;
  }
}

TEST_F(SuspectsTest, ADestinationThatTakesLittleOfEverythingIsToBlameItself) {
  // Every tenth send arrives, whatever is sent.
  std::vector<std::uint64_t> waiting(1000);
  std::iota(waiting.begin(), waiting.end(), 1);
  int sends = 0;
  int blamed = 0;
  for (int round = 0; round < 10; ++round) {
    std::erase_if(waiting, [&](std::uint64_t message) {
      const bool arrives = ++sends % 10 == 0;
      if (arrives) {
        suspects.arrived(message);
      } else if (fail(message).blamed) {
        ++blamed;
      }
      return arrives;
    });
  }
  EXPECT_LE(blamed, sends / 100);
}

TEST_F(SuspectsTest, OneThatArrivesIsForgotten) {
  fail(1);
  suspects.arrived(1);
  EXPECT_TRUE(suspects.empty());
  EXPECT_FALSE(fail(1).blamed);
  suspects.forget(1);
  EXPECT_TRUE(suspects.empty());
}

TEST_F(SuspectsTest, ItTellsHowOftenOneFailed) {
  for (std::uint32_t times = 1; times <= 5; ++times) EXPECT_EQ(fail(1).times, times);
}

TEST_F(SuspectsTest, OneThatFailedWhileOthersPassedItIsRemembered) {
  EXPECT_TRUE(suspects.failed_alone(1, now).blamed);
  EXPECT_TRUE(fail(1).blamed);
}

TEST_F(SuspectsTest, TheMemoryIsBoundedAndWhatIsInItIsJudged) {
  for (std::uint64_t message = 1; message <= 3 * Suspects::messages_max; ++message) fail(message);
  EXPECT_EQ(suspects.size(), Suspects::messages_max);
  for (std::size_t count = 0; count < 3 * Suspects::messages_max; ++count) suspects.arrived();
  EXPECT_TRUE(fail(1).blamed) << "the first ones stay";
  EXPECT_GT(fail(2 * Suspects::messages_max).times, 1000U) << "the others wait long";
  now += Suspects::remembered_for;
  EXPECT_EQ(fail(2 * Suspects::messages_max).times, 1U) << "old ones make room";
  EXPECT_LT(suspects.size(), Suspects::messages_max);
}

TEST_F(SuspectsTest, ThoseThatDoNotFitAndAreKnownToHaveFailedDoNotKeepOthersFromBlame) {
  for (std::uint64_t message = 1; message <= Suspects::messages_max; ++message) fail(message);
  for (std::uint64_t message = 1; message <= Suspects::messages_max; ++message) fail(message);
  suspects.arrived();
  for (std::uint64_t more = 1; more <= 1000; ++more) {
    EXPECT_FALSE(suspects.failed(Suspects::messages_max + more, false, now, true).blamed);
  }
  EXPECT_TRUE(fail(1).blamed);
}

}  // namespace
}  // namespace sagabox::flow
