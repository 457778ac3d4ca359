#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace sagabox::file {

enum class Sync : bool { no, yes };

/// A file that whole lines are appended to, opened when there are some; or the standard output.
/// Belongs to one thread.
class LineFile {
 public:
  /// Empty: the standard output.
  explicit LineFile(std::string path) : path_(std::move(path)) {}
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  struct Appended {
    std::size_t bytes = 0;  ///< of the lines, from their start; what is synced, where asked for
    std::string error{};    ///< why they are not all there; empty: they are
  };
  /// Opens the file again when the path means another one now. What an earlier write, or a crash,
  /// has left of a line is ended first. Pipes and terminals whose reader does not keep up are
  /// waited for as long as `wanted` says so.
  Appended append(std::string_view lines, Sync sync, const std::function<bool()>& wanted);

 private:
  /// Empty: it is open and the one that the path means.
  [[nodiscard]] std::string open();
  void close();
  /// What is there ends in the middle of a line.
  [[nodiscard]] bool line_is_open() const;
  [[nodiscard]] Appended write_regular(std::string_view lines) const;
  [[nodiscard]] Appended write_patiently(std::string_view lines,
                                         const std::function<bool()>& wanted) const;
  /// Empty: what is written is on the disk.
  [[nodiscard]] std::string sync_all();
  [[nodiscard]] std::string problem(std::string_view what) const;
  [[nodiscard]] std::string problem(std::string_view what, int reason) const;

  const std::string path_;
  int descriptor_ = -1;
  bool regular_ = false;
  bool name_synced_ = false;
  bool broken_line_ = false;  ///< of ours, where reading back is not possible
  dev_t device_{};
  ino_t inode_{};
};

}  // namespace sagabox::file
