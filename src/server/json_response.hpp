#pragma once

#include "server/json_out.hpp"
#include "server/response.hpp"

#include <utility>

namespace sagabox::server {

inline Response ok(JsonOut json, unsigned status = 200) {
  return {.status = status, .body = std::move(json).take()};
}

}  // namespace sagabox::server
