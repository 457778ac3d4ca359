#pragma once

#include "server/http/response.hpp"

#include <sagabox/error.hpp>

#include <cstdint>
#include <string>

namespace sagabox::server {

/// How much of an error the caller is told.
enum class Detail : std::uint8_t {
  full,
  /// Errors of the caller are shown in full, ours only by their public text.
  own_faults,
};

/// RFC 9457, with `code`, `retryable` and, if one field is wrong, `field`.
Response problem(const Error& error, Detail detail = Detail::full);
/// The same with a status other than that of the code.
Response problem(unsigned status, const Error& error);

/// 404: the object in the path does not exist.
Response not_found(std::string what);

}  // namespace sagabox::server
