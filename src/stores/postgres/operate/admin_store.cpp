#include "stores/postgres/operate/admin_store.hpp"

#include "core/same_id.hpp"
#include "observe/audit_events.hpp"
#include "stores/postgres/driver/unit_of_work.hpp"
#include "stores/postgres/outbox/archive.hpp"
#include "stores/postgres/outbox/decode.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace sagabox::postgres {
namespace {

const Statement& of_state(MessageState state, const Statement& pending, const Statement& ended,
                          const Statement& done) {
  if (state == MessageState::pending) return pending;
  return state == MessageState::done ? done : ended;
}

/// Two states share a table.
bool needs_state(MessageState state) {
  return state == MessageState::dead || state == MessageState::quarantined;
}

void put_sequence(Params& params, const std::optional<Sequence>& sequence) {
  if (!sequence) {
    params.null(Type::int8);
    return;
  }
  params.int8(static_cast<std::int64_t>(std::min<std::uint64_t>(sequence->value, INT64_MAX)));
}

std::uint64_t count_from(const Rows& rows, int column) { return rows.uint8(0, column); }

}  // namespace

Params filter_params(const MessageFilter& filter) {
  Params params;
  const auto text = [&](const std::optional<std::string>& value) {
    value ? params.text(*value) : params.null(Type::text);
  };
  text(filter.tenant);
  text(filter.topic);
  text(filter.aggregate_type);
  text(filter.key);
  text(filter.code ? std::optional<std::string>(code_name(*filter.code)) : std::nullopt);
  put_sequence(params, filter.first);
  put_sequence(params, filter.last);
  params.boolean(filter.retrying).timestamptz(filter.from).timestamptz(filter.until);
  return params;
}

Result<Extent> extent_of(Connection& connection, const AdminStatements& statements,
                         MessageState state, const MessageFilter& filter) {
  auto params = filter_params(filter);
  if (needs_state(state)) params.text(state_name(state));
  auto rows = connection.run(
      of_state(state, statements.extent_pending, statements.extent_ended, statements.extent_done),
      params, Effect::none);
  if (!rows.ok()) return rows.error();
  return Extent{count_from(*rows, 0), Sequence{rows->uint8(0, 1)}};
}

PostgresAdmin::PostgresAdmin(Context& context, const sql::AuditChain& audit, Wake& wake)
    : context_(context), audit_(audit), wake_(wake), statements_(context.names) {}

Result<Rows> PostgresAdmin::ask(const Statement& statement, const Params& params) {
  auto connection = context_.relay.take();
  if (!connection.ok()) return connection.error();
  return (*connection)->run(statement, params, Effect::none);
}

Result<spi::TableStats> PostgresAdmin::stats(const TableName& table) {
  Params params;
  params.int8(stats_rows_exact);
  auto rows = ask(statements_.of(table).stats, params);
  if (!rows.ok()) return rows.error();
  auto horizon = ask(statements_.of(table).horizon, {});
  if (!horizon.ok()) return horizon.error();
  spi::TableStats stats;
  stats.oldest_transaction = std::chrono::microseconds(horizon->int8(0, 0));
  stats.slot_transactions = count_from(*horizon, 1);
  stats.pending = count_from(*rows, 0);
  stats.estimated = std::cmp_greater_equal(stats.pending, stats_rows_exact);
  stats.waiting = count_from(*rows, 1);
  stats.done = count_from(*rows, 2);
  stats.dead = count_from(*rows, 3);
  stats.quarantined = count_from(*rows, 4);
  stats.oldest_pending = rows->maybe_timestamptz(0, 5);
  stats.now = rows->timestamptz(0, 6);
  return stats;
}

Result<spi::ListReply> PostgresAdmin::list(const spi::ListRequest& request) {
  const auto& statements = statements_.of(request.table);
  auto params = filter_params(request.filter);
  params.int8(static_cast<std::int64_t>(std::min<std::uint64_t>(request.after.value, INT64_MAX)))
      .int8(request.rows_max)
      .boolean(request.with_payload);
  if (needs_state(request.state)) params.text(state_name(request.state));
  auto rows = ask(
      of_state(request.state, statements.list_pending, statements.list_ended, statements.list_done),
      params);
  if (!rows.ok()) return rows.error();
  spi::ListReply reply;
  reply.exhausted = std::cmp_less_equal(rows->size(), request.rows_max);
  for (int row = 0; row < rows->size() && reply.rows.size() < request.rows_max; ++row) {
    reply.rows.push_back(decode_record(
        *rows, row, 0, {.history = request.with_history, .message = request.with_payload}));
  }
  return reply;
}

