#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sagabox::testing {

/// A folder of this process for servers' files; removed when the process ends, in any way.
std::filesystem::path scratch_folder(const std::string& name);

/// A server that a test runs beside itself. Ends with this process, in any way.
class ServerProcess {
 public:
  ServerProcess() = default;
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() { stop(); }

  /// Its output goes to `log`. Call it on a thread that lives as long as the server should.
  void start(std::vector<std::string> words, const std::filesystem::path& log);
  [[nodiscard]] bool runs();
  /// Ends it at once, as if killed; connections are closed.
  void stop();
  /// Sends SIGTERM and waits for its end; returns its exit code, or 128 + n after the signal n.
  int end();
  /// SIGSTOP and SIGCONT.
  void stall() const;
  void go_on() const;

 private:
  pid_t pid_ = 0;
};

/// A free port on loopback; another process may take it first.
std::uint16_t free_port();
/// Waits until a server listens on that loopback port; returns false after a time limit.
bool wait_for_port(std::uint16_t port);
/// Empty if there is no such program in PATH or the usual folders.
std::string program_path(const std::string& name);

}  // namespace sagabox::testing
