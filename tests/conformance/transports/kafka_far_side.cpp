#include "conformance/transports/transport_conformance.hpp"
#include "support/kafka_cluster.hpp"
#include "transports/envelope.hpp"

#include <sagabox/transports/kafka.hpp>

namespace sagabox::testing {
namespace {

constexpr std::string_view kafka_scheme = "kafka:";

Arrived arrived_in_record(const KafkaCluster::Record& record) {
  Arrived arrived{.payload = record.value};
  EXPECT_TRUE(record.has_value) << "a message without a value deletes its key";
  for (const auto& [name, value] : record.headers) {
    if (name.starts_with("ce_")) {
      arrived.attributes.emplace_back(name.substr(3), value);
    } else if (name == "content-type") {
      arrived.content_type = value;
    } else if (transports::may_travel(name)) {
      arrived.headers.emplace_back(name, value);
    }
  }
  return arrived;
}

class KafkaFarSide final : public FarSide {
 public:
  [[nodiscard]] std::unique_ptr<spi::Transport> open() override {
    // A topic that is not there is refused the sooner.
    return kafka::open({.brokers = cluster_.brokers(),
                        .properties = {{"topic.metadata.propagation.max.ms", "2000"}}})
        .value();
  }

  [[nodiscard]] std::string problem() const override { return KafkaCluster::problem(); }

  [[nodiscard]] std::string fresh_address() override {
    const auto topic = "topic-" + std::to_string(++addresses_);
    rd_kafka_mock_topic_create(cluster_.mock(), topic.c_str(), 3, 1);
    return std::string(kafka_scheme) + topic;
  }

  [[nodiscard]] std::vector<Arrived> arrived(const std::string& address,
                                             std::size_t count) override {
    std::vector<Arrived> all;
    for (const auto& record : cluster_.records(address.substr(kafka_scheme.size()), count)) {
      all.push_back(arrived_in_record(record));
    }
    return all;
  }

  [[nodiscard]] std::optional<std::string> refusing_address() override {
    rd_kafka_mock_topic_set_error(cluster_.mock(), "missing",
                                  RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    return "kafka:missing";
  }

  bool stop() override {
    rd_kafka_mock_broker_set_down(cluster_.mock(), -1);
    return true;
  }
  void start() override { rd_kafka_mock_broker_set_up(cluster_.mock(), -1); }
  bool stall() override {
    constexpr int for_ever = 3'600'000;
    rd_kafka_mock_broker_set_rtt(cluster_.mock(), -1, for_ever);
    return true;
  }
  void go_on() override { rd_kafka_mock_broker_set_rtt(cluster_.mock(), -1, 0); }

 private:
  KafkaCluster cluster_;
  int addresses_ = 0;
};

INSTANTIATE_TEST_SUITE_P(KafkaMock, TransportConformance,
                         ::testing::Values(FarSideCase{
                             "KafkaMock", [] { return std::make_unique<KafkaFarSide>(); }}),
                         case_name);

}  // namespace
}  // namespace sagabox::testing
