#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sagabox::testing {

/// A folder with servers that run in it, each of which is a process group with its children. When
/// the process `watched` ends, in any way, they are killed and the folder is removed. Several
/// processes of a test run may use the same one.
class ScratchServer {
 public:
  static ScratchServer make(const std::string& name, int watched);
  explicit ScratchServer(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  [[nodiscard]] bool exists() const;

  /// Starts a program with these variables added to our environment ("NAME=value"); its output goes
  /// to `log`.
  void run(const std::vector<std::string>& words,
           const std::vector<std::string>& environment = {}) const;
  /// Waits for its end; returns whether it succeeded.
  [[nodiscard]] bool run_to_end(const std::vector<std::string>& words,
                                const std::vector<std::string>& environment = {}) const;
  void signal(int number) const;
  /// Waits until they are gone; after a time limit they are killed.
  void end(int number) const;
  /// Kills them and removes the folder.
  void remove() const;

 private:
  /// Its process; negative: none.
  [[nodiscard]] int spawn(const std::vector<std::string>& words,
                          const std::vector<std::string>& environment) const;

  std::filesystem::path folder_;
};

}  // namespace sagabox::testing
