#pragma once

#include <sagabox/message.hpp>

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
};

}  // namespace sagabox::server
