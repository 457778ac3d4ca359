#include "transports/http/address.hpp"

#include "unit/transports/http/webhook_key.hpp"

#include <gtest/gtest.h>

namespace sagabox::http {
namespace {

constexpr auto other_key = "whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=";

Result<std::shared_ptr<HttpAddress>> parsed(std::string_view text,
                                            const spi::AddressSettings& settings = {},
                                            const std::vector<std::string>& allow = {}) {
  const auto guard = AddressGuard::make(allow).value();
  return parse_address(text, settings,
                       {.guard = guard, .concurrency_default = 64, .concurrency_max = 2048});
}

std::string problem(std::string_view text, const spi::AddressSettings& settings = {},
                    const std::vector<std::string>& allow = {}) {
  const auto result = parsed(text, settings, allow);
  if (result.ok()) return "none";
  EXPECT_EQ(result.error().code, Code::config_invalid);
  return result.error().message;
}

TEST(HttpAddress, PartsOfTheUrl) {
  const auto address = parsed("https://Hooks.Example.com/a/b?token=1").value();
  EXPECT_EQ(address->host, "hooks.example.com");
  EXPECT_EQ(address->endpoint_name, "https://hooks.example.com:443");
  EXPECT_TRUE(address->encrypted);
  EXPECT_EQ(address->mode, Mode::binary);
  EXPECT_EQ(address->method, "POST");
  EXPECT_EQ(address->concurrency, 64U);
  EXPECT_NE(address->url.find("/a/b?token=1"), std::string::npos);
}

TEST(HttpAddress, PlainHttpSaysHowItIsAllowed) {
  EXPECT_NE(
      problem("http://localhost:9000/hooks")
          .find("allow it in the configuration: transports: { http: { allow: [localhost] } }"),
      std::string::npos);
  EXPECT_EQ(problem("http://localhost:9000/hooks", {}, {"localhost"}), "none");
}

TEST(HttpAddress, WhatIsNoUrlIsToldWithoutItsSecrets) {
  for (const auto* text :
       {"", "hooks.example.com/a", "https://", "https:", "https://a b/", "https://host/\n",
        "https://host:99999/", "ftp://host/", "kafka:orders", "https://host/#part",
        "https://user:hunter2@host/", "https://hunter2@host/", "https://ho^st/?token=hunter2"}) {
    const auto said = problem(text);
    EXPECT_NE(said, "none") << text;
    EXPECT_EQ(said.find("hunter2"), std::string::npos) << said;
  }
  EXPECT_NE(problem(std::string_view("https://host/\0x", 15)), "none");
  EXPECT_NE(problem("https://host/" + std::string(9000, 'a')), "none");
}

TEST(HttpAddress, LiteralAddressesAreCheckedAtOnceHoweverTheyAreSpelled) {
  for (const auto* text : {"https://127.0.0.1/", "https://0x7f.1/", "https://2130706433/",
                           "https://017700000001/", "https://[::1]/", "https://[::ffff:7f00:1]/",
                           "https://169.254.169.254/latest", "https://[64:ff9b::a00:1]/"}) {
    EXPECT_NE(problem(text).find("`allow`"), std::string::npos) << text << ": " << problem(text);
  }
  EXPECT_EQ(problem("https://127.0.0.1/", {}, {"127.0.0.0/8"}), "none");
  EXPECT_EQ(problem("https://[::1]:8443/", {}, {"::1"}), "none");
  EXPECT_EQ(problem("https://8.8.8.8/"), "none");
}

TEST(HttpAddress, PlainHttpNeedsToBeAllowed) {
  EXPECT_NE(problem("http://hooks.example.com/").find("https://"), std::string::npos);
  EXPECT_NE(problem("http://8.8.8.8/", {}, {"10.0.0.0/8"}), "none");
  EXPECT_EQ(problem("http://10.1.2.3/", {}, {"10.0.0.0/8"}), "none");
  // A name may lead there: that is seen where the connection is made.
  EXPECT_EQ(problem("http://hooks.example.com/", {}, {"10.0.0.0/8"}), "none");
}

TEST(HttpAddress, Settings) {
  const auto address =
      parsed("https://host/", {{"mode", "structured"},
                               {"method", "PUT"},
                               {"secrets", std::string(webhook_key) + ", " + other_key},
                               {"concurrency", "7"},
                               {"timeout", "1500ms"},
                               {"header.X-Api-Key", "k"},
                               {"header.Authorization", "Bearer b"}})
          .value();
  EXPECT_EQ(address->mode, Mode::structured);
  EXPECT_EQ(address->method, "PUT");
  EXPECT_EQ(address->keys.size(), 2U);
  EXPECT_EQ(address->concurrency, 7U);
  EXPECT_EQ(address->timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(address->headers, (Headers{{"X-Api-Key", "k"}, {"Authorization", "Bearer b"}}));
  EXPECT_EQ(parsed("https://host/", {{"timeout", "2m"}}).value()->timeout, std::chrono::minutes(2));
}

TEST(HttpAddress, WrongSettingsAreNamed) {
  const spi::AddressSettings wrong = {{"mode", "batch"},
                                      {"method", "GET"},
                                      {"concurrency", "0"},
                                      {"concurrency", "2049"},
                                      {"concurrency", "many"},
                                      {"timeout", "10"},
                                      {"timeout", "0s"},
                                      {"timeout", "99999999m"},
                                      {"timeout", "-1s"},
                                      {"secret", ""},
                                      {"secret", "hunter2"},
                                      {"header.", "x"},
                                      {"header.Content-Length", "1"},
                                      {"header.ce-id", "1"},
                                      {"header.webhook-id", "1"},
                                      {"header.x y", "1"},
                                      {"header.x", "a\r\nb: c"},
                                      {"colour", "blue"}};
  for (const auto& setting : wrong) {
    const auto said = problem("https://host/", {setting});
    EXPECT_NE(said, "none") << setting.first << ": " << setting.second;
    EXPECT_NE(said.find(setting.first), std::string::npos) << said;
    EXPECT_EQ(said.find("hunter2"), std::string::npos) << said;
  }
  EXPECT_NE(problem("https://host/", {{"mode", "binary"}, {"mode", "binary"}}), "none");
}

}  // namespace
}  // namespace sagabox::http
