#pragma once

#include "support/scratch_server.hpp"

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace sagabox::testing {

/// A real Redis on a free loopback port, with a log that survives a restart. Ends with this object
/// or this process.
class RedisServer {
 public:
  /// The program that is not installed; empty: all are.
  static std::string missing();
  /// `settings` as on its command line: {"--maxmemory", "10mb"}.
  explicit RedisServer(std::vector<std::string> settings = {});
  ~RedisServer() { server_.remove(); }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  /// Empty if it runs.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return server_.folder(); }

  void stop() const { server_.end(SIGTERM); }
  void start();
  void stall() const { server_.signal(SIGSTOP); }
  void go_on() const { server_.signal(SIGCONT); }

 private:
  ScratchServer server_;
  std::vector<std::string> settings_;
  std::string problem_;
  std::uint16_t port_ = 0;
};

}  // namespace sagabox::testing
