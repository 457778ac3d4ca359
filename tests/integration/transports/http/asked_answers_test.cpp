#include "integration/transports/http/world.hpp"

#include <atomic>

namespace sagabox::testing {
namespace {

/// What comes back for senders that ask for answers, as sagas and hub jobs do.
class HttpAskedAnswers : public HttpTransportTest {
 protected:
  using Body = spi::Answer::Body;
  using Reach = spi::Reach;

  HttpAskedAnswers() { open(); }

  spi::SendResult asked(HttpReply reply, std::size_t bytes_max = spi::answer_bytes_default,
                        Duration time = ample) {
    reply_ = std::move(reply);
    auto one = parcel(address(server_.url("/")), {}, time);
    one.answer_bytes_max = bytes_max;
    const auto ticket = one.ticket.value;
    transport_->send({&one, 1}, results_);
    return results_.of(ticket);
  }

  static constexpr std::size_t nothing = 0;

  HttpReply reply_;
  HttpServer server_{[this](const HttpRequest&) { return reply_; }};
};

TEST_F(HttpAskedAnswers, StatusAndBodyComeBack) {
  const auto result = asked({.status = 201, .body = R"({"seat":"12A"})"});
  EXPECT_EQ(result.kind, Kind::delivered);
  EXPECT_EQ(result.reach, Reach::answered);
  ASSERT_NE(result.answer, nullptr);
  EXPECT_EQ(result.answer->status, 201);
  EXPECT_EQ(result.answer->body, R"({"seat":"12A"})");
  EXPECT_EQ(result.answer->end, Body::complete);
}

TEST_F(HttpAskedAnswers, ErrorsHaveTheirBodyTooAndDoNotQuoteIt) {
  const std::pair<unsigned, Kind> table[] = {{404, Kind::rejected},
                                             {409, Kind::rejected},
                                             {429, Kind::busy},
                                             {500, Kind::failed},
                                             {502, Kind::unreachable}};
  for (const auto& [status, kind] : table) {
    const auto result = asked({.status = status, .body = "sold out"});
    EXPECT_EQ(result.kind, kind) << status;
    EXPECT_EQ(result.reach, Reach::answered) << status;
    ASSERT_NE(result.answer, nullptr) << status;
    EXPECT_EQ(result.answer->status, static_cast<int>(status));
    EXPECT_EQ(result.answer->body, "sold out");
    EXPECT_EQ(result.error.find("sold out"), std::string::npos) << result.error;
  }
}

TEST_F(HttpAskedAnswers, NothingComesBackUnasked) {
  EXPECT_EQ(asked({.status = 200, .body = "kept"}).answer->body, "kept");
  for (const auto status : {200U, 404U, 500U}) {
    const auto result = asked({.status = status, .body = "not asked for"}, nothing);
    EXPECT_EQ(result.answer, nullptr) << status;
    EXPECT_EQ(result.reach, Reach::answered) << status;
  }
}

TEST_F(HttpAskedAnswers, LongBodyIsCutAndSaysSo) {
  auto result = asked({.status = 200, .body = "0123456789"}, 9);
  EXPECT_EQ(result.answer->body, "012345678");
  EXPECT_EQ(result.answer->end, Body::cut);
  result = asked({.status = 200, .body = "0123456789"}, 10);
  EXPECT_EQ(result.answer->body, "0123456789");
  EXPECT_EQ(result.answer->end, Body::complete);
  EXPECT_EQ(server_.connections_made(), 1U) << "a short rest is read, the connection kept";

  result = asked({.status = 422, .body = std::string(4'000'000, 'x')});
  EXPECT_EQ(result.kind, Kind::rejected);
  EXPECT_EQ(result.answer->body, std::string(spi::answer_bytes_default, 'x'));
  EXPECT_EQ(result.answer->end, Body::cut);
}

TEST_F(HttpAskedAnswers, WhoAsksForMoreGetsMore) {
  const std::string body(300'000, 'x');
  const auto result = asked({.status = 200, .body = body}, 300'000);
  EXPECT_EQ(result.answer->body, body);
  EXPECT_EQ(result.answer->end, Body::complete);
}

TEST_F(HttpAskedAnswers, EachAnswerIsItsOwn) {
  EXPECT_EQ(asked({.status = 200, .body = "a long one before"}).answer->body, "a long one before");
  EXPECT_EQ(asked({.status = 200, .body = "short"}).answer->body, "short");
  const auto empty = asked({.status = 204});
  EXPECT_EQ(empty.answer->status, 204);
  EXPECT_EQ(empty.answer->body, "");
  EXPECT_EQ(empty.answer->end, Body::complete);
}

TEST_F(HttpAskedAnswers, BodyThatBreaksOffIsNotTakenForAWholeOne) {
  const auto result = asked({.status = 200, .body = "0123456789", .half_body = true});
  EXPECT_EQ(result.kind, Kind::delivered) << "a status counts";
  EXPECT_EQ(result.reach, Reach::answered);
  EXPECT_EQ(result.answer->body, "01234");
  EXPECT_EQ(result.answer->end, Body::ended);
}

TEST_F(HttpAskedAnswers, CutOffAfterTheFirstByteItMayHaveArrived) {
  auto result = asked({.hang_up = true});
  EXPECT_EQ(result.kind, Kind::timed_out);
  EXPECT_EQ(result.reach, Reach::sent);
  EXPECT_EQ(result.answer, nullptr);
  result = asked({.never = true}, spi::answer_bytes_default, std::chrono::milliseconds(200));
  EXPECT_EQ(result.kind, Kind::timed_out);
  EXPECT_EQ(result.reach, Reach::sent);
  EXPECT_EQ(result.answer, nullptr);
}

TEST_F(HttpAskedAnswers, WhatLibcurlSendsAgainSaysSoUnlessItMayBeSentOnceOnly) {
  std::atomic<int> came = 0;
  HttpServer cutting([&](const HttpRequest& request) {
    return HttpReply{.status = 503, .hang_up = request.path == "/cut" && ++came == 1};
  });
  EXPECT_FALSE(deliver(address(cutting.url("/"))).resent) << "its connection is kept";
  const auto twice = deliver(address(cutting.url("/cut")));
  EXPECT_EQ(twice.kind, Kind::busy);
  EXPECT_TRUE(twice.resent);
  EXPECT_EQ(came, 2);

  came = 0;
  auto one = parcel(address(cutting.url("/cut")));
  one.once = true;
  transport_->send({&one, 1}, results_);
  const auto once = results_.of(one.ticket.value);
  EXPECT_EQ(once.kind, Kind::timed_out) << once.error;
  EXPECT_EQ(once.reach, Reach::sent);
  EXPECT_FALSE(once.resent);
  EXPECT_EQ(came, 1);
}

TEST_F(HttpAskedAnswers, BeforeTheFirstByteItDidNotArrive) {
  const auto handshake = [&] {
    server_.stall();  // the handshake of TLS is not answered
    const auto result =
        deliver(address("https://127.0.0.1:" + std::to_string(server_.port()) + "/"), {},
                std::chrono::milliseconds(200));
    server_.go_on();
    return result;
  };
  EXPECT_EQ(handshake().reach, Reach::not_sent);
  EXPECT_EQ(deliver(address("https://" + std::string(64, 'a') + ".invalid/")).reach,
            Reach::not_sent);
  EXPECT_EQ(deliver(address(server_.url("/")), {}, -std::chrono::seconds(1)).reach, Reach::not_sent)
      << "its deadline had passed";
  server_.stop();
  const auto refused = asked({});
  EXPECT_EQ(refused.kind, Kind::unreachable);
  EXPECT_EQ(refused.reach, Reach::not_sent);
  EXPECT_EQ(refused.answer, nullptr);
}

TEST_F(HttpAskedAnswers, ClosingTellsHowFarEachGot) {
  reply_ = {.never = true};
  const auto under_way = send(address(server_.url("/held"), {{"concurrency", "1"}}));
  ASSERT_EQ(server_.requests("/held", 1).size(), 1U);
  const auto waiting = send(address(server_.url("/held"), {{"concurrency", "1"}}));
  transport_->close(system_clock().boot_now());
  const auto late = send(address(server_.url("/held")));
  EXPECT_EQ(results_.of(under_way).reach, Reach::sent);
  EXPECT_EQ(results_.of(waiting).reach, Reach::not_sent);
  EXPECT_EQ(results_.of(late).reach, Reach::not_sent);
}

}  // namespace
}  // namespace sagabox::testing
