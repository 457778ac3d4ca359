#pragma once

#include <string>
#include <string_view>

namespace sagabox::http {

/// Converts ASCII letters only: for comparing header names and host names.
std::string lower_case(std::string_view text);
bool same_name(std::string_view left, std::string_view right) noexcept;

/// A token of RFC 9110.
bool is_header_name(std::string_view name) noexcept;
/// True without control characters, which could end the line and begin another.
bool is_header_value(std::string_view value) noexcept;
/// Names that this transport or HTTP itself sets: lengths, connections, the event, its signature.
bool belongs_to_protocol(std::string_view name) noexcept;

/// Encodes attribute values as in the HTTP binding of CloudEvents: space, ", % and everything that
/// is not printable ASCII as %XX.
void append_percent_encoded(std::string_view value, std::string& out);

}  // namespace sagabox::http
