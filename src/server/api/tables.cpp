#include "core/text.hpp"
#include "server/api/json_response.hpp"
#include "server/api/operations.hpp"
#include "server/api/problem.hpp"
#include "server/api/records_json.hpp"

#include <utility>

namespace sagabox::server::operations {
namespace {

/// A request lasts so long at most; whoever has more to purge asks again.
constexpr std::uint64_t purge_rows_max = 10'000;

/// The body may be left out where nothing must be said.
Result<Fields> fields_of(const Call& call) {
  const auto& body = call.request.body;
  return Fields::parse(body.empty() ? std::string_view("{}") : std::string_view(body));
}

/// Of the messages whose result the store refuses, so many are named.
constexpr std::size_t refused_max = 10;

void put_refused(JsonOut& json, const std::vector<RefusedResult>& refused) {
  json.name("refused_messages").begin_array();
  for (const auto& one : refused) {
    json.begin_object()
        .field("id", one.id.view())
        .field("sequence", one.sequence.value)
        .field("delivered", one.delivered)
        .field("code", code_name(one.code))
        .field("error", one.error)
        .end_object();
  }
  json.end_array();
}

void put_outbox(JsonOut& json, const Outbox& outbox) {
  const auto snapshot = outbox.snapshot();
  json.name("here")
      .begin_object()
      .field("shards_owned", snapshot.shards_owned)
      .field("hot_depth", snapshot.hot_depth)
      .field("cold_depth", snapshot.cold_depth)
      .field("running", snapshot.running)
      .field("unsettled", snapshot.unsettled)
      .field("blocked_keys", snapshot.blocked_keys)
      .field("delivered", snapshot.delivered)
      .field("retried", snapshot.retried)
      .field("dead", snapshot.dead)
      .field("table_paused", snapshot.table_paused)
      .field("refused", snapshot.refused);
  put_refused(json,
              snapshot.refused == 0 ? std::vector<RefusedResult>() : outbox.refused(refused_max));
  json.end_object();
}

/// Counts concern all tenants: who is bound to one gets the table's name and the time only.
Status put_table(JsonOut& json, const Call& call, const ServedTable& table) {
  json.begin_object().field("table", table.table.str()).field("store", table.store_name);
  const auto stats = table.store->outbox_admin().stats(table.table);
  if (!stats.ok()) return stats.error();
  if (call.caller.tenant) {
    json.field("now", stats->now);
  } else {
    put_fields(json, *stats);
    if (auto* const doctor = table.store->doctor()) {
      const auto last = doctor->last_sequence(table.table);
      if (!last.ok()) return last.error();
      json.field("last_sequence", last->value);
    }
    put_outbox(json, *table.outbox());
  }
  json.end_object();
  return {};
}

Result<Response> change_pause(const Call& call, bool pauses) {
  auto fields = fields_of(call);
  if (!fields.ok()) return fields.error();
  const auto topic = fields->maybe_text("topic");
  const auto note = pauses ? fields->text("note") : std::string();
  if (auto status = fields->status(); !status.ok()) return status.error();
  auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto& table = call.table->table;
  const auto change = [&]() -> Result<bool> {
    if (pauses)
      return topic ? admin->pause_topic(table, *topic, note) : admin->pause_table(table, note);
    return topic ? admin->resume_topic(table, *topic) : admin->resume_table(table);
  };
  const auto changed = change();
  if (!changed.ok()) return changed.error();
  JsonOut json;
  json.begin_object()
      .field("table", table.str())
      .field_if("topic", topic)
      .field("paused", pauses)
      .field("changed", *changed)
      .end_object();
  return ok(std::move(json));
}

}  // namespace

Result<Response> list_tables(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  JsonOut json;
  json.begin_object().name("tables").begin_array();
  for (const auto& table : call.options.tables) {
    if (auto status = put_table(json, call, table); !status.ok()) return status.error();
  }
  json.end_array().end_object();
  return ok(std::move(json));
}

Result<Response> get_table(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  JsonOut json;
  if (auto status = put_table(json, call, *call.table); !status.ok()) return status.error();
  return ok(std::move(json));
}

Result<Response> list_owners(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  if (call.caller.tenant) {
    return Error{Code::auth_denied, "owners concern all tenants; this key is bound to one"};
  }
  const auto owners = admin::owners_of(*call.table->store, call.table->table);
  if (!owners.ok()) return owners.error();
  JsonOut json;
  put(json, *owners);
  return ok(std::move(json));
}

Result<Response> list_strays(const Call& call) {
  Query query(call.request.target);
  const auto limit = query.count("limit", 1, Admin::page_rows_max).value_or(100);
  if (auto status = query.status(); !status.ok()) return status.error();
  const auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto strays = admin->strays(call.table->table, static_cast<std::uint32_t>(limit));
  if (!strays.ok()) return strays.error();
  JsonOut json;
  json.begin_object().name("strays").begin_array();
  for (const auto& stray : *strays) put(json, stray);
  json.end_array().end_object();
  return ok(std::move(json));
}

Result<Response> list_pauses(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  const auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto pauses = admin->pauses(call.table->table);
  if (!pauses.ok()) return pauses.error();
  JsonOut json;
  json.begin_object().name("pauses").begin_array();
  for (const auto& pause : *pauses) put(json, pause);
  json.end_array().end_object();
  return ok(std::move(json));
}

Result<Response> pause(const Call& call) { return change_pause(call, true); }
Result<Response> resume(const Call& call) { return change_pause(call, false); }

Result<Response> purge(const Call& call) {
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  PurgeOrder order;
  order.state = state_from(*fields, "state", MessageState::done);
  constexpr std::uint64_t century = 100ULL * 366 * 24 * 3600;
  if (const auto age = fields->count("older_than_seconds", 0, century)) {
    order.older_than = std::chrono::seconds(*age);
  } else {
    fields->wrong("older_than_seconds", "missing; give how long ago they ended, 0 for all");
  }
  order.dry_run = fields->flag("dry_run");
  order.force_pending = fields->flag("force_pending");
  if (auto status = fields->status(); !status.ok()) return status.error();
  auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto purged = admin->purge(call.table->table, order,
                                   [](std::uint64_t rows) { return rows < purge_rows_max; });
  if (!purged.ok()) return purged.error();
  JsonOut json;
  json.begin_object()
      .field("table", call.table->table.str())
      .field("state", state_name(order.state))
      .field("dry_run", order.dry_run)
      .field("rows", purged->rows)
      .field("more", purged->stopped)
      .end_object();
  return ok(std::move(json));
}

}  // namespace sagabox::server::operations
