#include "integration/transports/http/world.hpp"

#include <atomic>

namespace sagabox::testing {
namespace {

/// The machine's clock; how often somebody looked at it says how often somebody was awake.
class CountingClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall_now() const override { return system_clock().wall_now(); }
  [[nodiscard]] BootTime boot_now() const override {
    ++looks_;
    return system_clock().boot_now();
  }
  [[nodiscard]] std::size_t looks() const { return looks_; }

 private:
  mutable std::atomic<std::size_t> looks_ = 0;
};

class HttpConnections : public HttpTransportTest {
 protected:
  void send_many(const std::shared_ptr<const spi::Address>& to, std::size_t count) {
    std::vector<spi::Parcel> parcels;
    for (std::size_t i = 0; i < count; ++i) parcels.push_back(parcel(to));
    transport_->send(parcels, results_);
  }
};

TEST_F(HttpConnections, OneIsUsedAgainAndAgain) {
  HttpServer server;
  open();
  const auto to = address(server.url("/"));
  for (int i = 0; i < 20; ++i) ASSERT_EQ(deliver(to).kind, Kind::delivered);
  EXPECT_EQ(server.connections_made(), 1U);
}

TEST_F(HttpConnections, NoMoreThanTheRouteAllowsAtATime) {
  HttpServer server([](const HttpRequest&) { return HttpReply{.never = true}; });
  open();
  send_many(address(server.url("/"), {{"concurrency", "5"}}), 20);
  for (std::size_t done = 5; done <= 20; done += 5) {
    ASSERT_EQ(server.requests("/", done).size(), done);
    server.answer_held();
  }
  EXPECT_EQ(results_.wait_for(20), 20U);
  EXPECT_EQ(results_.count(Kind::delivered), 20U);
  EXPECT_EQ(server.most_at_once(), 5U);
  EXPECT_EQ(server.connections_made(), 5U);
}

TEST_F(HttpConnections, SlowHostDoesNotHoldUpAnother) {
  HttpServer slow([](const HttpRequest&) { return HttpReply{.never = true}; });
  HttpServer quick;
  open();
  send_many(address(slow.url("/")), 500);
  EXPECT_EQ(deliver(address(quick.url("/"))).kind, Kind::delivered);
  EXPECT_EQ(results_.count(Kind::delivered), 1U);
  transport_->close(system_clock().boot_now());
  EXPECT_EQ(results_.wait_for(501), 501U);
}

TEST_F(HttpConnections, ThousandsAtATime) {
  constexpr std::size_t count = 2000;
  HttpServer server([](const HttpRequest&) { return HttpReply{.never = true}; });
  open({.allow = {"127.0.0.0/8"}, .connections_max = count, .concurrency = count});
  send_many(address(server.url("/")), count);
  ASSERT_EQ(server.requests("/", count, ample).size(), count);
  EXPECT_EQ(server.most_at_once(), count);
  server.answer_held();
  EXPECT_EQ(results_.wait_for(count), count);
  EXPECT_EQ(results_.count(Kind::delivered), count);
}

TEST_F(HttpConnections, AtTheDeadlineTheConnectionIsClosedAndTheNextWorks) {
  std::atomic<bool> never = true;
  HttpServer server([&](const HttpRequest&) { return HttpReply{.never = never}; });
  open();
  const auto to = address(server.url("/"), {{"concurrency", "1"}});
  EXPECT_EQ(deliver(to, {}, std::chrono::milliseconds(100)).kind, Kind::timed_out);
  never = false;
  EXPECT_EQ(deliver(to).kind, Kind::delivered);
  EXPECT_EQ(server.connections_made(), 2U);
}

TEST_F(HttpConnections, WhatHasTimedOutDoesNotArriveLater) {
  HttpServer server;
  open();
  ASSERT_EQ(deliver(address(server.url("/before"))).kind, Kind::delivered);
  server.stall();
  const auto large = bytes(std::string(400'000, 'x'));
  const auto late =
      deliver(address(server.url("/late")), {.payload = large}, std::chrono::milliseconds(200));
  EXPECT_EQ(late.kind, Kind::timed_out) << late.error;
  server.go_on();
  EXPECT_EQ(deliver(address(server.url("/after")), {.payload = large}).kind, Kind::delivered);
  EXPECT_TRUE(server.requests("/late", 1, std::chrono::milliseconds(500)).empty());
}

TEST_F(HttpConnections, WhatIsBrokenOffByClosingDoesNotArriveLater) {
  HttpServer server;
  open();
  ASSERT_EQ(deliver(address(server.url("/before"))).kind, Kind::delivered);
  server.stall();
  const auto late =
      send(address(server.url("/late")), {.payload = bytes(std::string(400'000, 'x'))});
  transport_->close(system_clock().boot_now() + std::chrono::milliseconds(200));
  EXPECT_EQ(results_.of(late).kind, Kind::timed_out);
  server.go_on();
  EXPECT_TRUE(server.requests("/late", 1, std::chrono::milliseconds(500)).empty());
}

TEST_F(HttpConnections, WaitingForAnAnswerKeepsNobodyAwake) {
  const CountingClock clock;
  HttpServer server([](const HttpRequest&) { return HttpReply{.never = true}; });
  open({.allow = {"127.0.0.0/8"}, .connect_max = std::chrono::milliseconds(50), .clock = &clock});
  const auto result = deliver(address(server.url("/")), {}, std::chrono::milliseconds(500));
  EXPECT_EQ(result.kind, Kind::timed_out) << result.error;
  transport_.reset();  // looks at the clock to the end
  EXPECT_LT(clock.looks(), 200U);
}

TEST_F(HttpConnections, WaitingForATurnEndsAtTheDeadlineToo) {
  HttpServer server([](const HttpRequest&) { return HttpReply{.never = true}; });
  open();
  const auto to = address(server.url("/"), {{"concurrency", "1"}});
  const auto first = send(to, {}, ample);
  ASSERT_EQ(server.requests("/", 1).size(), 1U);
  const auto second = deliver(to, {}, std::chrono::milliseconds(100));
  EXPECT_EQ(second.kind, Kind::later);
  EXPECT_NE(second.error.find("turn"), std::string::npos) << second.error;
  server.answer_held();
  EXPECT_EQ(results_.of(first).kind, Kind::delivered);
  EXPECT_EQ(server.requests("/", 1).size(), 1U);
}

TEST_F(HttpConnections, WhereTooManyAreUnderWayTheNextIsPutOffWithoutBlame) {
  HttpServer server([](const HttpRequest&) { return HttpReply{.never = true}; });
  open({.allow = {"127.0.0.0/8"}, .in_flight_max = 2});
  const auto to = address(server.url("/"));
  send_many(to, 3);
  const auto result = results_.of(3);
  EXPECT_EQ(result.kind, Kind::later);
  EXPECT_GT(result.retry_after.value_or(Duration::zero()), Duration::zero());
  EXPECT_NE(result.error.find("in_flight_max"), std::string::npos) << result.error;
  ASSERT_EQ(server.requests("/", 2).size(), 2U);
  server.answer_held();
  EXPECT_EQ(results_.wait_for(3), 3U);
  EXPECT_EQ(results_.count(Kind::delivered), 2U);
}

TEST_F(HttpConnections, ProxyOfTheEnvironmentIsNotAsked) {
  HttpServer proxy;
  HttpServer server;
  for (const auto* name : {"http_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"}) {
    ASSERT_EQ(setenv(name, proxy.url("").c_str(), 1), 0);
  }
  open();
  EXPECT_EQ(deliver(address(server.url("/"))).kind, Kind::delivered);
  for (const auto* name : {"http_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"}) unsetenv(name);
  EXPECT_EQ(proxy.connections_made(), 0U);
  EXPECT_EQ(server.connections_made(), 1U);
}

}  // namespace
}  // namespace sagabox::testing
