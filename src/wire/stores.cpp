#include "wire/stores.hpp"

#include "observe/error_metrics.hpp"
#include "wire/field_reading.hpp"

namespace sagabox::wire {
namespace {

StoreState read_store(Fields& fields) {
  StoreState store{.store = text_in(fields, "store"),
                   .database = fields.text("database"),
                   .current = flag_in(fields, "current"),
                   .error = fields.text("error")};
  for (const auto& name : texts_in(fields, "tables")) {
    auto parsed = TableName::parse(name);
    if (parsed.ok()) {
      store.tables.push_back(*std::move(parsed));
    } else {
      fields.wrong("tables", parsed.error().message);
    }
  }
  return store;
}

spi::Finding read_finding(Fields& fields) {
  return {.severity = severity_in(fields, "severity"),
          .what = text_in(fields, "what"),
          .cure = fields.text("cure")};
}

DestinationState read_destination(Fields& fields) {
  DestinationState state{.target = text_in(fields, "target"), .down = flag_in(fields, "down")};
  state.down_for = maybe_seconds_in(fields, "down_seconds").value_or(Duration{});
  state.next_probe = maybe_seconds_in(fields, "next_probe_seconds").value_or(Duration{});
  state.under_way = small_in<std::uint32_t>(fields, "under_way");
  state.last_error = fields.text("last_error");
  return state;
}

}  // namespace

void put_members(JsonOut& json, const StoreState& store) {
  json.field("store", store.store)
      .field_if("database", store.database)
      .field("current", store.current)
      .field_if("error", store.error);
  put_array(json, "tables", store.tables, [&](const auto& table) { json.value(table.str()); });
}

void put_members(JsonOut& json, std::span<const StoreState> stores) {
  put_array(json, "stores", stores);
}

std::vector<StoreState> read_stores(Fields& fields) {
  return list_in(fields, "stores", read_store);
}

void put_members(JsonOut& json, const spi::Finding& finding) {
  json.field("severity", severity_name(finding.severity))
      .field("what", finding.what)
      .field("cure", finding.cure);
}

void put_members(JsonOut& json, std::span<const spi::Finding> findings) {
  put_array(json, "findings", findings);
}

std::vector<spi::Finding> read_findings(Fields& fields) {
  return list_in(fields, "findings", read_finding);
}

void put_members(JsonOut& json, const DestinationState& state) {
  json.field("target", state.target).field("down", state.down).field("under_way", state.under_way);
  if (!state.down) return;
  json.field("down_seconds", seconds(state.down_for))
      .field("next_probe_seconds", seconds(state.next_probe))
      .field("last_error", state.last_error);
}

void put_members(JsonOut& json, std::span<const DestinationState> states) {
  put_array(json, "destinations", states);
}

std::vector<DestinationState> read_destinations(Fields& fields) {
  return list_in(fields, "destinations", read_destination);
}

void put_members(JsonOut& json, const AuditReport& report) {
  json.field("intact", report.problems_found == 0)
      .field("entries", report.entries)
      .name("head")
      .begin_object()
      .field("number", report.head.number)
      .field("hash", hex(report.head.hash))
      .end_object()
      .field("problems_found", report.problems_found);
  put_array(json, "problems", report.problems, [&](const auto& text) { json.value(text); });
}

AuditReport read_audit_report(Fields& fields) {
  AuditReport report{.entries = number_in(fields, "entries")};
  report.head = object_in(fields, "head", [](Fields& head) {
    return AuditHead{number_in(head, "number"), digest_in(head, "hash")};
  });
  report.problems_found = number_in(fields, "problems_found");
  report.problems = texts_in(fields, "problems");
  return report;
}

}  // namespace sagabox::wire
