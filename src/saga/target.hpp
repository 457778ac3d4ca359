#pragma once

#include <sagabox/result.hpp>

#include <string>
#include <string_view>

namespace sagabox::saga {

/// Where a call goes.
struct Target {
  enum class Kind : unsigned char { none, function, http, outbox };
  Kind kind = Kind::none;
  std::string name{};   ///< of the function or topic; the URL
  std::string table{};  ///< of an outbox target
};

/// "fn:book", "https://flights/book", "outbox:travel.ticket.issue.v1".
Result<Target> read_target(std::string_view text);

}  // namespace sagabox::saga
