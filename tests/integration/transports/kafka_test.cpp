#include "support/kafka_cluster.hpp"
#include "support/sender.hpp"

#include <sagabox/transports/kafka.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace sagabox::testing {
namespace {

using Kind = spi::SendResult::Kind;

constexpr std::int16_t produce_request = 0;
constexpr Duration slow_send_max = std::chrono::milliseconds(1500);

/// On librdkafka's mock cluster.
class KafkaMockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto problem = KafkaCluster::problem(); !problem.empty()) GTEST_SKIP() << problem;
    open({});
  }

  void open(std::vector<std::pair<std::string, std::string>> properties) {
    if (transport_) transport_->close(system_clock().boot_now());
    transport_ =
        kafka::open({.brokers = cluster_.brokers(), .properties = std::move(properties)}).value();
    sender_ = std::make_unique<Sender>(*transport_);
  }

  void TearDown() override {
    if (transport_) transport_->close(system_clock().boot_now());
  }

  void topic(const char* name, int partitions = 1) {
    rd_kafka_mock_topic_create(cluster_.mock(), name, partitions, 1);
  }

  template <class... Errors>
  void fail_next(Errors... errors) {
    rd_kafka_mock_push_request_errors(cluster_.mock(), produce_request, sizeof...(errors),
                                      errors...);
  }

  KafkaCluster cluster_{2};
  std::unique_ptr<spi::Transport> transport_;
  std::unique_ptr<Sender> sender_;
};

TEST_F(KafkaMockTest, KeyIsTheDispatchKeyOrTheId) {
  topic("keys");
  EXPECT_EQ(sender_->send_one({.key = "customer-17"}, "kafka:keys").kind, Kind::delivered);
  EXPECT_EQ(sender_->send_one({.id = "id-17"}, "kafka:keys").kind, Kind::delivered);
  const auto records = cluster_.records("keys", 2);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].key, "customer-17");
  EXPECT_EQ(records[1].key, "id-17");
}

TEST_F(KafkaMockTest, OneKeyGoesToOnePartition) {
  topic("spread", 4);
  std::vector<NewMessage> drafts(40, NewMessage{.key = "same"});
  for (const auto& result : sender_->send(std::move(drafts), "kafka:spread")) {
    EXPECT_EQ(result.kind, Kind::delivered) << result.error;
  }
  const auto records = cluster_.records("spread", 40);
  ASSERT_EQ(records.size(), 40U);
  for (const auto& record : records) EXPECT_EQ(record.partition, records[0].partition);
}

TEST_F(KafkaMockTest, WhatTheBrokerRefusesIsRejected) {
  topic("refused");
  for (const auto error : {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_POLICY_VIOLATION,
                           RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED}) {
    fail_next(error);
    const auto result = sender_->send_one({}, "kafka:refused");
    EXPECT_EQ(result.kind, Kind::rejected) << rd_kafka_err2name(error) << ": " << result.error;
  }
  // librdkafka remembers the last one until it has looked at the topic again.
  auto next = sender_->send_one({}, "kafka:refused");
  for (int i = 0; i < 100 && next.kind != Kind::delivered; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    next = sender_->send_one({}, "kafka:refused");
  }
  EXPECT_EQ(next.kind, Kind::delivered) << next.error;
}

