#pragma once

#include "server/http/response.hpp"

#include <sagabox/error.hpp>

#include <cstdint>
#include <string>

namespace sagabox::server {

/// How much of an error is said.
enum class Detail : std::uint8_t {
  full,
  /// What is the caller's own fault is said, what is ours only in public words.
  own_faults,
};

/// RFC 9457, with `code`, `retryable` and, where one field is at fault, `field`.
Response problem(const Error& error, Detail detail = Detail::full);
/// With another status than the code's.
Response problem(unsigned status, const Error& error);

/// 404: what the path names is not there.
Response not_found(std::string what);

}  // namespace sagabox::server
