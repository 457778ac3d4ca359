#include "transports/kafka/findings.hpp"

#include "transports/kafka/client.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace sagabox::kafka {
namespace {

template <class T, void (*destroy)(T*)>
struct Destroy {
  void operator()(T* object) const noexcept { destroy(object); }
};
using ClientHandle = std::unique_ptr<rd_kafka_t, Destroy<rd_kafka_t, rd_kafka_destroy>>;
using TopicHandle =
    std::unique_ptr<rd_kafka_topic_t, Destroy<rd_kafka_topic_t, rd_kafka_topic_destroy>>;
using QueueHandle =
    std::unique_ptr<rd_kafka_queue_t, Destroy<rd_kafka_queue_t, rd_kafka_queue_destroy>>;
using EventHandle =
    std::unique_ptr<rd_kafka_event_t, Destroy<rd_kafka_event_t, rd_kafka_event_destroy>>;
using ResourceHandle =
    std::unique_ptr<rd_kafka_ConfigResource_t,
                    Destroy<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy>>;

struct DestroyMetadata {
  void operator()(const rd_kafka_metadata_t* metadata) const noexcept {
    rd_kafka_metadata_destroy(metadata);
  }
};
using MetadataHandle = std::unique_ptr<const rd_kafka_metadata_t, DestroyMetadata>;

constexpr int settings_wait_milliseconds_max = 2000;

int milliseconds_left(const Options& options, BootTime deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - options.clock->boot_now());
  constexpr std::int64_t wait_max = 60'000;
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 1, wait_max));
}

Result<ClientHandle> client(const Options& options) {
  auto conf = client_conf(options);
  if (!conf) return conf.error();
  std::array<char, 512> text{};
  ClientHandle made(rd_kafka_new(RD_KAFKA_PRODUCER, conf->get(), text.data(), text.size()));
  if (made == nullptr) {
    return Error{Code::config_invalid, "transports kafka: " + hushed(text.data(), options)};
  }
  (void)conf->release();  // NOLINT(bugprone-unused-return-value): it is the client's now
  return made;
}

void judge_topic(const rd_kafka_metadata_topic_t& topic, int brokers,
                 std::vector<std::string>& findings) {
  const auto say = [&](const std::string& what) {
    findings.push_back("topic " + std::string(topic.topic) + ": " + what);
  };
  if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return say(std::string(rd_kafka_err2str(topic.err)) +
               "; create it, or allow us to see and write it");
  }
  const std::span partitions(topic.partitions, static_cast<std::size_t>(topic.partition_cnt));
  const auto alone = std::count_if(partitions.begin(), partitions.end(),
                                   [](const auto& one) { return one.replica_cnt <= 1; });
  if (alone > 0) {
    say(std::to_string(alone) + " of " + std::to_string(partitions.size()) +
        " partitions have one replica" + (brokers > 1 ? " in a cluster" : "") +
        ": the loss of that broker's disk loses messages that were acknowledged; use a replication "
        "factor of 3");
  }
  const auto leaderless = std::count_if(partitions.begin(), partitions.end(),
                                        [](const auto& one) { return one.leader < 0; });
  if (leaderless > 0) {
    say(std::to_string(leaderless) + " of " + std::to_string(partitions.size()) +
        " partitions have no leader: their messages wait");
  }
}

/// A setting of a topic; nullopt if it could not be read.
std::optional<std::string> setting(rd_kafka_t* client, const std::string& topic,
                                   std::string_view name, int wait_milliseconds) {
  const ResourceHandle resource(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  const QueueHandle queue(rd_kafka_queue_new(client));
  auto* asked = resource.get();
  rd_kafka_DescribeConfigs(client, &asked, 1, nullptr, queue.get());
  const EventHandle event(rd_kafka_queue_poll(queue.get(), wait_milliseconds));
  if (event == nullptr || rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return std::nullopt;
  }
  const auto* const result = rd_kafka_event_DescribeConfigs_result(event.get());
  if (result == nullptr) return std::nullopt;
  std::size_t resources = 0;
  const auto* const* answered = rd_kafka_DescribeConfigs_result_resources(result, &resources);
  for (const auto* one : std::span(answered, resources)) {
    std::size_t count = 0;
    const auto* const* entries = rd_kafka_ConfigResource_configs(one, &count);
    for (const auto* entry : std::span(entries, count)) {
      if (name != rd_kafka_ConfigEntry_name(entry)) continue;
      const auto* const value = rd_kafka_ConfigEntry_value(entry);
      return value == nullptr ? std::string() : std::string(value);
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> find_trouble(const Options& options,
                                              const std::vector<std::string>& topics,
                                              BootTime deadline) {
  auto made = client(options);
  if (!made) return made.error();
  std::vector<std::string> findings;
  for (const auto& name : topics) {
    const TopicHandle topic(rd_kafka_topic_new(made->get(), name.c_str(), nullptr));
    const rd_kafka_metadata_t* raw = nullptr;
    const auto error =
        rd_kafka_metadata(made->get(), 0, topic.get(), &raw, milliseconds_left(options, deadline));
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return Error{Code::provider_unavailable, "Kafka: " + std::string(rd_kafka_err2str(error))};
    }
    const MetadataHandle metadata(raw);
    for (const auto& one : std::span(raw->topics, static_cast<std::size_t>(raw->topic_cnt))) {
      judge_topic(one, raw->broker_cnt, findings);
    }
  }
  for (const auto& name : topics) {
    const auto wait =
        std::min(milliseconds_left(options, deadline), settings_wait_milliseconds_max);
    const auto in_sync_min = setting(made->get(), name, "min.insync.replicas", wait);
    if (!in_sync_min) break;  // brokers that do not report it, or not to us
    if (*in_sync_min == "1") {
      findings.push_back("topic " + name +
                         ": min.insync.replicas is 1, so one broker alone may acknowledge; use 2");
    }
  }
  return findings;
}

}  // namespace sagabox::kafka
