#include "support/kafka_cluster.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <set>

namespace sagabox::testing {
namespace {

void no_log(const rd_kafka_t*, int, const char*, const char*) {}

rd_kafka_t* client(rd_kafka_type_t type,
                   const std::vector<std::pair<std::string, std::string>>& properties) {
  auto* const conf = rd_kafka_conf_new();
  std::array<char, 512> text{};
  for (const auto& [name, value] : properties) {
    EXPECT_EQ(rd_kafka_conf_set(conf, name.c_str(), value.c_str(), text.data(), text.size()),
              RD_KAFKA_CONF_OK)
        << text.data();
  }
  rd_kafka_conf_set_log_cb(conf, no_log);
  auto* const made = rd_kafka_new(type, conf, text.data(), text.size());
  EXPECT_NE(made, nullptr) << text.data();
  return made;
}

/// The current end of each partition.
std::vector<std::int64_t> ends(rd_kafka_t* consumer, const std::string& topic) {
  auto* const handle = rd_kafka_topic_new(consumer, topic.c_str(), nullptr);
  const rd_kafka_metadata_t* metadata = nullptr;
  int partitions = 0;
  if (rd_kafka_metadata(consumer, 0, handle, &metadata, 5000) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    partitions = metadata->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
  }
  rd_kafka_topic_destroy(handle);
  std::vector<std::int64_t> found;
  for (int partition = 0; partition < partitions; ++partition) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    rd_kafka_query_watermark_offsets(consumer, topic.c_str(), partition, &low, &high, 5000);
    found.push_back(high);
  }
  return found;
}

KafkaRecord record_of(const rd_kafka_message_t& message) {
  KafkaRecord record;
  record.partition = message.partition;
  record.key.assign(static_cast<const char*>(message.key), message.key_len);
  record.has_value = message.payload != nullptr;
  if (record.has_value) {
    record.value.assign(static_cast<const char*>(message.payload), message.len);
  }
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return record;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0;
       rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    record.headers.emplace_back(name, std::string(static_cast<const char*>(value), size));
  }
  return record;
}

}  // namespace

std::string KafkaCluster::problem() {
#ifdef __SANITIZE_THREAD__
  return "librdkafka has C11 threads, which g++'s ThreadSanitizer does not know and dies of";
#else
  return {};
#endif
}

KafkaCluster::KafkaCluster(int brokers) {
  if (!problem().empty()) return;
  keeper_ = client(RD_KAFKA_PRODUCER, {{"test.mock.num.brokers", std::to_string(brokers)}});
  mock_ = rd_kafka_handle_mock_cluster(keeper_);
}

KafkaCluster::~KafkaCluster() {
  if (keeper_ != nullptr) rd_kafka_destroy(keeper_);
}

std::string KafkaCluster::brokers() const {
  return mock_ == nullptr ? "127.0.0.1:1" : rd_kafka_mock_cluster_bootstraps(mock_);
}

std::vector<KafkaRecord> kafka_records(const std::string& brokers, const std::string& topic,
                                       std::size_t count) {
  auto* const consumer = client(RD_KAFKA_CONSUMER, {{"bootstrap.servers", brokers},
                                                    {"group.id", "reader"},
                                                    {"enable.partition.eof", "true"},
                                                    {"fetch.wait.max.ms", "10"},
                                                    {"auto.offset.reset", "earliest"}});
  auto* const assigned = rd_kafka_topic_partition_list_new(4);
  for (int partition = 0; const auto end : ends(consumer, topic)) {
    (void)end;
    rd_kafka_topic_partition_list_add(assigned, topic.c_str(), partition++)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
  }
  rd_kafka_assign(consumer, assigned);
  const auto partitions = static_cast<std::size_t>(assigned->cnt);
  rd_kafka_topic_partition_list_destroy(assigned);

  // Until all partitions are read and there are enough records, or none has arrived for long.
  constexpr int quiet_polls_max = 300;
  std::vector<KafkaRecord> records;
  std::set<int> ended;
  for (int quiet = 0;
       quiet < quiet_polls_max && (records.size() < count || ended.size() < partitions);) {
    auto* const message = rd_kafka_consumer_poll(consumer, 100);
    if (message == nullptr) {
      ++quiet;
      continue;
    }
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      ended.erase(message->partition);
      records.push_back(record_of(*message));
      quiet = 0;
    } else if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      ended.insert(message->partition);
    }
    rd_kafka_message_destroy(message);
  }
  rd_kafka_consumer_close(consumer);
  rd_kafka_destroy(consumer);
  return records;
}

}  // namespace sagabox::testing
