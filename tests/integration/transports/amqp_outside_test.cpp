#include "support/outside_program.hpp"
#include "support/parcels.hpp"
#include "support/rabbitmq_server.hpp"
#include "transports/envelope.hpp"

#include <sagabox/transports/amqp.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sagabox::amqp {
namespace {

using testing::OutsideProgram;
using testing::RabbitmqServer;

std::string text(const boost::json::object& object, std::string_view name) {
  const auto* const found = object.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : "not a text";
}

TEST(RabbitMqOutside, AmqplibReadsAllThatWeSent) {
  const auto& server = RabbitmqServer::shared();
  if (!server.problem().empty()) GTEST_SKIP() << server.problem();
  if (const auto problem = OutsideProgram::problem(); !problem.empty()) GTEST_SKIP() << problem;
  const auto queue = "outside-" + std::to_string(getpid());
  OutsideProgram receiver({"amqp_receiver.mjs", std::to_string(server.port()), queue});
  ASSERT_EQ(receiver.line(), R"({"ready":true})");

  const auto transport = open({.port = server.port()}).value();
  testing::Parcels parcels(*transport);
  const auto sent = parcels.parcel(parcels.address("amqp:/" + queue),
                                   {.topic = "orders.order.placed.v1",
                                    .key = "customer-17",
                                    .payload = bytes(std::string("a\0\xff", 3)),
                                    .tenant = "Größe 日本",
                                    .content_type = "application/x-order",
                                    .headers = {{"x-shop", "Bücher & Co"}, {"x-empty", ""}},
                                    .trace = {.request_id = "r-17"}});
  const auto results = parcels.send({sent});
  ASSERT_EQ(results[0].kind, spi::SendResult::Kind::delivered) << results[0].error;

  const auto said = boost::json::parse(receiver.line()).as_object();
  EXPECT_EQ(text(said, "payload"), "YQD/");
  const auto& properties = said.at("properties").as_object();
  EXPECT_EQ(text(properties, "contentType"), "application/x-order");
  EXPECT_EQ(text(properties, "messageId"), sent.message->id().view());
  EXPECT_EQ(text(properties, "type"), "orders.order.placed.v1");
  EXPECT_EQ(properties.at("deliveryMode").to_number<int>(), 2);
  const auto& headers = properties.at("headers").as_object();
  const transports::Envelope envelope(sent);
  for (const auto& [name, value] : envelope.attributes()) {
    EXPECT_EQ(text(headers, "cloudEvents:" + std::string(name)), value) << name;
  }
  EXPECT_EQ(text(headers, "x-shop"), "Bücher & Co");
  EXPECT_EQ(text(headers, "x-empty"), "");
  EXPECT_EQ(headers.size(), envelope.attributes().size() + 2);
}

}  // namespace
}  // namespace sagabox::amqp
