#pragma once

#include "server/http/response.hpp"

#include <string>
#include <string_view>

namespace sagabox::server {

/// Tells a client that waits for it to send its body.
inline constexpr std::string_view go_on_text = "HTTP/1.1 100 Continue\r\n\r\n";

/// The text before the body of an answer.
std::string response_head(const Response& response, bool keep_alive);

}  // namespace sagabox::server
