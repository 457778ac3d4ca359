#pragma once

#include <string_view>

namespace sagabox::server {

/// src/server/api/openapi.json, built in.
std::string_view openapi_document() noexcept;

}  // namespace sagabox::server
