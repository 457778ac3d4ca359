#include "integration/transports/http/world.hpp"

namespace sagabox::testing {
namespace {

/// Names that lead to places which are refused where the connection would be made: no packet
/// leaves.
class HttpGuard : public HttpTransportTest {};

TEST_F(HttpGuard, NamesThatLeadToPrivatePlacesAreRefused) {
  for (const auto* place : {"0.0.0.0",
                            "10.1.2.3",
                            "100.64.0.1",
                            "127.0.0.1",
                            "169.254.169.254",
                            "172.16.0.1",
                            "192.0.0.1",
                            "192.0.2.1",
                            "198.51.100.1",
                            "203.0.113.1",
                            "192.88.99.1",
                            "192.168.0.1",
                            "198.18.0.1",
                            "224.0.0.1",
                            "240.0.0.1",
                            "255.255.255.255",
                            "[::]",
                            "[::1]",
                            "[fc00::1]",
                            "[fd00::1]",
                            "[fe80::1]",
                            "[ff02::1]",
                            "[2001::1]",
                            "[::ffff:127.0.0.1]",
                            "[::ffff:10.1.2.3]",
                            "[::127.0.0.1]",
                            "[64:ff9b::169.254.169.254]",
                            "[2002:7f00:1::]",
                            "[2606:4700::5efe:10.0.0.1]"}) {
    open({.resolve = {"hooks.example.com:443:" + std::string(place)}});
    const auto result = deliver(address("https://hooks.example.com/"));
    EXPECT_EQ(result.kind, Kind::unreachable) << place << ": " << result.error;
    EXPECT_NE(result.error.find("`allow`"), std::string::npos) << result.error;
    EXPECT_NE(result.error.find("hooks.example.com"), std::string::npos) << result.error;
  }
}

TEST_F(HttpGuard, EveryAddressOfANameIsLookedAt) {
  HttpServer server;
  const auto port = std::to_string(server.port());
  open(
      {.allow = {"127.0.0.0/8"}, .resolve = {"hooks.example.com:" + port + ":10.0.0.1,127.0.0.1"}});
  const auto to = address("http://hooks.example.com:" + port + "/");
  const auto result = deliver(to);
  EXPECT_EQ(result.kind, Kind::delivered) << result.error;
  EXPECT_EQ(server.connections_made(), 1U);
}

TEST_F(HttpGuard, AllowedHostIsReachedWhereverItIs) {
  HttpServer server;
  const auto port = std::to_string(server.port());
  open({.allow = {"Hooks.Internal"}, .resolve = {"hooks.internal:" + port + ":127.0.0.1"}});
  EXPECT_EQ(deliver(address("http://hooks.internal:" + port + "/")).kind, Kind::delivered);
}

TEST_F(HttpGuard, AllowedRangeIsReachedUnderAnyName) {
  HttpServer server;
  const auto port = std::to_string(server.port());
  open({.allow = {"127.0.0.1"}, .resolve = {"other.example:" + port + ":127.0.0.1"}});
  EXPECT_EQ(deliver(address("http://other.example:" + port + "/")).kind, Kind::delivered);
}

TEST_F(HttpGuard, PlainHttpToAPublicPlaceIsRefusedAtTheConnection) {
  open({.allow = {"127.0.0.0/8"}, .resolve = {"hooks.example.com:80:8.8.8.8"}});
  const auto result = deliver(address("http://hooks.example.com/"));
  EXPECT_EQ(result.kind, Kind::unreachable);
  EXPECT_NE(result.error.find("https://"), std::string::npos) << result.error;
}

TEST_F(HttpGuard, FindingsTellOfAnOpenDoor) {
  open({.allow = {"0.0.0.0/0"}});
  const auto found = transport_->findings(system_clock().boot_now() + ample).value();
  ASSERT_FALSE(found.empty());
  EXPECT_NE(found.front().find("`allow`"), std::string::npos) << found.front();
  open();
  for (const auto& finding : transport_->findings(system_clock().boot_now() + ample).value()) {
    EXPECT_EQ(finding.find("`allow`"), std::string::npos) << finding;
  }
}

TEST_F(HttpGuard, WrongOptionsAreNamed) {
  const auto problem = [](http::Options options) {
    const auto opened = http::open(std::move(options));
    EXPECT_FALSE(opened.ok());
    return opened.ok() ? "" : opened.error().text();
  };
  EXPECT_NE(problem({.allow = {"10.0.0.0/99"}}).find("10.0.0.0/99"), std::string::npos);
  EXPECT_NE(problem({.ca_file = "/no/such.pem"}).find("/no/such.pem"), std::string::npos);
  EXPECT_NE(problem({.in_flight_max = 0}).find("in_flight_max"), std::string::npos);
  EXPECT_NE(problem({.connect_max = Duration::zero()}).find("connect_max"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::testing
