#include "support/kafka_broker.hpp"

#include "support/kafka_cluster.hpp"
#include "support/sender.hpp"

#include <sagabox/transports/kafka.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

namespace sagabox::testing {
namespace {

using Kind = spi::SendResult::Kind;

constexpr Duration stall_max = std::chrono::seconds(3);

/// Until one is delivered; those before must blame the destination.
void deliver_at_last(Sender& sender, const std::string& address) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    const auto result = sender.send_one({}, address);
    if (result.kind == Kind::delivered) return;
    EXPECT_TRUE(result.kind == Kind::unreachable || result.kind == Kind::timed_out) << result.error;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ADD_FAILURE() << "nothing was delivered again";
}

void everything_arrives(Sender& sender, const KafkaBroker& broker) {
  constexpr std::size_t count = 2000;
  std::vector<NewMessage> drafts;
  std::set<std::string> sent;
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = std::to_string(i);
    sent.insert(number);
    drafts.push_back({.key = "key-" + std::to_string(i % 7),
                      .payload = bytes(number),
                      .tenant = "acme",
                      .headers = {{"x-shop",
                                   "B\xc3\xbc"
                                   "cher"}}});
  }
  for (const auto& result : sender.send(std::move(drafts), "kafka:orders")) {
    ASSERT_EQ(result.kind, Kind::delivered) << result.error;
  }
  const auto records = kafka_records(broker.brokers(), "orders", count);
  ASSERT_EQ(records.size(), count) << "each once";
  for (const auto& record : records) {
    EXPECT_EQ(sent.erase(record.value), 1U) << record.value;
    const auto has = [&](const std::string& name, const std::string& value) {
      return std::ranges::find(record.headers, std::pair(name, value)) != record.headers.end();
    };
    ASSERT_TRUE(has("ce_tenant", "acme") && has("ce_type", "orders.order.placed.v1") &&
                has("x-shop",
                    "B\xc3\xbc"
                    "cher"));
  }
}

void refusals(Sender& sender) {
  const auto unknown = sender.send_one({}, "kafka:no-such-topic");
  EXPECT_EQ(unknown.kind, Kind::rejected) << unknown.error;
  const auto large = sender.send_one({.payload = bytes(std::string(50'000, 'x'))}, "kafka:small");
  EXPECT_EQ(large.kind, Kind::rejected) << large.error;
  EXPECT_EQ(sender.send_one({}, "kafka:small").kind, Kind::delivered);
  const auto largest = sender.send_one(
      {.payload = bytes(std::string(kafka::Options{}.payload_bytes_max, 'x'))}, "kafka:orders");
  EXPECT_EQ(largest.kind, Kind::delivered) << largest.error;
}

/// One test, because starting a broker takes long.
TEST(KafkaBrokerTest, RealBrokerTakesRefusesStallsAndComesBack) {
  if (const auto problem = KafkaCluster::problem(); !problem.empty()) GTEST_SKIP() << problem;
  KafkaBroker broker;
  if (!broker.problem().empty()) GTEST_SKIP() << broker.problem();
  broker.create_topic("orders", 3);
  broker.create_topic("small", 1, "20000");
  const auto transport = kafka::open({.brokers = broker.brokers()}).value();
  Sender sender(*transport);
  {
    SCOPED_TRACE("running");
    everything_arrives(sender, broker);
    refusals(sender);
  }
  {
    SCOPED_TRACE("stalled");
    broker.stall();
    const auto stalled = sender.send_one({}, "kafka:orders", stall_max);
    EXPECT_EQ(stalled.kind, Kind::timed_out) << stalled.error;
    broker.go_on();
    deliver_at_last(sender, "kafka:orders");
  }
  {
    SCOPED_TRACE("stopped");
    broker.stop();
    const auto stopped = sender.send_one({}, "kafka:orders", stall_max);
    EXPECT_EQ(stopped.kind, Kind::unreachable) << stopped.error;
    broker.start();
    ASSERT_EQ(broker.problem(), "");
    deliver_at_last(sender, "kafka:orders");
  }
  const auto found = transport->findings(system_clock().boot_now() + Sender::ample);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_TRUE(std::ranges::any_of(*found, [](const std::string& finding) {
    return finding.find("min.insync.replicas is 1") != std::string::npos;
  }));
  transport->close(system_clock().boot_now());
}

}  // namespace
}  // namespace sagabox::testing
