#pragma once

#include "server/http/request.hpp"
#include "server/http/response.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox::server {

/// A handler's decision about a request, by its header.
struct Admission {
  /// The answer to a refused request, whose body is not read; nullopt: continue.
  std::optional<Response> refused{};
  std::string_view operation{"none"};  ///< its name in the OpenAPI document; a static string
  std::string key_id{};                ///< of the API key
  /// With a body up to this size `begin` does not block; nullopt: it may.
  std::optional<std::size_t> brief_bytes_max{};
};

/// Processes the requests of a listener. Thread-safe.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  /// Called after the header, before the body. Does not block.
  virtual Admission admit(const Request& header) = 0;
  /// Replies once, now or later, from any thread. The request is destroyed when this returns.
  virtual void begin(const Request& request, const Reply& reply) = 0;
};

}  // namespace sagabox::server
