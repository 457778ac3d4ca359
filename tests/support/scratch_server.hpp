#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sagabox::testing {

/// A folder with servers that run in it, each with its children a process group. When the process
/// `watched` ends, however it ends, they are killed and the folder is removed. Several processes
/// of a test run may use the same.
class ScratchServer {
 public:
  static ScratchServer make(const std::string& name, int watched);
  explicit ScratchServer(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  [[nodiscard]] bool exists() const;

  /// Starts a program with these beside our environment ("NAME=value"); its output goes to `log`.
  void run(const std::vector<std::string>& words,
           const std::vector<std::string>& environment = {}) const;
  /// Waits for it; whether it ended well.
  [[nodiscard]] bool run_to_end(const std::vector<std::string>& words,
                                const std::vector<std::string>& environment = {}) const;
  void signal(int number) const;
  /// Waits until they are gone; those that are not in time are killed.
  void end(int number) const;
  /// Kills them and removes the folder.
  void remove() const;

 private:
  /// Its process; below 0: there is none.
  [[nodiscard]] int spawn(const std::vector<std::string>& words,
                          const std::vector<std::string>& environment) const;

  std::filesystem::path folder_;
};

}  // namespace sagabox::testing
