#include "transports/cloud_event.hpp"

#include "core/base64.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/string_view.hpp>

#include <algorithm>

namespace sagabox::transports {
namespace {

constexpr std::size_t bytes_beside_data = 1024;

/// `application/json`, `…+json`, whatever the parameters.
bool is_json(std::string_view content_type) {
  auto type = std::string(content_type.substr(0, content_type.find(';')));
  type.resize(type.find_last_not_of(' ') + 1);
  std::transform(type.begin(), type.end(), type.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return type.ends_with("/json") || type.ends_with("+json");
}

void append_member(std::string_view name, std::string_view value, std::string& out) {
  out.append(out.back() == '{' ? "\"" : ",\"").append(name).append("\":");
  out.append(boost::json::serialize(boost::json::string_view(value.data(), value.size())));
}

}  // namespace

void append_cloud_event(const Envelope& envelope, const Message& message, std::string& out) {
  const auto& payload = message.payload();
  out.reserve(out.size() + bytes_beside_data + payload.size() / 3 * 4);
  out.push_back('{');
  for (const auto& [name, value] : envelope.attributes()) append_member(name, value, out);
  append_member("datacontenttype", message.content_type(), out);
  // Receivers read `data` as JSON only where the content type says so.
  if (payload.form() == PayloadForm::json && is_json(message.content_type())) {
    out.append(",\"data\":").append(payload.view());
  } else {
    out.append(",\"data_base64\":\"");
    append_base64(payload.view(), out);
    out.push_back('"');
  }
  out.push_back('}');
}

}  // namespace sagabox::transports