Result<std::optional<MessageRecord>> PostgresAdmin::find(const spi::FindRequest& request) {
  // One more than an error names.
  constexpr std::int64_t tenants_max = 6;
  Params params;
  params.text(request.id.view());
  request.tenant ? params.text(*request.tenant) : params.null(Type::text);
  params.int8(tenants_max);
  request.state ? params.text(state_name(*request.state)) : params.null(Type::text);
  put_sequence(params, request.sequence);
  auto rows = ask(statements_.of(request.table).look, params);
  if (!rows.ok()) return rows.error();
  if (rows->empty()) return std::optional<MessageRecord>();
  std::vector<std::string> tenants;
  for (int row = 0; row < rows->size(); ++row) {
    tenants.push_back(decode_record(*rows, row, 0, {}).tenant);
  }
  if (tenants.size() > 1) return several_tenants(request.id, tenants);
  return std::optional(
      decode_record(*rows, 0, 0, {.history = true, .message = request.with_payload}));
}

Result<std::uint64_t> PostgresAdmin::count(const TableName& table, MessageState state,
                                           const MessageFilter& filter) {
  auto connection = context_.relay.take();
  if (!connection.ok()) return connection.error();
  auto extent = extent_of(**connection, statements_.of(table), state, filter);
  if (!extent.ok()) return extent.error();
  return extent->rows;
}

Result<std::vector<spi::Stray>> PostgresAdmin::strays(const TableName& table,
                                                      std::uint32_t rows_max) {
  Params params;
  params.text(table.str()).int8(rows_max);
  auto rows = ask(statements_.of(table).strays, params);
  if (!rows.ok()) return rows.error();
  std::vector<spi::Stray> strays;
  for (int row = 0; row < rows->size(); ++row) {
    auto id = MessageId::parse(rows->text(row, 1));
    strays.push_back({Sequence{rows->uint8(row, 0)}, id.ok() ? *id : MessageId{},
                      "pending, but its shard is none that relays read"});
  }
  return strays;
}

Result<spi::PurgeReply> PostgresAdmin::purge(const spi::PurgeRequest& request) {
  if (request.state != MessageState::done) return purge_rows(request);
  const auto& statements = statements_.of(request.table);
  if (auto made = make_days_ahead(context_.relay, statements); !made.ok()) return made.error();
  // What an operator purges is told one by one.
  if (!request.actor.empty()) return purge_rows(request);
  auto dropped = drop_old_days(context_.relay, statements, request.older_than);
  if (!dropped.ok()) return dropped.error();
  auto reply = purge_rows(request);
  // What is gone is told, whatever became of the rest.
  if (!reply.ok() && *dropped > 0) return spi::PurgeReply{.rows = *dropped, .more = true};
  if (reply.ok()) reply->rows += *dropped;
  return reply;
}

Result<spi::PurgeReply> PostgresAdmin::purge_rows(const spi::PurgeRequest& request) {
  const auto& statements = statements_.of(request.table);
  return in_transaction(context_.relay, [&](Connection& connection) -> Result<spi::PurgeReply> {
    Params params;
    params.microseconds(request.older_than).int8(request.rows_max).boolean(!request.actor.empty());
    if (needs_state(request.state)) params.text(state_name(request.state));
    auto rows = connection.run(of_state(request.state, statements.purge_pending,
                                        statements.purge_ended, statements.purge_done),
                               params, Effect::none);
    if (!rows.ok()) return rows.error();
    const spi::PurgeReply reply{.rows = rows->uint8(0, 1), .more = rows->boolean(0, 0)};
    if (reply.rows == 0) return reply;
    if (request.state == MessageState::pending) {
      Params taken;
      taken.text(request.table.str()).int8(static_cast<std::int64_t>(reply.rows));
      auto counted = connection.run(statements.taken, taken, Effect::none);
      if (!counted.ok()) return counted.error();
    }
    if (request.actor.empty()) return reply;
    auto audited = audit_purge(connection, request, *rows);
    if (!audited.ok()) return audited.error();
    return reply;
  });
}

}  // namespace sagabox::postgres
