#pragma once

#include <sagabox/result.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace sagabox::transports {

/// `scheme://user:password@host:port/path`, with percent-encoding decoded. Missing parts are empty.
struct ServerUrl {
  std::string scheme;
  std::string user{};
  std::string password{};
  std::string host{};  ///< an IPv6 address has no brackets
  std::uint16_t port = 0;
  bool has_path = false;
  std::string path{};  ///< without the first slash

  /// CONFIG.INVALID says what is wrong; it never repeats the text, which may contain a password.
  /// `example` is a correct one: "redis://host:6379/0".
  static Result<ServerUrl> parse(std::string_view text,
                                 std::initializer_list<std::string_view> schemes,
                                 std::string_view example);
};

}  // namespace sagabox::transports
