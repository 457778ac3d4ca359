#pragma once

#include <sagabox/random.hpp>

namespace sagabox {

/// Every number comes from the operating system, and none tells of another: for keys and secrets.
/// Throws std::system_error when the operating system has none.
Random& secret_random();

}  // namespace sagabox
