#include "observe/otlp_json.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace sagabox {
namespace {

TraceSpan example() {
  TraceSpan span;
  span.trace = {0x5b, 0x8e, 0xff, 0xf7, 0x98, 0x03, 0x81, 0x03,
                0xd2, 0x69, 0xb6, 0x33, 0x81, 0x3f, 0xc6, 0x0c};
  span.id = {0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x74};
  span.parent = {0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x73};
  span.name = "deliver orders.order.placed.v1";
  span.started = WallTime(std::chrono::microseconds(1'544'712'660'300'000));
  span.lasted = std::chrono::nanoseconds(1'000'000'007);
  span.attributes = {{"sagabox.table", "orders"}, {"sagabox.attempt", std::int64_t{2}}};
  return span;
}

boost::json::object encoded(const TraceSpan& span, const Headers& resource = {}) {
  const auto body = otlp_json(resource, std::span(&span, 1));
  const auto value = boost::json::parse(body);
  EXPECT_EQ(value.as_object().size(), 1U) << body;
  return value.at("resourceSpans").at(0).as_object();
}

boost::json::object span_of(const boost::json::object& of_resource) {
  return of_resource.at("scopeSpans").at(0).at("spans").at(0).as_object();
}

// The names and forms are those of the specification's example, opentelemetry-proto's
// examples/trace.json: ids in hexadecimal, 64-bit numbers as texts, enumerations as numbers.
TEST(OtlpJson, HasTheFieldsOfTheProtocol) {
  const auto span = span_of(encoded(example()));
  EXPECT_EQ(span.at("traceId"), "5b8efff798038103d269b633813fc60c");
  EXPECT_EQ(span.at("spanId"), "eee19b7ec3c1b174");
  EXPECT_EQ(span.at("parentSpanId"), "eee19b7ec3c1b173");
  EXPECT_EQ(span.at("name"), "deliver orders.order.placed.v1");
  EXPECT_EQ(span.at("kind"), 4);
  EXPECT_EQ(span.at("startTimeUnixNano"), "1544712660300000000");
  EXPECT_EQ(span.at("endTimeUnixNano"), "1544712661300000007");
  EXPECT_EQ(span.at("attributes"),
            boost::json::parse(R"([{"key":"sagabox.table","value":{"stringValue":"orders"}},
                            {"key":"sagabox.attempt","value":{"intValue":"2"}}])"));
  EXPECT_FALSE(span.contains("status"));
  EXPECT_FALSE(span.contains("traceState"));
}

TEST(OtlpJson, SpanWithoutAParentHasNone) {
  auto span = example();
  span.parent = {};
  EXPECT_FALSE(span_of(encoded(span)).contains("parentSpanId"));
}

TEST(OtlpJson, FailureIsAStatusWithItsReason) {
  auto span = example();
  span.failed = true;
  span.error = "503 from hooks.example.com";
  EXPECT_EQ(span_of(encoded(span)).at("status"),
            boost::json::parse(R"({"code":2,"message":"503 from hooks.example.com"})"));
}

TEST(OtlpJson, ResourceAndScopeSayWhoseSpansTheyAre) {
  const auto of_resource = encoded(example(), {{"service.name", "relay"}});
  EXPECT_EQ(of_resource.at("resource").at("attributes"),
            boost::json::parse(R"([{"key":"service.name","value":{"stringValue":"relay"}}])"));
  EXPECT_EQ(of_resource.at("scopeSpans").at(0).at("scope").at("name"), "sagabox");
}

TEST(OtlpJson, TextThatIsNoUtf8DoesNotSpoilTheRequest) {
  auto span = example();
  span.name = "a \xff b";
  span.tracestate = "vendor=\x01";
  const auto found = span_of(encoded(span));
  EXPECT_EQ(found.at("name").as_string().find('\xff'), boost::json::string::npos);
  EXPECT_TRUE(found.at("name").as_string().starts_with("a "));
}

TEST(OtlpJson, ManySpansAreOneRequest) {
  const std::vector<TraceSpan> spans(3, example());
  const auto value = boost::json::parse(otlp_json({}, spans));
  EXPECT_EQ(value.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").as_array().size(),
            3U);
}

TEST(OtlpRejected, IsReadInEitherForm) {
  EXPECT_EQ(otlp_rejected(R"({"partialSuccess":{"rejectedSpans":"7","errorMessage":"x"}})"), 7U);
  EXPECT_EQ(otlp_rejected(R"({"partialSuccess":{"rejectedSpans":7}})"), 7U);
}

TEST(OtlpRejected, WhatSaysNothingRejectsNothing) {
  for (const auto* answer :
       {"", "{}", "ok", "[]", R"({"partialSuccess":{}})", R"({"partialSuccess":null})",
        R"({"partialSuccess":{"rejectedSpans":-1}})",
        R"({"partialSuccess":{"rejectedSpans":[]}})"}) {
    EXPECT_EQ(otlp_rejected(answer), 0U) << answer;
  }
}

}  // namespace
}  // namespace sagabox
