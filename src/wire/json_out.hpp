#pragma once

#include <sagabox/time.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox::wire {

/// Writes JSON text from front to back. Bytes that are not well-formed UTF-8 become U+FFFD.
class JsonOut {
 public:
  JsonOut& begin_object() { return open('{'); }
  JsonOut& end_object() { return close('}'); }
  JsonOut& begin_array() { return open('['); }
  JsonOut& end_array() { return close(']'); }
  /// The name of the next value.
  JsonOut& name(std::string_view name);

  JsonOut& value(std::string_view text);
  JsonOut& value(const char* text) { return value(std::string_view(text)); }
  JsonOut& value(bool yes) { return raw(yes ? "true" : "false"); }
  template <std::integral Whole>
    requires(!std::same_as<Whole, bool>)
  JsonOut& value(Whole number) {
    return raw(std::to_string(number));
  }
  JsonOut& value(double number);
  JsonOut& value(WallTime time);
  JsonOut& null() { return raw("null"); }
  /// The text must be JSON.
  JsonOut& raw(std::string_view json);

  template <class Value>
  JsonOut& field(std::string_view its_name, const Value& its_value) {
    return name(its_name).value(its_value);
  }
  /// Omitted if the value is empty.
  JsonOut& field_if(std::string_view its_name, std::string_view text) {
    return text.empty() ? *this : field(its_name, text);
  }
  template <class Value>
  JsonOut& field_if(std::string_view its_name, const std::optional<Value>& given) {
    return given ? field(its_name, *given) : *this;
  }

  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  JsonOut& open(char bracket);
  JsonOut& close(char bracket);
  void separate();

  std::string text_;
  bool first_ = true;  // the next value or name is the first at its level
};

}  // namespace sagabox::wire
