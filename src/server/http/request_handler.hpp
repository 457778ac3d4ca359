#pragma once

#include "server/http/request.hpp"
#include "server/http/response.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox::server {

/// What a handler says of a request by its header.
struct Admission {
  /// The answer, and no body is read; nothing: it may come.
  std::optional<Response> refused{};
  std::string_view operation{"none"};  ///< by the name of the OpenAPI document; lives for ever
  std::string key_id{};                ///< of the key that was used
  /// With a body up to this size `begin` does not block; nothing: it may.
  std::optional<std::size_t> brief_bytes_max{};
};

/// What a listener hands its requests to. Safe from any thread.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  /// Asked when the header is there and the body is not. Does not block.
  virtual Admission admit(const Request& header) = 0;
  /// Replies once, now or later, from any thread. The request is gone when this returns.
  virtual void begin(const Request& request, const Reply& reply) = 0;
};

}  // namespace sagabox::server
