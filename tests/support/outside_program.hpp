#pragma once

#include <sagabox/time.hpp>

#include <sys/types.h>

#include <string>
#include <vector>

namespace sagabox::testing {

/// A Node program of tests/outside, which uses third-party packages to check our messages. It ends
/// when its standard input is closed, so it never outlives the test.
class OutsideProgram {
 public:
  /// Empty if programs can run. Otherwise what is missing, for skipping the test.
  static std::string problem();

  /// `words`: the script's name and its arguments.
  explicit OutsideProgram(std::vector<std::string> words);
  ~OutsideProgram();
  OutsideProgram(const OutsideProgram&) = delete;
  OutsideProgram& operator=(const OutsideProgram&) = delete;

  /// The next line of its output; empty if there is none in time.
  std::string line(Duration patience = std::chrono::seconds(90));

 private:
  pid_t id_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string read_;
};

}  // namespace sagabox::testing
