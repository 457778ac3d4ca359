#pragma once

#include "server/http/response.hpp"
#include "wire/put.hpp"

#include <utility>

namespace sagabox::server {

/// Ends with a newline, for users who read it in a terminal.
inline Response ok(wire::JsonOut json, unsigned status = 200) {
  return {.status = status, .body = std::move(json).take() + "\n"};
}

/// A record that is the whole answer; see wire/put.hpp.
template <class... Parts>
Response ok_with(const Parts&... parts) {
  wire::JsonOut json;
  put(json, parts...);
  return ok(std::move(json));
}

}  // namespace sagabox::server
