#include "integration/outbox/world.hpp"
#include "support/scripted_transport.hpp"

#include <sagabox/router.hpp>

#include <future>
#include <set>

namespace sagabox::integration {
namespace {

using testing::ScriptedTransport;
using Kind = spi::SendResult::Kind;

/// An outbox on the memory store whose messages leave by a transport that does what a test says.
class RoutingTest : public OutboxWorld {
 protected:
  RouterOptions routes(std::vector<RouteOptions> routes) {
    return {.routes = std::move(routes),
            .transports = {{"test", transport}},
            .breaker = {.probe_min = milliseconds(5), .probe_max = milliseconds(20)},
            .log = &log};
  }
  Outbox sending(RouterOptions with, OutboxOptions options) {
    router = Router::open(std::move(with)).value();
    options.sink = router;
    auto outbox = Outbox::single_process(store, std::move(options)).value();
    outbox.start().value();
    EXPECT_TRUE(eventually([&] { return outbox.snapshot().shards_owned == 16; }));
    return outbox;
  }
  void write_many(
      Outbox& outbox, const std::string& where, int count,
      const std::function<std::string(int)>& key = [](int) { return std::string(); },
      const std::string& tenant = "default") {
    std::vector<NewMessage> messages;
    for (int number = 0; number < count; ++number) {
      messages.push_back({.topic = where,
                          .key = key(number),
                          .payload = json(std::to_string(number)),
                          .tenant = tenant});
    }
    store
        .transaction(
            [&](OwnedTransaction& tx) { return outbox.write_all(tx, std::move(messages)); })
        .value();
  }
  [[nodiscard]] std::map<std::string, int> arrivals(const std::string& address) const {
    std::map<std::string, int> times;
    for (const auto& parcel : transport->sent(address)) ++times[parcel.message->id().str()];
    return times;
  }

  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::shared_ptr<Router> router;
};

TEST_F(RoutingTest, MessagesGoWhereTheirRouteSaysOnceEach) {
  auto outbox = sending(routes({{.topic = "orders.**", .to = {{"test:orders"}}}}), defaults());
  write_many(outbox, "orders.order.placed.v1", 5000,
             [](int number) { return number % 3 == 0 ? "" : "k" + std::to_string(number % 100); });
  ASSERT_TRUE(settles_to(5000));
  const auto times = arrivals("orders");
  EXPECT_EQ(times.size(), 5000U);
  for (const auto& [id, count] : times) ASSERT_EQ(count, 1) << id;
}

TEST_F(RoutingTest, AListenerComesBeforeTheRoutes) {
  router = Router::open(routes({{.topic = "**", .to = {{"test:all"}}}})).value();
  auto options = defaults();
  options.sink = router;
  auto outbox = Outbox::single_process(store, std::move(options)).value();
  outbox.listen(topic, into_inbox()).value();
  outbox.start().value();
  write(outbox, placed("1"));
  write(outbox, {.topic = "other", .payload = json("2")});
  ASSERT_TRUE(settles_to(2));
  EXPECT_EQ(inbox.size(), 1U);
  EXPECT_EQ(transport->sent("all").size(), 1U);
}

TEST_F(RoutingTest, ATopicWithoutRouteOrListenerIsDeadWhereThatIsWanted) {
  auto options = defaults();
  options.unroutable = Unroutable::dead;
  auto outbox = sending(routes({{.topic = "orders.**", .to = {{"test:a"}}}}), options);
  write(outbox, {.topic = "billing.paid.v1", .payload = json("1")});
  ASSERT_TRUE(settles_to(0, 1));
  EXPECT_EQ(rows().at(0).code, Code::tx_unroutable);
}

TEST_F(RoutingTest, AnOutageLongerThanAllRetriesCostsNothing) {
  auto options = defaults();
  options.retry.attempts_max = 2;
  auto outbox = sending(
      routes({{.topic = "down", .to = {{"test:down"}}}, {.topic = "up", .to = {{"test:up"}}}}),
      options);
  transport->always("down", Kind::unreachable, "connection refused");
  write_many(outbox, "down", 500,
             [](int number) { return number % 2 == 0 ? "" : "k" + std::to_string(number % 20); });
  // Far more probes than there are attempts.
  ASSERT_TRUE(eventually(
      [&] { return router->destinations().front().down && outbox.snapshot().running == 0; }));
  const auto before = transport->sent("down").size();
  ASSERT_TRUE(eventually([&] { return transport->sent("down").size() >= before + 10; }));
  write_many(outbox, "up", 500);
  ASSERT_TRUE(eventually([&] { return stats().done == 500; })) << "others are not delayed";
  const auto waiting = stats();
  EXPECT_EQ(waiting.pending, 500U);
  EXPECT_EQ(waiting.dead, 0U);
  std::size_t written = 0;
  for (const auto& row : rows()) {
    if (row.row.message->topic() != "down") continue;
    ASSERT_EQ(row.row.attempts, 0U);
    if (row.settled > 0) ++written;
  }
  EXPECT_LE(written, transport->sent("down").size() - before + 10) << "only what has probed";
  transport->always("down", Kind::delivered);
  ASSERT_TRUE(settles_to(1000));
  std::map<std::string, std::vector<int>> by_key;
  std::set<std::string> ids;
  for (const auto& parcel : transport->sent("down")) {
    EXPECT_EQ(parcel.attempt, 1U);
    ids.insert(parcel.message->id().str());
    if (!parcel.message->has_key()) continue;
    auto& seen = by_key[parcel.message->key()];
    const auto number = std::stoi(std::string(parcel.message->payload().view()));
    if (seen.empty() || seen.back() != number) seen.push_back(number);
  }
  EXPECT_EQ(ids.size(), 500U);
  for (const auto& [key, numbers] : by_key) {
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end())) << "order of key " << key;
  }
}

