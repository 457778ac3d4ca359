#include "stores/sqlite/admin_store.hpp"

#include "observe/audit_events.hpp"
#include "stores/sqlite/decode.hpp"
#include "stores/sqlite/places.hpp"
#include "stores/sqlite/unit_of_work.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace sagabox::sqlite {
namespace {

const Sql& of_state(MessageState state, const Sql& pending, const Sql& ended, const Sql& done) {
  if (state == MessageState::pending) return pending;
  return state == MessageState::done ? done : ended;
}

/// Two states share a table.
bool needs_state(MessageState state) {
  return state == MessageState::dead || state == MessageState::quarantined;
}

std::optional<std::uint64_t> number_of(const std::optional<Sequence>& sequence) {
  if (!sequence) return std::nullopt;
  return std::min(sequence->value, sequence_max);
}

/// Places or sequences of what is old enough, and whether there is more.
struct Old {
  std::vector<std::int64_t> rows;
  bool more = false;
};

Result<Old> done_before(Connection& connection, const Sql& sql, WallTime limit,
                        std::uint32_t rows_max) {
  Old old;
  auto run = connection.run(sql);
  for (;;) {
    auto row = run.step();
    if (!row.ok()) return row.error();
    if (!*row || run.time(2) > limit) return old;
    if (run.time(1) > limit) continue;
    old.more = old.rows.size() == rows_max;
    if (old.more) return old;
    old.rows.push_back(run.integer(0));
  }
}

Result<Old> old_rows(Connection& connection, const AdminStatements& statements,
                     const spi::PurgeRequest& request, WallTime limit) {
  if (request.state == MessageState::done) {
    return done_before(connection, statements.old_done, limit, request.rows_max);
  }
  Old old;
  auto run = connection.run(request.state == MessageState::pending ? statements.old_pending
                                                                   : statements.old_ended);
  run.with(limit).with(request.rows_max);
  if (needs_state(request.state)) run.with(state_name(request.state));
  for (;;) {
    auto row = run.step();
    if (!row.ok()) return row.error();
    if (!*row) return old;
    old.more = old.rows.size() == request.rows_max;
    if (old.more) return old;
    old.rows.push_back(run.integer(0));
  }
}

}  // namespace

void bind_filter(Run& run, const MessageFilter& filter) {
  run.with(filter.tenant).with(filter.topic).with(filter.aggregate_type).with(filter.key);
  filter.code ? run.with(code_name(*filter.code)) : run.with_null();
  run.with(number_of(filter.first)).with(number_of(filter.last)).with(filter.retrying);
  run.with(filter.from).with(filter.until);
}

Result<Extent> extent_of(Connection& connection, const AdminStatements& statements,
                         MessageState state, const MessageFilter& filter) {
  auto run = connection.run(
      of_state(state, statements.extent_pending, statements.extent_ended, statements.extent_done));
  bind_filter(run, filter);
  if (needs_state(state)) run.with(state_name(state));
  auto row = run.step();
  if (!row.ok()) return row.error();
  return Extent{run.natural(0), Sequence{run.natural(1)}};
}

Result<Named> rows_of_id(Connection& connection, const AdminStatements& statements,
                         const MessageId& id, const std::optional<std::string>& tenant) {
  Named named;
  auto run = connection.run(statements.look);
  run.with(id.view()).with(tenant);
  for (;;) {
    auto row = run.step();
    if (!row.ok()) return row.error();
    if (!*row) return named;
    const auto& one = named.found.emplace_back(decode_record(run, true));
    named.rows.push_back(
        {std::string(tenant_of_record(run)), one.record.state, one.record.sequence});
  }
}

Result<spi::TableStats> SqliteAdmin::stats(const TableName& table) {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  if (auto known = counts_of(**reader, context_.shared, table); !known.ok()) return known.error();
  auto counts = (*reader)->run(statements_.of(table).counts);
  if (auto row = counts.step(); !row.ok()) return row.error();
  auto oldest = (*reader)->run(statements_.of(table).oldest);
  if (auto row = oldest.step(); !row.ok()) return row.error();
  spi::TableStats stats;
  stats.pending = counts.natural(0);
  stats.waiting = counts.natural(1);
  stats.done = counts.natural(2);
  stats.dead = counts.natural(3);
  stats.quarantined = counts.natural(4);
  stats.oldest_pending = oldest.maybe_time(0);
  stats.now = context_.clock.wall_now();
  return stats;
}

