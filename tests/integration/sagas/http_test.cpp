#include "integration/sagas/world.hpp"
#include "saga/calls/call_headers.hpp"
#include "support/http_server.hpp"
#include "transports/http/signature.hpp"

#include <sagabox/saga_admin.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/transports/http.hpp>

#include <atomic>
#include <utility>

namespace sagabox::integration {
namespace {

using std::chrono::milliseconds;
using testing::HttpReply;
using testing::HttpRequest;
using testing::HttpServer;

/// One step that an HTTP participant does, and a second one that can be undone.
class HttpSagaTest : public SagaWorld {
 protected:
  [[nodiscard]] SagaOptions over_http() const {
    auto options = quick();
    http::Options settings;
    settings.allow = {"127.0.0.1"};
    options.transports.emplace("http", http::open(std::move(settings)).value());
    options.breaker.probe_min = milliseconds(20);
    return options;
  }
  static SagaDefinition booking(const HttpServer& server) {
    const RetryPolicy retry{
        .attempts_max = 3, .backoff_min = milliseconds(5), .backoff_max = milliseconds(20)};
    SagaDefinition definition{.name = "booking"};
    definition.steps.push_back({.name = "flight",
                                .action = server.url("/book"),
                                .compensation = server.url("/cancel"),
                                .attempt_timeout = milliseconds(300),
                                .retry = retry});
    definition.steps.push_back({.name = "mail",
                                .action = "fn:mail",
                                .compensation = "none",
                                .retry = retry,
                                .input = R"({"ticket": "${steps.flight.output.ticket?}"})"});
    return definition;
  }
  SagaId begin(Sagas& sagas, const HttpServer& server, SagaFunction mail) {
    sagas.function("mail", std::move(mail)).value();
    sagas.define(booking(server)).value();
    sagas.start().value();
    return sagas.start_saga({.definition = "booking", .input = R"({"who":"Ada"})"}).value();
  }
};

TEST_P(HttpSagaTest, ARequestSaysWhichCallItIsAndItsAnswerIsTheOutput) {
  HttpServer server(
      [](const HttpRequest&) { return HttpReply{.status = 200, .body = R"({"ticket": 17})"}; });
  auto sagas = Sagas::create(*store, over_http()).value();
  const auto id = begin(sagas, server, [this](const SagaCall& call) {
    diary.write(call.input());
    return saga_ok();
  });
  ASSERT_TRUE(comes_to(id, SagaState::completed));
  EXPECT_EQ(diary.all(), std::vector<std::string>{R"({"ticket":17})"});
  const auto requests = server.requests("/book", 1);
  ASSERT_EQ(requests.size(), 1U);
  const auto& request = requests[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.body, R"({"who":"Ada"})");
  EXPECT_EQ(request.header("saga-id"), id.str());
  EXPECT_EQ(request.header("saga-definition"), "booking/1");
  EXPECT_EQ(request.header("saga-step"), "flight");
  EXPECT_EQ(request.header("saga-direction"), "action");
  EXPECT_EQ(request.header("saga-attempt"), "1");
  EXPECT_EQ(request.header("saga-round"), "0");
  EXPECT_EQ(request.header("saga-tenant"), "default");
  EXPECT_FALSE(request.header("saga-epoch").empty());
  EXPECT_FALSE(request.header("saga-deadline").empty());
  // RFC 3339 in UTC: later times are greater texts.
  EXPECT_GT(request.header("saga-remember-until"), request.header("saga-deadline"));
  EXPECT_FALSE(request.header("saga-reply-token").empty());
  EXPECT_EQ(request.header("idempotency-key"), id.str() + "/flight/action/0");
}

TEST_P(HttpSagaTest, AnAnswerSaysWhatBecomesOfTheStep) {
  std::atomic<int> calls = 0;
  HttpServer server([&](const HttpRequest& request) {
    if (request.path != "/book") return HttpReply{};
    return HttpReply{.status = ++calls < 3 ? 503U : 404U};
  });
  auto sagas = Sagas::create(*store, over_http()).value();
  const auto id = begin(sagas, server, doing("mail"));
  ASSERT_TRUE(comes_to(id, SagaState::cancelled));
  EXPECT_EQ(calls, 3) << "503 is tried again, 404 is not";
  EXPECT_TRUE(server.requests("/cancel", 0, {}).empty()) << "it had no effect";
}

TEST_P(HttpSagaTest, WhatWasSentAndNotAnsweredIsTriedAgainWithTheSameKey) {
  std::atomic<int> calls = 0;
  HttpServer server([&](const HttpRequest&) {
    return ++calls == 1 ? HttpReply{.hang_up = true} : HttpReply{.status = 200, .body = "{}"};
  });
  auto sagas = Sagas::create(*store, over_http()).value();
  const auto id = begin(sagas, server, doing("mail"));
  ASSERT_TRUE(comes_to(id, SagaState::completed));
  const auto requests = server.requests("/book", 2);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].header("idempotency-key"), requests[1].header("idempotency-key"));
  EXPECT_EQ(requests[1].header("saga-attempt"), "2");
}

