#pragma once

#include <sagabox/random.hpp>

namespace sagabox {

/// Cryptographically secure numbers from the operating system, for keys and secrets. Throws
/// std::system_error if the operating system provides none.
Random& secret_random();

}  // namespace sagabox
