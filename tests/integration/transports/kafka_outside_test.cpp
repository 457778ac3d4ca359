#include "support/kafka_cluster.hpp"
#include "support/outside_program.hpp"
#include "support/sender.hpp"

#include <sagabox/transports/kafka.hpp>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace sagabox::testing {
namespace {

/// npm's `kafkajs` looks at what arrived in librdkafka's mock cluster.
TEST(KafkaOutside, KafkajsReadsKeyPayloadAndHeaders) {
  if (const auto problem = OutsideProgram::problem(); !problem.empty()) GTEST_SKIP() << problem;
  if (const auto problem = KafkaCluster::problem(); !problem.empty()) GTEST_SKIP() << problem;
  const KafkaCluster cluster;
  rd_kafka_mock_topic_create(cluster.mock(), "orders", 1, 1);
  const auto transport = kafka::open({.brokers = cluster.brokers()}).value();
  Sender sender(*transport);
  const auto result = sender.send_one(
      {.key = "customer 17",
       .payload = bytes(std::string("\0\xff\r\n", 4)),
       .tenant = "acme",
       .headers = {{"x-shop",
                    "B\xc3\xbc"
                    "cher: 50%"},
                   {"x-empty", ""}},
       .trace = {.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
       .id = "01JC9Y3B6W8QK3T5V0ZC2N7A4F"},
      "kafka:orders");
  ASSERT_EQ(result.kind, spi::SendResult::Kind::delivered) << result.error;

  OutsideProgram reader({"kafka_reader.mjs", cluster.brokers(), "orders", "1"});
  const auto said = reader.line();
  ASSERT_FALSE(said.empty()) << "the reader said nothing";
  const auto found = boost::json::parse(said).as_object();
  EXPECT_EQ(found.at("key").as_string(), "customer 17");
  EXPECT_EQ(found.at("payload").as_string(), "AP8NCg==");
  const auto& headers = found.at("headers").as_object();
  const auto header = [&](std::string_view name) {
    const auto* const value = headers.if_contains(name);
    return value == nullptr ? std::string("missing") : std::string(value->as_string());
  };
  EXPECT_EQ(header("ce_id"), "01JC9Y3B6W8QK3T5V0ZC2N7A4F");
  EXPECT_EQ(header("ce_type"), "orders.order.placed.v1");
  EXPECT_EQ(header("ce_tenant"), "acme");
  EXPECT_EQ(header("ce_partitionkey"), "customer 17");
  EXPECT_EQ(header("content-type"), "application/octet-stream");
  EXPECT_EQ(header("traceparent"), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  EXPECT_EQ(header("x-shop"),
            "B\xc3\xbc"
            "cher: 50%");
  EXPECT_EQ(header("x-empty"), "");
}

}  // namespace
}  // namespace sagabox::testing
