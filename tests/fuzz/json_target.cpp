#include "core/message_check.hpp"
#include "fuzz/target.hpp"
#include "server/api/problem.hpp"
#include "server/api/query.hpp"
#include "wire/fields.hpp"
#include "wire/json_out.hpp"

#include <sagabox/payload.hpp>

#include <string>
#include <utility>

namespace sagabox::fuzz {
namespace {

/// As the operations read their bodies; what is refused becomes an answer, which is JSON.
void answer(const Status& status) {
  if (status.ok()) return;
  must(!status.error().message.empty(), "a refusal says why");
  must(json_problem(server::problem(status.error()).body).empty(), "a problem is JSON");
}

void read_message(wire::Fields fields) {
  NewMessage message;
  message.topic = fields.text("topic");
  message.id = fields.text("id");
  message.key = fields.text("key");
  message.content_type = fields.text("content_type");
  message.headers = fields.texts_by_name("headers");
  message.occurred_at = fields.time("occurred_at");
  message.trace.traceparent = fields.text("traceparent");
  if (const auto payload = fields.raw("payload")) {
    must(json_problem(*payload).empty(), "a part of JSON is JSON");
    message.payload = Payload::copy_of(PayloadForm::json, *payload);
  }
  answer(fields.status());
  answer(check_draft(message, {}));
  wire::JsonOut json;
  json.begin_object().field("topic", message.topic.str()).field("key", message.key);
  for (const auto& [name, value] : message.headers) json.name(name).value(value);
  must(json_problem(std::move(json.end_object()).take()).empty(), "what we write is JSON");
}

void read_order(wire::Fields fields) {
  (void)fields.texts("ids");
  (void)fields.count("limit", 1, 1000);
  (void)fields.flag("dry_run");
  (void)fields.maybe_text("note");
  if (auto filter = fields.object("filter")) {
    (void)filter->maybe_text("topic");
    (void)filter->time("from");
    answer(filter->status());
  }
  answer(fields.status());
}

void read_batch(wire::Fields fields) {
  const auto elements = fields.elements("messages");
  if (!elements) return;
  for (const auto element : *elements) {
    auto inner = wire::Fields::split(element, "messages[0].");
    if (!inner.ok()) {
      answer(inner.error());
    } else {
      read_message(std::move(*inner));
    }
  }
}

void read_query(std::string_view text) {
  server::Query query("/v1/messages?" + std::string(text));
  (void)query.maybe_text("topic");
  (void)query.count("limit", 1, 1000);
  (void)query.flag("payload");
  (void)query.time("from");
  answer(query.status());
  (void)server::path_segments("/" + std::string(text));
}

}  // namespace
}  // namespace sagabox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sagabox;
  const auto text = fuzz::text_of(data, size);
  fuzz::read_query(text);
  const auto parsed = wire::Fields::parse(text);
  fuzz::must(!parsed.ok() || json_problem(text).empty(), "only JSON is taken");
  if (!parsed.ok()) {
    fuzz::answer(parsed.error());
    return 0;
  }
  fuzz::read_message(*parsed);
  fuzz::read_order(*parsed);
  fuzz::read_batch(*parsed);
  return 0;
}