TEST_P(HttpSagaTest, ACallThatMustNotBeRepeatedIsSentOnceAlsoOverAConnectionThatWasKept) {
  HttpServer server([](const HttpRequest& request) {
    return HttpReply{.status = 200, .hang_up = request.path == "/charge"};
  });
  auto sagas = Sagas::create(*store, over_http()).value();
  auto definition = booking(server);
  definition.steps[1] = {.name = "charge",
                         .action = server.url("/charge"),
                         .compensation = server.url("/refund"),
                         .idempotent = false};
  sagas.define(definition).value();
  sagas.start().value();
  const auto id = sagas.start_saga({.definition = "booking"}).value();
  ASSERT_TRUE(comes_to(id, SagaState::cancelled));
  EXPECT_EQ(server.requests("/charge", 1).size(), 1U) << "libcurl must not send it again, either";
  EXPECT_EQ(server.requests("/refund", 1).size(), 1U) << "it was in doubt";
}

TEST_P(HttpSagaTest, ARefusalOfWhatLibcurlSentAgainLeavesTheStepInDoubt) {
  std::atomic<int> calls = 0;
  HttpServer server([&](const HttpRequest& request) {
    if (request.path != "/hotel") return HttpReply{.status = 200};
    // The connection is kept from the step before, and cut when the room is booked.
    return ++calls == 1 ? HttpReply{.hang_up = true} : HttpReply{.status = 422};
  });
  auto sagas = Sagas::create(*store, over_http()).value();
  auto definition = booking(server);
  definition.steps[1] = {.name = "hotel",
                         .action = server.url("/hotel"),
                         .compensation = server.url("/cancel-hotel"),
                         .retry = definition.steps[0].retry};
  sagas.define(definition).value();
  sagas.start().value();
  const auto id = sagas.start_saga({.definition = "booking"}).value();
  ASSERT_TRUE(comes_to(id, SagaState::cancelled));
  EXPECT_EQ(server.requests("/cancel-hotel", 1, milliseconds(0)).size(), 1U);
}

TEST_P(HttpSagaTest, AnAnswerThatEndsEarlyIsInDoubtAndAskedForAgain) {
  std::atomic<int> calls = 0;
  HttpServer server([&](const HttpRequest&) {
    return HttpReply{.status = 200, .body = R"({"ticket": 17})", .half_body = ++calls == 1};
  });
  auto sagas = Sagas::create(*store, over_http()).value();
  const auto id = begin(sagas, server, [this](const SagaCall& call) {
    diary.write(call.input());
    return saga_ok();
  });
  ASSERT_TRUE(comes_to(id, SagaState::completed));
  EXPECT_EQ(diary.all(), std::vector<std::string>{R"({"ticket":17})"});
  EXPECT_EQ(calls, 2);
}

