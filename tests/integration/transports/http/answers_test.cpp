#include "integration/transports/http/world.hpp"
#include "transports/http/address.hpp"

#include <stdexcept>

namespace sagabox::testing {
namespace {

class HttpAnswers : public HttpTransportTest {
 protected:
  HttpAnswers() { open(); }

  spi::SendResult answered(HttpReply reply, Duration time = ample) {
    reply_ = std::move(reply);
    return deliver(address(server_.url("/")), {}, time);
  }

  HttpReply reply_;
  HttpServer server_{[this](const HttpRequest&) { return reply_; }};
};

TEST_F(HttpAnswers, TwoHundredsAreDeliveredAndNothingElseIs) {
  for (const auto status : {200U, 202U, 204U}) {
    EXPECT_EQ(answered({.status = status}).kind, Kind::delivered) << status;
  }
  EXPECT_EQ(answered({.status = 400}).kind, Kind::rejected);
  EXPECT_EQ(answered({.status = 500}).kind, Kind::failed);
  EXPECT_EQ(answered({.status = 502}).kind, Kind::unreachable);
}

TEST_F(HttpAnswers, RedirectIsNotFollowed) {
  HttpServer elsewhere;
  const auto result = answered({.status = 307, .headers = {{"Location", elsewhere.url("/")}}});
  EXPECT_EQ(result.kind, Kind::rejected);
  EXPECT_NE(result.error.find("redirect"), std::string::npos) << result.error;
  EXPECT_EQ(elsewhere.connections_made(), 0U);
}

TEST_F(HttpAnswers, RetryAfterIsHandedOn) {
  auto result = answered({.status = 429, .headers = {{"rEtry-After", "17"}}});
  EXPECT_EQ(result.kind, Kind::busy);
  EXPECT_EQ(result.retry_after, std::chrono::seconds(17));
  result = answered({.status = 503, .headers = {{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"}}});
  EXPECT_EQ(result.kind, Kind::busy);
  EXPECT_EQ(result.retry_after, std::chrono::hours(24));
  result = answered({.status = 429});
  EXPECT_EQ(result.retry_after, std::nullopt) << "of the answer before";
}

TEST_F(HttpAnswers, WhatTheServerSaysIsNotRepeated) {
  const auto result = answered({.status = 400, .body = "you sent: secret payload"});
  EXPECT_EQ(result.kind, Kind::rejected);
  EXPECT_EQ(result.error.find("secret payload"), std::string::npos) << result.error;
}

TEST_F(HttpAnswers, LongAnswerIsNotReadToItsEnd) {
  EXPECT_EQ(answered({.status = 200, .body = std::string(4'000'000, 'x')}).kind, Kind::delivered);
  EXPECT_EQ(answered({.status = 404, .body = std::string(4'000'000, 'x')}).kind, Kind::rejected);
  EXPECT_EQ(answered({.status = 204}).kind, Kind::delivered);
}

TEST_F(HttpAnswers, HeadersWithoutEndAreCutOff) {
  HttpReply many{.status = 200};
  for (int i = 0; i < 100; ++i) {
    many.headers.emplace_back("x-" + std::to_string(i), std::string(1000, 'x'));
  }
  EXPECT_NE(answered(many).kind, Kind::rejected);
  EXPECT_EQ(answered({.status = 204}).kind, Kind::delivered);
}

TEST_F(HttpAnswers, HangingUpInsteadOfAnAnswerIsATimeoutForItMayHaveArrived) {
  const auto result = answered({.hang_up = true});
  EXPECT_EQ(result.kind, Kind::timed_out) << result.error;
  EXPECT_NE(result.error.find("127.0.0.1"), std::string::npos) << result.error;
}

TEST_F(HttpAnswers, NoAnswerByTheDeadlineIsATimeout) {
  const auto began = system_clock().boot_now();
  const auto result = answered({.never = true}, std::chrono::milliseconds(200));
  EXPECT_EQ(result.kind, Kind::timed_out) << result.error;
  EXPECT_GE(system_clock().boot_now() - began, std::chrono::milliseconds(200));
}

TEST_F(HttpAnswers, NoConnectionByTheDeadlineIsUnreachable) {
  ASSERT_EQ(answered({}).kind, Kind::delivered);
  server_.stall();  // the handshake of TLS is not answered
  const auto result = deliver(address("https://127.0.0.1:" + std::to_string(server_.port()) + "/"),
                              {}, std::chrono::milliseconds(200));
  server_.go_on();
  EXPECT_EQ(result.kind, Kind::unreachable) << result.error;
}

TEST_F(HttpAnswers, TimeoutOfTheRouteComesBeforeTheDeadline) {
  reply_ = {.never = true};
  const auto result = deliver(address(server_.url("/"), {{"timeout", "100ms"}}));
  EXPECT_EQ(result.kind, Kind::timed_out) << result.error;
}

TEST_F(HttpAnswers, PortWhereNobodyListensIsUnreachable) {
  ASSERT_EQ(answered({}).kind, Kind::delivered);
  server_.stop();
  const auto result = answered({});
  EXPECT_EQ(result.kind, Kind::unreachable);
  EXPECT_NE(result.error.find("refused"), std::string::npos) << result.error;
  server_.start();
  EXPECT_EQ(answered({}).kind, Kind::delivered);
}

TEST_F(HttpAnswers, RequestThatCannotBeSignedIsAFailureAndNotSent) {
  class Broken final : public http::SigningKey {
    void sign(const http::Signed&, std::string&) const override {
      throw std::runtime_error("no engine");
    }
  };
  const auto to = address(server_.url("/"));
  const auto ours = std::static_pointer_cast<const http::HttpAddress>(to);
  std::const_pointer_cast<http::HttpAddress>(ours)->keys.push_back(std::make_unique<Broken>());
  const auto result = deliver(to);
  EXPECT_EQ(result.kind, Kind::failed);
  EXPECT_NE(result.error.find("signed"), std::string::npos) << result.error;
  EXPECT_EQ(answered({}).kind, Kind::delivered);
  EXPECT_EQ(server_.connections_made(), 1U);
  transport_->close(system_clock().boot_now() + ample);
}

TEST_F(HttpAnswers, NameThatCannotBeFoundIsUnreachable) {
  // Too long for a label: refused by the resolver itself, so that nobody is asked.
  const auto result = deliver(address("https://" + std::string(64, 'a') + ".invalid/"));
  EXPECT_EQ(result.kind, Kind::unreachable) << result.error;
}

}  // namespace
}  // namespace sagabox::testing
