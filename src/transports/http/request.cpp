#include "transports/http/request.hpp"

#include "transports/envelope.hpp"
#include "transports/http/header_rules.hpp"
#include "transports/structured.hpp"

#include <algorithm>
#include <charconv>

namespace sagabox::http {
namespace {

constexpr std::size_t bytes_kept_max = 64UL * 1024;

bool has(const Headers& headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const auto& header) { return same_name(header.first, name); });
}

}  // namespace

void Request::prepare(const Contents& contents) {
  const auto& message = *contents.parcel.message;
  text_.clear();
  lines_.clear();
  add_event(contents);
  add_trace(message.trace());
  if (!contents.address.keys.empty()) add_signature(contents);
  for (const auto& [name, value] : contents.address.headers) {
    if (!has(contents.credentials, name)) add_line(name, value);
  }
  for (const auto& [name, value] : contents.credentials) add_line(name, value);
  add_headers_of_author(contents);
  // Without this, libcurl would ask for permission to send a large body, and wait for the answer.
  begin_line("", "Expect");
  text_.append(":").push_back('\0');
  link_lines();
}

void Request::clear() {
  body_ = {};
  if (event_.capacity() > bytes_kept_max) event_ = {};
  if (text_.capacity() > bytes_kept_max) text_ = {};
}

void Request::begin_line(std::string_view prefix, std::string_view name) {
  lines_.push_back(text_.size());
  text_.append(prefix).append(name);
}

void Request::add_line(std::string_view name, std::string_view value) {
  if (!is_header_value(value)) return;
  begin_line("", name);
  if (value.find_first_not_of(" \t") == std::string_view::npos) {
    text_.push_back(';');  // libcurl's syntax for a header without a value
  } else {
    text_.append(": ").append(value);
  }
  text_.push_back('\0');
}

void Request::add_event(const Contents& contents) {
  const auto& message = *contents.parcel.message;
  if (contents.address.mode == Mode::structured) {
    event_.clear();
    transports::append_structured(event_, contents.parcel, {});
    body_ = event_;
    add_line("Content-Type", transports::structured_content_type);
    return;
  }
  body_ = message.payload().view();
  add_line("Content-Type", message.content_type());
  const transports::Envelope envelope(contents.parcel);
  for (const auto& [name, value] : envelope.attributes()) {
    begin_line("ce-", name);
    text_.append(": ");
    append_percent_encoded(value, text_);
    text_.push_back('\0');
  }
}

void Request::add_trace(const TraceContext& trace) {
  if (!trace.traceparent.empty()) add_line("traceparent", trace.traceparent);
  if (!trace.tracestate.empty()) add_line("tracestate", trace.tracestate);
  if (!trace.request_id.empty()) add_line("X-Request-Id", trace.request_id);
  if (!trace.correlation_id.empty()) add_line("X-Correlation-Id", trace.correlation_id);
}

void Request::add_headers_of_author(const Contents& contents) {
  for (const auto& [name, value] : contents.parcel.message->headers()) {
    // Headers of a route and of a tenant's credentials take precedence over the author's.
    if (transports::may_travel(name) && !belongs_to_protocol(name) && is_header_name(name) &&
        !has(contents.address.headers, name) && !has(contents.credentials, name)) {
      add_line(name, value);
    }
  }
}

void Request::add_signature(const Contents& contents) {
  const auto now = std::chrono::floor<std::chrono::seconds>(contents.now.time_since_epoch());
  const Signed what{contents.parcel.message->id().view(), now.count(), body_};
  add_line("webhook-id", what.id);
  add_line("webhook-timestamp", std::to_string(what.timestamp));
  add_line("webhook-signature", signatures(contents.address.keys, what));
}

void Request::link_lines() {
  nodes_.resize(lines_.size());
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    nodes_[i] = {text_.data() + lines_[i], i + 1 < lines_.size() ? &nodes_[i + 1] : nullptr};
  }
}

}  // namespace sagabox::http
