#include "delivery/worker/webhook.hpp"

#include "delivery/decide.hpp"
#include "support/hook_transport.hpp"

#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sagabox::delivery {
namespace {

using namespace std::chrono_literals;
using Kind = spi::SendResult::Kind;
using spi::Reach;

JobResult judged(const spi::SendResult& sent) { return result_of(sent, 5ms, "the payload"); }
JobResult judged(Kind kind, Reach reach, std::optional<Code> code = {}) {
  spi::SendResult sent{kind, "it did not work"};
  sent.reach = reach;
  sent.code = code;
  return judged(sent);
}

TEST(WebhookResult, EverySuccessCompletes) {
  for (const int status : {200, 201, 202, 204, 226}) {
    const auto result = judged(testing::HookTransport::answered(status, "ok"));
    EXPECT_TRUE(result.completed) << status;
    EXPECT_EQ(result.status, status);
    EXPECT_EQ(result.answer, "ok");
    EXPECT_EQ(result.code, std::nullopt);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.took, 5ms);
  }
}

TEST(WebhookResult, EveryOtherAnswerIsAFailureThatCounts) {
  for (const int status : {301, 302, 307, 400, 404, 408, 410, 425, 429, 500, 502, 503, 504, 530}) {
    const auto result = judged(testing::HookTransport::answered(status));
    EXPECT_FALSE(result.completed) << status;
    EXPECT_EQ(result.status, status);
    EXPECT_TRUE(result.code.has_value());
    EXPECT_NE(result.error.find(std::to_string(status)), std::string::npos);
  }
  EXPECT_NE(judged(testing::HookTransport::answered(302)).error.find("redirect"),
            std::string::npos);
}

TEST(WebhookResult, NoAnswerIsJudgedByHowFarItGot) {
  // Not reached: spends none of the retries.
  for (const auto kind : {Kind::unreachable, Kind::busy, Kind::later}) {
    EXPECT_EQ(judged(kind, Reach::not_sent).code, Code::provider_unavailable);
  }
  EXPECT_EQ(judged(Kind::timed_out, Reach::not_sent).code, Code::provider_unavailable);
  // It may have arrived.
  EXPECT_EQ(judged(Kind::timed_out, Reach::sent).code, Code::tx_timeout);
  EXPECT_EQ(judged(Kind::timed_out, Reach::unknown).code, Code::tx_timeout);
  EXPECT_EQ(judged(Kind::failed, Reach::unknown).code, Code::tx_handler_failed);
  // For good.
  EXPECT_EQ(judged(Kind::rejected, Reach::not_sent).code, Code::provider_rejected);
  EXPECT_EQ(judged(Kind::rejected, Reach::not_sent, Code::auth_denied).code, Code::auth_denied);
  // A transport without answers.
  EXPECT_TRUE(judged(Kind::delivered, Reach::unknown).completed);
}

TEST(WebhookResult, RetryAfterIsBounded) {
  auto sent = testing::HookTransport::answered(429);
  sent.retry_after = 100h;
  EXPECT_EQ(judged(sent).retry_after, 24h);
  sent.retry_after = 2min;
  EXPECT_EQ(judged(sent).retry_after, 2min);
  sent.retry_after = -5s;
  EXPECT_EQ(judged(sent).retry_after, 0s);
  EXPECT_EQ(judged(testing::HookTransport::answered(429)).retry_after, std::nullopt);
}

TEST(WebhookResult, TextsHaveNeitherPayloadNorSecret) {
  const auto answer = judged(testing::HookTransport::answered(
      400, "I got \"the payload\"\r\nAuthorization: Bearer abc\xff\x01" + std::string(1, '\0')));
  EXPECT_EQ(answer.answer.find("the payload"), std::string::npos) << answer.answer;
  EXPECT_EQ(answer.answer.find("abc"), std::string::npos) << answer.answer;
  EXPECT_EQ(answer.answer.find_first_of(std::string("\r\n\xff\x01\0", 5)), std::string::npos);
  spi::SendResult sent{Kind::failed, "could not take the payload; password=hunter2"};
  const auto error = judged(sent).error;
  EXPECT_EQ(error.find("the payload"), std::string::npos) << error;
  EXPECT_EQ(error.find("hunter2"), std::string::npos) << error;
  EXPECT_EQ(judged(testing::HookTransport::answered(200, std::string(5000, 'x'))).answer.size(),
            job_answer_bytes_max);
}

/// What the schedule makes of it is for `decide`; both sides must mean the same by a code.
TEST(WebhookResult, DecideUnderstandsIt) {
  const auto random = seeded_random(1);
  DeliveryRecord delivery;
  delivery.state = DeliveryState::in_progress;
  delivery.attempt = 1;
  const auto after = [&](const JobResult& result) {
    const Endpoint endpoint{.retry = {.waits = {1s}}};
    return decide(delivery, AttemptEnded{1, result}, endpoint, WallTime{}, *random);
  };
  EXPECT_EQ(after(judged(testing::HookTransport::answered(500))).delivery.failures, 1U);
  EXPECT_EQ(after(judged(Kind::unreachable, Reach::not_sent)).delivery.failures, 0U);
  EXPECT_EQ(after(judged(Kind::timed_out, Reach::sent)).delivery.failures, 1U);
  EXPECT_EQ(after(judged(Kind::rejected, Reach::not_sent)).delivery.state, DeliveryState::dead);
  EXPECT_EQ(after(not_sent(Code::auth_denied, "")).delivery.state, DeliveryState::dead);
  EXPECT_TRUE(after(judged(testing::HookTransport::answered(410))).disable.has_value());
  EXPECT_EQ(after(judged(testing::HookTransport::answered(302))).delivery.state,
            DeliveryState::pending);
}

TEST(WebhookParcel, SourceIsAReferenceToAUri) {
  testing::FakeClock clock;
  const auto random = seeded_random(1);
  UlidSource ids(clock, *random);
  const auto message =
      Message::build_shared({.topic = "t", .payload = json("1")}, {}, ids, clock).value();
  EXPECT_EQ(hub_parcel(message, "").source, "/sagabox/hub");
  EXPECT_EQ(hub_parcel(message, "shop").source, "shop");
  EXPECT_EQ(hub_parcel(message, "https://shop.example/eu").source, "https://shop.example/eu");
  EXPECT_EQ(hub_parcel(message, "my shop\"50%").source, "my%20shop%2250%25");
}

TEST(WebhookTarget, HttpAloneIsAWebhook) {
  EXPECT_TRUE(is_webhook("https://a.example/"));
  EXPECT_TRUE(is_webhook("http://127.0.0.1/"));
  EXPECT_FALSE(is_webhook("nats:orders"));
  EXPECT_FALSE(is_webhook("httpx:orders"));
}

}  // namespace
}  // namespace sagabox::delivery
