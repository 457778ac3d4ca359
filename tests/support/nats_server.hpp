#pragma once

#include "support/server_process.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace sagabox::testing {

/// A real NATS server with JetStream in a scratch folder on a free loopback port.
class NatsServer {
 public:
  /// `configuration`: lines for its file, in addition to port and storage.
  explicit NatsServer(std::string configuration = {});

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::string url() const;
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