TEST_P(HttpSagaTest, AcceptedMeansThatAReplyComes) {
  HttpServer server([](const HttpRequest&) { return HttpReply{.status = 202}; });
  auto sagas = Sagas::create(*store, over_http()).value();
  const auto id = begin(sagas, server, doing("mail"));
  const auto requests = server.requests("/book", 1);
  ASSERT_EQ(requests.size(), 1U);
  const auto reply = sagas.reply(requests[0].header("saga-reply-token"), saga_ok()).value();
  EXPECT_EQ(reply.state, SagaRequestReply::State::applied) << reply.reason;
  ASSERT_TRUE(comes_to(id, SagaState::completed));
}

TEST_P(HttpSagaTest, AParticipantThatIsDownCostsNoAttempt) {
  HttpServer server([](const HttpRequest&) { return HttpReply{.status = 200, .body = "{}"}; });
  server.stop();
  auto sagas = Sagas::create(*store, over_http()).value();
  const auto id = begin(sagas, server, doing("mail"));
  ASSERT_TRUE(eventually_so([&] { return record(id).has_value(); }));
  std::this_thread::sleep_for(milliseconds(400));
  EXPECT_EQ(record(id)->state, SagaState::running);
  server.start();
  ASSERT_TRUE(comes_to(id, SagaState::completed));
  EXPECT_EQ(server.requests("/book", 1)[0].header("saga-attempt"), "1");
}

TEST_P(HttpSagaTest, ACallThatIsOverALimitWaitsSpendsNoAttemptAndOthersGoOn) {
  HttpServer server([](const HttpRequest&) { return HttpReply{.status = 200, .body = "{}"}; });
  auto options = over_http();
  options.limits.tenants = {{"acme", {.budget = Budget{1, std::chrono::seconds(3)}}}};
  auto sagas = Sagas::create(*store, std::move(options)).value();
  const auto of_acme = [&] {
    return sagas.start_saga({.definition = "booking", .tenant = "acme"}).value();
  };
  const auto other = begin(sagas, server, doing("mail"));
  ASSERT_TRUE(comes_to(other, SagaState::completed));
  ASSERT_TRUE(comes_to(of_acme(), SagaState::completed));
  const auto held = of_acme();
  auto admin = SagaAdmin::open(*store, {.actor = "ada"}).value();
  ASSERT_TRUE(eventually_so([&] {
    const auto explained = admin.explain(held).value();
    return explained && explained->reasons.front().why == SagaWhy::over_limit;
  }));
  const auto why = admin.explain(held).value()->reasons.front();
  EXPECT_EQ(why.text.substr(0, why.text.find(", next")),
            "the turn of step flight, held by the budget of tenant acme");
  const auto next = sagas.start_saga({.definition = "booking"}).value();
  ASSERT_TRUE(comes_to(next, SagaState::completed)) << "another tenant's";
  ASSERT_TRUE(comes_to(held, SagaState::completed));
  const auto calls = server.requests("/book", 4);
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_EQ(calls[3].header("saga-tenant"), "acme");
  EXPECT_EQ(calls[3].header("saga-attempt"), "1") << "what waited was no attempt";
}

TEST_P(HttpSagaTest, HeldCallsGoAtTheirRateAndAllEnd) {
  HttpServer server([](const HttpRequest&) { return HttpReply{.status = 200, .body = "{}"}; });
  auto options = over_http();
  options.limits.definition = {.rate = 100, .burst = 1};
  options.limits.participant = {.concurrency = 2};
  auto sagas = Sagas::create(*store, std::move(options)).value();
  std::vector<SagaId> all{begin(sagas, server, doing("mail"))};
  const auto start = std::chrono::steady_clock::now();
  for (int number = 0; number < 50; ++number) {
    all.push_back(sagas.start_saga({.definition = "booking"}).value());
  }
  for (const auto& id : all) ASSERT_TRUE(comes_to(id, SagaState::completed));
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(480));
  EXPECT_LE(server.most_at_once(), 2U);
  for (const auto& request : server.requests("/book", 51)) {
    EXPECT_EQ(request.header("saga-attempt"), "1");
  }
}

