#include "core/secret_random.hpp"
#include "integration/server/sqlite_rest_world.hpp"
#include "support/certificate.hpp"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

namespace sagabox::integration {
namespace {

std::string id_in(const std::string& body) {
  const auto at = body.find(R"("id":")") + 6;
  return body.substr(at, body.find('"', at) - at);
}

TEST_F(SqliteRest, AnswersMoreThanOneRequestOnAConnection) {
  serve();
  auto client = this->client();
  const auto written = client.post(messages, order);
  ASSERT_EQ(written.status, 201U) << written.body;
  EXPECT_EQ(written.header("content-type"), "application/json");
  EXPECT_EQ(written.header("cache-control"), "no-store");
  const auto shown = client.get(written.header("location") + "?payload=true");
  EXPECT_NE(shown.body.find(R"("payload":{"n":1})"), std::string::npos) << shown.body;
  EXPECT_EQ(pending(), 1U);
}

TEST_F(SqliteRest, AnswersPipelinedRequestsInTheirOrder) {
  serve();
  auto client = this->client();
  std::string requests;
  for (int number = 0; number < 5; ++number) {
    requests += RestClient::request(
        "POST", messages, R"({"topic":"t","payload":1,"id":"m)" + std::to_string(number) + "\"}");
  }
  ASSERT_TRUE(client.send(requests + RestClient::request("GET", "/health/live", "")));
  for (int number = 0; number < 5; ++number) {
    EXPECT_EQ(id_in(client.receive().value().body), "m" + std::to_string(number));
  }
  EXPECT_EQ(client.receive().value().body, "{\"live\":true}\n");
}

TEST_F(SqliteRest, HeadHasNoBody) {
  serve();
  auto client = this->client();
  ASSERT_TRUE(
      client.send(RestClient::request("HEAD", "/health/live", "", "Connection: close\r\n")));
  EXPECT_FALSE(client.receive()) << "the 13 bytes that its header tells of do not come";
}

TEST_F(SqliteRest, WhatIsNoHttpIsRefusedAndHarmsNobody) {
  serve();
  const std::string host = "Host: localhost\r\n";
  const std::map<std::string, unsigned> broken{
      {"nonsense\r\n\r\n", 400},
      {"GET /health/live HTTP/9.9\r\n" + host + "\r\n", 400},
      {"GET  HTTP/1.1\r\n\r\n", 400},
      {"GET /health/live HTTP/1.1\r\n\r\n", 400},
      {"GET /health/live HTTP/1.1\r\n" + host + host + "\r\n", 400},
      {"GET /health/live HTTP/1.1\r\nHost localhost\r\n\r\n", 400},
      {"POST " + messages + " HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n", 400},
      {"POST " + messages + " HTTP/1.1\r\n" + host +
           "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       400},
      {"POST " + messages + " HTTP/1.1\r\n" + host +
           "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
       400},
      {"POST " + messages + " HTTP/1.1\r\n" + host +
           "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
       400},
      {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15), 400},
  };
  for (const auto& [bytes, status] : broken) {
    auto client = this->client();
    ASSERT_TRUE(client.send(bytes));
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << bytes;
    EXPECT_EQ(answer->status, status) << bytes;
    EXPECT_EQ(answer->header("content-type"), "application/problem+json") << bytes;
    EXPECT_TRUE(client.ends()) << bytes;
  }
  EXPECT_EQ(client().get("/health/live").status, 200U);
  EXPECT_EQ(pending(), 0U);
}

TEST_F(SqliteRest, TooMuchIsRefused) {
  server::ServerOptions options;
  options.listener.body_bytes_max = 100'000;
  options.listener.header_bytes_max = 4096;
  serve(std::move(options));
  const auto is_too_large = [](const RestAnswer& answer) {
    return answer.body.find(R"("code":"REQUEST.TOO_LARGE","retryable":false)") != std::string::npos;
  };
  const auto header = client().get("/health/live", "X-Long: " + std::string(5000, 'x') + "\r\n");
  EXPECT_EQ(header.status, 431U);
  EXPECT_TRUE(is_too_large(header)) << header.body;
  const auto long_body = R"({"topic":"t","payload":")" + std::string(200'000, 'x') + "\"}";
  const auto body = client().post(messages, long_body);
  EXPECT_EQ(body.status, 413U);
  EXPECT_TRUE(is_too_large(body)) << body.body;
  auto chunked = client();
  std::string chunks = "POST " + messages +
                       " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n";
  for (int chunk = 0; chunk < 20; ++chunk) chunks += "2710\r\n" + std::string(10'000, ' ') + "\r\n";
  (void)chunked.send(chunks);
  EXPECT_EQ(chunked.receive().value().status, 413U);
  EXPECT_EQ(pending(), 0U);
}

TEST_F(SqliteRest, TheLargestPayloadFits) {
  serve();
  const auto largest = R"({"topic":"t","payload":")" + std::string(1024UL * 1024 - 2, 'x') + "\"}";
  // As curl sends it: asks before the body.
  auto client = this->client();
  ASSERT_TRUE(client.send("POST " + messages +
                          " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                          "Expect: 100-continue\r\nContent-Length: " +
                          std::to_string(largest.size()) + "\r\n\r\n"));
  EXPECT_EQ(client.receive().value().status, 100U);
  ASSERT_TRUE(client.send(largest));
  EXPECT_EQ(client.receive().value().status, 201U);
  const auto larger = R"({"topic":"t","payload":")" + std::string(1024UL * 1024 - 1, 'x') + "\"}";
  EXPECT_EQ(client.post(messages, larger).status, 400U);
}

