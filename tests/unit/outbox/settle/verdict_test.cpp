#include "outbox/settle/verdict.hpp"

#include "unit/outbox/rows.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace sagabox::outbox {
namespace {

using spi::Verdict;
using std::chrono::milliseconds;
using std::chrono::seconds;

class VerdictTest : public ::testing::Test {
 protected:
  spi::Settlement judge(const Outcome& outcome, bool timed_out = false) {
    return outbox::judge(entry, outcome, timed_out, judgement, *random);
  }

  Entry entry = [] {
    auto made = testing::entry(17, "a");
    made.shard = Shard{3};
    made.attempts = 2;
    return made;
  }();
  Judgement judgement{.retry = {.attempts_max = 5,
                                .backoff_min = milliseconds(100),
                                .backoff_max = seconds(10),
                                .factor = 2,
                                .jitter_min = 1,
                                .jitter_max = 1}};
  std::unique_ptr<Random> random = seeded_random(1);
};

TEST_F(VerdictTest, DoneCountsTheAttemptAbsolutely) {
  const auto settlement = judge(done());
  EXPECT_EQ(settlement.verdict, Verdict::done);
  EXPECT_EQ(settlement.attempts, 3U);
  EXPECT_EQ(settlement.sequence, Sequence{17});
  EXPECT_EQ(settlement.shard, Shard{3});
  EXPECT_EQ(settlement.id, entry.message->id());
}

TEST_F(VerdictTest, SaysWhichLaneItWasReadFrom) {
  EXPECT_EQ(judge(done()).lane, spi::Lane{1}) << "one with a key has no priority";
  entry.was_waiting = true;
  EXPECT_EQ(judge(done()).lane, std::nullopt);
}

TEST_F(VerdictTest, FailureWaitsAsLongAsThePolicySays) {
  const auto settlement = judge(retry("no answer"));
  EXPECT_EQ(settlement.verdict, Verdict::retry);
  EXPECT_EQ(settlement.attempts, 3U);
  EXPECT_EQ(settlement.delay, milliseconds(400)) << "the third attempt failed";
  EXPECT_EQ(settlement.code, Code::tx_handler_failed);
  EXPECT_EQ(settlement.error, "no answer");
}

TEST_F(VerdictTest, LastFailureIsDeadWithItsCodeAndError) {
  entry.attempts = 4;
  const auto settlement = judge(retry("no answer"));
  EXPECT_EQ(settlement.verdict, Verdict::dead);
  EXPECT_EQ(settlement.attempts, 5U);
  EXPECT_EQ(settlement.code, Code::tx_handler_failed);
  EXPECT_EQ(settlement.error, "no answer");
}

TEST_F(VerdictTest, HandlersOwnDelayReplacesThePolicys) {
  const auto settlement = judge(retry_after(seconds(77)));
  EXPECT_EQ(settlement.verdict, Verdict::retry);
  EXPECT_EQ(settlement.delay, seconds(77));
  EXPECT_EQ(settlement.attempts, 3U);
}

TEST_F(VerdictTest, HandlersOwnDelayCanLeaveTheAttemptUnspent) {
  entry.attempts = 4;
  const auto settlement = judge(retry_after(seconds(77), Attempt::not_spent));
  EXPECT_EQ(settlement.verdict, Verdict::retry) << "however often";
  EXPECT_EQ(settlement.attempts, 4U);
  EXPECT_EQ(settlement.delay, seconds(77));
}

TEST_F(VerdictTest, HandlersOwnDelayThatSpendsTheLastAttemptIsDead) {
  entry.attempts = 4;
  EXPECT_EQ(judge(retry_after(seconds(77))).verdict, Verdict::dead);
}

TEST_F(VerdictTest, UnspentFirstAttemptWithoutADelayWaitsLikeTheFirst) {
  entry.attempts = 0;
  Outcome outcome = retry("not now");
  outcome.spends_attempt = false;
  const auto settlement = judge(outcome);
  EXPECT_EQ(settlement.attempts, 0U);
  EXPECT_EQ(settlement.delay, milliseconds(100));
}

TEST_F(VerdictTest, RejectedIsDeadAtOnce) {
  entry.attempts = 0;
  const auto settlement = judge(reject("no such customer"));
  EXPECT_EQ(settlement.verdict, Verdict::dead);
  EXPECT_EQ(settlement.attempts, 1U);
  EXPECT_EQ(settlement.code, Code::provider_rejected);
  EXPECT_EQ(settlement.error, "no such customer");
}

TEST_F(VerdictTest, LateDoneCounts) { EXPECT_EQ(judge(done(), true).verdict, Verdict::done); }

TEST_F(VerdictTest, FailureAfterTheDeadlineIsATimeoutAndAlwaysSpends) {
  const auto settlement = judge(retry_after(seconds(1), Attempt::not_spent), true);
  EXPECT_EQ(settlement.code, Code::tx_timeout);
  EXPECT_EQ(settlement.attempts, 3U);
  entry.attempts = 4;
  EXPECT_EQ(judge(retry_after(seconds(1), Attempt::not_spent), true).verdict, Verdict::dead);
}

TEST_F(VerdictTest, ParkPolicyQuarantinesAFailingHead) {
  judgement.head_policy = HeadPolicy::park;
  const auto settlement = judge(retry("no answer"));
  EXPECT_EQ(settlement.verdict, Verdict::park);
  EXPECT_EQ(settlement.error, "no answer");
  EXPECT_EQ(judge(done()).verdict, Verdict::done);
  EXPECT_EQ(judge(reject("never")).verdict, Verdict::dead);
}

TEST_F(VerdictTest, ParkPolicyLeavesMessagesWithoutAKeyAndUnspentAttemptsAlone) {
  judgement.head_policy = HeadPolicy::park;
  EXPECT_EQ(judge(retry_after(seconds(1), Attempt::not_spent)).verdict, Verdict::retry);
  entry = testing::entry(18);
  EXPECT_EQ(judge(retry("no answer")).verdict, Verdict::retry);
}

TEST_F(VerdictTest, SkipPolicyRetriesLikeBlock) {
  judgement.head_policy = HeadPolicy::skip;
  EXPECT_EQ(judge(retry("no answer")).verdict, Verdict::retry);
}

TEST_F(VerdictTest, SpentAttemptStaysWhereItIs) {
  const auto settlement = spent_attempt(entry, Code::tx_timeout, "late");
  EXPECT_EQ(settlement.verdict, Verdict::attempt);
  EXPECT_EQ(settlement.attempts, 3U);
  EXPECT_EQ(settlement.code, Code::tx_timeout);
}

TEST_F(VerdictTest, UnspentAttemptTakesBackWhatWasWrittenAheadAndSaysNoError) {
  const auto settlement = unspent_attempt(entry);
  EXPECT_EQ(settlement.verdict, Verdict::attempt);
  EXPECT_EQ(settlement.attempts, 2U);
  EXPECT_EQ(settlement.id, entry.message->id());
  EXPECT_EQ(settlement.shard, Shard{3});
  EXPECT_TRUE(settlement.error.empty()) << "that of the last attempt stays";
}

TEST(BuriedRow, ExhaustedIsDeadWithTheAttemptsItHadAndKeepsItsLastError) {
  const auto row = testing::row(5, "a", 10);
  const auto settlement = exhausted(row, 10);
  EXPECT_EQ(settlement.verdict, Verdict::dead);
  EXPECT_EQ(settlement.attempts, 10U);
  EXPECT_EQ(settlement.code, Code::tx_deadletter);
  EXPECT_EQ(settlement.id, row.id);
  EXPECT_TRUE(settlement.keep_last_error);
  EXPECT_NE(settlement.error.find("(10 of 10)"), std::string::npos) << settlement.error;
}

TEST(BuriedRow, LoweredLimitIsSaidAsItIs) {
  const auto settlement = exhausted(testing::row(5, "a", 5), 3);
  EXPECT_EQ(settlement.attempts, 5U);
  EXPECT_NE(settlement.error.find("(5 of 3)"), std::string::npos) << settlement.error;
  EXPECT_NE(settlement.error.find("or the limit was lowered"), std::string::npos);
}

TEST(BuriedRow, UndecodableIsDeadAndSaysWhy) {
  const auto settlement = undecodable(testing::undecodable_row(5));
  EXPECT_EQ(settlement.verdict, Verdict::dead);
  EXPECT_EQ(settlement.code, Code::schema_validation_failed);
  EXPECT_NE(settlement.error.find("headers: not a JSON object"), std::string::npos);
}

RC_GTEST_PROP(VerdictProperty, EveryOutcomeLeadsToOneStateAndAttemptsNeverPassTheLimit, ()) {
  auto entry = testing::entry(1, *rc::gen::arbitrary<bool>() ? "a" : "");
  Judgement judgement;
  judgement.retry.attempts_max = *rc::gen::inRange(1U, 12U);
  judgement.head_policy = *rc::gen::element(HeadPolicy::block, HeadPolicy::skip, HeadPolicy::park);
  entry.attempts = *rc::gen::inRange(0U, judgement.retry.attempts_max);
  const bool timed_out = *rc::gen::arbitrary<bool>();
  auto outcome = Outcome{
      .kind = *rc::gen::element(Outcome::Kind::done, Outcome::Kind::retry, Outcome::Kind::reject),
      .spends_attempt = *rc::gen::arbitrary<bool>()};
  if (*rc::gen::arbitrary<bool>()) outcome.delay = seconds(*rc::gen::inRange(0, 100));
  const auto random = seeded_random(*rc::gen::arbitrary<std::uint64_t>());
  const auto settlement = judge(entry, outcome, timed_out, judgement, *random);

  const bool failed = outcome.kind == Outcome::Kind::retry;
  const bool spent = !failed || timed_out || outcome.spends_attempt;
  RC_ASSERT(settlement.attempts == entry.attempts + (spent ? 1 : 0));
  RC_ASSERT(settlement.attempts <= judgement.retry.attempts_max);
  RC_ASSERT((settlement.verdict == Verdict::done) == (outcome.kind == Outcome::Kind::done));
  RC_ASSERT(settlement.verdict != Verdict::attempt);
  if (settlement.verdict == Verdict::retry) {
    RC_ASSERT(settlement.attempts < judgement.retry.attempts_max);
    RC_ASSERT(settlement.delay >= Duration{});
    if (outcome.delay) RC_ASSERT(settlement.delay == *outcome.delay);
  }
  if (settlement.verdict == Verdict::park) {
    RC_ASSERT(judgement.head_policy == HeadPolicy::park);
    RC_ASSERT(entry.message->has_key());
  }
  if (outcome.kind == Outcome::Kind::reject) RC_ASSERT(settlement.verdict == Verdict::dead);
}

}  // namespace
}  // namespace sagabox::outbox