TEST_P(HttpSagaTest, CallsAreSignedWithTheSecretOfTheirDefinition) {
  constexpr auto common = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  constexpr auto own = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
  HttpServer server([](const HttpRequest&) { return HttpReply{.status = 200, .body = "{}"}; });
  auto options = over_http();
  options.participant_settings = {{"secret", common}};
  options.settings_of_definition = {{"refund", {{"secrets", own}}}};
  auto sagas = Sagas::create(*store, std::move(options)).value();
  sagas.function("mail", doing("mail")).value();
  sagas.define(booking(server)).value();
  auto refund = booking(server);
  refund.name = "refund";
  sagas.define(refund).value();
  sagas.start().value();
  const auto signature_is = [&](const HttpRequest& request, const char* secret) {
    http::SigningKeys keys;
    keys.push_back(http::SigningKey::parse(secret).value());
    const auto id = request.header("webhook-id");
    const http::Signed what{id, std::stoll(request.header("webhook-timestamp")), request.body};
    return request.header("webhook-signature") == http::signatures(keys, what);
  };
  ASSERT_TRUE(comes_to(sagas.start_saga({.definition = "booking"}).value(), SagaState::completed));
  const auto booked = server.requests("/book", 1).at(0);
  EXPECT_TRUE(signature_is(booked, common));
  // So that the signature covers which call it is.
  EXPECT_EQ(booked.header("webhook-id"), saga::call_id(booked.header("idempotency-key")));
  ASSERT_TRUE(comes_to(sagas.start_saga({.definition = "refund"}).value(), SagaState::completed));
  const auto refunded = server.requests("/book", 2).at(1);
  EXPECT_TRUE(signature_is(refunded, own));
  EXPECT_FALSE(signature_is(refunded, common));
}

TEST_P(HttpSagaTest, ACallIsASpanThatTheParticipantContinues) {
  class Spans final : public SpanSink {
   public:
    void take(TraceSpan span) noexcept override {
      const std::scoped_lock lock(mutex_);
      all_.push_back(std::move(span));
    }
    std::vector<TraceSpan> all() {
      const std::scoped_lock lock(mutex_);
      return all_;
    }

   private:
    std::mutex mutex_;
    std::vector<TraceSpan> all_;
  } spans;
  HttpServer server([](const HttpRequest&) { return HttpReply{.status = 200, .body = "{}"}; });
  auto options = over_http();
  options.spans = &spans;
  auto sagas = Sagas::create(*store, std::move(options)).value();
  sagas.function("mail", doing("mail")).value();
  sagas.define(booking(server)).value();
  sagas.start().value();
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-";
  const auto id =
      sagas.start_saga({.definition = "booking", .traceparent = trace + "b7ad6b7169203331-01"})
          .value();
  ASSERT_TRUE(comes_to(id, SagaState::completed));
  const auto traceparent = server.requests("/book", 1).at(0).header("traceparent");
  EXPECT_TRUE(traceparent.starts_with(trace)) << traceparent;
  EXPECT_EQ(traceparent.find("b7ad6b7169203331"), std::string::npos) << "it is our span's";
  ASSERT_TRUE(eventually_so([&] { return spans.all().size() == 2; }));
  EXPECT_EQ(spans.all()[0].name, "call booking.flight");
  EXPECT_EQ(spans.all()[1].name, "call booking.mail");
}

INSTANTIATE_TEST_SUITE_P(Memory, HttpSagaTest,
                         ::testing::Values(SagaStoreCase{
                             "memory", [] { return std::make_shared<memory::MemoryStore>(); }}),
                         saga_store_name);

}  // namespace
}  // namespace sagabox::integration
