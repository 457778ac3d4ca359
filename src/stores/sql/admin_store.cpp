#include "stores/sql/admin_store.hpp"

#include "core/same_id.hpp"
#include "observe/audit_events.hpp"

#include <array>
#include <chrono>
#include <map>
#include <utility>

namespace sagabox::sql {

Result<Rows> AdminStore::read(const Statement& statement, Values values) {
  auto session = parts_.sessions.reader();
  if (!session.ok()) return session.error();
  return (*session)->run(statement, std::move(values));
}

Result<spi::TableStats> AdminStore::stats(const TableName& table) {
  auto session = parts_.sessions.reader();
  if (!session.ok()) return session.error();
  if (auto known = parts_.known.check(**session, table); !known.ok()) return known.error();
  const auto& statements = statements_.of(table);
  const std::array calls{Call{&statements.stats, {stats_rows_exact}},
                         Call{&statements.horizon, {}}};
  auto answers = (*session)->run(calls);
  if (!answers.ok()) return answers.error();
  const auto now = (*session)->now();
  if (!now.ok()) return now.error();
  const auto counted = answers->at(0).front();
  const auto held = answers->at(1).front();
  spi::TableStats stats;
  stats.pending = counted.natural(0);
  stats.waiting = counted.natural(1);
  stats.done = counted.natural(2);
  stats.dead = counted.natural(3);
  stats.quarantined = counted.natural(4);
  stats.oldest_pending = counted.maybe_time(5);
  stats.estimated = counted.boolean(6);
  stats.done_estimated = counted.boolean(7);
  stats.dead_estimated = counted.boolean(8);
  if (const auto age = held.maybe_natural(0)) {
    stats.oldest_transaction = std::chrono::microseconds(*age);
  }
  stats.slot_transactions = held.maybe_natural(1);
  stats.now = *now;
  return stats;
}

Result<spi::ListReply> AdminStore::list(const spi::ListRequest& request) {
  const auto& statements = statements_.of(request.table);
  auto values = filter_values(request.filter);
  values.insert(values.end(),
                {request.after, request.rows_max, request.with_payload, state_name(request.state)});
  auto rows = read(
      of_state(request.state, statements.list_pending, statements.list_ended, statements.list_done),
      std::move(values));
  if (!rows.ok()) return rows.error();
  spi::ListReply reply;
  reply.exhausted = rows->size() <= request.rows_max;
  for (const auto row : *rows) {
    if (reply.rows.size() == request.rows_max) break;
    auto decoded = decode_record(row, 0, request.with_history);
    if (request.with_payload) decoded.record.message = std::move(decoded.message);
    reply.rows.push_back(std::move(decoded.record));
  }
  return reply;
}

Result<std::optional<MessageRecord>> AdminStore::find(const spi::FindRequest& request) {
  // One more than an error message names.
  constexpr int tenants_max = 6;
  std::optional<std::string_view> state;
  if (request.state) state = state_name(*request.state);
  auto rows = read(statements_.of(request.table).look,
                   {request.id.view(), request.tenant, tenants_max, state, request.sequence});
  if (!rows.ok()) return rows.error();
  std::vector<Record> found;
  std::vector<RowOfId> rows_of_id;
  for (const auto row : *rows) {
    auto& one = found.emplace_back(decode_record(row, 0, true));
    rows_of_id.push_back({one.tenant, one.record.state, one.record.sequence});
  }
  const auto chosen = choose_row(rows_of_id, request.tenant, request.state, request.sequence);
  if (!chosen.tenants.empty()) return several_tenants(request.id, chosen.tenants);
  if (!chosen.row) return std::optional<MessageRecord>();
  auto& [record, message, tenant] = found[*chosen.row];
  if (request.with_payload) record.message = std::move(message);
  return std::optional(std::move(record));
}

Result<std::uint64_t> AdminStore::count(const TableName& table, MessageState state,
                                        const MessageFilter& filter) {
  auto session = parts_.sessions.reader();
  if (!session.ok()) return session.error();
  auto extent = parts_.replay.extent(**session, table, state, filter);
  if (!extent.ok()) return extent.error();
  return extent->rows;
}

Result<std::vector<spi::Stray>> AdminStore::strays(const TableName& table, std::uint32_t rows_max) {
  auto rows = read(statements_.of(table).strays, {rows_max});
  if (!rows.ok()) return rows.error();
  std::vector<spi::Stray> strays;
  for (const auto row : *rows) {
    auto id = MessageId::parse(row.text(1));
    strays.push_back(
        {Sequence{row.natural(0)}, id.ok() ? *id : MessageId{}, std::string(row.text(2))});
  }
  return strays;
}

Result<spi::PurgeReply> AdminStore::purge_in(Session& session, const spi::PurgeRequest& request) {
  constexpr int record_column = 2;
  const auto& statements = statements_.of(request.table);
  const auto now = session.now();
  if (!now.ok()) return now.error();
  const auto limit =
      *now - std::chrono::duration_cast<std::chrono::microseconds>(request.older_than);
  const bool audited = !request.actor.empty();
  auto rows = session.run(of_state(request.state, statements.purge_pending, statements.purge_ended,
                                   statements.purge_done),
                          {limit, request.rows_max, audited, state_name(request.state)});
  if (!rows.ok()) return rows.error();
  const spi::PurgeReply reply{.rows = rows->front().natural(1), .more = rows->front().boolean(0)};
  if (reply.rows == 0 || !audited) return reply;
  std::map<Sequence, AuditEvent> events;
  for (const auto row : *rows) {
    const auto record = decode_record(row, record_column).record;
    const auto message = audited_message(row, record_column);
    events.emplace(record.sequence,
                   operator_event(AuditKind::purged,
                                  {request.table, record.id, message.get(), record.attempts},
                                  request.actor, state_name(request.state), *now));
  }
  std::vector<AuditEvent> in_order;
  for (auto& [sequence, event] : events) in_order.push_back(std::move(event));
  if (auto head = parts_.audit.append(session, in_order); !head.ok()) return head.error();
  return reply;
}

Result<spi::PurgeReply> AdminStore::purge(const spi::PurgeRequest& request) {
  return in_transaction(parts_.sessions,
                        [&](Session& session) { return purge_in(session, request); });
}

}  // namespace sagabox::sql
