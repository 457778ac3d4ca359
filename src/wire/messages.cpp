#include "wire/messages.hpp"

#include "core/base64.hpp"
#include "observe/error_metrics.hpp"
#include "wire/field_reading.hpp"
#include "wire/filters.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace sagabox::wire {
namespace {

std::string_view priority_name(Priority priority) {
  switch (priority) {
    case Priority::high:
      return "high";
    case Priority::normal:
      return "normal";
    case Priority::low:
      break;
  }
  return "low";
}

Priority read_priority(Fields& fields) {
  const auto name = text_in(fields, "priority");
  for (const auto priority : {Priority::high, Priority::normal, Priority::low}) {
    if (priority_name(priority) == name) return priority;
  }
  fields.wrong("priority", "is none of high, normal and low");
  return Priority::normal;
}

std::shared_ptr<const Message> read_content(Fields& fields, const MessageRecord& record) {
  const auto as_json = fields.raw("payload");
  const auto as_base64 = fields.maybe_text("payload_base64");
  if (!as_json && !as_base64) return nullptr;
  auto payload = Payload::copy_of(PayloadForm::json, as_json.value_or(""));
  if (as_base64) {
    const auto data = from_base64(*as_base64);
    if (!data) fields.wrong("payload_base64", "is not base64");
    payload = bytes(data.value_or(""));
  }
  return std::make_shared<const Message>(
      Message::restore({.id = record.id,
                        .fields = {.topic = Topic(record.topic),
                                   .key = record.key,
                                   .payload = std::move(payload),
                                   .tenant = record.tenant,
                                   .aggregate_type = AggregateType(record.aggregate_type),
                                   .aggregate_id = record.aggregate_id,
                                   .priority = read_priority(fields),
                                   .content_type = text_in(fields, "content_type"),
                                   .headers = fields.texts_by_name("headers"),
                                   .occurred_at = time_in(fields, "occurred_at"),
                                   .not_before = fields.time("not_before"),
                                   .trace = {.traceparent = fields.text("traceparent"),
                                             .tracestate = fields.text("tracestate"),
                                             .request_id = fields.text("request_id"),
                                             .correlation_id = fields.text("correlation_id")}},
                        .digest = record.digest}));
}

void put_next(JsonOut& json, const std::string& next) {
  json.name("next");
  if (next.empty()) {
    json.null();
  } else {
    json.value(next);
  }
}

MessageState state_in(Fields& fields, std::string_view name) {
  must_have(fields, name);
  return read_state(fields, name).value_or(MessageState::pending);
}

FailedAttempt read_attempt(Fields& fields) {
  return {.number = small_in<std::uint32_t>(fields, "attempt"),
          .at = time_in(fields, "at"),
          .code = maybe_code_in(fields, "code").value_or(Code::unknown_internal),
          .error = text_in(fields, "error")};
}

BlockedKey read_blocked_key(Fields& fields) {
  BlockedKey key{.key = text_in(fields, "key")};
  key.behind = number_in(fields, "behind");
  key.more_behind = flag_in(fields, "more_behind");
  key.head = object_in(fields, "head", read_message);
  return key;
}

Moved read_one_moved(Fields& fields) {
  Moved moved{.id = message_id_in(fields, "id"),
              .moved = flag_in(fields, "moved"),
              .text = text_in(fields, "text")};
  if (fields.has("was")) moved.was = state_in(fields, "was");
  moved.unclear = fields.flag("unclear");
  return moved;
}

}  // namespace

void put_content(JsonOut& json, const Message& message) {
  json.field("content_type", message.content_type())
      .field("priority", priority_name(message.priority()))
      .field("occurred_at", message.occurred_at())
      .field_if("not_before", message.not_before())
      .field_if("traceparent", message.trace().traceparent)
      .field_if("tracestate", message.trace().tracestate)
      .field_if("request_id", message.trace().request_id)
      .field_if("correlation_id", message.trace().correlation_id);
  json.name("headers").begin_object();
  for (const auto& [name, value] : message.headers()) json.field(name, value);
  json.end_object();
  if (message.payload().form() == PayloadForm::json) {
    json.name("payload").raw(message.payload().view());
  } else {
    std::string base64;
    append_base64(message.payload().view(), base64);
    json.field("payload_base64", base64);
  }
}

void put_members(JsonOut& json, const FailedAttempt& attempt) {
  json.field("attempt", attempt.number)
      .field("at", attempt.at)
      .field("code", code_name(attempt.code))
      .field("error", attempt.error);
}

void put_members(JsonOut& json, const TableName& table, const MessageRecord& record) {
  json.field("id", record.id.view())
      .field("table", table.str())
      .field("state", state_name(record.state))
      .field("sequence", record.sequence.value)
      .field("shard", record.shard.value)
      .field("tenant", record.tenant)
      .field("topic", record.topic)
      .field("aggregate_type", record.aggregate_type)
      .field("aggregate_id", record.aggregate_id)
      .field("key", record.key)
      .field("sha256", hex(record.digest))
      .field("payload_bytes", record.payload_bytes)
      .field("attempts", record.attempts)
      .field("replays", record.replays)
      .field("retrying", record.retrying)
      .field("written_at", record.written_at)
      .field_if("due", record.due)
      .field_if("ended_at", record.ended_at);
  if (record.code) json.field("code", code_name(*record.code));
  json.field_if("error", record.error)
      .field_if("note", record.note)
      .field_if("decode_error", record.decode_error);
  if (!record.history.empty()) put_array(json, "history", record.history);
  if (record.message) put_content(json, *record.message);
}

