#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace sagabox::crash {

/// A program of ours that runs beside the test. Killed when this goes, and when the test's process
/// ends, however that ends.
class Process {
 public:
  /// Its output is appended to `log`.
  Process(std::vector<std::string> words, const std::filesystem::path& log);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  [[nodiscard]] bool is_running() const;
  void signal(int number) const;
  /// SIGKILL, and waits until it is gone.
  void kill();
  /// Waits for its end; 0: it ended well, 128 + n: by the signal n.
  int wait();
  /// SIGTERM, then `wait`.
  int stop();

 private:
  pid_t id_ = -1;
};

}  // namespace sagabox::crash
