#include "wire/messages.hpp"

#include "core/text.hpp"
#include "server/api/arguments.hpp"
#include "server/api/json_response.hpp"
#include "server/api/operations.hpp"
#include "server/api/problem.hpp"
#include "wire/filters.hpp"
#include "wire/orders.hpp"
#include "wire/tables.hpp"

#include <utility>

namespace sagabox::server::operations {
namespace {

Response no_message(const Call& call) {
  return not_found("message " + quoted(call.names.at(0)) + " is not in table " +
                   quoted(call.table->table.str()));
}

/// A query for this state; nullopt: for the one in the query string.
ListQuery query_from(Query& query, std::optional<MessageState> state) {
  ListQuery wanted;
  wanted.state = state ? *state : wire::read_state(query, "state").value_or(MessageState::pending);
  wanted.filter = wire::read_filter(query);
  wanted.filter.retrying = !state && query.flag("retrying");
  return wanted;
}

Result<Response> list(const Call& call, std::optional<MessageState> state) {
  Query query(call.request.target);
  auto wanted = query_from(query, state);
  wanted.rows_max =
      static_cast<std::uint32_t>(query.count("limit", 1, Admin::page_rows_max).value_or(100));
  wanted.cursor = query.text("cursor");
  wanted.with_history = query.flag("history");
  if (auto status = query.status(); !status.ok()) return status.error();
  const auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto page = admin->list(call.table->table, wanted);
  if (!page.ok()) return page.error();
  return ok_with(call.table->table, *page);
}

/// One message. `state` limits it to rows of that state; nullopt takes the state from the query, if
/// the query has one. Reading the payload needs a right of its own.
Result<Response> get(const Call& call, std::optional<MessageState> state) {
  Query query(call.request.target);
  if (!state) state = wire::read_state(query, "state");
  const bool payload = query.flag("payload");
  const auto tenant = query.maybe_text("tenant");
  if (auto status = query.status(); !status.ok()) return status.error();
  if (payload && !call.caller.payloads) {
    return Error{Code::auth_denied,
                 "this key may not see payloads; leave payload=true out, or use a key that was "
                 "made with --payloads"};
  }
  const auto id = id_from(call.names.at(0));
  if (!id.ok()) return id.error();
  const auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto found =
      admin->inspect(call.table->table, *id,
                     payload ? Admin::PayloadToo::yes : Admin::PayloadToo::no, tenant, state);
  if (!found.ok()) return found.error();
  if (!*found) return no_message(call);
  return ok_with(call.table->table, **found);
}

using Act = Result<std::vector<Moved>> (*)(Admin& admin, const TableName& table,
                                           const wire::MoveOrder& order);

Result<std::vector<Moved>> replay(Admin& admin, const TableName& table,
                                  const wire::MoveOrder& order) {
  return admin.replay(table, order.ids, order.tenant, order.sequences, order.as_new);
}
Result<std::vector<Moved>> release(Admin& admin, const TableName& table,
                                   const wire::MoveOrder& order) {
  return admin.release(table, order.ids, order.tenant, order.sequences);
}
Result<std::vector<Moved>> quarantine(Admin& admin, const TableName& table,
                                      const wire::MoveOrder& order) {
  return admin.quarantine(table, order.ids, order.note, order.tenant, order.sequences);
}

Result<Response> move_many(const Call& call, Act act,
                           wire::MoveTakes takes = wire::MoveTakes::nothing) {
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  const auto order = wire::read_move_order(*fields, takes);
  if (auto status = fields->status(); !status.ok()) return status.error();
  auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto results = act(*admin, call.table->table, order);
  if (!results.ok()) return results.error();
  return ok_with(*results);
}

}  // namespace

Result<Response> list_messages(const Call& call) { return list(call, std::nullopt); }
Result<Response> get_message(const Call& call) { return get(call, std::nullopt); }
Result<Response> list_dead_letters(const Call& call) { return list(call, MessageState::dead); }
Result<Response> get_dead_letter(const Call& call) { return get(call, MessageState::dead); }

Result<Response> count_messages(const Call& call) {
  Query query(call.request.target);
  const auto wanted = query_from(query, std::nullopt);
  if (auto status = query.status(); !status.ok()) return status.error();
  const auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto count = admin->count(call.table->table, wanted.state, wanted.filter);
  if (!count.ok()) return count.error();
  return ok_with(call.table->table, wanted.state, *count);
}

Result<Response> explain_message(const Call& call) {
  Query query(call.request.target);
  const auto tenant = query.maybe_text("tenant");
  if (auto status = query.status(); !status.ok()) return status.error();
  const auto id = id_from(call.names.at(0));
  if (!id.ok()) return id.error();
  const auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto explanation = admin->explain(call.table->table, *id, tenant);
  if (!explanation.ok()) return explanation.error();
  if (explanation->reasons.front().why == Why::not_found) return no_message(call);
  return ok_with(*explanation);
}

Result<Response> list_blocked_keys(const Call& call) {
  Query query(call.request.target);
  const auto limit = query.count("limit", 1, Admin::page_rows_max).value_or(100);
  const auto cursor = query.text("cursor");
  if (auto status = query.status(); !status.ok()) return status.error();
  const auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto page =
      admin->blocked_keys(call.table->table, static_cast<std::uint32_t>(limit), cursor);
  if (!page.ok()) return page.error();
  return ok_with(call.table->table, *page);
}

Result<Response> replay_dead_letter(const Call& call) {
  Query query(call.request.target);
  const auto tenant = query.maybe_text("tenant");
  const bool as_new = query.flag("as_new");
  if (auto status = query.status(); !status.ok()) return status.error();
  if (auto status = no_fields(call.request.body); !status.ok()) return status.error();
  const auto id = id_from(call.names.at(0));
  if (!id.ok()) return id.error();
  auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto results = admin->replay(call.table->table, std::span(&*id, 1), tenant, {}, as_new);
  if (!results.ok()) return results.error();
  const auto& result = results->front();
  if (result.unclear) {
    return Error{Code::request_invalid, "id " + quoted(id->view()) + " " + result.text};
  }
  if (!result.was) return no_message(call);
  if (!result.moved) {
    return Error{Code::tx_invalid_state, "message " + quoted(id->view()) + " " + result.text};
  }
  return ok_with(result);
}

Result<Response> replay_dead_letters(const Call& call) {
  return move_many(call, replay, wire::MoveTakes::as_new);
}
Result<Response> quarantine_messages(const Call& call) {
  return move_many(call, quarantine, wire::MoveTakes::note);
}
Result<Response> release_messages(const Call& call) { return move_many(call, release); }

}  // namespace sagabox::server::operations
