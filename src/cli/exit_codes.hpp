#pragma once

#include <stdexcept>

namespace sagabox::cli {

inline constexpr int exit_fine = 0;
inline constexpr int exit_failed = 1;  ///< or something is wrong
inline constexpr int exit_wrong_use = 2;

/// What was typed cannot be meant; the text says what would be right.
class WrongUse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sagabox::cli
