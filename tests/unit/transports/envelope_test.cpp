#include "transports/envelope.hpp"

#include <sagabox/random.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace sagabox::transports {
namespace {

std::shared_ptr<const Message> built(NewMessage draft) {
  UlidSource ids(system_clock(), system_random());
  return std::make_shared<const Message>(
      Message::build(std::move(draft), {}, ids, system_clock()).value());
}

std::map<std::string, std::string> all_of(const spi::Parcel& parcel) {
  const Envelope envelope(parcel);
  std::map<std::string, std::string> found;
  for (const auto& [name, value] : envelope.attributes()) {
    EXPECT_TRUE(found.emplace(name, value).second) << name << " twice";
    EXPECT_LE(name.size(), 20U) << "longer than CloudEvents allows";
  }
  return found;
}

TEST(EnvelopeTest, SaysEverythingAboutTheMessage) {
  const auto table = TableName::parse("orders").value();
  const auto message =
      built({.topic = "orders.order.placed.v1",
             .key = "17",
             .payload = json("{}"),
             .tenant = "acme",
             .aggregate_type = "order",
             .aggregate_id = "o-17",
             .occurred_at = WallTime(std::chrono::milliseconds(1'700'000'000'123)),
             .trace = {.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                       .tracestate = "a=b",
                       .request_id = "r-1",
                       .correlation_id = "c-1"},
             .id = "01JC9Y3B6W8QK3T5V0ZC2N7A4F"});
  const auto found = all_of({.message = message,
                             .table = &table,
                             .sequence = Sequence{18'446'744'073'709'551'615ULL},
                             .shard = Shard{65'535},
                             .epoch = Epoch{42},
                             .attempt = 3});
  const std::map<std::string, std::string> expected = {
      {"specversion", "1.0"},
      {"id", "01JC9Y3B6W8QK3T5V0ZC2N7A4F"},
      {"source", "/sagabox/orders"},
      {"type", "orders.order.placed.v1"},
      {"time", "2023-11-14T22:13:20.123Z"},
      {"subject", "o-17"},
      {"partitionkey", "17"},
      {"tenant", "acme"},
      {"aggregatetype", "order"},
      {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
      {"tracestate", "a=b"},
      {"requestid", "r-1"},
      {"correlationid", "c-1"},
      {"outboxsequence", "18446744073709551615"},
      {"outboxshard", "65535"},
      {"outboxepoch", "42"},
      {"outboxattempt", "3"}};
  EXPECT_EQ(found, expected);
}

TEST(EnvelopeTest, WhatTheMessageDoesNotHaveIsLeftOut) {
  const auto table = TableName::parse("orders").value();
  const auto found =
      all_of({.message = built({.topic = "t", .payload = json("1")}), .table = &table});
  for (const auto* name :
       {"subject", "partitionkey", "aggregatetype", "traceparent", "requestid"}) {
    EXPECT_FALSE(found.contains(name)) << name;
  }
}

TEST(EnvelopeTest, SourceOfItsOwnStandsForTheTableAndItsNumbers) {
  const auto table = TableName::parse("hub").value();
  spi::Parcel parcel{.message = built({.topic = "t", .payload = json("1")}), .table = &table};
  parcel.sequence = Sequence{7};
  parcel.source = "shop";
  const auto found = all_of(parcel);
  EXPECT_EQ(found.at("source"), "shop");
  for (const auto& [name, value] : found) EXPECT_FALSE(name.starts_with("outbox")) << name;
}

TEST(EnvelopeTest, HeadersThatWouldSpeakForTheEnvelopeDoNotTravel) {
  for (const auto* name : {"ce-id", "CE_Type", "cloudEvents:id", "Content-Type", "traceparent",
                           "X-Request-ID", "Webhook-Signature", "Authorization", "Host",
                           "nats-msg-id", "content-length", "Transfer-Encoding"}) {
    EXPECT_FALSE(may_travel(name)) << name;
  }
  for (const auto* name : {"x-shop", "cell", "c", "hostname"})
    EXPECT_TRUE(may_travel(name)) << name;
}

}  // namespace
}  // namespace sagabox::transports
