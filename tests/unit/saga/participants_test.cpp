#include "saga/calls/participants.hpp"

#include "support/scripted_transport.hpp"

#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::saga {
namespace {

using Kind = CallResult::Kind;
using Body = spi::Answer::Body;

CallResult result_of(spi::Answer answer) {
  return result_of_send({.reach = spi::Reach::answered,
                         .answer = std::make_shared<const spi::Answer>(std::move(answer))});
}

TEST(ParticipantResult, ASuccessWhoseBodyEndedEarlyIsInDoubt) {
  EXPECT_EQ(result_of({.status = 200, .body = "{}"}).kind, Kind::ok);
  const auto ended = result_of({.status = 200, .body = "{", .end = Body::ended});
  EXPECT_EQ(ended.kind, Kind::in_doubt);
  EXPECT_NE(ended.error.find("ended early"), std::string::npos);
  EXPECT_EQ(result_of({.status = 202, .end = Body::ended}).kind, Kind::wait);
  EXPECT_EQ(result_of({.status = 404, .end = Body::ended}).kind, Kind::fail);
}

TEST(ParticipantResult, ASilentParticipantBehindAProxyIsInDoubt) {
  for (const int status : {502, 504, 520, 524}) {
    EXPECT_EQ(result_of({.status = status}).kind, Kind::in_doubt) << status;
  }
  for (const int status : {408, 429, 500, 503}) {
    EXPECT_EQ(result_of({.status = status}).kind, Kind::retry) << status;
  }
}

TEST(ParticipantResult, WhatWasSentTwiceLeavesADoubt) {
  for (const int status : {200, 404, 422, 503}) {
    const auto answer =
        std::make_shared<const spi::Answer>(spi::Answer{.status = status, .body = "{}"});
    const auto once = result_of_send({.reach = spi::Reach::answered, .answer = answer});
    const auto twice =
        result_of_send({.reach = spi::Reach::answered, .resent = true, .answer = answer});
    EXPECT_EQ(twice.kind, once.kind) << status;
    EXPECT_FALSE(once.doubt) << status;
    EXPECT_TRUE(twice.doubt) << status;
  }
}

class EndsByTicket final : public CallResults {
 public:
  void ended(CallTicket ticket, CallResult result) noexcept override {
    all.emplace_back(ticket.value, std::move(result));
  }
  std::vector<std::pair<std::uint64_t, CallResult>> all;
};

CallOrder order_to(const std::string& url, std::uint64_t ticket, BootTime deadline) {
  CallOrder order{.ticket = CallTicket{ticket},
                  .saga = SagaId::parse("s" + std::to_string(ticket)).value(),
                  .definition = "travel",
                  .tenant = "default",
                  .step = "flight",
                  .deadline = deadline};
  order.call.target = {.kind = Target::Kind::http, .name = url};
  order.call.idempotency_key = order.saga.str() + "/flight/action/0";
  return order;
}

TEST(ParticipantsThatAreDown, GetTheirCallsBackOneAfterTheOtherAndOthersGoOn) {
  using namespace std::chrono_literals;
  sagabox::testing::FakeClock clock;
  const auto transport = std::make_shared<sagabox::testing::ScriptedTransport>();
  const std::string down = "http://down/book";
  const std::string up = "http://up/book";
  transport->always(down, spi::SendResult::Kind::unreachable, "refused");
  transport->script(up, [](const spi::Parcel&) {
    return spi::SendResult{
        .reach = spi::Reach::answered,
        .answer = std::make_shared<const spi::Answer>(spi::Answer{.status = 200, .body = "{}"})};
  });
  RemoteParticipants participants({.transports = {{"http", transport}}, .clock = &clock});
  participants.add("travel", down).value();
  participants.add("travel", up).value();
  EndsByTicket ends;
  const auto call = [&](const std::string& url, std::uint64_t first, std::uint64_t count) {
    std::vector<CallOrder> orders;
    for (auto ticket = first; ticket < first + count; ++ticket) {
      orders.push_back(order_to(url, ticket, clock.boot_now() + 30s));
    }
    participants.call(std::move(orders), ends);
  };
  call(down, 1, 1);
  ASSERT_EQ(ends.all.size(), 1U);
  ASSERT_EQ(ends.all.front().second.kind, Kind::unreachable);
  clock.advance(1ms);
  ends.all.clear();
  constexpr std::uint64_t sagas = 10'000;
  call(down, 2, sagas);
  ASSERT_EQ(ends.all.size(), sagas);
  std::vector<Duration> back;
  for (const auto& [ticket, result] : ends.all) {
    ASSERT_EQ(result.kind, Kind::unreachable) << "no attempt is spent";
    back.push_back(result.retry_after.value_or(Duration{}));
  }
  std::ranges::sort(back);
  // Within any tenth of a second few come back, and within five seconds few stay in memory.
  for (std::size_t at = 0; at + 60 < back.size(); ++at) {
    ASSERT_GT(back[at + 60] - back[at], 100ms) << at;
  }
  EXPECT_LT(std::ranges::count_if(back, [](Duration wait) { return wait < 5s; }), 2600);
  EXPECT_LT(transport->sent(down).size(), 10U);
  ends.all.clear();
  call(up, 20'000, 1);
  ASSERT_EQ(ends.all.size(), 1U);
  EXPECT_EQ(ends.all.front().second.kind, Kind::ok);
}

TEST(ParticipantsThatAreDown, OnceTheyAreUpNobodyWaitsBehindThoseWhoWereToldBefore) {
  using namespace std::chrono_literals;
  sagabox::testing::FakeClock clock;
  const auto transport = std::make_shared<sagabox::testing::ScriptedTransport>();
  const std::string url = "http://flights/book";
  transport->always(url, spi::SendResult::Kind::unreachable, "refused");
  RemoteParticipants participants({.transports = {{"http", transport}}, .clock = &clock});
  participants.add("travel", url).value();
  EndsByTicket ends;
  std::uint64_t ticket = 0;
  const auto call = [&] {
    std::vector<CallOrder> orders;
    orders.push_back(order_to(url, ++ticket, clock.boot_now() + 30s));
    participants.call(std::move(orders), ends);
  };
  for (int saga = 0; saga < 2000; ++saga) call();
  EXPECT_GT(ends.all.back().second.retry_after.value_or(Duration{}), 3s);
  transport->hold(url);
  clock.advance(10min);
  call();
  ASSERT_TRUE(transport->answer(
      {.reach = spi::Reach::answered,
       .answer = std::make_shared<const spi::Answer>(spi::Answer{.status = 200, .body = "{}"})}));
  // Few may be under way at first; the next ones come back soon.
  for (int saga = 0; saga < 10; ++saga) call();
  const auto& last = ends.all.back().second;
  ASSERT_EQ(last.kind, Kind::unreachable);
  EXPECT_LT(last.retry_after.value_or(Duration{}), 1s);
  transport->let_go();
}

}  // namespace
}  // namespace sagabox::saga
