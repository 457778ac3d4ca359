#include "transports/mqtt/link.hpp"

#include <gtest/gtest.h>

namespace sagabox::mqtt {
namespace {

using Kind = spi::SendResult::Kind;

TEST(MqttReasonTest, BlamesTheMessageOnlyForWhatIsItsFault) {
  const auto kind = [](int code) { return reason_meaning(code, false).kind; };
  EXPECT_EQ(kind(0), Kind::delivered);
  for (const int code : {0x87, 0x90, 0x95, 0x99, 0x9a, 0x9b}) {
    EXPECT_EQ(kind(code), Kind::rejected) << code;
  }
  for (const int code : {0x89, 0x93, 0x96, 0x97}) EXPECT_EQ(kind(code), Kind::busy) << code;
  for (const int code : {0x88, 0x8b, 0x9c, 0x9d}) EXPECT_EQ(kind(code), Kind::unreachable) << code;
  for (const int code : {0x80, 0x83, 0x91, 0xff}) EXPECT_EQ(kind(code), Kind::failed) << code;
}

TEST(MqttReasonTest, EveryFailureSaysWhy) {
  for (int code = 0x80; code <= 0xff; ++code) {
    EXPECT_GT(reason_meaning(code, false).error.size(), 6U) << code;
  }
}

TEST(MqttReasonTest, NobodySubscribedMattersWhereTheRouteSaysSo) {
  EXPECT_EQ(reason_meaning(16, false).kind, Kind::delivered);
  EXPECT_EQ(reason_meaning(16, true).kind, Kind::rejected);
  EXPECT_EQ(reason_meaning(0, true).kind, Kind::delivered);
}

TEST(MqttOptionsTest, ComeFromAUrl) {
  const auto plain = Options::from_url("mqtt://me:secret@example.com:7000").value();
  EXPECT_EQ(plain.host, "example.com");
  EXPECT_EQ(plain.port, 7000);
  EXPECT_EQ(plain.username, "me");
  EXPECT_EQ(plain.password, "secret");
  const auto secure = Options::from_url("mqtts://example.com").value();
  EXPECT_TRUE(secure.tls.enabled);
  EXPECT_EQ(secure.port, 8883);
  EXPECT_FALSE(Options::from_url("mqtt://example.com/orders").ok());
}

TEST(MqttOptionsTest, WhatIsWrongIsNamed) {
  EXPECT_FALSE(open({.password = "secret"}).ok());
  EXPECT_FALSE(open({.in_flight_max = 100'000}).ok());
  EXPECT_FALSE(open({.keep_alive = std::chrono::seconds(1)}).ok());
}

TEST(MqttAddressTest, WildcardsAreForSubscribers) {
  const auto transport = open({}).value();
  for (const auto* text : {"mqtt:orders/+", "mqtt:orders/#", "mqtt:$SYS/load"}) {
    const auto address = transport->address(text, {});
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_NE(address.error().message.find("mqtt:orders/placed"), std::string::npos);
  }
  EXPECT_TRUE(transport->address("mqtt:orders/größe 1", {}).ok());
}

}  // namespace
}  // namespace sagabox::mqtt
