#include "integration/outbox/world.hpp"
#include "support/http_server.hpp"
#include "support/redis_server.hpp"

#include <sagabox/router.hpp>
#include <sagabox/transports/http.hpp>
#include <sagabox/transports/redis.hpp>

namespace sagabox::integration {
namespace {

constexpr int message_count = 300;

/// An outbox with routes to a real Redis and a real HTTP server.
class OutageTest : public OutboxWorld {
 protected:
  void SetUp() override {
    if (const auto missing = testing::RedisServer::missing(); !missing.empty()) {
      GTEST_SKIP() << missing;
    }
    redis = std::make_unique<testing::RedisServer>();
    ASSERT_EQ(redis->problem(), "");
    auto options = watched();
    // All attempts would be spent within milliseconds.
    options.retry.attempts_max = 2;
    router = Router::open(routes()).value();
    options.sink = router;
    outbox.emplace(Outbox::single_process(store, std::move(options)).value());
    outbox->start().value();
  }
  void TearDown() override { outbox.reset(); }

  RouterOptions routes() {
    redis::Options to_redis;
    to_redis.port = redis->port();
    return {.routes = {{.topic = "stream.**",
                        .to = {{"redis:orders"}},
                        .timeout = std::chrono::milliseconds(300)},
                       {.topic = "hook.**", .to = {{http.url("/hook")}}}},
            .transports = {{"redis", redis::open(to_redis).value()},
                           {"http", http::open({.allow = {"127.0.0.0/8"}}).value()}},
            .breaker = {.probe_min = milliseconds(20), .probe_max = milliseconds(50)},
            .metrics = &metrics,
            .log = &log};
  }
  void write_many(const std::string& where) {
    std::vector<NewMessage> drafts;
    for (int number = 0; number < message_count; ++number) {
      drafts.push_back({.topic = where,
                        .key = number % 2 == 0 ? "" : where + std::to_string(number % 10),
                        .payload = json(std::to_string(number))});
    }
    store
        .transaction([&](OwnedTransaction& tx) { return outbox->write_all(tx, std::move(drafts)); })
        .value();
  }
  [[nodiscard]] double sends(std::string_view transport, std::string_view result) const {
    return metrics.counter_value("transport_sends_total",
                                 {{"transport", transport}, {"result", result}});
  }
  /// For the text of a failure.
  [[nodiscard]] std::string state() {
    const auto now = stats();
    std::string text = "done " + std::to_string(now.done) + ", pending " +
                       std::to_string(now.pending) + ", waiting " + std::to_string(now.waiting) +
                       ", dead " + std::to_string(now.dead);
    for (const auto& one : router->destinations()) {
      text += "; " + one.target + (one.down ? " down" : " up") + ", under way " +
              std::to_string(one.under_way) + " " + one.last_error;
    }
    return text;
  }
  [[nodiscard]] bool down() const {
    const auto all = router->destinations();
    return std::any_of(all.begin(), all.end(), [](const auto& one) { return one.down; });
  }
  void expect_all_delivered_at_the_first_attempt() {
    ASSERT_TRUE(settles_to(2 * message_count));
    for (const auto& row : rows()) ASSERT_EQ(row.row.attempts, 1U) << row.row.id.str();
    EXPECT_FALSE(down());
  }

  std::unique_ptr<testing::RedisServer> redis;
  testing::HttpServer http;
  std::shared_ptr<Router> router;
  std::optional<Outbox> outbox;
};

TEST_F(OutageTest, AServerThatIsStoppedForLongerThanAllRetriesCostsNothing) {
  redis->stop();
  write_many("stream.order.placed.v1");
  ASSERT_TRUE(eventually([&] { return sends("redis", "unreachable") >= 5; })) << "it is probed";
  write_many("hook.order.placed.v1");
  ASSERT_TRUE(eventually([&] { return stats().done == message_count; }))
      << "others are not delayed: " << state();
  EXPECT_TRUE(down());
  EXPECT_EQ(stats().pending, static_cast<std::uint64_t>(message_count));
  EXPECT_LE(static_cast<double>(stats().waiting), sends("redis", "unreachable"))
      << "only what has probed is written";
  EXPECT_EQ(stats().dead, 0U);
  redis->start();
  expect_all_delivered_at_the_first_attempt();
  EXPECT_EQ(http.requests("/hook", message_count).size(), static_cast<std::size_t>(message_count));
}

TEST_F(OutageTest, AServerThatStopsAnsweringCostsNothing) {
  redis->stall();
  write_many("stream.order.placed.v1");
  ASSERT_TRUE(eventually([&] { return down(); }));
  write_many("hook.order.placed.v1");
  ASSERT_TRUE(eventually([&] { return stats().done == message_count; }))
      << "others are not delayed: " << state();
  redis->go_on();
  ASSERT_TRUE(settles_to(2 * message_count));
  EXPECT_EQ(stats().dead, 0U);
}

TEST_F(OutageTest, AServerThatRestartsInTheMiddleLosesNothing) {
  write_many("stream.order.placed.v1");
  ASSERT_TRUE(eventually([&] { return sends("redis", "delivered") >= 10; }));
  redis->stop();
  write_many("hook.order.placed.v1");
  redis->start();
  ASSERT_TRUE(settles_to(2 * message_count));
  EXPECT_EQ(stats().dead, 0U);
}

}  // namespace
}  // namespace sagabox::integration
