#pragma once

#include <string>
#include <string_view>

namespace sagabox::http {

/// ASCII letters only: what header names and host names are compared by.
std::string lower_case(std::string_view text);
bool same_name(std::string_view left, std::string_view right) noexcept;

/// A token of RFC 9110.
bool is_header_name(std::string_view name) noexcept;
/// No control characters, so that nothing can end the line and begin another.
bool is_header_value(std::string_view value) noexcept;
/// Names by which this transport or HTTP itself speaks: lengths, connections, the event, its
/// signature.
bool belongs_to_protocol(std::string_view name) noexcept;

/// As the HTTP binding of CloudEvents wants attribute values: space, ", % and what is not printable
/// ASCII as %XX.
void append_percent_encoded(std::string_view value, std::string& out);

}  // namespace sagabox::http
