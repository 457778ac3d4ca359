#include "wire/tables.hpp"

#include "core/text.hpp"
#include "server/api/arguments.hpp"
#include "server/api/json_response.hpp"
#include "server/api/operations.hpp"
#include "server/api/problem.hpp"
#include "wire/orders.hpp"

#include <utility>

namespace sagabox::server::operations {
namespace {

/// Bounds the duration of a request; to purge more, the caller repeats it.
constexpr std::uint64_t purge_rows_max = 10'000;

/// How many of the messages whose result the store refuses are named.
constexpr std::size_t refused_max = 10;
constexpr std::size_t unrouted_max = 10;

/// Counts cover all tenants: a caller bound to one gets only the table's name and the time.
Result<wire::TableState> table_state_of(const Call& call, const ServedTable& table) {
  auto stats = table.store->outbox_admin().stats(table.table);
  if (!stats.ok()) return stats.error();
  wire::TableState state{.table = table.table.str(), .store = table.store_name, .now = stats->now};
  if (call.caller.tenant) return state;
  state.stats = *std::move(stats);
  if (auto* const doctor = table.store->doctor()) {
    const auto last = doctor->last_sequence(table.table);
    if (!last.ok()) return last.error();
    state.last_sequence = *last;
  }
  const auto outbox = table.outbox();
  state.here = {.snapshot = outbox->snapshot()};
  if (state.here->snapshot.refused > 0) state.here->refused = outbox->refused(refused_max);
  state.here->unrouted = outbox->unrouted(unrouted_max);
  return state;
}

Result<Response> change_pause(const Call& call, bool pauses) {
  auto fields = fields_of(call.request);
  if (!fields.ok()) return fields.error();
  const auto [topic, note] = wire::read_pause_order(*fields, pauses);
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
  return ok_with(
      wire::PauseChange{.table = table, .topic = topic, .paused = pauses, .changed = *changed});
}

}  // namespace

Result<Response> list_tables(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  std::vector<wire::TableState> tables;
  for (const auto& table : call.options.tables) {
    auto state = table_state_of(call, table);
    if (!state.ok()) return state.error();
    tables.push_back(*std::move(state));
  }
  return ok_with(tables);
}

Result<Response> get_table(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  const auto state = table_state_of(call, *call.table);
  if (!state.ok()) return state.error();
  return ok_with(*state);
}

Result<Response> list_owners(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  if (call.caller.tenant) {
    return Error{Code::auth_denied, "owners concern all tenants; this key is bound to one"};
  }
  const auto owners = admin::owners_of(*call.table->store, call.table->table);
  if (!owners.ok()) return owners.error();
  return ok_with(*owners);
}

Result<Response> list_strays(const Call& call) {
  Query query(call.request.target);
  const auto limit = query.count("limit", 1, Admin::page_rows_max).value_or(100);
  if (auto status = query.status(); !status.ok()) return status.error();
  const auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto strays = admin->strays(call.table->table, static_cast<std::uint32_t>(limit));
  if (!strays.ok()) return strays.error();
  return ok_with(*strays);
}

Result<Response> list_pauses(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  const auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto pauses = admin->pauses(call.table->table);
  if (!pauses.ok()) return pauses.error();
  return ok_with(*pauses);
}

Result<Response> pause(const Call& call) { return change_pause(call, true); }
Result<Response> resume(const Call& call) { return change_pause(call, false); }

Result<Response> purge(const Call& call) {
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  const auto order = wire::read_purge_order(*fields);
  if (auto status = fields->status(); !status.ok()) return status.error();
  auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto purged = admin->purge(call.table->table, order,
                                   [](std::uint64_t rows) { return rows < purge_rows_max; });
  if (!purged.ok()) return purged.error();
  return ok_with(call.table->table, order, *purged);
}

}  // namespace sagabox::server::operations
