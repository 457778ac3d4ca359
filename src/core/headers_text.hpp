#pragma once

#include <sagabox/message.hpp>

#include <string>
#include <string_view>

namespace sagabox {

/// The stored form of headers: one JSON object of strings, in the order given.
std::string headers_text(const Headers& headers);

/// SCHEMA.VALIDATION_FAILED unless `text` is a JSON object of strings.
Result<Headers> headers_from_text(std::string_view text);

}  // namespace sagabox
