#include "wire/readiness.hpp"

#include "wire/field_reading.hpp"

#include <algorithm>

namespace sagabox::wire {
namespace {

TableReadiness read_table_readiness(Fields& fields) {
  return {.table = text_in(fields, "table"),
          .ready = flag_in(fields, "ready"),
          .text = fields.text("text"),
          .oldest_pending = maybe_seconds_in(fields, "oldest_pending_seconds"),
          .last_success = maybe_seconds_in(fields, "last_success_seconds")};
}

HubReadiness read_hub_readiness(Fields& fields) {
  return {.ready = flag_in(fields, "ready"),
          .text = fields.text("text"),
          .oldest_unrouted = maybe_seconds_in(fields, "oldest_unrouted_seconds")};
}

}  // namespace

void put_members(JsonOut& json, const TableReadiness& table) {
  json.field("table", table.table).field("ready", table.ready).field_if("text", table.text);
  if (table.oldest_pending) json.field("oldest_pending_seconds", seconds(*table.oldest_pending));
  if (table.last_success) json.field("last_success_seconds", seconds(*table.last_success));
}

void put_members(JsonOut& json, std::span<const TableReadiness> tables) {
  json.field("ready", std::ranges::all_of(tables, &TableReadiness::ready));
  put_array(json, "tables", tables);
}

void put_members(JsonOut& json, const HubReadiness& hub) {
  json.field("ready", hub.ready).field_if("text", hub.text);
  if (hub.oldest_unrouted) {
    json.field("oldest_unrouted_seconds", seconds(*hub.oldest_unrouted));
  }
}

bool DaemonReadiness::ready() const {
  return std::ranges::all_of(tables, &TableReadiness::ready) && (!hub || hub->ready);
}

void put_members(JsonOut& json, const DaemonReadiness& daemon) {
  json.field("ready", daemon.ready());
  put_array(json, "tables", std::span<const TableReadiness>(daemon.tables));
  if (daemon.hub) put(json.name("hub"), *daemon.hub);
}

DaemonReadiness read_readiness(Fields& fields) {
  (void)flag_in(fields, "ready");
  DaemonReadiness daemon{.tables = list_in(fields, "tables", read_table_readiness)};
  if (fields.has_value("hub")) daemon.hub = object_in(fields, "hub", read_hub_readiness);
  return daemon;
}

}  // namespace sagabox::wire
