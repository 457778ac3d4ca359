#include "conformance/transports/transport_conformance.hpp"
#include "transports/envelope.hpp"

#include <algorithm>
#include <map>

namespace sagabox::testing {
namespace {

using Named = std::map<std::string, std::string>;

Named named(const Headers& headers) {
  Named all;
  for (const auto& [name, value] : headers) {
    EXPECT_TRUE(all.emplace(name, value).second) << name << " is there twice";
  }
  return all;
}

/// Protocols may change the case of a name, and nothing else.
Named in_lower_case(const Headers& headers) {
  Headers lower(headers);
  for (auto& [name, value] : lower) {
    std::ranges::transform(name, name.begin(), [](unsigned char c) {
      return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    });
  }
  return named(lower);
}

const TraceContext trace{.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                         .tracestate = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7",
                         .request_id = "request 17/é",
                         .correlation_id = "correlation-17"};

TEST_P(TransportConformance, EverythingAboutTheMessageArrives) {
  const auto to = fresh_target();
  const auto message = build({.topic = "orders.order.placed.v1",
                              .key = "customer-17",
                              .tenant = "acme",
                              .aggregate_type = "order",
                              .aggregate_id = "o-17",
                              .trace = trace});
  const auto one = parcel(message, to);
  send({one});
  ASSERT_TRUE(tray().wait_for_all()) << tray().summary();
  const auto arrived = far_side().arrived(to.text, 1);
  ASSERT_EQ(arrived.size(), 1U) << tray().summary();

  const auto found = named(arrived[0].attributes);
  const transports::Envelope envelope(one);
  for (const auto& [name, value] : envelope.attributes()) {
    const auto place = found.find(std::string(name));
    ASSERT_NE(place, found.end()) << name << " did not arrive";
    EXPECT_EQ(place->second, value) << name;
  }
  EXPECT_EQ(found.at("id"), message->id().view());
  EXPECT_EQ(found.at("type"), "orders.order.placed.v1");
  EXPECT_EQ(found.at("source"), "/sagabox/orders");
  EXPECT_EQ(found.at("tenant"), "acme");
  EXPECT_EQ(found.at("outboxsequence"), std::to_string(one.sequence.value));
  EXPECT_EQ(found.at("outboxattempt"), "2");
  EXPECT_EQ(found.at("outboxepoch"), "3");
}

TEST_P(TransportConformance, TraceContextAndRequestIdArriveUnchanged) {
  const auto arrived = arrival_of(build({.trace = trace}));
  EXPECT_EQ(arrived.attribute("traceparent"), trace.traceparent);
  EXPECT_EQ(arrived.attribute("tracestate"), trace.tracestate);
  EXPECT_EQ(arrived.attribute("requestid"), trace.request_id);
  EXPECT_EQ(arrived.attribute("correlationid"), trace.correlation_id);
}

TEST_P(TransportConformance, AttributesMayHaveAnyPrintableCharacter) {
  const auto odd = std::string(R"(Größe 50% "q" \ , ; = 日本 𝄞 %41)");
  const auto arrived =
      arrival_of(build({.key = odd, .tenant = odd, .aggregate_type = odd, .aggregate_id = odd}));
  for (const auto* name : {"partitionkey", "tenant", "aggregatetype", "subject"}) {
    EXPECT_EQ(arrived.attribute(name), odd) << name;
  }
}

TEST_P(TransportConformance, WhatAMessageDoesNotHaveDoesNotArrive) {
  const auto found = named(arrival_of(build({})).attributes);
  for (const auto* name : {"subject", "partitionkey", "aggregatetype", "traceparent", "tracestate",
                           "requestid", "correlationid"}) {
    EXPECT_FALSE(found.contains(name)) << name;
  }
}

TEST_P(TransportConformance, HeadersOfTheAuthorArrive) {
  if (!far_side().carries_headers()) GTEST_SKIP() << name() << " carries no headers";
  const Headers headers{{"x-shop", "Bücher & Co; \"50%\" = 日本 %41"},
                        {"x-empty", ""},
                        {"X-Long", std::string(3000, 'v')},
                        {"x-colon", "a: b"}};
  const auto found = in_lower_case(arrival_of(build({.headers = headers})).headers);
  EXPECT_EQ(found, in_lower_case(headers));
}

TEST_P(TransportConformance, HeadersThatWouldSpeakForTheEnvelopeStayBehind) {
  const std::string forged = "forged";
  const auto message = build({.content_type = "application/vnd.order+json",
                              .headers = {{"ce-id", forged},
                                          {"ce_tenant", forged},
                                          {"cloudEvents:type", forged},
                                          {"Traceparent", forged},
                                          {"X-Request-Id", forged},
                                          {"Content-Type", forged},
                                          {"Nats-Msg-Id", forged},
                                          {"Authorization", forged},
                                          {"x-harmless", "yes"}},
                              .trace = trace});
  const auto arrived = arrival_of(message);
  EXPECT_EQ(arrived.attribute("id"), message->id().view());
  EXPECT_EQ(arrived.attribute("tenant"), message->tenant());
  EXPECT_EQ(arrived.attribute("traceparent"), trace.traceparent);
  EXPECT_EQ(arrived.attribute("requestid"), trace.request_id);
  EXPECT_EQ(arrived.content_type, "application/vnd.order+json");
  for (const auto& headers : {arrived.attributes, arrived.headers}) {
    for (const auto& [name, value] : headers) EXPECT_NE(value, forged) << name;
  }
  if (far_side().carries_headers()) {
    EXPECT_EQ(in_lower_case(arrived.headers), (Named{{"x-harmless", "yes"}}));
  }
}

}  // namespace
}  // namespace sagabox::testing
