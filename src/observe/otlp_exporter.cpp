#include "core/text.hpp"

#include <sagabox/tracing.hpp>

#ifdef SAGABOX_HTTP
#include "observe/curl_post.hpp"
#endif

#include <algorithm>
#include <string>
#include <utility>

namespace sagabox {
namespace {

Error wrong(std::string text) { return {Code::config_invalid, std::move(text)}; }

bool is_printable(std::string_view text) {
  return text_facts(text).unprintable_at == std::string_view::npos;
}

bool is_header_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

Status check_headers(const OtlpOptions& options) {
  if (!is_printable(options.authorization)) {
    return wrong("authorization: it has a line break or another control character in it");
  }
  for (const auto& [name, value] : options.headers) {
    if (!is_header_name(name)) {
      return wrong("headers: " + quoted(name) + " is not the name of a header");
    }
    if (!is_printable(value)) {
      return wrong("headers." + name + ": it has a line break or another control character in it");
    }
  }
  return {};
}

}  // namespace

Status OtlpOptions::check() const {
  const bool web = endpoint.starts_with("http://") || endpoint.starts_with("https://");
  if (!web || endpoint.find("://") + 3 == endpoint.size() || !is_printable(endpoint)) {
    return wrong("endpoint: write the URL of a collector, such as http://127.0.0.1:4318");
  }
  if (queue_capacity == 0) return wrong("queue_capacity: it must be at least 1");
  if (batch_max == 0 || batch_max > queue_capacity) {
    return wrong("batch_max: it must be from 1 to queue_capacity");
  }
  if (attempts_max == 0) return wrong("attempts_max: it must be at least 1");
  if (timeout <= Duration::zero()) return wrong("timeout: it must be more than 0");
  return check_headers(*this);
}

Result<std::unique_ptr<OtlpExporter>> OtlpExporter::open(OtlpOptions options) {
  if (auto checked = options.check(); !checked.ok()) return checked.error();
#ifdef SAGABOX_HTTP
  auto post = open_curl_post(options);
  if (!post.ok()) return post.error();
  return std::unique_ptr<OtlpExporter>(
      std::make_unique<SpanExporter>(std::move(options), std::move(*post)));
#else
  return wrong(
      "this build has no exporter of spans: it was built without libcurl, or with "
      "SAGABOX_HTTP=OFF");
#endif
}

}  // namespace sagabox
