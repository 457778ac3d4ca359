#include "transports/kafka/verdict.hpp"

#include "transports/kafka/address.hpp"
#include "transports/kafka/client.hpp"

#include <gtest/gtest.h>

namespace sagabox::kafka {
namespace {

using Kind = spi::SendResult::Kind;

TEST(KafkaVerdict, WhoIsToBlameIsToldByTheError) {
  const auto kind = [](rd_kafka_resp_err_t error) { return judge(error, {}, "t").kind; };
  for (const auto error :
       {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
        RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED}) {
    EXPECT_EQ(kind(error), Kind::rejected) << rd_kafka_err2name(error);
  }
  for (const auto error :
       {RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
        RD_KAFKA_RESP_ERR__RESOLVE, RD_KAFKA_RESP_ERR__SSL, RD_KAFKA_RESP_ERR__AUTHENTICATION,
        RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
        RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER}) {
    EXPECT_EQ(kind(error), Kind::unreachable) << rd_kafka_err2name(error);
  }
  EXPECT_EQ(kind(RD_KAFKA_RESP_ERR__QUEUE_FULL), Kind::busy);
  EXPECT_EQ(kind(RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED), Kind::busy);
  EXPECT_EQ(kind(RD_KAFKA_RESP_ERR_UNKNOWN), Kind::failed);
}

TEST(KafkaVerdict, WhatIsSaidOfABatchRejectsNoneOfSeveral) {
  for (const auto error : {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_INVALID_RECORD,
                           RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE}) {
    EXPECT_EQ(judge(error, {}, "t").kind, Kind::failed) << rd_kafka_err2name(error);
    EXPECT_EQ(judge(error, {.alone = true}, "t").kind, Kind::rejected) << rd_kafka_err2name(error);
  }
}

TEST(KafkaVerdict, TimeOutOfWhatNeverLeftIsUnreachable) {
  EXPECT_EQ(judge(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, {}, "t").kind, Kind::unreachable);
  const auto doubtful = judge(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, {.may_have_arrived = true}, "t");
  EXPECT_EQ(doubtful.kind, Kind::timed_out);
  EXPECT_NE(doubtful.error.find("may have arrived"), std::string::npos) << doubtful.error;
}

TEST(KafkaVerdict, SaysWhatToDo) {
  EXPECT_EQ(judge(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, {}, "orders").error,
            "kafka:orders: Broker: Unknown topic or partition; create the topic");
}

TEST(KafkaAddress, TopicIsWhatFollowsTheScheme) {
  EXPECT_EQ(KafkaTopic::parse("kafka:orders.v1_a-B", {}).value()->name(), "orders.v1_a-B");
  for (const auto& text :
       {std::string(), std::string("orders"), std::string("kafka:"), std::string("kafka:a b"),
        std::string("kafka:."), std::string("kafka:.."), std::string("kafka:a/b"),
        "kafka:" + std::string(250, 'x')}) {
    const auto topic = KafkaTopic::parse(text, {});
    ASSERT_FALSE(topic.ok()) << text;
    EXPECT_EQ(topic.error().code, Code::config_invalid);
    EXPECT_NE(topic.error().message.find("kafka:orders"), std::string::npos)
        << topic.error().message;
  }
}

TEST(KafkaProperties, WrongOnesAreNamedAndTheirValuesNeverShown) {
  const auto refused = [](const std::string& name, const std::string& value) {
    const auto opened = open({.properties = {{name, value}}});
    EXPECT_FALSE(opened.ok()) << name;
    if (opened.ok()) return;
    EXPECT_EQ(opened.error().code, Code::config_invalid);
    EXPECT_NE(opened.error().message.find(name), std::string::npos) << opened.error().message;
    EXPECT_EQ(opened.error().message.find(value), std::string::npos) << opened.error().message;
  };
  refused("no.such.property", "hush-17");
  refused("linger.ms", "hush-17");
  refused("security.protocol", "hush-17");
  refused("acks", "hush-1");
  refused("enable.idempotence", "hush-false");
  refused("transactional.id", "hush-id");
  refused("plugin.library.paths", "hush.so");
  EXPECT_FALSE(open({.brokers = ""}).ok());
  EXPECT_FALSE(open({.in_flight_max = 0}).ok());
}

TEST(KafkaProperties, SecretsAreTakenOutOfWhatLibrdkafkaSays) {
  const Options options{.properties = {{"sasl.password", "hush-17"}, {"client.id", "shop"}}};
  EXPECT_EQ(hushed("shop cannot log in with hush-17!", options), "shop cannot log in with ***!");
}

}  // namespace
}  // namespace sagabox::kafka
