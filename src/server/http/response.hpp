#pragma once

#include <sagabox/message.hpp>

#include <functional>
#include <string>

namespace sagabox::server {

struct Response {
  unsigned status = 200;
  std::string content_type = "application/json";
  Headers headers{};  ///< besides the content type and the listener's own headers
  std::string body{};
};

/// Called once, from any thread.
using Reply = std::function<void(Response)>;

}  // namespace sagabox::server
