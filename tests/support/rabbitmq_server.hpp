#pragma once

#include "support/scratch_server.hpp"

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sagabox::testing {

/// A real RabbitMQ on free loopback ports. It needs some seconds to start, so the tests of a run
/// share one, in turn; each finds it running.
class RabbitmqServer {
 public:
  /// The program that is not installed; empty: all are.
  static std::string missing();
  /// Ends with the process `watched`.
  static RabbitmqServer start_new(int watched);
  /// The server of this test run: the one described by the file SAGABOX_TEST_RABBITMQ, otherwise
  /// one of this process, started at first use.
  static const RabbitmqServer& shared();

  /// Tells other processes of the test run where it is, or why there is none.
  void write(const std::filesystem::path& file) const;
  /// Ends the one described by the file; not an error if there is none.
  static void end_written(const std::filesystem::path& file);

  /// Empty if it runs.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  /// The port for TLS, with this certificate for "localhost".
  [[nodiscard]] std::uint16_t tls_port() const;
  [[nodiscard]] std::filesystem::path certificate() const;

  /// Runs rabbitmqctl; returns whether it succeeded.
  [[nodiscard]] bool control(const std::vector<std::string>& words) const;

  /// As after a power failure.
  void stop() const { server_.end(SIGKILL); }
  /// On the same port, with the same data; returns whether it runs.
  [[nodiscard]] bool start() const;
  void stall() const { server_.signal(SIGSTOP); }
  void go_on() const { server_.signal(SIGCONT); }

 private:
  explicit RabbitmqServer(ScratchServer server) : server_(std::move(server)) {}
  [[nodiscard]] std::vector<std::string> environment() const;
  static RabbitmqServer written(const std::filesystem::path& file);

  ScratchServer server_;
  std::string problem_;
  std::uint16_t port_ = 0;
};

}  // namespace sagabox::testing
