#pragma once

#include <string>
#include <string_view>

namespace sagabox {

/// Appends `text` as a JSON string. Malformed UTF-8 is replaced by U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace sagabox
