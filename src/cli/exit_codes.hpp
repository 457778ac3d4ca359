#pragma once

#include <stdexcept>

namespace sagabox::cli {

inline constexpr int exit_fine = 0;
inline constexpr int exit_failed = 1;  ///< or a problem was found
inline constexpr int exit_wrong_use = 2;

/// The command line is not valid; the text says what would be.
class WrongUse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sagabox::cli
