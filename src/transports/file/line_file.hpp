#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace sagabox::file {

enum class Sync : bool { no, yes };

/// Appends whole lines to a file, which is opened for the first of them, or to the standard output.
/// Used by one thread.
class LineFile {
 public:
  /// An empty path is the standard output.
  explicit LineFile(std::string path) : path_(std::move(path)) {}
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  struct Appended {
    std::size_t bytes = 0;  ///< written, from the start of the lines; synced if requested
    std::string error{};    ///< why some are missing; empty: none is
  };
  /// Reopens the file if the path refers to another one now. An incomplete line of an earlier write
  /// or a crash is ended first. For pipes and terminals that are read too slowly it waits as long
  /// as `wanted` returns true.
  Appended append(std::string_view lines, Sync sync, const std::function<bool()>& wanted);

 private:
  /// Returns an empty text if the file is open and is the one at the path.
  [[nodiscard]] std::string open();
  void close();
  /// True if the file ends in the middle of a line.
  [[nodiscard]] bool line_is_open() const;
  [[nodiscard]] Appended write_regular(std::string_view lines) const;
  [[nodiscard]] Appended write_patiently(std::string_view lines,
                                         const std::function<bool()>& wanted) const;
  /// Returns an empty text if everything written is on the disk.
  [[nodiscard]] std::string sync_all();
  [[nodiscard]] std::string problem(std::string_view what) const;
  [[nodiscard]] std::string problem(std::string_view what, int reason) const;

  const std::string path_;
  int descriptor_ = -1;
  bool regular_ = false;
  bool name_synced_ = false;
  bool broken_line_ = false;  ///< of ours, if the file cannot be read
  dev_t device_{};
  ino_t inode_{};
};

}  // namespace sagabox::file
