#include "support/nats_server.hpp"
#include "support/outside_program.hpp"
#include "support/sender.hpp"

#include <sagabox/transports/nats.hpp>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <nats/nats.h>

namespace sagabox::testing {
namespace {

/// npm's `nats` looks at what arrived.
TEST(NatsOutside, NpmsNatsReadsPayloadAndHeaders) {
  const NatsServer server;
  if (!server.problem().empty()) GTEST_SKIP() << server.problem();
  if (const auto problem = OutsideProgram::problem(); !problem.empty()) GTEST_SKIP() << problem;
  natsConnection* connection = nullptr;
  jsCtx* context = nullptr;
  ASSERT_EQ(natsConnection_ConnectTo(&connection, server.url().c_str()), NATS_OK);
  ASSERT_EQ(natsConnection_JetStream(&context, connection, nullptr), NATS_OK);
  const char* subjects[] = {"orders.>"};
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  config.Name = "ORDERS";
  config.Subjects = subjects;
  config.SubjectsLen = 1;
  ASSERT_EQ(js_AddStream(nullptr, context, &config, nullptr, nullptr), NATS_OK);
  jsCtx_Destroy(context);
  natsConnection_Destroy(connection);

  const auto transport = nats::open({.servers = {server.url()}}).value();
  Sender sender(*transport);
  const auto result = sender.send_one(
      {.key = "customer 17",
       .payload = bytes(std::string("\0\xff\r\n", 4)),
       .tenant = "acme",
       .headers = {{"x-shop",
                    "B\xc3\xbc"
                    "cher: 50%"},
                   {"x-empty", ""},
                   {"x-last", "yes"}},
       .trace = {.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
       .id = "01JC9Y3B6W8QK3T5V0ZC2N7A4F"},
      "nats:orders.new");
  ASSERT_EQ(result.kind, spi::SendResult::Kind::delivered) << result.error;

  OutsideProgram reader({"nats_reader.mjs", server.url(), "ORDERS", "1"});
  const auto said = reader.line();
  ASSERT_FALSE(said.empty()) << "the reader said nothing";
  const auto found = boost::json::parse(said).as_object();
  EXPECT_EQ(found.at("subject").as_string(), "orders.new");
  EXPECT_EQ(found.at("payload").as_string(), "AP8NCg==");
  const auto& headers = found.at("headers").as_object();
  const auto header = [&](std::string_view name) {
    const auto* const value = headers.if_contains(name);
    return value == nullptr ? std::string("missing") : std::string(value->as_string());
  };
  EXPECT_EQ(header("Nats-Msg-Id"), "01JC9Y3B6W8QK3T5V0ZC2N7A4F orders.new acme");
  EXPECT_EQ(header("ce-id"), "01JC9Y3B6W8QK3T5V0ZC2N7A4F");
  EXPECT_EQ(header("ce-type"), "orders.order.placed.v1");
  EXPECT_EQ(header("ce-tenant"), "acme");
  EXPECT_EQ(header("ce-partitionkey"), "customer%2017");
  EXPECT_EQ(header("content-type"), "application/octet-stream");
  EXPECT_EQ(header("traceparent"), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  EXPECT_EQ(header("x-shop"),
            "B\xc3\xbc"
            "cher: 50%");
  EXPECT_EQ(header("x-empty"), "");
  EXPECT_EQ(header("x-last"), "yes");
}

}  // namespace
}  // namespace sagabox::testing
