#include "wire/json_out.hpp"

#include "core/json_quote.hpp"
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
  append_json_string(text_, name);
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
  append_json_string(text_, text);
  return *this;
}

JsonOut& JsonOut::value(double number) {
  if (!std::isfinite(number)) return null();
  // Without an exponent, which many readers do not expect: people read these numbers, too.
  std::array<char, 400> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed);
  return raw({digits.data(), static_cast<std::size_t>(end.ptr - digits.data())});
}

JsonOut& JsonOut::value(WallTime time) { return value(timestamp_text(time)); }

}  // namespace sagabox::wire
