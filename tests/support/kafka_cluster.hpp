#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <string>
#include <utility>
#include <vector>

namespace sagabox::testing {

/// A record as read by another client.
struct KafkaRecord {
  std::string key;
  std::string value;
  bool has_value = true;
  std::vector<std::pair<std::string, std::string>> headers;
  int partition = 0;
};

/// Waits until the topic has this many records; returns fewer after a time limit. Partitions are
/// mixed as they arrive, each in its order.
std::vector<KafkaRecord> kafka_records(const std::string& brokers, const std::string& topic,
                                       std::size_t count);

/// librdkafka's mock cluster, in this process on loopback.
class KafkaCluster {
 public:
  using Record = KafkaRecord;

  /// Why it cannot run here; empty if it can.
  static std::string problem();
  explicit KafkaCluster(int brokers = 1);
  KafkaCluster(const KafkaCluster&) = delete;
  KafkaCluster& operator=(const KafkaCluster&) = delete;
  ~KafkaCluster();

  [[nodiscard]] std::string brokers() const;
  [[nodiscard]] rd_kafka_mock_cluster_t* mock() const noexcept { return mock_; }

  [[nodiscard]] std::vector<Record> records(const std::string& topic, std::size_t count) const {
    return kafka_records(brokers(), topic, count);
  }

 private:
  rd_kafka_t* keeper_ = nullptr;
  rd_kafka_mock_cluster_t* mock_ = nullptr;
};

}  // namespace sagabox::testing
