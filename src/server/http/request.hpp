#pragma once

#include <sagabox/message.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace sagabox::server {

/// An HTTP request, whole and taken apart as far as HTTP goes.
struct Request {
  std::string method;
  std::string target;  ///< path and query as they came
  Headers headers{};   ///< names in lower case
  std::string body{};

  /// Empty when it is not there; the first when it is there more than once.
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
  /// By its header: a body comes with it.
  [[nodiscard]] bool announces_body() const noexcept {
    const auto length = header("content-length");
    return !header("transfer-encoding").empty() ||
           length.find_first_not_of('0') != std::string_view::npos;
  }
};

/// The header where it is text of at most so many characters; else nothing.
std::string fitting_header(const Request& request, std::string_view name, std::size_t length_max);

}  // namespace sagabox::server