TEST_F(RoutingTest, WhatArrivedAtOneTargetIsNotSentThereAgain) {
  auto outbox = sending(routes({{.topic = "**", .to = {{"test:a"}, {"test:b"}}}}), defaults());
  std::atomic<int> failures{0};
  transport->script("b", [&](const spi::Parcel&) {
    return failures++ < 30 ? spi::SendResult{Kind::failed, "500"} : spi::SendResult{};
  });
  write_many(outbox, "t", 20);
  ASSERT_TRUE(settles_to(20));
  for (const auto& [id, count] : arrivals("a")) EXPECT_EQ(count, 1) << id;
  EXPECT_EQ(arrivals("a").size(), 20U);
  EXPECT_EQ(arrivals("b").size(), 20U);
}

TEST_F(RoutingTest, OneTargetOfSeveralThatIsDownCostsNoAttempt) {
  auto options = defaults();
  options.retry.attempts_max = 1;
  auto outbox = sending(routes({{.topic = "**", .to = {{"test:a"}, {"test:b"}}}}), options);
  transport->always("b", Kind::unreachable, "refused");
  write_many(outbox, "t", 5);
  ASSERT_TRUE(eventually([&] { return arrivals("a").size() == 5 && stats().waiting == 5; }));
  transport->always("b", Kind::delivered);
  ASSERT_TRUE(settles_to(5));
  for (const auto& [id, count] : arrivals("a")) EXPECT_EQ(count, 1) << id;
}

TEST_F(RoutingTest, ARouteHasARetryPolicyOfItsOwn) {
  auto options = defaults();
  options.retry.attempts_max = 3;
  auto eager = options.retry;
  eager.attempts_max = 5;
  auto never = options.retry;
  never.attempts_max = 1;
  auto outbox = sending(routes({{.topic = "more", .to = {{"test:more"}}, .retry = eager},
                                {.topic = "once", .to = {{"test:once"}}, .retry = never},
                                {.topic = "table", .to = {{"test:table"}}}}),
                        options);
  for (const auto* name : {"more", "once", "table"}) {
    transport->always(name, Kind::failed, "500");
    write(outbox, {.topic = name, .payload = json("1")});
  }
  ASSERT_TRUE(settles_to(0, 3));
  EXPECT_EQ(transport->sent("more").size(), 5U);
  EXPECT_EQ(transport->sent("once").size(), 1U);
  EXPECT_EQ(transport->sent("table").size(), 3U);
}

TEST_F(RoutingTest, ARefusedMessageIsDeadAtOnceAndItsKeyGoesOn) {
  auto outbox = sending(routes({{.topic = "**", .to = {{"test:a"}}}}), defaults());
  transport->script("a", [](const spi::Parcel& parcel) {
    return parcel.message->payload().view() == "0" ? spi::SendResult{Kind::rejected, "422"}
                                                   : spi::SendResult{};
  });
  write_many(outbox, "t", 3, [](int) { return std::string("k"); });
  ASSERT_TRUE(settles_to(2, 1));
  EXPECT_EQ(arrivals("a").size(), 3U);
}

