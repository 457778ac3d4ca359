#include "integration/transports/http/world.hpp"
#include "support/http_nginx.hpp"

#include <set>

namespace sagabox::testing {
namespace {

using Speaks = HttpNginx::Speaks;

class HttpTls : public HttpTransportTest {
 protected:
  void SetUp() override {
    if (const auto problem = HttpNginx::problem(); !problem.empty()) GTEST_SKIP() << problem;
  }

  static std::string url(const HttpNginx& nginx, const std::string& host = "127.0.0.1") {
    return "https://" + host + ":" + std::to_string(nginx.port()) + "/hook";
  }

  void send_many(const std::shared_ptr<const spi::Address>& to, std::size_t count) {
    std::vector<spi::Parcel> parcels;
    for (std::size_t i = 0; i < count; ++i) parcels.push_back(parcel(to));
    transport_->send(parcels, results_);
    EXPECT_EQ(results_.wait_for(count), count);
    EXPECT_EQ(results_.count(Kind::delivered), count);
  }
};

TEST_F(HttpTls, Http2IsSpokenWhereTheServerDoesAndOneConnectionIsEnough) {
  HttpNginx nginx(Speaks::tls_and_http2);
  open({.allow = {"127.0.0.0/8"}, .ca_file = nginx.ca_file()});
  const auto to = address(url(nginx));
  std::vector<spi::Parcel> parcels;
  for (int i = 0; i < 200; ++i) parcels.push_back(parcel(to));
  transport_->send(parcels, results_);
  ASSERT_EQ(results_.wait_for(200), 200U);
  // libcurl 7.88 says of one now and then that its stream failed, though nginx logs it as answered;
  // it seems to be the reset that nginx sends where it answers before the body has come.
  EXPECT_EQ(results_.count(Kind::delivered) + results_.count(Kind::timed_out), 200U);
  EXPECT_GE(results_.count(Kind::delivered), 180U);
  transport_->close(system_clock().boot_now() + ample);
  const auto logged = nginx.stop();
  EXPECT_EQ(logged.size(), 200U);
  std::set<std::string> connections;
  for (const auto& one : logged) {
    EXPECT_EQ(one.protocol, "HTTP/2.0");
    EXPECT_EQ(one.method, "POST");
    connections.insert(one.connection);
  }
  EXPECT_EQ(connections.size(), 1U);
}

TEST_F(HttpTls, Http2ConnectionThatHasGoneSilentIsNotUsedAgain) {
  HttpNginx nginx(Speaks::tls_and_http2);
  open({.allow = {"127.0.0.0/8"}, .ca_file = nginx.ca_file()});
  const auto to = address(url(nginx));
  ASSERT_EQ(deliver(to).kind, Kind::delivered);
  nginx.stall();
  const auto silent = deliver(to, {}, std::chrono::milliseconds(200));
  EXPECT_EQ(silent.kind, Kind::timed_out) << silent.error;
  nginx.go_on();
  EXPECT_EQ(deliver(to).kind, Kind::delivered);
  transport_->close(system_clock().boot_now() + ample);
  const auto logged = nginx.stop();
  ASSERT_GE(logged.size(), 2U);
  EXPECT_NE(logged.front().connection, logged.back().connection);
}

TEST_F(HttpTls, OthersOnASilentConnectionGoAnotherWay) {
  HttpNginx nginx(Speaks::tls_and_http2);
  open({.allow = {"127.0.0.0/8"}, .ca_file = nginx.ca_file()});
  const auto to = address(url(nginx));
  ASSERT_EQ(deliver(to).kind, Kind::delivered);
  nginx.stall();
  const auto patient = send(to);
  EXPECT_EQ(deliver(to, {}, std::chrono::milliseconds(200)).kind, Kind::timed_out);
  nginx.go_on();
  const auto result = results_.of(patient);
  EXPECT_EQ(result.kind, Kind::delivered) << result.error;
  EXPECT_EQ(deliver(to).kind, Kind::delivered);
}

TEST_F(HttpTls, Http1IsSpokenWhereTheServerKnowsNothingElse) {
  HttpNginx nginx(Speaks::tls);
  open({.allow = {"127.0.0.0/8"}, .ca_file = nginx.ca_file(), .concurrency = 4});
  send_many(address(url(nginx)), 100);
  transport_->close(system_clock().boot_now() + ample);
  const auto logged = nginx.stop();
  EXPECT_EQ(logged.size(), 100U);
  std::set<std::string> connections;
  for (const auto& one : logged) {
    EXPECT_EQ(one.protocol, "HTTP/1.1");
    connections.insert(one.connection);
  }
  EXPECT_LE(connections.size(), 4U);
}

TEST_F(HttpTls, ServerThatNobodyVouchesForGetsNothing) {
  HttpNginx nginx(Speaks::tls);
  open();
  const auto result = deliver(address(url(nginx)));
  EXPECT_EQ(result.kind, Kind::unreachable);
  EXPECT_NE(result.error.find("certificate"), std::string::npos) << result.error;
  transport_->close(system_clock().boot_now() + ample);
  EXPECT_TRUE(nginx.stop().empty());
}

TEST_F(HttpTls, ServerUnderAnotherNameGetsNothing) {
  HttpNginx nginx(Speaks::tls);
  open({.allow = {"127.0.0.0/8"},
        .ca_file = nginx.ca_file(),
        .resolve = {"other.example:" + std::to_string(nginx.port()) + ":127.0.0.1"}});
  const auto result = deliver(address(url(nginx, "other.example")));
  EXPECT_EQ(result.kind, Kind::unreachable) << result.error;
  EXPECT_EQ(result.error.find("deadline"), std::string::npos) << result.error;
  transport_->close(system_clock().boot_now() + ample);
  EXPECT_TRUE(nginx.stop().empty());
}

TEST_F(HttpTls, ServerThatDoesNotSpeakTlsIsUnreachable) {
  HttpNginx nginx(Speaks::plain);
  open();
  const auto result = deliver(address(url(nginx)));
  EXPECT_EQ(result.kind, Kind::unreachable) << result.error;
  EXPECT_EQ(result.error.find("deadline"), std::string::npos) << result.error;
}

}  // namespace
}  // namespace sagabox::testing
