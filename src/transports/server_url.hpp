#pragma once

#include <sagabox/result.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace sagabox::transports {

/// `scheme://user:password@host:port/path`, percent-encoding undone. What is not there is empty.
struct ServerUrl {
  std::string scheme;
  std::string user{};
  std::string password{};
  std::string host{};  ///< of an IPv6 address without the brackets
  std::uint16_t port = 0;
  bool has_path = false;
  std::string path{};  ///< without the first slash

  /// CONFIG.INVALID says what is wrong; it never repeats the text, which may hold a password.
  /// `example` is what would be right: "redis://host:6379/0".
  static Result<ServerUrl> parse(std::string_view text,
                                 std::initializer_list<std::string_view> schemes,
                                 std::string_view example);
};

}  // namespace sagabox::transports
