#include "core/history_text.hpp"

#include <gtest/gtest.h>

namespace sagabox {
namespace {

FailedAttempt failure(std::uint32_t number, std::string error = "no \"quotes\" \n ü") {
  return {number, WallTime(std::chrono::microseconds(1'767'000'000'123'456)), Code::tx_timeout,
          std::move(error)};
}

TEST(HistoryText, ComesBackAsItWas) {
  const std::vector history{failure(1), failure(7, "")};
  EXPECT_EQ(history_from_text(history_text(history)), history);
  EXPECT_EQ(history_from_text(history_text({})), std::vector<FailedAttempt>{});
}

TEST(HistoryText, WhatCannotBeReadIsLeftOut) {
  EXPECT_TRUE(history_from_text("").empty());
  EXPECT_TRUE(history_from_text("{broken").empty());
  EXPECT_TRUE(history_from_text("{}").empty());
  EXPECT_EQ(history_from_text("[1, {\"number\": 3}]").at(0).number, 3U);
}

TEST(HistoryText, LaterFailureOfAnAttemptReplacesTheEarlier) {
  std::vector history{failure(1), failure(2, "late")};
  add_failure(history, failure(2, "failed"));
  ASSERT_EQ(history.size(), 2U);
  EXPECT_EQ(history.back().error, "failed");
}

TEST(HistoryText, NewestAreKept) {
  std::vector<FailedAttempt> history;
  for (std::uint32_t n = 1; n <= history_attempts_max + 3; ++n) add_failure(history, failure(n));
  ASSERT_EQ(history.size(), history_attempts_max);
  EXPECT_EQ(history.front().number, 4U);
}

}  // namespace
}  // namespace sagabox
