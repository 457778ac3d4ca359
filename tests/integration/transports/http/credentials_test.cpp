#include "integration/transports/http/world.hpp"

#include <stdexcept>

namespace sagabox::testing {
namespace {

class HttpCredentials : public HttpTransportTest {
 protected:
  void open_with(http::Credentials credentials) {
    auto options = loopback();
    options.credentials = std::move(credentials);
    open(std::move(options));
  }

  HttpServer server_;
};

TEST_F(HttpCredentials, EachTenantHasItsOwn) {
  open_with([](const std::string& tenant, const std::string& host) -> Result<Headers> {
    return Headers{{"Authorization", "Bearer " + tenant + "@" + host}};
  });
  const auto to = address(server_.url("/"));
  EXPECT_EQ(deliver(to, {.tenant = "acme"}).kind, Kind::delivered);
  EXPECT_EQ(deliver(to, {.tenant = "umbrella"}).kind, Kind::delivered);
  const auto got = server_.requests("/", 2);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].header("authorization"), "Bearer acme@127.0.0.1");
  EXPECT_EQ(got[1].header("authorization"), "Bearer umbrella@127.0.0.1");
}

TEST_F(HttpCredentials, TenantWithoutOneIsDeniedAndNothingIsSent) {
  open_with([](const std::string&, const std::string&) -> Result<Headers> {
    return Error{Code::auth_denied, "hunter2 is not in the vault"};
  });
  const auto result = deliver(address(server_.url("/")), {.tenant = "acme"});
  EXPECT_EQ(result.kind, Kind::rejected);
  EXPECT_EQ(result.code, Code::auth_denied);
  EXPECT_NE(result.error.find("acme"), std::string::npos) << result.error;
  EXPECT_EQ(result.error.find("hunter2"), std::string::npos) << result.error;
  EXPECT_EQ(server_.connections_made(), 0U);
}

TEST_F(HttpCredentials, VaultThatIsAwayIsTriedAgainLater) {
  open_with([](const std::string& tenant, const std::string&) -> Result<Headers> {
    if (tenant == "thrown") throw std::runtime_error("hunter2");
    return Error{Code::provider_unavailable, "hunter2"};
  });
  for (const auto* tenant : {"thrown", "acme"}) {
    const auto result = deliver(address(server_.url("/")), {.tenant = tenant});
    EXPECT_EQ(result.kind, Kind::later);
    EXPECT_EQ(result.error.find("hunter2"), std::string::npos) << result.error;
  }
  EXPECT_EQ(server_.connections_made(), 0U);
}

TEST_F(HttpCredentials, OnesThatWouldBreakTheRequestAreNotSent) {
  open_with([](const std::string&, const std::string&) -> Result<Headers> {
    return Headers{{"Authorization", "hunter2\r\nx-injected: 1"}};
  });
  const auto result = deliver(address(server_.url("/")));
  EXPECT_EQ(result.kind, Kind::rejected);
  EXPECT_EQ(result.error.find("hunter2"), std::string::npos) << result.error;
  EXPECT_EQ(server_.connections_made(), 0U);
}

TEST_F(HttpCredentials, AuthorOfAMessageCannotReplaceThem) {
  open_with([](const std::string&, const std::string&) -> Result<Headers> {
    return Headers{{"X-Api-Key", "the tenant's"}};
  });
  EXPECT_EQ(deliver(address(server_.url("/")), {.headers = {{"x-api-key", "forged"}}}).kind,
            Kind::delivered);
  const auto got = server_.requests("/", 1);
  ASSERT_EQ(got.size(), 1U);
  std::size_t keys = 0;
  for (const auto& [name, value] : got[0].headers) {
    EXPECT_NE(value, "forged");
    keys += name == "x-api-key" ? 1U : 0U;
  }
  EXPECT_EQ(keys, 1U);
}

}  // namespace
}  // namespace sagabox::testing
