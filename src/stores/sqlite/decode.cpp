#include "stores/sqlite/decode.hpp"

#include "stores/sqlite/places.hpp"

#include <optional>
#include <utility>

namespace sagabox::sqlite {
namespace {

/// The columns of a message, see sql/outbox.sql.
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

/// The columns of a row that is read, see sql/outbox.sql.
enum RowColumn : int {
  row_place,
  row_attempts,
  row_replays,
  row_targets_done,
  row_written_at,
  row_due,
  row_retrying,
  row_columns,
};
constexpr int row_message = row_columns;
constexpr int row_payload = row_message + int{message_columns};

/// Null if all of them have the usual values.
std::optional<MessageDetails> details_of(const Run& run, int first) {
  const auto text = [&](MessageColumn column) { return run.value(first + column).text(); };
  const auto is_null = [&](MessageColumn column) { return run.value(first + column).is_null(); };
  const auto of_tenant = text(tenant);
  const auto of_type = text(aggregate_type);
  const auto of_content = text(content_type);
  if (of_tenant == tenant_default && of_type == aggregate_global &&
      of_content == json_content_type && is_null(aggregate_id) && is_null(headers) &&
      is_null(not_before) && is_null(traceparent) && is_null(tracestate) && is_null(request_id) &&
      is_null(correlation_id)) {
    return std::nullopt;
  }
  MessageDetails details{
      .tenant = std::string(of_tenant),
      .aggregate_type = std::string(of_type),
      .aggregate_id = std::string(text(aggregate_id)),
      .content_type = std::string(of_content),
      .trace = {std::string(text(traceparent)), std::string(text(tracestate)),
                std::string(text(request_id)), std::string(text(correlation_id))}};
  if (const auto at = run.value(first + not_before); !at.is_null()) {
    details.not_before = WallTime(std::chrono::microseconds(at.integer()));
  }
  return details;
}

/// If the payload was not read, the message has an empty one, and the digest of the stored one, if
/// that is known.
DecodedMessage decode_message(const Run& run, int first, int payload) {
  const auto value = [&](MessageColumn column) { return run.value(first + column); };
  const auto body = run.value(payload);
  const auto hash = value(digest);
  const auto when = std::chrono::microseconds(value(occurred_at).integer());
  return decode_stored(
      {.id = value(id).text(),
       .row = {.topic = value(topic).text(),
               .key = value(key).text(),
               .form = value(is_json).integer() != 0 ? PayloadForm::json : PayloadForm::bytes,
               .payload = body.bytes(),
               .priority = static_cast<Priority>(value(priority).integer()),
               .occurred_at = WallTime(when),
               .digest = hash.is_null() ? Digest{} : digest_of(hash.bytes()),
               .details = details_of(run, first)},
       .headers = value(headers).text(),
       .built_by_us = !hash.is_null() || body.is_null()});
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
  row.retrying = run.integer(row_retrying) != 0;
  auto decoded = decode_message(run, row_message, row_payload);
  row.id = decoded.message ? decoded.message->id() : id_of(run.text(row_message + id));
  row.message = std::move(decoded.message);
  row.decode_error = std::move(decoded.error);
  return row;
}

}  // namespace sagabox::sqlite