Result<spi::ListReply> SqliteAdmin::list(const spi::ListRequest& request) {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  const auto& statements = statements_.of(request.table);
  auto run = (*reader)->run(of_state(request.state, statements.list_pending, statements.list_ended,
                                     statements.list_done));
  bind_filter(run, request.filter);
  run.with(std::min(request.after.value, sequence_max)).with(request.rows_max);
  run.with(request.with_payload);
  if (needs_state(request.state)) run.with(state_name(request.state));
  spi::ListReply reply;
  for (;;) {
    auto row = run.step();
    if (!row.ok()) return row.error();
    reply.exhausted = !*row;
    if (!*row || reply.rows.size() == request.rows_max) return reply;
    auto [record, message] = decode_record(run, request.with_history);
    if (request.with_payload) record.message = std::move(message);
    reply.rows.push_back(std::move(record));
  }
}

Result<std::optional<MessageRecord>> SqliteAdmin::find(const spi::FindRequest& request) {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  auto named = rows_of_id(**reader, statements_.of(request.table), request.id, request.tenant);
  if (!named.ok()) return named.error();
  const auto chosen = choose_row(named->rows, request.tenant, request.state, request.sequence);
  if (!chosen.tenants.empty()) return several_tenants(request.id, chosen.tenants);
  if (!chosen.row) return std::optional<MessageRecord>();
  auto& [record, message] = named->found[*chosen.row];
  if (request.with_payload) record.message = std::move(message);
  return std::optional(std::move(record));
}

Result<std::uint64_t> SqliteAdmin::count(const TableName& table, MessageState state,
                                         const MessageFilter& filter) {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  auto extent = extent_of(**reader, statements_.of(table), state, filter);
  if (!extent.ok()) return extent.error();
  return extent->rows;
}

Result<std::vector<spi::Stray>> SqliteAdmin::strays(const TableName& table,
                                                    std::uint32_t rows_max) {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  auto run = (*reader)->run(statements_.of(table).strays);
  run.with(rows_max);
  std::vector<spi::Stray> strays;
  for (;;) {
    auto row = run.step();
    if (!row.ok()) return row.error();
    if (!*row) return strays;
    auto id = MessageId::parse(run.text(1));
    strays.push_back({Sequence{run.natural(0)}, id.ok() ? *id : MessageId{},
                      "pending, but in no place that relays read"});
  }
}

Result<spi::PurgeReply> SqliteAdmin::purge_in(Connection& connection,
                                              const spi::PurgeRequest& request) {
  const auto& statements = statements_.of(request.table);
  const auto now = context_.clock.wall_now();
  const auto limit =
      now - std::chrono::duration_cast<std::chrono::microseconds>(request.older_than);
  auto old = old_rows(connection, statements, request, limit);
  if (!old.ok()) return old.error();
  const auto& tell =
      of_state(request.state, statements.tell_pending, statements.tell_ended, statements.tell_done);
  const auto& remove = of_state(request.state, statements.remove_pending, statements.remove_ended,
                                statements.remove_done);
  std::map<Sequence, AuditEvent> events;
  Counts counts;
  for (const auto row : old->rows) {
    if (!request.actor.empty()) {
      auto run = connection.run(tell);
      if (auto told = run.with(row).step(); !told.ok()) return told.error();
      const auto [record, message] = decode_record(run);
      events.emplace(record.sequence,
                     operator_event(AuditKind::purged,
                                    {request.table, record.id, message.get(), record.attempts},
                                    request.actor, state_name(request.state), now));
    }
    if (auto gone = connection.run(remove).with(row).finish(); !gone.ok()) return gone.error();
    if (request.state == MessageState::pending) {
      counts.leave(row);
      ++counts.taken;
    } else {
      --counts.ended(request.state);
    }
  }
  if (auto counted = add_counts(connection, context_.shared, request.table, counts);
      !counted.ok()) {
    return counted.error();
  }
  const spi::PurgeReply reply{.rows = old->rows.size(), .more = old->more};
  if (events.empty()) return reply;
  std::vector<AuditEvent> in_order;
  for (auto& [sequence, event] : events) in_order.push_back(std::move(event));
  LinkSession session(connection.link(), context_.clock);
  if (auto head = audit_.append(session, in_order); !head.ok()) return head.error();
  return reply;
}

Result<spi::PurgeReply> SqliteAdmin::purge(const spi::PurgeRequest& request) {
  return in_transaction(*context_.writer,
                        [&](Connection& connection) { return purge_in(connection, request); });
}

}  // namespace sagabox::sqlite
