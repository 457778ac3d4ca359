#include "saga/calls/reply_token.hpp"

#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace sagabox::saga {
namespace {

using namespace std::chrono_literals;

TEST(ReplyToken, OneOfTheSecretBeforeIsTakenUntilThatIsGone) {
  sagabox::testing::FakeClock clock;
  const auto now = clock.wall_now();
  const ReplyClaim claim{.saga = SagaId::parse("s1").value(),
                         .definition = "travel",
                         .tenant = "acme",
                         .step = "hotel",
                         .expires_at = std::chrono::floor<std::chrono::seconds>(now) + 60s};
  const auto old_token = reply_token(claim, "the secret of last year");
  const auto new_token = reply_token(claim, "the secret of this year");
  const ReplySecrets rotating{"the secret of this year", "the secret of last year"};
  EXPECT_EQ(read_reply_token(old_token, rotating, now).value(), claim);
  EXPECT_EQ(read_reply_token(new_token, rotating, now).value(), claim);
  const ReplySecrets rotated{"the secret of this year"};
  EXPECT_EQ(read_reply_token(old_token, rotated, now).error().code, Code::auth_denied);
  EXPECT_EQ(read_reply_token(new_token, rotated, now).value(), claim);
  EXPECT_EQ(read_reply_token(reply_token(claim, "x"), rotating, now).error().code,
            Code::auth_denied);
  EXPECT_EQ(read_reply_token(reply_token(claim, ""), {}, now).error().code, Code::auth_denied)
      << "without a secret nobody may reply";
  EXPECT_EQ(read_reply_token(reply_token(claim, ""), rotated, now).error().code, Code::auth_denied)
      << "no secret before is not the empty one";
}

}  // namespace
}  // namespace sagabox::saga
