#include "server/api/arguments.hpp"

#include "core/message_check.hpp"
#include "core/ulid.hpp"

#include <algorithm>
#include <string>

namespace sagabox::server {

Status no_fields(std::string_view body) {
  if (body.empty()) return {};
  const auto fields = Fields::parse(body);
  return fields.ok() ? fields->status() : Status(fields.error());
}

Result<Fields> fields_of(const Request& request) {
  const auto& body = request.body;
  return Fields::parse(body.empty() ? std::string_view("{}") : std::string_view(body));
}

Result<MessageId> id_from(std::string_view text) {
  auto id = MessageId::parse(text);
  if (!id.ok()) return Error{Code::request_invalid, "id: " + id.error().message};
  return id;
}

TraceContext trace_of(const Request& request) {
  TraceContext trace;
  trace.request_id = fitting_header(request, "x-request-id", MessageRules::request_id_length_max);
  const auto traceparent = request.header("traceparent");
  if (!is_traceparent(traceparent)) return trace;
  trace.traceparent = traceparent;
  trace.tracestate = fitting_header(request, "tracestate", MessageRules::tracestate_length_max);
  return trace;
}

std::string id_of_request(const HttpIdempotency::Pass& pass, const std::string& where) {
  std::string text(reinterpret_cast<const char*>(pass.request_hash.data()),
                   pass.request_hash.size());
  for (const auto* part : {&pass.key->tenant, &pass.key->consumer, &pass.key->key, &where}) {
    text += std::to_string(part->size()) + ":" + *part;
  }
  return ulid_of(pass.first_at, sha256(text));
}

Result<std::string> idempotency_key_of(const Request& request) {
  auto text = request.header("idempotency-key");
  if (text.empty()) return std::string();
  const bool quotes = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  if (quotes) text = text.substr(1, text.size() - 2);
  const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
  if (printable && !text.empty() && text.size() <= IdempotencyKey::key_length_max) {
    return std::string(text);
  }
  return Error{Code::request_invalid,
               "Idempotency-Key: give 1 to 255 printable ASCII characters, for instance a UUID, "
               "with or without quotes"};
}

}  // namespace sagabox::server
