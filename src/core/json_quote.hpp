#pragma once

#include <string>
#include <string_view>

namespace sagabox {

/// Appends `text` as a JSON string. What is not well-formed UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace sagabox
