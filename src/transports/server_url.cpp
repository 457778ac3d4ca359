#include "transports/server_url.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace sagabox::transports {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

/// "host", "host:1", "[::1]:1".
bool split_host(std::string_view text, ServerUrl& url) {
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return false;
    url.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    const auto colon = text.find(':');
    url.host = text.substr(0, colon);
    port = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (port.empty()) return true;
  if (port.front() != ':') return false;
  port.remove_prefix(1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  return error == std::errc() && end == port.data() + port.size() && url.port != 0;
}

}  // namespace

Result<ServerUrl> ServerUrl::parse(std::string_view text,
                                   std::initializer_list<std::string_view> schemes,
                                   std::string_view example) {
  const auto wrong = [&](std::string_view what) {
    return Error{Code::config_invalid,
                 "server URL: " + std::string(what) + "; right is " + std::string(example)};
  };
  ServerUrl url;
  const auto colon = text.find("://");
  if (colon == std::string_view::npos) return wrong("no scheme");
  url.scheme = text.substr(0, colon);
  if (std::find(schemes.begin(), schemes.end(), url.scheme) == schemes.end()) {
    return wrong("unknown scheme");
  }
  auto rest = text.substr(colon + 3);
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return wrong("? and # have no meaning here (write %3F and %23 in a password)");
  }
  const auto slash = rest.find('/');
  auto authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) {
    const auto path = decoded(rest.substr(slash + 1));
    if (!path) return wrong("% must be followed by two hexadecimal digits");
    url.has_path = true;
    url.path = *path;
  }
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    const auto login = authority.substr(0, at);
    authority.remove_prefix(at + 1);
    const auto split = login.find(':');
    const auto user = decoded(login.substr(0, split));
    const auto password =
        decoded(split == std::string_view::npos ? std::string_view() : login.substr(split + 1));
    if (!user || !password) return wrong("% must be followed by two hexadecimal digits");
    url.user = *user;
    url.password = *password;
  }
  if (!split_host(authority, url)) return wrong("the port must be a number from 1 to 65535");
  return url;
}

}  // namespace sagabox::transports
