#pragma once

#include "support/scratch_server.hpp"

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace sagabox::testing {

/// A real Mosquitto on a free loopback port whose data survive a restart. No client may publish
/// below `refused/`. Ends with this object or this process.
class MosquittoServer {
 public:
  /// The program that is not installed; empty: all are.
  static std::string missing();
  /// `settings`: additional lines of its configuration.
  explicit MosquittoServer(const std::vector<std::string>& settings = {});
  ~MosquittoServer() { server_.remove(); }
  MosquittoServer(const MosquittoServer&) = delete;
  MosquittoServer& operator=(const MosquittoServer&) = delete;

  /// Empty if it runs.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  void stop() const { server_.end(SIGTERM); }
  void start();
  void stall() const { server_.signal(SIGSTOP); }
  void go_on() const { server_.signal(SIGCONT); }

 private:
  ScratchServer server_;
  std::string problem_;
  std::uint16_t port_ = 0;
};

}  // namespace sagabox::testing
