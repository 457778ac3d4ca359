#include "wire/idempotency.hpp"

#include "core/text.hpp"
#include "wire/field_reading.hpp"

namespace sagabox::wire {
namespace {

IdempotencyState idempotency_state_in(Fields& fields, std::string_view name) {
  const auto text = text_in(fields, name);
  const auto state = idempotency_state_from_name(text);
  if (!state) fields.wrong(name, quoted(text) + " is unknown");
  return state.value_or(IdempotencyState::in_flight);
}

}  // namespace

void put_members(JsonOut& json, const IdempotencyRecord& record) {
  json.field("tenant", record.key.tenant)
      .field("consumer", record.key.consumer)
      .field("key", record.key.key)
      .field("state", idempotency_state_name(record.state))
      .field("attempts", record.attempts)
      .field("request_hash", hex(record.request_hash))
      .field("created_at", record.created_at)
      .field("changed_at", record.changed_at)
      .field("lease_until", record.lease_until)
      .field("expires_at", record.expires_at);
  if (record.state == IdempotencyState::succeeded) {
    json.field("result_kept", record.result.has_value())
        .field("result_digest", hex(record.result_digest));
  }
  const bool failed =
      record.state == IdempotencyState::failed || record.state == IdempotencyState::released;
  if (!failed && record.error.empty()) return;
  json.field("code", code_name(record.code)).field("error", record.error);
}

IdempotencyRecord read_idempotency_record(Fields& fields) {
  IdempotencyRecord record;
  record.key = {.tenant = text_in(fields, "tenant"),
                .consumer = text_in(fields, "consumer"),
                .key = text_in(fields, "key")};
  record.state = idempotency_state_in(fields, "state");
  record.attempts = small_in<std::uint32_t>(fields, "attempts");
  record.request_hash = digest_in(fields, "request_hash");
  record.created_at = time_in(fields, "created_at");
  record.changed_at = time_in(fields, "changed_at");
  record.lease_until = time_in(fields, "lease_until");
  record.expires_at = time_in(fields, "expires_at");
  if (record.state == IdempotencyState::succeeded) {
    if (flag_in(fields, "result_kept")) record.result.emplace();
    record.result_digest = digest_in(fields, "result_digest");
  }
  record.code = maybe_code_in(fields, "code").value_or(Code::unknown_internal);
  record.error = fields.text("error");
  return record;
}

void put_members(JsonOut& json, const IdempotencyPage& page) {
  put_array(json, "keys", page.rows);
  json.field_if("next", page.next);
}

IdempotencyPage read_idempotency_page(Fields& fields) {
  return {.rows = list_in(fields, "keys", read_idempotency_record), .next = fields.text("next")};
}

void put_members(JsonOut& json, const IdempotencyPurged& purged) {
  json.field("purged", purged.purged);
}

IdempotencyPurged read_idempotency_purged(Fields& fields) { return {number_in(fields, "purged")}; }

}  // namespace sagabox::wire