TEST_F(RoutingTest, FairTenantsALargeBacklogDoesNotHoldUpOneMessageOfAnother) {
  auto with = routes({{.topic = "**", .to = {{"test:slow"}}}});
  with.fair_tenants = true;
  with.waiting_max = 64;
  transport->in_flight_max = 4;
  transport->hold("slow");
  auto outbox = sending(std::move(with), defaults());
  write_many(outbox, "t", 20'000, [](int) { return std::string(); }, "large");
  ASSERT_TRUE(eventually([&] { return transport->held() == 4; }));
  write_many(outbox, "t", 1, [](int) { return std::string(); }, "small");
  const auto small_sent = [&] {
    for (const auto& parcel : transport->sent("slow")) {
      if (parcel.message->tenant() == "small") return true;
    }
    return false;
  };
  // It may not wait for more than a turn of what was under way or waited when it came.
  int answered = 0;
  ASSERT_TRUE(eventually([&] {
    if (small_sent()) return true;
    if (answered < 400 && transport->answer()) ++answered;
    return false;
  })) << "after "
      << answered << " of 20,000 it had not gone";
  transport->always("slow", Kind::delivered);
  while (stats().pending > 0) {
    while (transport->answer()) {
    }
    std::this_thread::yield();
  }
  EXPECT_EQ(stats().done, 20'001U);
}

TEST_F(RoutingTest, ATenantOverItsRateWaitsAndOthersDoNot) {
  auto with = routes({{.topic = "**", .to = {{"test:a"}}}});
  with.limits_of_tenant["large"] = {.budget = Budget{10, std::chrono::hours(1)}};
  auto outbox = sending(std::move(with), defaults());
  write_many(outbox, "t", 2000, [](int) { return std::string(); }, "large");
  ASSERT_TRUE(eventually([&] { return stats().done == 10; }));
  write_many(outbox, "t", 100, [](int) { return std::string(); }, "small");
  ASSERT_TRUE(eventually([&] { return stats().done == 110; }));
  EXPECT_EQ(stats().pending, 1990U);
  EXPECT_EQ(stats().waiting, 0U);
}

TEST_F(RoutingTest, StoppingGivesBackWhatWaitsForItsTurn) {
  auto with = routes({{.topic = "**", .to = {{"test:a"}}}});
  transport->in_flight_max = 2;
  transport->hold("a");
  auto options = defaults();
  {
    auto first = sending(std::move(with), options);
    write_many(first, "t", 100);
    ASSERT_TRUE(eventually([&] { return transport->held() == 2 && first.snapshot().running == 4; }))
        << "as many wait for their turn as may be under way";
    auto stopped = std::async(std::launch::async, [&] { return first.stop(); });
    EXPECT_TRUE(eventually([&] { return first.snapshot().running == 2; }))
        << "the others came back";
    // A handler thread may have had one in its hands, which goes out behind the two.
    EXPECT_TRUE(eventually([&] {
      while (transport->answer()) {
      }
      return stopped.wait_for(seconds(0)) == std::future_status::ready;
    }));
    EXPECT_TRUE(stopped.get().ok());
    EXPECT_EQ(stats().done, transport->sent("a").size());
    EXPECT_EQ(stats().pending, 100 - stats().done);
    EXPECT_GT(stats().pending, 0U);
  }
  transport->always("a", Kind::delivered);
  auto second = sending(routes({{.topic = "**", .to = {{"test:a"}}}}), options);
  ASSERT_TRUE(settles_to(100));
  for (const auto& [id, count] : arrivals("a")) EXPECT_EQ(count, 1) << id;
}

TEST_F(RoutingTest, InterceptorsSeeSendsToo) {
  struct Watching final : Interceptor {
    void before(const Delivery& delivery) override {
      if (delivery.topic() == "forbidden") throw std::runtime_error("not this one");
      ++entered;
    }
    void after(const Delivery&, const Outcome& outcome) override {
      if (outcome.kind == Outcome::Kind::done) ++left;
    }
    std::atomic<int> entered{0};
    std::atomic<int> left{0};
  };
  const auto watching = std::make_shared<Watching>();
  auto options = defaults();
  options.retry.attempts_max = 2;
  options.interceptors.push_back(watching);
  auto outbox = sending(routes({{.topic = "**", .to = {{"test:a"}}}}), options);
  write_many(outbox, "t", 10);
  write_many(outbox, "forbidden", 1);
  ASSERT_TRUE(settles_to(10, 1));
  EXPECT_EQ(watching->entered, 10);
  EXPECT_EQ(watching->left, 10);
  EXPECT_EQ(transport->sent("a").size(), 10U);
}

}  // namespace
}  // namespace sagabox::integration
