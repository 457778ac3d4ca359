#include "server/http/listener.hpp"

#include "support/certificate.hpp"
#include "support/rest_client.hpp"
#include "support/server_process.hpp"

#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <map>
#include <optional>
#include <thread>
#include <vector>

namespace sagabox::server {
namespace {

using namespace std::chrono_literals;
using testing::RestClient;

/// Answers /held when it is let go, and everything else at once; whom it does not know, it refuses.
class Held final : public RequestHandler {
 public:
  Admission admit(const Request& header) override {
    if (header.header("authorization") == "wrong") return {.refused = Response{.status = 401}};
    if (header.target.starts_with("/brief")) return {.operation = "brief", .brief_bytes_max = 1000};
    return {.operation = "held", .key_id = "k1"};
  }
  void begin(const Request& request, const Reply& reply) override {
    if (request.target == "/held") {
      ++holding;
      gate.wait();
    }
    reply({.body = "{}"});
  }

  /// Again: nothing happens.
  void let_go() {
    if (!let_go_.exchange(true)) open.set_value();
  }
  void wait_for(int count) const {
    while (holding < count) std::this_thread::yield();
  }

  std::atomic<int> holding{0};
  std::promise<void> open;
  std::shared_future<void> gate = open.get_future().share();

 private:
  std::atomic<bool> let_go_{false};
};

class ServerListener : public ::testing::Test {
 protected:
  ~ServerListener() override { handler_.let_go(); }

  void start(ListenerOptions options) {
    options.port = 0;
    options.metrics = &metrics_;
    options.log = &log_;
    listener_ = Listener::start(std::move(options), handler_).value();
  }
  RestClient asks(const std::string& target) {
    RestClient client(listener_->port());
    EXPECT_TRUE(client.send(RestClient::request("GET", target, "")));
    return client;
  }

  /// A POST of which a body of so many bytes is still to come.
  RestClient announces(std::size_t bytes, const std::string& headers = {}) {
    RestClient client(listener_->port());
    EXPECT_TRUE(client.send("POST /other HTTP/1.1\r\nHost: localhost\r\n" + headers +
                            "Content-Length: " + std::to_string(bytes) + "\r\n\r\n"));
    return client;
  }
  double requests(std::string_view operation, std::string_view status) {
    return metrics_.counter_value("rest_requests_total",
                                  {{"operation", operation}, {"status", status}});
  }

