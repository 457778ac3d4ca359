#include "server/listener.hpp"

#include "support/rest_client.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace sagabox::server {
namespace {

using namespace std::chrono_literals;
using testing::RestClient;

/// Answers /held when it is let go, and everything else at once.
class Held final : public RequestHandler {
 public:
  void begin(const Request& request, const Reply& reply) override {
    if (request.target == "/held") {
      ++holding;
      gate.wait();
    }
    reply({.body = "{}"});
  }
  [[nodiscard]] bool is_brief(const Request& request) const override {
    return request.target == "/brief";
  }

  void let_go() { open.set_value(); }
  void wait_for(int count) const {
    while (holding < count) std::this_thread::yield();
  }

  std::atomic<int> holding{0};
  std::promise<void> open;
  std::shared_future<void> gate = open.get_future().share();
};

class ServerListener : public ::testing::Test {
 protected:
  void start(ListenerOptions options) {
    options.port = 0;
    listener_ = Listener::start(std::move(options), handler_).value();
  }
  RestClient asks(const std::string& target) {
    RestClient client(listener_->port());
    EXPECT_TRUE(client.send(RestClient::request("GET", target, "")));
    return client;
  }

  Held handler_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(ServerListener, TellsThoseToComeBackForWhomNoWorkerIsFree) {
  start({.workers = 1, .worker_queue_max = 0});
  auto runs = asks("/held");
  handler_.wait_for(1);
  const auto refused = asks("/other").receive();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503U);
  EXPECT_EQ(refused->header("retry-after"), "1");
  EXPECT_EQ(RestClient(listener_->port()).get("/brief").status, 200U) << "needs no worker";
  handler_.let_go();
  EXPECT_EQ(runs.receive().value().status, 200U);
}

TEST_F(ServerListener, SomeMayWaitForAWorker) {
  start({.workers = 1, .worker_queue_max = 1});
  auto runs = asks("/held");
  handler_.wait_for(1);
  auto waits = asks("/other");
  handler_.let_go();
  EXPECT_EQ(runs.receive().value().status, 200U);
  EXPECT_EQ(waits.receive().value().status, 200U);
}

TEST_F(ServerListener, AStopWaitsForWhatRuns) {
  start({});
  auto runs = asks("/held");
  handler_.wait_for(1);
  auto idle = asks("/brief");
  EXPECT_EQ(idle.receive().value().status, 200U);
  auto stopped = std::async(std::launch::async, [&] { return listener_->stop(); });
  EXPECT_TRUE(idle.ends());
  handler_.let_go();
  const auto answer = runs.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header("connection"), "close");
  EXPECT_TRUE(stopped.get());
}

TEST_F(ServerListener, AStopDoesNotWaitForEver) {
  start({.stop_timeout = 10ms});
  auto runs = asks("/held");
  handler_.wait_for(1);
  auto stopped = std::async(std::launch::async, [&] { return listener_->stop(); });
  EXPECT_FALSE(runs.receive()) << "cut off";
  handler_.let_go();
  EXPECT_FALSE(stopped.get());
}

TEST_F(ServerListener, NamesTheOptionThatIsWrong) {
  const auto problem = [&](ListenerOptions options) {
    return Listener::start(std::move(options), handler_).error().text();
  };
  EXPECT_EQ(problem({.workers = 0}), "CONFIG.INVALID: workers is 0; give at least 1");
  EXPECT_EQ(problem({.idle_timeout = 0s}), "CONFIG.INVALID: idle_timeout must be above 0");
  EXPECT_EQ(problem({.tls = TlsFiles{"/nowhere.pem", "/nowhere.pem"}}).substr(0, 40),
            "CONFIG.INVALID: TLS file \"/nowhere.pem\":");
}

TEST_F(ServerListener, KnowsLoopback) {
  EXPECT_TRUE(is_loopback("127.0.0.1").value());
  EXPECT_TRUE(is_loopback("127.1.2.3").value());
  EXPECT_TRUE(is_loopback("::1").value());
  EXPECT_TRUE(is_loopback("localhost").value());
  EXPECT_FALSE(is_loopback("0.0.0.0").value());
  EXPECT_FALSE(is_loopback("10.0.0.1").value());
  EXPECT_FALSE(is_loopback("::").value());
}

}  // namespace
}  // namespace sagabox::server