MessageRecord read_message(Fields& fields) {
  MessageRecord record;
  record.state = state_in(fields, "state");
  record.id = message_id_in(fields, "id");
  record.sequence = Sequence{number_in(fields, "sequence")};
  record.shard = Shard{small_in<std::uint16_t>(fields, "shard")};
  record.tenant = text_in(fields, "tenant");
  record.topic = text_in(fields, "topic");
  record.aggregate_type = text_in(fields, "aggregate_type");
  record.aggregate_id = text_in(fields, "aggregate_id");
  record.key = text_in(fields, "key");
  record.digest = digest_in(fields, "sha256");
  record.payload_bytes = number_in(fields, "payload_bytes");
  record.decode_error = fields.text("decode_error");
  record.attempts = small_in<std::uint32_t>(fields, "attempts");
  record.replays = small_in<std::uint32_t>(fields, "replays");
  record.written_at = time_in(fields, "written_at");
  record.due = fields.time("due");
  record.retrying = flag_in(fields, "retrying");
  record.ended_at = fields.time("ended_at");
  record.code = maybe_code_in(fields, "code");
  record.error = fields.text("error");
  record.note = fields.text("note");
  if (fields.has("history")) record.history = list_in(fields, "history", read_attempt);
  record.message = read_content(fields, record);
  return record;
}

void put_members(JsonOut& json, const TableName& table, const MessagePage& page) {
  put_array(json, "messages", page.rows, [&](const auto& row) { put(json, table, row); });
  put_next(json, page.next);
}

MessagePage read_page(Fields& fields) {
  return {list_in(fields, "messages", read_message), fields.text("next")};
}

void put_members(JsonOut& json, const TableName& table, const BlockedKey& key) {
  json.field("key", key.key)
      .field("behind", key.behind)
      .field("more_behind", key.more_behind)
      .name("head");
  put(json, table, key.head);
}

void put_members(JsonOut& json, const TableName& table, const BlockedKeyPage& page) {
  put_array(json, "keys", page.keys, [&](const auto& key) { put(json, table, key); });
  put_next(json, page.next);
}

BlockedKeyPage read_blocked_keys(Fields& fields) {
  return {list_in(fields, "keys", read_blocked_key), fields.text("next")};
}

void put_members(JsonOut& json, const Reason& reason) {
  json.field("why", why_name(reason.why)).field("text", reason.text);
}

void put_members(JsonOut& json, const Explanation& explanation) {
  json.field("state", explanation.state);
  put_array(json, "reasons", explanation.reasons)
      .field_if("owner", explanation.owner)
      .field_if("next", explanation.next)
      .field("text", explanation.text());
}

Explanation read_explanation(Fields& fields) {
  Explanation explanation{.state = text_in(fields, "state"),
                          .owner = fields.text("owner"),
                          .next = fields.text("next")};
  explanation.reasons = list_in(fields, "reasons", [](Fields& reason) {
    // A reason that only a newer daemon knows is still shown in the daemon's words.
    return Reason{.why = why_from_name(text_in(reason, "why")).value_or(Why::with_owner),
                  .text = text_in(reason, "text")};
  });
  if (explanation.reasons.empty()) fields.wrong("reasons", "there are none");
  return explanation;
}

void put_members(JsonOut& json, const Moved& moved) {
  json.field("id", moved.id.view());
  if (moved.was) json.field("was", state_name(*moved.was));
  json.field("moved", moved.moved);
  if (moved.unclear) json.field("unclear", true);
  json.field("text", moved.text);
}

void put_members(JsonOut& json, std::span<const Moved> moved) {
  put_array(json, "results", moved);
  json.field("moved", std::ranges::count_if(moved, &Moved::moved));
}

std::vector<Moved> read_moved(Fields& fields) { return list_in(fields, "results", read_one_moved); }

void put_members(JsonOut& json, const TableName& table, const Written& written) {
  json.field("id", written.id.view())
      .field("table", table.str())
      .field("sequence", written.sequence.value)
      .field("shard", written.shard.value)
      .field("duplicate", written.duplicate);
}

void put_members(JsonOut& json, const TableName& table, Suppressed /*what*/) {
  json.field("table", table.str()).field("suppressed", true);
}

void put_members(JsonOut& json, const TableName& table, const WrittenBatch& batch) {
  const auto& messages = batch.messages;
  const auto duplicates = std::ranges::count_if(messages, &Written::duplicate);
  put_array(json, "messages", messages, [&](const auto& one) { put(json, table, one); });
  json.field("written", std::ssize(messages) - duplicates)
      .field("duplicates", duplicates)
      .field("suppressed", batch.suppressed);
}

Written read_written(Fields& fields) {
  if (fields.flag("suppressed")) {
    fields.fail({Code::provider_rejected, "a hook of the daemon kept it from being written"});
    return {};
  }
  return {.id = message_id_in(fields, "id"),
          .sequence = Sequence{number_in(fields, "sequence")},
          .shard = Shard{small_in<std::uint16_t>(fields, "shard")},
          .duplicate = flag_in(fields, "duplicate")};
}

}  // namespace sagabox::wire
