#include "transports/server_url.hpp"

#include <gtest/gtest.h>

namespace sagabox::transports {
namespace {

Result<ServerUrl> parsed(std::string_view text) {
  return ServerUrl::parse(text, {"redis", "rediss"}, "redis://host:6379/0");
}

TEST(ServerUrlTest, TakesAllPartsApart) {
  const auto url = parsed("rediss://me:se%40cret%2F@db.example.com:7000/3").value();
  EXPECT_EQ(url.scheme, "rediss");
  EXPECT_EQ(url.user, "me");
  EXPECT_EQ(url.password, "se@cret/");
  EXPECT_EQ(url.host, "db.example.com");
  EXPECT_EQ(url.port, 7000);
  EXPECT_TRUE(url.has_path);
  EXPECT_EQ(url.path, "3");
}

TEST(ServerUrlTest, WhatIsNotThereIsEmpty) {
  const auto url = parsed("redis://host").value();
  EXPECT_EQ(url.host, "host");
  EXPECT_EQ(url.port, 0);
  EXPECT_FALSE(url.has_path);
  EXPECT_EQ(url.user + url.password + url.path, "");
  EXPECT_EQ(parsed("redis://:secret@host").value().password, "secret");
  EXPECT_TRUE(parsed("redis://host/").value().has_path);
}

TEST(ServerUrlTest, AnIpv6AddressStandsInBrackets) {
  const auto url = parsed("redis://[::1]:6380/").value();
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.port, 6380);
}

TEST(ServerUrlTest, WhatIsWrongIsSaidWithoutThePassword) {
  for (const auto* text :
       {"host:6379", "http://me:hunter2@host", "redis://me:hunter2@host:0",
        "redis://me:hunter2@host:99999", "redis://me:hunter2@host:x", "redis://me:hunter2%4@host",
        "redis://me:hunter2%zz@host", "redis://me:hunter2@[::1", "redis://me:hunter2@[::1]x",
        "redis://me:hunter2@host/%", "redis://me:hunter2@host/?timeout=1"}) {
    const auto url = parsed(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.error().code, Code::config_invalid);
    EXPECT_NE(url.error().message.find("redis://host:6379/0"), std::string::npos);
    EXPECT_EQ(url.error().message.find("hunter2"), std::string::npos) << url.error().message;
  }
}

}  // namespace
}  // namespace sagabox::transports
