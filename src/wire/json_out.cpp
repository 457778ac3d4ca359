#include "wire/json_out.hpp"

#include "core/text.hpp"
#include "core/timestamp.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace sagabox::wire {

void JsonOut::separate() {
  if (!first_) text_ += ',';
  first_ = false;
}

JsonOut& JsonOut::open(char bracket) {
  separate();
  text_ += bracket;
  first_ = true;
  return *this;
}

JsonOut& JsonOut::close(char bracket) {
  text_ += bracket;
  first_ = false;
  return *this;
}

JsonOut& JsonOut::name(std::string_view name) {
  separate();
  append_quoted(name);
  text_ += ':';
  first_ = true;
  return *this;
}

JsonOut& JsonOut::raw(std::string_view json) {
  separate();
  text_ += json;
  return *this;
}

JsonOut& JsonOut::value(std::string_view text) {
  separate();
  append_quoted(text);
  return *this;
}

JsonOut& JsonOut::value(double number) {
  if (!std::isfinite(number)) return null();
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return raw({digits.data(), static_cast<std::size_t>(end.ptr - digits.data())});
}

JsonOut& JsonOut::value(WallTime time) { return value(timestamp_text(time)); }

void JsonOut::append_quoted(std::string_view text) {
  constexpr std::string_view hex_digits = "0123456789abcdef";
  text_ += '"';
  while (!text.empty()) {
    const auto character = utf8_front(text);
    const char c = text.front();
    if (character.bytes == 0) {
      text_ += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text_ += "\\u00";
      text_ += hex_digits[static_cast<unsigned char>(c) >> 4];
      text_ += hex_digits[static_cast<unsigned char>(c) & 15];
    } else {
      text_.append(text.substr(0, character.bytes));
    }
    text.remove_prefix(std::max<std::size_t>(character.bytes, 1));
  }
  text_ += '"';
}

}  // namespace sagabox::wire
