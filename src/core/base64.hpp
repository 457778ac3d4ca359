#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sagabox {

/// RFC 4648 with padding, on one line.
void append_base64(std::string_view bytes, std::string& out);

/// nullopt if `text` is not base64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace sagabox
