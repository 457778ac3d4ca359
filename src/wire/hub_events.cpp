#include "core/base64.hpp"
#include "wire/field_reading.hpp"
#include "wire/hub.hpp"

#include <utility>

namespace sagabox::wire {
namespace {

void put_hub_payload(JsonOut& json, const Payload& payload) {
  if (payload.form() == PayloadForm::json) {
    json.name("payload").raw(payload.view());
    return;
  }
  std::string base64;
  append_base64(payload.view(), base64);
  json.field("payload_base64", base64);
}

/// Nullopt if both are missing.
std::optional<Payload> hub_payload_from(Fields& fields) {
  const auto as_json = fields.raw("payload");
  const auto as_base64 = fields.maybe_text("payload_base64");
  if (as_json && as_base64) {
    fields.wrong("payload_base64", "payload is given too; give one of them");
    return std::nullopt;
  }
  if (as_json) return Payload::copy_of(PayloadForm::json, *as_json);
  if (!as_base64) return std::nullopt;
  auto data = from_base64(*as_base64);
  if (data) return bytes(std::move(*data));
  fields.wrong("payload_base64", "is not base64 with its padding (RFC 4648)");
  return std::nullopt;
}

void put_hub_headers(JsonOut& json, const Headers& headers) {
  if (headers.empty()) return;
  json.name("headers").begin_object();
  for (const auto& [name, value] : headers) json.field(name, value);
  json.end_object();
}

EventId event_id_in(Fields& fields, std::string_view name) {
  auto id = EventId::parse(text_in(fields, name));
  if (id.ok()) return *id;
  fields.wrong(name, id.error().message);
  return {};
}

}  // namespace

void put_members(JsonOut& json, const EventView& event) {
  json.field("id", event.id.view())
      .field("tenant", event.tenant)
      .field("type", event.type)
      .field_if("key", event.key)
      .field_if("source", event.source)
      .field_if("external_id", event.external_id)
      .field("sequence", event.sequence.value)
      .field("published_at", event.published_at)
      .field_if("occurred_at", event.occurred_at)
      .field_if("content_type", event.content_type)
      .field_if("correlation_id", event.correlation_id)
      .field("digest", hex(event.digest))
      .field("payload_bytes", event.payload_bytes);
  put_hub_headers(json, event.headers);
  if (event.payload) put_hub_payload(json, *event.payload);
}

EventView read_event(Fields& fields) {
  return {.id = event_id_in(fields, "id"),
          .tenant = text_in(fields, "tenant"),
          .type = text_in(fields, "type"),
          .key = fields.text("key"),
          .source = fields.text("source"),
          .external_id = fields.text("external_id"),
          .sequence = Sequence{number_in(fields, "sequence")},
          .published_at = time_in(fields, "published_at"),
          .occurred_at = fields.time("occurred_at"),
          .content_type = fields.text("content_type"),
          .correlation_id = fields.text("correlation_id"),
          .digest = digest_in(fields, "digest"),
          .payload_bytes = number_in(fields, "payload_bytes"),
          .headers = fields.texts_by_name("headers"),
          .payload = hub_payload_from(fields)};
}

void put_members(JsonOut& json, const EventPage& page) {
  put_array(json, "events", page.rows);
  json.field_if("next", page.next);
}

EventPage read_event_page(Fields& fields) {
  return {.rows = list_in(fields, "events", read_event), .next = fields.text("next")};
}

void put_members(JsonOut& json, const EventOrder& order) {
  json.field("type", order.type)
      .field_if("tenant", order.tenant)
      .field_if("key", order.key)
      .field_if("source", order.source)
      .field_if("external_id", order.external_id)
      .field_if("content_type", order.content_type)
      .field_if("occurred_at", order.occurred_at)
      .field_if("traceparent", order.trace.traceparent)
      .field_if("tracestate", order.trace.tracestate)
      .field_if("request_id", order.trace.request_id)
      .field_if("correlation_id", order.trace.correlation_id);
  put_hub_headers(json, order.headers);
  if (order.payload.given()) put_hub_payload(json, order.payload);
}

EventOrder read_event_order(Fields& fields) {
  EventOrder order{.tenant = fields.maybe_text("tenant"),
                   .type = text_in(fields, "type"),
                   .key = fields.text("key"),
                   .source = fields.text("source"),
                   .external_id = fields.text("external_id"),
                   .content_type = fields.text("content_type"),
                   .headers = fields.texts_by_name("headers"),
                   .occurred_at = fields.time("occurred_at"),
                   .trace = {.traceparent = fields.text("traceparent"),
                             .tracestate = fields.text("tracestate"),
                             .request_id = fields.text("request_id"),
                             .correlation_id = fields.text("correlation_id")}};
  auto payload = hub_payload_from(fields);
  if (!payload) {
    fields.wrong("payload", "missing; give any JSON value, or payload_base64");
  } else {
    order.payload = *std::move(payload);
  }
  return order;
}

void put_members(JsonOut& json, const Published& published) {
  json.field("id", published.id.view()).field("duplicate", published.duplicate);
}

Published read_published(Fields& fields) {
  return {.id = event_id_in(fields, "id"), .duplicate = flag_in(fields, "duplicate")};
}

void put_members(JsonOut& json, std::span<const Published> published) {
  put_array(json, "events", published);
}

std::vector<Published> read_all_published(Fields& fields) {
  return list_in(fields, "events", read_published);
}

}  // namespace sagabox::wire
