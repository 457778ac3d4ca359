#include <sagabox/delivery.hpp>

#include <gtest/gtest.h>

namespace sagabox {
namespace {

using namespace std::chrono_literals;

TEST(Outcome, Done) { EXPECT_EQ(done().kind, Outcome::Kind::done); }

TEST(Outcome, RetryLeavesTheDelayToThePolicy) {
  const auto outcome = retry("printer on fire");
  EXPECT_EQ(outcome.kind, Outcome::Kind::retry);
  EXPECT_FALSE(outcome.delay.has_value());
  EXPECT_TRUE(outcome.spends_attempt);
  EXPECT_EQ(outcome.code, Code::tx_handler_failed);
  EXPECT_EQ(outcome.error, "printer on fire");
}

TEST(Outcome, RetryAfterSaysWhenAndWhetherItCounts) {
  const auto spent = retry_after(30s);
  EXPECT_EQ(spent.kind, Outcome::Kind::retry);
  EXPECT_EQ(spent.delay, 30s);
  EXPECT_TRUE(spent.spends_attempt);
  EXPECT_FALSE(spent.error.empty());
  EXPECT_FALSE(retry_after(30s, Attempt::not_spent).spends_attempt);
  EXPECT_EQ(retry_after(-1s).delay, 0s) << "a time in the past is now";
}

TEST(Outcome, RejectIsNotRetryable) {
  const auto outcome = reject("no such customer");
  EXPECT_EQ(outcome.kind, Outcome::Kind::reject);
  EXPECT_EQ(outcome.error, "no such customer");
  EXPECT_FALSE(is_retry_safe(outcome.code));
}

}  // namespace
}  // namespace sagabox
