#include "support/kafka_broker.hpp"

#include "support/places.hpp"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace sagabox::testing {
namespace {

namespace fs = std::filesystem;

const fs::path jars = project_folder() / "tests/kafka/jars";

std::string configuration(std::uint16_t port, std::uint16_t controller_port, const fs::path& data) {
  const auto at = [](std::uint16_t number) { return "127.0.0.1:" + std::to_string(number); };
  return "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@" +
         at(controller_port) + "\nlisteners=PLAINTEXT://" + at(port) + ",CONTROLLER://" +
         at(controller_port) + "\nadvertised.listeners=PLAINTEXT://" + at(port) +
         "\ncontroller.listener.names=CONTROLLER\n"
         "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
         "auto.create.topics.enable=false\noffsets.topic.replication.factor=1\n"
         "group.initial.rebalance.delay.ms=0\nlog.dirs=" +
         data.string() + "\n";
}

std::vector<std::string> java(const std::string& program, std::vector<std::string> arguments) {
  std::vector<std::string> words{program_path("java"),      "-Xmx512m",
                                 "-XX:TieredStopAtLevel=1", "-cp",
                                 (jars / "*").string(),     program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

KafkaBroker::KafkaBroker() {
  if (program_path("java").empty()) {
    problem_ = "no Java to run a Kafka broker with (Debian package default-jre-headless)";
    return;
  }
  if (!fs::exists(jars)) {
    problem_ = "no Kafka broker here: tests/kafka/fetch gets its jars from Maven Central";
    return;
  }
  folder_ = scratch_folder("kafka");
  port_ = free_port();
  std::ofstream(folder_ / "server.properties")
      << configuration(port_, free_port(), folder_ / "data");
  ServerProcess format;
  format.start(java("kafka.tools.StorageTool", {"format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c",
                                                (folder_ / "server.properties").string()}),
               folder_ / "log");
  for (int attempt = 0; attempt < 600 && format.runs(); ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  start();
}

void KafkaBroker::start() {
  process_.start(java("kafka.Kafka", {(folder_ / "server.properties").string()}), folder_ / "log");
  // The Java process needs seconds to start.
  for (int attempt = 0; attempt < 5 && process_.runs(); ++attempt) {
    if (wait_for_port(port_)) return;
  }
  process_.stop();
  problem_ = "the Kafka broker did not start; see " + (folder_ / "log").string();
}

void KafkaBroker::create_topic(const std::string& name, int partitions,
                               const std::string& message_bytes_max) const {
  std::array<char, 512> text{};
  auto* const conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", brokers().c_str(), text.data(), text.size());
  auto* const client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text.data(), text.size());
  auto* topic = rd_kafka_NewTopic_new(name.c_str(), partitions, 1, text.data(), text.size());
  rd_kafka_NewTopic_set_config(topic, "max.message.bytes", message_bytes_max.c_str());
  auto* const queue = rd_kafka_queue_new(client);
  rd_kafka_CreateTopics(client, &topic, 1, nullptr, queue);
  auto* const event = rd_kafka_queue_poll(queue, 60'000);
  EXPECT_NE(event, nullptr);
  EXPECT_EQ(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR)
      << rd_kafka_event_error_string(event);
  rd_kafka_event_destroy(event);
  rd_kafka_queue_destroy(queue);
  rd_kafka_NewTopic_destroy(topic);
  rd_kafka_destroy(client);
}

}  // namespace sagabox::testing
