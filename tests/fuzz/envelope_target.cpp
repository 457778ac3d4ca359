#include "core/base64.hpp"
#include "core/headers_text.hpp"
#include "core/history_text.hpp"
#include "core/stored_message.hpp"
#include "core/timestamp.hpp"
#include "fuzz/target.hpp"
#include "transports/structured.hpp"

#include <sagabox/payload.hpp>

#include <string>

namespace sagabox::fuzz {
namespace {

/// What lies in a store as text, and goes round.
void read_texts(std::string_view headers, std::string_view history, std::string_view time) {
  if (const auto parsed = headers_from_text(headers); parsed.ok()) {
    must(headers_from_text(headers_text(*parsed)).value() == *parsed, "headers go round");
  }
  const auto failures = history_from_text(history);
  must(history_from_text(history_text(failures)) == failures, "a history goes round");
  if (const auto at = time_from_text(time)) {
    must(time_from_text(timestamp_text(*at)) == at, "a time goes round");
  }
  if (const auto bytes = from_base64(time)) {
    std::string again;
    append_base64(*bytes, again);
    must(from_base64(again) == bytes, "base64 goes round");
  }
}

void send(const std::shared_ptr<const Message>& message) {
  static const auto table = TableName::parse("orders").value();
  for (const bool one_line : {false, true}) {
    std::string out;
    transports::append_structured(out,
                                  {.message = message, .table = &table, .sequence = Sequence{1}},
                                  {.one_line = one_line, .headers = true});
    must(json_problem(out).empty(), "an event is JSON");
    must(!one_line || out.find('\n') == std::string::npos, "on one line");
  }
}

}  // namespace
}  // namespace sagabox::fuzz

/// A line each for id, topic, key, tenant, content type, time or base64, headers and history; the
/// rest is the payload. A row of somebody else: nothing of it has been checked.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sagabox;
  auto text = fuzz::text_of(data, size);
  const auto id = fuzz::next_line(text);
  const auto topic = fuzz::next_line(text);
  const auto key = fuzz::next_line(text);
  MessageDetails details;
  details.tenant = fuzz::next_line(text);
  details.content_type = fuzz::next_line(text);
  const auto time = fuzz::next_line(text);
  const auto headers = fuzz::next_line(text);
  const auto history = fuzz::next_line(text);
  fuzz::read_texts(headers, history, time);
  for (const auto form : {PayloadForm::json, PayloadForm::bytes}) {
    Stored stored{.id = id, .row = {}, .headers = headers, .built_by_us = false};
    stored.row.topic = topic;
    stored.row.key = key;
    stored.row.payload = text;
    stored.row.form = form;
    stored.row.details = details;
    const auto decoded = decode_stored(std::move(stored));
    fuzz::must((decoded.message == nullptr) == !decoded.error.empty(), "a message or why not");
    if (decoded.message) fuzz::send(decoded.message);
  }
  return 0;
}
