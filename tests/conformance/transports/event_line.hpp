#pragma once

#include "conformance/transports/far_side.hpp"

#include <optional>
#include <string>

namespace sagabox::testing {

/// A line that the file transport wrote; nothing for half of one.
std::optional<Arrived> event_of(const std::string& line);

}  // namespace sagabox::testing
