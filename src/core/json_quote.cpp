#include "core/json_quote.hpp"

#include "core/text.hpp"

#include <algorithm>

namespace sagabox {
namespace {

constexpr bool stands_for_itself(char c) noexcept {
  return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view hex_digits = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const auto* const odd = std::ranges::find_if_not(text, stands_for_itself);
    const auto plain = static_cast<std::size_t>(odd - text.begin());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto character = utf8_front(text);
    const char c = text.front();
    if (character.bytes == 0) {
      out += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += hex_digits[static_cast<unsigned char>(c) >> 4];
      out += hex_digits[static_cast<unsigned char>(c) & 15];
    } else {
      out.append(text.substr(0, character.bytes));
    }
    text.remove_prefix(std::max<std::size_t>(character.bytes, 1));
  }
  out += '"';
}

}  // namespace sagabox
