#include "transports/structured.hpp"

#include "core/base64.hpp"
#include "core/headers_text.hpp"
#include "transports/envelope.hpp"

#include <algorithm>
#include <iterator>

namespace sagabox::transports {
namespace {

void append_text(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (byte < 0x20) {
      out.append("\\u00").append({digits[byte >> 4], digits[byte & 15]});
    } else {
      out += c;
    }
  }
  out += '"';
}

/// `application/json`, `text/json`, `application/vnd.order+json`; parameters are ignored.
bool is_json(std::string_view content_type) {
  auto type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  std::string lower;
  std::ranges::transform(type, std::back_inserter(lower), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower.ends_with("/json") || lower.ends_with("+json");
}

void append_payload(std::string& out, const Message& message, bool one_line) {
  const auto payload = message.payload().view();
  const bool verbatim = message.payload().form() == PayloadForm::json &&
                        is_json(message.content_type()) &&
                        (!one_line || payload.find_first_of("\r\n") == std::string_view::npos);
  if (verbatim) {
    out.append(R"(,"data":)").append(payload);
  } else {
    out.append(R"(,"data_base64":")");
    append_base64(payload, out);
    out += '"';
  }
}

Headers travelling(const Headers& headers) {
  Headers some;
  std::ranges::copy_if(headers, std::back_inserter(some),
                       [](const auto& header) { return may_travel(header.first); });
  return some;
}

}  // namespace

void append_structured(std::string& out, const spi::Parcel& parcel, const StructuredForm& form) {
  const auto& message = *parcel.message;
  const Envelope envelope(parcel);
  const auto append = [&](std::string_view name, std::string_view value) {
    // Our own names need no escaping.
    out.append(out.back() == '{' ? "\"" : ",\"").append(name).append("\":");
    append_text(out, value);
  };
  out += '{';
  for (const auto& [name, value] : envelope.attributes()) append(name, value);
  append("datacontenttype", message.content_type());
  if (form.headers) {
    const auto headers = travelling(message.headers());
    if (!headers.empty()) append("headers", headers_text(headers));
  }
  append_payload(out, message, form.one_line);
  out += '}';
}

}  // namespace sagabox::transports