  Held handler_;
  testing::RecordingMetrics metrics_;
  testing::RecordingLogger log_;
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

TEST_F(ServerListener, ANewConnectionTakesThePlaceOfTheLongestIdleOne) {
  testing::FakeClock clock;
  start({.connections_max = 2, .clock = &clock});
  RestClient first(listener_->port());
  RestClient second(listener_->port());
  EXPECT_EQ(first.get("/brief").status, 200U);
  // With one thread for all, the first is idle when the second has its answer.
  EXPECT_EQ(second.get("/brief").status, 200U);
  clock.advance(5s);
  EXPECT_EQ(second.get("/brief").status, 200U);
  RestClient third(listener_->port());
  EXPECT_EQ(third.get("/brief").status, 200U);
  EXPECT_TRUE(first.ends());
  EXPECT_EQ(second.get("/brief").status, 200U) << "it was idle for less than a second";
  RestClient fourth(listener_->port());
  EXPECT_FALSE(fourth.receive()) << "nobody has been idle for a second";
  EXPECT_EQ(third.get("/brief").status, 200U);
  EXPECT_EQ(log_.count("connection refused, there are too many"), 1U);
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

TEST_F(ServerListener, AStopDoesNotWaitForAStoreThatHangs) {
  start({.stop_timeout = 10ms});
  auto runs = asks("/held");
  handler_.wait_for(1);
  EXPECT_FALSE(listener_->stop());
  EXPECT_FALSE(runs.receive()) << "cut off";
  EXPECT_FALSE(listener_->has_ended());
  handler_.let_go();
  while (!listener_->has_ended()) std::this_thread::yield();
}

TEST_F(ServerListener, AStopDoesNotWaitForHalfARequest) {
  start({.stop_timeout = 60s});
  RestClient header(listener_->port());
  ASSERT_TRUE(header.send("GET /other HTT"));
  auto body = announces(10);
  while (listener_->connections() < 2) std::this_thread::yield();
  auto silent = asks("/brief");
  EXPECT_EQ(silent.receive().value().status, 200U) << "by now the others have been read, too";
  EXPECT_TRUE(listener_->stop());
  for (auto* half : {&header, &body}) {
    const auto answer = half->receive();
    EXPECT_EQ(answer ? answer->status : 503U, 503U) << "or it had not been read";
  }
  EXPECT_TRUE(listener_->has_ended());
}

TEST_F(ServerListener, ASlowClientIsToldHoweverItDripFeeds) {
  start({.header_timeout = 200ms, .body_timeout = 200ms});
  for (const std::string begin :
       {"GET /brief HTTP/1.1\r\nX-Slow: ",
        "POST /brief HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"}) {
    RestClient slow(listener_->port());
    ASSERT_TRUE(slow.send(begin));
    std::atomic<bool> told{false};
    std::thread drips([&] {
      while (!told && slow.send("x")) std::this_thread::sleep_for(5ms);
    });
    const auto answer = slow.receive();
    told = true;
    drips.join();
    ASSERT_TRUE(answer) << begin;
    EXPECT_EQ(answer->status, 408U) << begin;
    EXPECT_EQ(answer->header("content-type"), "application/problem+json");
    EXPECT_EQ(answer->header("connection"), "close");
  }
}

TEST_F(ServerListener, AHandlerThatDoesNotAnswerIsNotWaitedForForEver) {
  start({.answer_timeout = 50ms});
  EXPECT_EQ(asks("/held").receive().value().status, 504U);
  RestClient writes(listener_->port());
  const auto doubtful = writes.post("/held", "{}");
  EXPECT_EQ(doubtful.status, 504U);
  EXPECT_NE(doubtful.body.find("STORAGE.IN_DOUBT"), std::string::npos) << doubtful.body;
  EXPECT_EQ(asks("/brief").receive().value().status, 200U);
  handler_.let_go();
}

TEST_F(ServerListener, WhoIsRefusedNeedNotSendHisBody) {
  start({});
  auto refused = announces(1'000'000, "Authorization: wrong\r\n");
  EXPECT_EQ(refused.receive().value().status, 401U);
  auto asks_first = announces(1000, "Authorization: wrong\r\nExpect: 100-continue\r\n");
  EXPECT_EQ(asks_first.receive().value().status, 401U) << "instead of 100";
  EXPECT_EQ(announces(10'000'000).receive().value().status, 413U);
  auto stays = asks("/brief");
  EXPECT_EQ(stays.receive().value().status, 200U);
  EXPECT_EQ(stays.get("/other", "Authorization: wrong\r\n").status, 401U);
  EXPECT_EQ(stays.get("/brief").status, 200U) << "without a body the connection goes on";
}

TEST_F(ServerListener, BodiesHaveABoundTogether) {
  start({.body_bytes_max = 1000, .bodies_bytes_max = 1500});
  auto first = announces(1000);
  std::optional<testing::RestAnswer> refused;
  // Who comes first is not said.
  while (!refused || refused->status != 503) {
    RestClient second(listener_->port());
    refused = second.post("/other", std::string(900, ' '));
  }
  EXPECT_EQ(refused->header("retry-after"), "1");
  RestClient chunked(listener_->port());
  ASSERT_TRUE(
      chunked.send("POST /other HTTP/1.1\r\nHost: localhost\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n384\r\n" +
                   std::string(890, ' ')));
  EXPECT_EQ(chunked.receive().value().status, 503U);
  EXPECT_EQ(RestClient(listener_->port()).post("/other", "{}").status, 200U) << "small ones fit";
  ASSERT_TRUE(first.send(std::string(1000, ' ')));
  EXPECT_EQ(first.receive().value().status, 200U);
  unsigned again = 503;
  while (again == 503) {
    again = RestClient(listener_->port()).post("/other", std::string(900, ' ')).status;
  }
  EXPECT_EQ(again, 200U) << "it was given back";
}

TEST_F(ServerListener, ARefusalReachesThoseWhoAreStillSending) {
  const auto certificate =
      testing::Certificate::make(testing::scratch_folder("listener"), "IP:127.0.0.1");
  for (const bool tls : {false, true}) {
    ListenerOptions options{.linger_timeout = 30s};
    if (tls) options.tls = {certificate.certificate, certificate.key};
    start(std::move(options));
    RestClient client = tls ? RestClient(listener_->port(), certificate.certificate)
                            : RestClient(listener_->port());
    ASSERT_TRUE(
        client.send("POST /other HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n"));
    // More than sockets hold: it can only be sent because somebody takes it.
    EXPECT_TRUE(client.send(std::string(2'000'000, ' '))) << tls;
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << tls;
    EXPECT_EQ(answer->status, 413U);
  }
}

TEST_F(ServerListener, ANewCertificateIsForNewConnections) {
  const auto folder = testing::scratch_folder("listener");
  const auto old = testing::Certificate::make(folder, "IP:127.0.0.1");
  const auto renewed =
      testing::Certificate::make(testing::scratch_folder("listener"), "IP:127.0.0.1");
  ListenerOptions options;
  options.tls = {old.certificate, old.key};
  start(std::move(options));
  const auto trusted = folder / "first.pem";
  std::filesystem::copy_file(old.certificate, trusted);
  RestClient before(listener_->port(), trusted);
  EXPECT_EQ(before.get("/brief").status, 200U);

  const auto replace = std::filesystem::copy_options::overwrite_existing;
  const auto of_another_kind = testing::Certificate::make(
      testing::scratch_folder("listener"), "IP:127.0.0.1", testing::Certificate::Key::rsa);
  std::filesystem::copy_file(of_another_kind.certificate, old.certificate, replace);
  EXPECT_FALSE(listener_->reload_certificate().ok());
  std::filesystem::copy_file(renewed.certificate, old.certificate, replace);
  const auto half = listener_->reload_certificate();
  ASSERT_FALSE(half.ok()) << "the key is still that of the old one";
  EXPECT_EQ(RestClient(listener_->port(), trusted).get("/brief").status, 200U);

  std::filesystem::copy_file(renewed.key, old.key, replace);
  EXPECT_TRUE(listener_->reload_certificate().ok());
  EXPECT_THROW(RestClient(listener_->port(), trusted), std::runtime_error);
  EXPECT_EQ(RestClient(listener_->port(), renewed.certificate).get("/brief").status, 200U);
  EXPECT_EQ(before.get("/brief").status, 200U) << "those that are there go on";
}

TEST_F(ServerListener, CountsRequestsAndSaysThemInTheLog) {
  start({.request_log = LogLevel::info});
  RestClient client(listener_->port());
  EXPECT_EQ(client.get("/brief?secret=yes", "X-Request-Id: r-7\r\n").status, 200U);
  EXPECT_EQ(client.post("/other", R"({"payload":"hidden"})").status, 200U);
  EXPECT_EQ(client.get("/other", "Authorization: wrong\r\n").status, 401U);
  EXPECT_EQ(metrics_.gauge_value("rest_connections", {}), 1);
  ASSERT_TRUE(client.send("nonsense\r\n\r\n"));
  EXPECT_EQ(client.receive().value().status, 400U);
  EXPECT_EQ(requests("brief", "2xx"), 1);
  EXPECT_EQ(requests("held", "2xx"), 1);
  EXPECT_EQ(requests("none", "4xx"), 2);
  ASSERT_EQ(log_.count("request"), 4U);
  auto fields = log_.lines().front().fields;
  EXPECT_GE(std::stod(fields.at("seconds")), 0);
  fields.erase("seconds");
  EXPECT_EQ(fields, (std::map<std::string, std::string>{{"method", "GET"},
                                                        {"operation", "brief"},
                                                        {"status", "200"},
                                                        {"key", ""},
                                                        {"request_id", "r-7"}}));
  EXPECT_EQ(log_.lines().at(1).fields.at("key"), "k1");
  for (const auto& line : log_.lines()) {
    for (const auto& [name, value] : line.fields) {
      EXPECT_EQ(value.find("secret"), std::string::npos) << name;
      EXPECT_EQ(value.find("hidden"), std::string::npos) << name;
    }
  }
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