TEST_F(SqliteRest, IdleClientsAreHungUpOn) {
  server::ServerOptions options;
  options.listener.idle_timeout = 50ms;
  serve(std::move(options));
  EXPECT_TRUE(client().ends());
}

TEST_F(SqliteRest, SlowClientsAreTold) {
  server::ServerOptions options;
  options.listener.header_timeout = 200ms;
  options.listener.body_timeout = 200ms;
  serve(std::move(options));
  for (const auto* slow :
       {"GET /health/li", "GET /health/live HTTP/1.1\r\nHost: localhost\r\n",
        "POST /v1/tables/orders/messages HTTP/1.1\r\nHost: "
        "localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"}) {
    auto client = this->client();
    ASSERT_TRUE(client.send(slow));
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << slow;
    EXPECT_EQ(answer->status, 408U) << slow;
    EXPECT_NE(answer->body.find("TX.TIMEOUT"), std::string::npos) << answer->body;
  }
  EXPECT_EQ(client().get("/health/live").status, 200U);
}

TEST_F(SqliteRest, ConnectionsHaveABound) {
  server::ServerOptions options;
  options.listener.connections_max = 2;
  serve(std::move(options));
  auto first = client();
  auto second = client();
  EXPECT_EQ(first.get("/health/live").status, 200U);
  EXPECT_EQ(second.get("/health/live").status, 200U);
  EXPECT_FALSE(client().receive());
  EXPECT_EQ(first.get("/health/live").status, 200U);
}

TEST_F(SqliteRest, KeysAreAskedFor) {
  server::KeyFile keys(folder_.file("keys"));
  const auto key =
      keys.create({.name = "app", .role = server::Role::operate}, secret_random(), system_clock())
          .value();
  server::ServerOptions options;
  options.key_file = keys.path();
  serve(std::move(options));
  EXPECT_EQ(client().post(messages, order).status, 401U);
  EXPECT_EQ(client().post(messages, order, "Authorization: Bearer " + key.secret + "x\r\n").status,
            401U);
  EXPECT_EQ(client().post(messages, order, "Authorization: Bearer " + key.secret + "\r\n").status,
            201U);
  EXPECT_EQ(client().get("/v1/audit", "Authorization: Bearer " + key.secret + "\r\n").status, 403U);
}

