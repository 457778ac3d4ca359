#include "stores/sql/record.hpp"

#include "core/history_text.hpp"
#include "core/stored_message.hpp"

#include <optional>
#include <string_view>
#include <utility>

namespace sagabox::sql {
namespace {

enum RecordColumn : int {
  state,
  sequence,
  shard,
  attempts,
  replays,
  written_at,
  due,
  retrying,
  ended_at,
  code,
  error,
  note,
  history,
  payload_bytes,
  id,
  tenant,
  topic,
  aggregate_type,
  aggregate_id,
  key,
  priority,
  is_json,
  content_type,
  headers,
  occurred_at,
  not_before,
  traceparent,
  tracestate,
  request_id,
  correlation_id,
  digest,
  is_unchecked,
  payload,
};

MessageId id_of(std::string_view text) {
  auto parsed = MessageId::parse(text);
  return parsed.ok() ? *parsed : MessageId{};
}

/// If the payload was not read, the message has an empty one, and the digest of the stored one.
DecodedMessage decode_message(const Row& row, int first, bool with_payload) {
  const auto text = [&](RecordColumn column) { return row.text(first + column); };
  const auto copy = [&](RecordColumn column) { return std::string(text(column)); };
  const bool has_payload = with_payload && !row.is_null(first + payload);
  Digest hash = digest_of(text(digest));
  if (row.is_null(first + digest) && !row.is_null(first + payload)) hash = sha256(text(payload));
  return decode_stored(
      {.id = text(id),
       .row = {.topic = text(topic),
               .key = text(key),
               .form = row.boolean(first + is_json) ? PayloadForm::json : PayloadForm::bytes,
               .payload = has_payload ? text(payload) : std::string_view(),
               .priority = static_cast<Priority>(row.integer(first + priority)),
               .occurred_at = row.time(first + occurred_at),
               .digest = hash,
               .details = MessageDetails{.tenant = copy(tenant),
                                         .aggregate_type = copy(aggregate_type),
                                         .aggregate_id = copy(aggregate_id),
                                         .content_type = copy(content_type),
                                         .not_before = row.maybe_time(first + not_before),
                                         .trace = {copy(traceparent), copy(tracestate),
                                                   copy(request_id), copy(correlation_id)}}},
       .headers = text(headers),
       .built_by_us = !has_payload || !row.boolean(first + is_unchecked)});
}

}  // namespace

Record decode_record(const Row& row, int first, bool with_history) {
  auto decoded = decode_message(row, first, true);
  Record out;
  MessageRecord& record = out.record;
  record.state = state_from_name(row.text(first + state)).value_or(MessageState::pending);
  record.id = id_of(row.text(first + id));
  record.sequence = Sequence{row.natural(first + sequence)};
  record.shard = Shard{static_cast<std::uint16_t>(row.integer(first + shard))};
  record.decode_error = std::move(decoded.error);
  if (const Message* known = decoded.message.get()) {
    record.tenant = known->tenant();
    record.topic = known->topic();
    record.aggregate_type = known->aggregate_type();
    record.aggregate_id = known->aggregate_id();
    record.key = known->key();
    record.digest = known->digest();
    record.payload_bytes = static_cast<std::size_t>(row.natural(first + payload_bytes));
  }
  record.attempts = row.natural32(first + attempts);
  record.replays = row.natural32(first + replays);
  record.written_at = row.time(first + written_at);
  record.due = row.maybe_time(first + due);
  record.retrying = row.boolean(first + retrying);
  record.ended_at = row.maybe_time(first + ended_at);
  if (!row.is_null(first + code)) record.code = code_from_name(row.text(first + code));
  record.error = row.text(first + error);
  record.note = row.text(first + note);
  if (with_history) record.history = history_from_text(row.text(first + history));
  out.message = std::move(decoded.message);
  out.tenant = row.text(first + tenant);
  return out;
}

std::shared_ptr<const Message> audited_message(const Row& row, int first) {
  return decode_message(row, first, false).message;
}

}  // namespace sagabox::sql
