#pragma once

#include "server/api/json_out.hpp"
#include "server/http/response.hpp"

#include <utility>

namespace sagabox::server {

inline Response ok(JsonOut json, unsigned status = 200) {
  return {.status = status, .body = std::move(json).take()};
}

}  // namespace sagabox::server
