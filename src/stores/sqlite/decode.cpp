#include "stores/sqlite/decode.hpp"

#include "core/history_text.hpp"
#include "stores/sqlite/places.hpp"

#include <optional>
#include <utility>

namespace sagabox::sqlite {
namespace {

/// Of `{message}`.
enum MessageColumn : int {
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
  message_columns,
};

/// Of `{row}`.
enum RowColumn : int {
  row_place,
  row_attempts,
  row_replays,
  row_targets_done,
  row_written_at,
  row_due,
  row_columns,
};
constexpr int row_message = row_columns;
constexpr int row_payload = row_message + int{message_columns};

/// Of `{pending}`, `{ended}` and `{done}`.
enum RecordColumn : int {
  state,
  sequence,
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
  record_columns,
};
constexpr int record_message = record_columns;
constexpr int record_payload = record_message + int{message_columns};

NewMessage fields_of(const Run& run, int first) {
  const auto text = [&](MessageColumn column) { return run.value(first + column).text(); };
  const auto integer = [&](MessageColumn column) { return run.value(first + column).integer(); };
  NewMessage fields;
  fields.topic = Topic(text(topic));
  fields.key.assign(text(key));
  fields.tenant.assign(text(tenant));
  // Most have none of their own, as a new message has.
  if (const auto type = text(aggregate_type); type != fields.aggregate_type.str()) {
    fields.aggregate_type = AggregateType(type);
  }
  fields.aggregate_id.assign(text(aggregate_id));
  fields.priority = static_cast<Priority>(integer(priority));
  fields.content_type.assign(text(content_type));
  fields.occurred_at = WallTime(std::chrono::microseconds(integer(occurred_at)));
  if (const auto at = run.value(first + not_before); !at.is_null()) {
    fields.not_before = WallTime(std::chrono::microseconds(at.integer()));
  }
  fields.trace.traceparent.assign(text(traceparent));
  fields.trace.tracestate.assign(text(tracestate));
  fields.trace.request_id.assign(text(request_id));
  fields.trace.correlation_id.assign(text(correlation_id));
  return fields;
}

/// Without a payload the message has an empty one, and the digest of what it would be, if that is
/// known.
DecodedMessage decode_message(const Run& run, int first, int payload) {
  auto fields = fields_of(run, first);
  const auto form = run.boolean(first + is_json) ? PayloadForm::json : PayloadForm::bytes;
  const auto body = run.value(payload);
  fields.payload = Payload(form, std::string(body.bytes()));
  std::optional<Digest> known;
  if (const auto stored = run.value(first + digest); !stored.is_null()) {
    known = digest_of(stored.bytes());
  } else if (body.is_null()) {
    known = Digest{};
  }
  return decode_stored(run.value(first + id).text(), std::move(fields),
                       run.value(first + headers).text(), known);
}

MessageId id_of(std::string_view text) {
  auto parsed = MessageId::parse(text);
  return parsed.ok() ? *parsed : MessageId{};
}

}  // namespace

std::size_t bytes_of_row(const Run& run, const spi::Row& row) {
  return row.message ? row.message->bytes() : run.size(row_payload);
}

spi::Row decode_row(const Run& run) {
  spi::Row row;
  row.sequence = sequence_of(run.integer(row_place));
  row.attempts = static_cast<std::uint32_t>(run.integer(row_attempts));
  row.replays = static_cast<std::uint32_t>(run.integer(row_replays));
  row.targets_done = TargetsDone{static_cast<std::uint64_t>(run.integer(row_targets_done))};
  row.written_at = run.time(row_written_at);
  if (const auto waits_for = run.maybe_time(row_due)) row.due = *waits_for;
  auto decoded = decode_message(run, row_message, row_payload);
  row.id = decoded.message ? decoded.message->id() : id_of(run.text(row_message + id));
  row.message = std::move(decoded.message);
  row.decode_error = std::move(decoded.error);
  return row;
}

Decoded decode_record(const Run& run, bool with_history) {
  Decoded out;
  auto decoded = decode_message(run, record_message, record_payload);
  MessageRecord& record = out.record;
  record.state = state_from_name(run.text(state)).value_or(MessageState::pending);
  record.id = id_of(run.text(record_message + id));
  record.sequence = Sequence{run.natural(sequence)};
  record.decode_error = std::move(decoded.error);
  if (const Message* known = decoded.message.get()) {
    record.tenant = known->tenant();
    record.topic = known->topic();
    record.aggregate_type = known->aggregate_type();
    record.aggregate_id = known->aggregate_id();
    record.key = known->key();
    record.digest = known->digest();
    record.payload_bytes = static_cast<std::size_t>(run.integer(payload_bytes));
  }
  record.attempts = static_cast<std::uint32_t>(run.integer(attempts));
  record.replays = static_cast<std::uint32_t>(run.integer(replays));
  record.written_at = run.time(written_at);
  record.due = run.maybe_time(due);
  record.retrying = run.boolean(retrying);
  record.ended_at = run.maybe_time(ended_at);
  if (!run.is_null(code)) record.code = code_from_name(run.text(code));
  record.error = run.text(error);
  record.note = run.text(note);
  if (with_history) record.history = history_from_text(run.text(history));
  out.message = std::move(decoded.message);
  return out;
}

}  // namespace sagabox::sqlite