TEST_F(KafkaMockTest, BatchThatIsTooLargeKillsNoneOfItsMessages) {
  topic("batch");
  open({{"linger.ms", "500"}});
  fail_next(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
  for (const auto& result : sender_->send({{}, {}, {}}, "kafka:batch")) {
    EXPECT_EQ(result.kind, Kind::failed) << result.error;
  }
}

TEST_F(KafkaMockTest, WhatPassesIsTriedAgainAndStoredOnce) {
  topic("again");
  fail_next(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR__TRANSPORT,
            RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
  const auto result = sender_->send_one({}, "kafka:again");
  EXPECT_EQ(result.kind, Kind::delivered) << result.error;
  EXPECT_EQ(cluster_.records("again", 1).size(), 1U);
}

TEST_F(KafkaMockTest, ProducerIsMadeAnewAfterAFatalError) {
  topic("fatal");
  EXPECT_EQ(sender_->send_one({}, "kafka:fatal").kind, Kind::delivered);
  fail_next(RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
  const auto broken = sender_->send_one({}, "kafka:fatal");
  EXPECT_TRUE(broken.kind == Kind::unreachable || broken.kind == Kind::delivered) << broken.error;
  for (int i = 0; i < 3; ++i) {
    const auto next = sender_->send_one({}, "kafka:fatal");
    EXPECT_EQ(next.kind, Kind::delivered) << next.error;
  }
}

TEST_F(KafkaMockTest, PartitionWithoutALeaderIsUnreachableAndNeverArrivesLater) {
  topic("headless");
  rd_kafka_mock_partition_set_leader(cluster_.mock(), "headless", 0, -1);
  const auto result = sender_->send_one({}, "kafka:headless", slow_send_max);
  EXPECT_EQ(result.kind, Kind::unreachable) << result.error;
  rd_kafka_mock_partition_set_leader(cluster_.mock(), "headless", 0, 1);
  EXPECT_EQ(sender_->send_one({.id = "the-next"}, "kafka:headless").kind, Kind::delivered);
  const auto records = cluster_.records("headless", 1);
  ASSERT_EQ(records.size(), 1U) << "what had its result must not be sent later";
  EXPECT_EQ(records[0].key, "the-next");
}

TEST_F(KafkaMockTest, DeadlineOfOneOnTheWireEndsItsProducerAndTheNextIsDelivered) {
  topic("slow");
  EXPECT_EQ(sender_->send_one({}, "kafka:slow").kind, Kind::delivered);
  constexpr int long_time = 60'000;
  for (const int broker : {1, 2}) {
    rd_kafka_mock_broker_push_request_error_rtts(cluster_.mock(), broker, produce_request, 1,
                                                 RD_KAFKA_RESP_ERR_NO_ERROR, long_time);
  }
  const auto slow = sender_->send_one({}, "kafka:slow", slow_send_max);
  EXPECT_EQ(slow.kind, Kind::timed_out) << slow.error;
  rd_kafka_mock_clear_request_errors(cluster_.mock(), produce_request);
  const auto next = sender_->send_one({}, "kafka:slow");
  EXPECT_EQ(next.kind, Kind::delivered) << next.error;
}

TEST_F(KafkaMockTest, MessageLargerThanItsPropertyAllowsIsRejectedAtOnce) {
  open({{"message.max.bytes", "20000"}});
  topic("small");
  const auto large = sender_->send_one({.payload = bytes(std::string(30'000, 'x'))}, "kafka:small");
  EXPECT_EQ(large.kind, Kind::rejected) << large.error;
  EXPECT_EQ(sender_->send_one({}, "kafka:small").kind, Kind::delivered);
}

TEST_F(KafkaMockTest, OutageSaysWhichBrokerCannotBeReached) {
  topic("away");
  rd_kafka_mock_broker_set_down(cluster_.mock(), -1);
  const auto result = sender_->send_one({}, "kafka:away");
  EXPECT_EQ(result.kind, Kind::unreachable);
  EXPECT_NE(result.error.find("127.0.0.1"), std::string::npos) << result.error;
}

TEST_F(KafkaMockTest, FindingsNameWhatMayLoseMessages) {
  const KafkaCluster alone(1);
  rd_kafka_mock_topic_create(alone.mock(), "single", 3, 1);
  rd_kafka_mock_topic_set_error(alone.mock(), "missing", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  const auto transport = kafka::open({.brokers = alone.brokers()}).value();
  ASSERT_TRUE(transport->address("kafka:single", {}).ok());
  ASSERT_TRUE(transport->address("kafka:missing", {}).ok());
  const auto found = transport->findings(system_clock().boot_now() + Sender::ample);
  ASSERT_TRUE(found.ok()) << found.error().text();
  const auto says = [&](const std::string& who, const std::string& what) {
    return std::ranges::any_of(*found, [&](const std::string& finding) {
      return finding.find(who) != std::string::npos && finding.find(what) != std::string::npos;
    });
  };
  EXPECT_TRUE(says("single", "3 of 3 partitions have one replica"));
  EXPECT_TRUE(says("missing", "create it"));
}

}  // namespace
}  // namespace sagabox::testing