TEST_F(SqliteRest, WithoutKeysItIsForThisMachineOnly) {
  const auto problem = [&](const std::string& address) {
    server::ServerOptions options;
    options.listener.address = address;
    const auto started = server::Server::start(std::move(options));
    return started.ok() ? "started" : started.error().text();
  };
  EXPECT_EQ(problem("0.0.0.0"),
            "CONFIG.INVALID: address \"0.0.0.0\" can be reached by others, and there are no keys; "
            "give a key file (sagabox key create makes one), or listen on 127.0.0.1");
  EXPECT_EQ(problem("::").substr(0, 27), "CONFIG.INVALID: address \"::");
  EXPECT_EQ(
      problem("example.com"),
      "CONFIG.INVALID: address \"example.com\" is not an address; give one like 127.0.0.1, ::1 or "
      "0.0.0.0");
  serve();
  server::ServerOptions taken;
  taken.listener.port = server_->port();
  EXPECT_NE(server::Server::start(std::move(taken)).error().message.find("cannot listen on"),
            std::string::npos);
}

TEST_F(SqliteRest, SpeaksTls) {
  const auto certificate = testing::Certificate::make(folder_.path(), "IP:127.0.0.1");
  server::ServerOptions options;
  options.listener.tls = {certificate.certificate, certificate.key};
  serve(std::move(options));
  RestClient client(server_->port(), certificate.certificate);
  EXPECT_EQ(client.post(messages, order).status, 201U);
  EXPECT_EQ(client.get("/health/live").status, 200U);
  auto plain = this->client();
  ASSERT_TRUE(plain.send(RestClient::request("GET", "/health/live", "")));
  const auto answer = plain.receive();
  EXPECT_FALSE(answer && answer->status == 200) << "nothing without TLS";

  server::ServerOptions wrong;
  wrong.listener.tls = {certificate.certificate, folder_.file("nothing.pem")};
  EXPECT_NE(server::Server::start(std::move(wrong)).error().message.find("nothing.pem"),
            std::string::npos);
}

/// `connections` threads that write until they are told otherwise or cut off.
std::set<std::string> write_from_many(std::uint16_t port, int connections, int each,
                                      std::atomic<int>& answered) {
  std::mutex mutex;
  std::set<std::string> ids;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < connections; ++thread) {
    threads.emplace_back([&] {
      try {
        RestClient client(port);
        for (int count = 0; count < each; ++count) {
          const auto answer =
              client.post("/v1/tables/orders/messages", R"({"topic":"t","payload":1})");
          if (answer.status != 201) continue;
          ++answered;
          const std::scoped_lock lock(mutex);
          ids.insert(id_in(answer.body));
        }
      } catch (const std::runtime_error&) {
        // The server has stopped.
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return ids;
}

TEST_F(SqliteRest, ManyConnectionsWriteTogetherAndNothingIsLost) {
  server::ServerOptions options;
  options.listener.io_threads = 2;
  serve(std::move(options));
  std::atomic<int> answered{0};
  const auto ids = write_from_many(server_->port(), 64, 10, answered);
  EXPECT_EQ(answered, 640);
  EXPECT_EQ(ids.size(), 640U);
  EXPECT_EQ(pending(), 640U);
}

TEST_F(SqliteRest, AStopAnswersWhatItHasTaken) {
  serve();
  std::atomic<int> answered{0};
  std::set<std::string> ids;
  std::thread writers([&] { ids = write_from_many(server_->port(), 16, 100'000, answered); });
  while (answered < 200) std::this_thread::yield();
  EXPECT_TRUE(server_->stop());
  writers.join();
  // Every message was answered before its connection ended, and every answered one is there.
  EXPECT_EQ(pending(), ids.size());
  EXPECT_THROW(client(), std::runtime_error);
}

TEST_F(SqliteRest, PromtoolLikesTheMetrics) {
  if (!std::filesystem::exists("/usr/bin/promtool")) GTEST_SKIP() << "promtool is not installed";
  serve();
  auto client = this->client();
  ASSERT_EQ(client.post(messages, order).status, 201U);
  const auto scraped = client.get("/metrics");
  EXPECT_NE(scraped.body.find("sagabox_outbox_enqueued_total"), std::string::npos);
  const auto file = folder_.file("metrics");
  std::ofstream(file) << scraped.body;
  EXPECT_EQ(std::system(("/usr/bin/promtool check metrics < " + file).c_str()), 0);
}

}  // namespace
}  // namespace sagabox::integration
