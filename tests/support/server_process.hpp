#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sagabox::testing {

/// A folder of this process for servers' files; removed when the process ends, however that ends.
std::filesystem::path scratch_folder(const std::string& name);

/// A server that a test runs beside itself. Ends with this process, however that ends.
class ServerProcess {
 public:
  ServerProcess() = default;
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() { stop(); }

  /// Its output goes to `log`. From the thread that lives as long as the server shall.
  void start(std::vector<std::string> words, const std::filesystem::path& log);
  [[nodiscard]] bool runs();
  /// At once, as if killed; connections are cut.
  void stop();
  /// SIGTERM, and waits for its end: its exit code, 128 + n where the signal n ended it.
  int end();
  /// SIGSTOP and SIGCONT.
  void stall() const;
  void go_on() const;

 private:
  pid_t pid_ = 0;
};

/// On loopback; somebody else may take it first.
std::uint16_t free_port();
/// Waits until somebody listens on that loopback port; false: nobody for long.
bool wait_for_port(std::uint16_t port);
/// Empty: no such program in PATH or the usual folders.
std::string program_path(const std::string& name);

}  // namespace sagabox::testing
