#include "delivery/json_text.hpp"

#include "core/json_quote.hpp"

namespace sagabox::delivery {

std::string json_object(
    std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  std::string text = "{";
  for (const auto& [name, value] : members) {
    if (text.size() > 1) text += ',';
    append_json_string(text, name);
    text += ':';
    append_json_string(text, value);
  }
  text += '}';
  return text;
}

}  // namespace sagabox::delivery
