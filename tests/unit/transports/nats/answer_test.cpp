#include "transports/nats/answer.hpp"

#include <gtest/gtest.h>

namespace sagabox::nats {
namespace {

using Kind = spi::SendResult::Kind;

std::string error(int code, int number, const std::string& description = "reason") {
  return R"({"error":{"code":)" + std::to_string(code) + R"(,"err_code":)" +
         std::to_string(number) + R"(,"description":")" + description +
         R"("},"stream":"S","seq":0})";
}

TEST(NatsAnswer, AckIsDeliveredAndADuplicateToo) {
  EXPECT_TRUE(is_plain_ack(R"({"stream":"S", "seq":17})"));
  EXPECT_TRUE(is_plain_ack(R"({"stream":"S", "seq":17,"duplicate": true})"));
  EXPECT_EQ(judge_ack(R"({"seq":17,"stream":"S"})", "a.b").kind, Kind::delivered);
  EXPECT_EQ(judge_ack(R"({"stream":"error","seq":1})", "a.b").kind, Kind::delivered);
}

TEST(NatsAnswer, ErrorIsNeverAnAck) {
  EXPECT_FALSE(is_plain_ack(error(503, 10077)));
  EXPECT_FALSE(is_plain_ack(R"({"stream":"S","error":{"code":400}})"));
  EXPECT_FALSE(is_plain_ack(""));
}

TEST(NatsAnswer, WhoIsToBlameIsToldByTheNumber) {
  EXPECT_EQ(judge_ack(error(400, 10054), "a.b").kind, Kind::rejected);
  EXPECT_EQ(judge_ack(error(400, 10060), "a.b").kind, Kind::rejected);
  EXPECT_EQ(judge_ack(error(400, 10109), "a.b").kind, Kind::rejected);
  EXPECT_EQ(judge_ack(error(503, 10077), "a.b").kind, Kind::busy);
  EXPECT_EQ(judge_ack(error(503, 10023), "a.b").kind, Kind::busy);
  EXPECT_EQ(judge_ack(error(400, 10002), "a.b").kind, Kind::busy);
  EXPECT_EQ(judge_ack(error(503, 10008), "a.b").kind, Kind::unreachable);
  EXPECT_EQ(judge_ack(error(500, 10118), "a.b").kind, Kind::failed);
}

TEST(NatsAnswer, WhatPassesKillsNoMessage) {
  const auto in_process = judge_ack(error(409, 10158), "a.b");
  EXPECT_EQ(in_process.kind, Kind::later);
  EXPECT_TRUE(in_process.retry_after.has_value());
  EXPECT_EQ(judge_ack(error(429, 10167), "a.b").kind, Kind::busy);
  EXPECT_EQ(judge_ack(error(429, 1), "a.b").kind, Kind::busy);
  EXPECT_EQ(judge_ack(error(400, 10999), "a.b").kind, Kind::failed);
  EXPECT_EQ(judge_ack(error(404, 10059), "a.b").kind, Kind::failed);
  EXPECT_EQ(judge_ack(error(400, 10097), "a.b").kind, Kind::rejected);
}

TEST(NatsAnswer, SaysWhatTheServerSaid) {
  const auto result = judge_ack(error(400, 10054, "message size exceeds maximum allowed"), "a.b");
  EXPECT_EQ(result.error, "nats:a.b: JetStream says: message size exceeds maximum allowed (10054)");
}

TEST(NatsAnswer, SomebodyElsesReplyIsAFailureThatShowsNothingOfIt) {
  for (const auto* text : {"hello", "", "[1]", "{}", R"({"secret":"x"})"}) {
    const auto result = judge_ack(text, "a.b");
    EXPECT_EQ(result.kind, Kind::failed) << text;
    EXPECT_EQ(result.error.find("secret"), std::string::npos);
  }
}

TEST(NatsAnswer, NoStreamAndOneWithoutALeaderAreWaitedFor) {
  EXPECT_EQ(judge_streams(R"({"total":0,"streams":null})", "a.b").kind, Kind::unreachable);
  EXPECT_EQ(judge_streams(R"({"total":0,"streams":[]})", "a.b").kind, Kind::unreachable);
  EXPECT_EQ(judge_streams(R"({"total":1,"streams":["S"]})", "a.b").kind, Kind::unreachable);
  EXPECT_EQ(judge_streams(R"({"error":{"code":503}})", "a.b").kind, Kind::unreachable);
  EXPECT_EQ(no_jetstream().kind, Kind::unreachable);
  EXPECT_NE(unroutable("a.b").error.find("no stream takes subject a.b"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::nats
