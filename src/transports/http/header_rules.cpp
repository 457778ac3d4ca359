#include "transports/http/header_rules.hpp"

#include "core/ascii.hpp"

#include <algorithm>
#include <array>

namespace sagabox::http {
namespace {

/// Lower case.
constexpr std::array<std::string_view, 11> of_protocol = {"connection",
                                                          "content-length",
                                                          "content-type",
                                                          "expect",
                                                          "host",
                                                          "keep-alive",
                                                          "te",
                                                          "trailer",
                                                          "upgrade",
                                                          "transfer-encoding",
                                                          "accept-encoding"};
constexpr std::array<std::string_view, 3> of_protocol_prefixes = {"ce-", "proxy-", "webhook-"};

bool is_token_character(char c) noexcept {
  static constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         others.find(c) != std::string_view::npos;
}

bool goes_as_it_is(char c) noexcept { return c > ' ' && c < '\x7f' && c != '"' && c != '%'; }

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

bool same_name(std::string_view left, std::string_view right) noexcept {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

bool is_header_name(std::string_view name) noexcept {
  return !name.empty() && std::all_of(name.begin(), name.end(), is_token_character);
}

bool is_header_value(std::string_view value) noexcept {
  return std::all_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

bool belongs_to_protocol(std::string_view name) noexcept {
  return std::any_of(of_protocol.begin(), of_protocol.end(),
                     [&](std::string_view known) { return same_name(name, known); }) ||
         std::any_of(of_protocol_prefixes.begin(), of_protocol_prefixes.end(),
                     [&](std::string_view prefix) {
                       return same_name(name.substr(0, prefix.size()), prefix);
                     });
}

void append_percent_encoded(std::string_view value, std::string& out) {
  static constexpr std::string_view digits = "0123456789ABCDEF";
  while (true) {
    const auto plain = std::find_if_not(value.begin(), value.end(), goes_as_it_is) - value.begin();
    out.append(value.substr(0, static_cast<std::size_t>(plain)));
    value.remove_prefix(static_cast<std::size_t>(plain));
    if (value.empty()) return;
    const auto byte = static_cast<unsigned char>(value.front());
    out.append({'%', digits[byte >> 4U], digits[byte & 0xfU]});
    value.remove_prefix(1);
  }
}

}  // namespace sagabox::http
