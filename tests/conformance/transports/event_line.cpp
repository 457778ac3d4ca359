#include "conformance/transports/event_line.hpp"

#include "core/headers_text.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <openssl/evp.h>

#include <algorithm>

namespace sagabox::testing {
namespace {

/// As it stands in the line, not as a parser would say it again.
std::string data_of(std::string_view line) {
  constexpr std::string_view before = "\"data\":";
  const auto begin = line.find(before) + before.size();
  return std::string(line.substr(begin, line.size() - begin - 1));
}

}  // namespace

std::string from_base64(std::string_view text) {
  std::string bytes(text.size(), '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  const auto padding = static_cast<int>(std::ranges::count(text, '='));
  bytes.resize(static_cast<std::size_t>(size - padding));
  return bytes;
}

std::optional<Arrived> event_of(const std::string& line) {
  boost::json::error_code error;
  const auto event = boost::json::parse(line, error);
  if (error || !event.is_object()) return std::nullopt;
  Arrived arrived;
  for (const auto& [name, value] : event.get_object()) {
    if (name == "data") {
      arrived.payload = data_of(line);
    } else if (name == "data_base64") {
      arrived.payload = from_base64(std::string_view(value.as_string()));
    } else if (name == "datacontenttype") {
      arrived.content_type = value.as_string().c_str();
    } else if (name == "headers") {
      arrived.headers = headers_from_text(std::string_view(value.as_string())).value();
    } else {
      arrived.attributes.emplace_back(std::string(name), std::string(value.as_string()));
    }
  }
  return arrived;
}

}  // namespace sagabox::testing
