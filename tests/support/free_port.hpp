#pragma once

#include <cstdint>

namespace sagabox::testing {

/// On loopback; somebody else may take it first.
std::uint16_t free_port();

}  // namespace sagabox::testing
