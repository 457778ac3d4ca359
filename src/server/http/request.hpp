#pragma once

#include <sagabox/message.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace sagabox::server {

/// A complete HTTP request, parsed as far as HTTP goes.
struct Request {
  std::string method;
  std::string target;  ///< path and query, unchanged
  Headers headers{};   ///< names in lower case
  std::string body{};

  /// Empty if it is missing; the first value if it occurs more than once.
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
  /// True if its header announces a body.
  [[nodiscard]] bool announces_body() const noexcept {
    const auto length = header("content-length");
    return !header("transfer-encoding").empty() ||
           length.find_first_not_of('0') != std::string_view::npos;
  }
};

/// The header if it is valid text of at most this many characters; otherwise empty.
std::string fitting_header(const Request& request, std::string_view name, std::size_t length_max);

}  // namespace sagabox::server
