#pragma once

#include "support/server_process.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace sagabox::testing {

/// A real Kafka broker (KRaft, one node) from the jars that tests/kafka/fetch has downloaded, in a
/// scratch folder on free loopback ports. It does not create topics automatically.
class KafkaBroker {
 public:
  KafkaBroker();

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::string brokers() const { return "127.0.0.1:" + std::to_string(port_); }
  void create_topic(const std::string& name, int partitions,
                    const std::string& message_bytes_max = "1048588") const;
  void stop() { process_.stop(); }
  /// On the same port, with the same data.
  void start();
  void stall() const { process_.stall(); }
  void go_on() const { process_.go_on(); }

 private:
  std::string problem_;
  std::filesystem::path folder_;
  std::uint16_t port_ = 0;
  ServerProcess process_;
};

}  // namespace sagabox::testing
