#include "core/headers_text.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace sagabox {

std::string headers_text(const Headers& headers) {
  std::string text = "{";
  for (const auto& [name, value] : headers) {
    if (text.size() > 1) text += ',';
    text += boost::json::serialize(boost::json::string_view(name));
    text += ':';
    text += boost::json::serialize(boost::json::string_view(value));
  }
  return text += '}';
}

Result<Headers> headers_from_text(std::string_view text) {
  const auto broken = [] {
    return Error{Code::schema_validation_failed, "headers: not a JSON object of strings"};
  };
  boost::json::error_code error;
  const auto parsed = boost::json::parse(text, error);
  if (error || !parsed.is_object()) return broken();
  Headers headers;
  headers.reserve(parsed.get_object().size());
  for (const auto& [name, value] : parsed.get_object()) {
    if (!value.is_string()) return broken();
    headers.emplace_back(std::string(name), std::string(value.get_string()));
  }
  return headers;
}

}  // namespace sagabox
