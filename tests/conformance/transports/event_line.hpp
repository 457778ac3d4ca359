#pragma once

#include "conformance/transports/far_side.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace sagabox::testing {

/// A line that the file transport wrote; nothing for half of one.
std::optional<Arrived> event_of(const std::string& line);

/// Of padded base64, by another decoder than the one under test.
std::string from_base64(std::string_view text);

}  // namespace sagabox::testing
