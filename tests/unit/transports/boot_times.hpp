#pragma once

#include <sagabox/time.hpp>

#include <chrono>

namespace sagabox::transports {

inline BootTime at(int milliseconds) { return BootTime(std::chrono::milliseconds(milliseconds)); }

}  // namespace sagabox::transports
