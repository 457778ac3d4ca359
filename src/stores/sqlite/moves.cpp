#include "observe/audit_events.hpp"
#include "stores/same_id.hpp"
#include "stores/sqlite/admin_store.hpp"
#include "stores/sqlite/places.hpp"
#include "stores/sqlite/unit_of_work.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::sqlite {
Result<bool> SqliteAdmin::replay(Connection& connection, const TableName& table, MessageState from,
                                 Sequence sequence) {
  const auto& statements = statements_.of(table);
  const bool archived = from == MessageState::done;
  const auto last = last_sequence(connection.link(), context_.inserts.of(table));
  if (!last.ok()) return last.error();
  auto insert = connection.run(archived ? statements.replay_done : statements.replay_ended);
  insert.with(sequence.value).with(last->value + 1).with(context_.clock.wall_now());
  if (auto inserted = insert.finish(); !inserted.ok()) return inserted.error();
  if (connection.changes() == 0) return false;
  // Its lane need not be the normal one.
  const Counts note{.last = Sequence{last->value + 1}};
  if (auto noted = add_counts(connection, context_.shared, table, note); !noted.ok()) {
    return noted.error();
  }
  auto gone = connection.run(archived ? statements.remove_done : statements.remove_ended)
                  .with(sequence.value)
                  .finish();
  if (!gone.ok()) return gone.error();
  return true;
}

Status SqliteAdmin::quarantine(Connection& connection, const spi::MoveRequest& request,
                               const MessageRecord& record) {
  const auto& statements = statements_.of(request.table);
  const auto now = context_.clock.wall_now();
  Counts counts{.quarantined = 1};
  if (record.state == MessageState::dead) {
    auto run = connection.run(statements.requarantine);
    run.with(record.sequence.value).with(now).with(request.note);
    if (auto done = run.finish(); !done.ok()) return done;
    counts.dead = -1;
  } else {
    auto run = connection.run(statements.quarantine);
    run.with(record.id.view()).with(now).with(request.note).with(record.sequence.value);
    if (auto done = run.finish(); !done.ok()) return done;
    auto remove = connection.run(statements.remove_id);
    remove.with(record.id.view()).with(record.sequence.value);
    if (auto gone = remove.finish(); !gone.ok()) return gone;
    counts.leave(place_of(record.due ? waiting_from : normal_from, record.sequence));
    counts.taken = 1;
  }
  return add_counts(connection, context_.shared, request.table, counts);
}

Status SqliteAdmin::release(Connection& connection, const spi::MoveRequest& request,
                            const MessageRecord& record) {
  const auto& statements = statements_.of(request.table);
  auto run = connection.run(statements.release);
  run.with(record.sequence.value).with(context_.clock.wall_now());
  if (auto done = run.finish(); !done.ok()) return done;
  auto gone = connection.run(statements.remove_ended).with(record.sequence.value).finish();
  if (!gone.ok()) return gone;
  return add_counts(connection, context_.shared, request.table,
                    {.gone = -1, .waiting = 1, .quarantined = -1});
}

Result<bool> SqliteAdmin::move_row(Connection& connection, const spi::MoveRequest& request,
                                   const MessageRecord& record) {
  if (request.move == spi::Move::replay) {
    auto replayed = replay(connection, request.table, record.state, record.sequence);
    if (!replayed.ok() || !*replayed) return replayed;
    Counts counts;
    counts.ended(record.state) = -1;
    auto counted = add_counts(connection, context_.shared, request.table, counts);
    if (!counted.ok()) return counted.error();
    return true;
  }
  auto done = request.move == spi::Move::quarantine ? quarantine(connection, request, record)
                                                    : release(connection, request, record);
  if (!done.ok()) return done.error();
  return true;
}

Result<spi::MoveReply> SqliteAdmin::move_in(Connection& connection,
                                            const spi::MoveRequest& request) {
  const auto now = context_.clock.wall_now();
  if (auto known = counts_of(connection, context_.shared, request.table); !known.ok()) {
    return known.error();
  }
  spi::MoveReply reply;
  std::vector<AuditEvent> events;
  for (std::size_t at = 0; at < request.ids.size(); ++at) {
    const auto& id = request.ids[at];
    auto& item = reply.items.emplace_back();
    auto named = rows_of_id(connection, statements_.of(request.table), id, request.tenant);
    if (!named.ok()) return named.error();
    auto chosen = choose_row(named->rows, request.tenant, {}, request.sequence(at));
    item.tenants = std::move(chosen.tenants);
    if (!chosen.row) continue;
    const auto& [record, message] = named->found[*chosen.row];
    item.was = record.state;
    item.id_is_pending = waits_for_pending(named->rows, *chosen.row, request.move);
    if (item.id_is_pending || !allows(request.move, record.state)) continue;
    auto done = move_row(connection, request, record);
    if (!done.ok()) return done.error();
    item.moved = *done;
    item.id_is_pending = !*done;
    if (!item.moved) continue;
    events.push_back(operator_event(audit_kind(request.move),
                                    {request.table, id, message.get(), record.attempts},
                                    request.actor, request.note, now));
  }
  if (events.empty()) return reply;
  LinkSession session(connection.link(), context_.clock);
  if (auto head = audit_.append(session, events); !head.ok()) return head.error();
  return reply;
}

Result<spi::MoveReply> SqliteAdmin::move(const spi::MoveRequest& request) {
  auto reply = in_transaction(*context_.writer,
                              [&](Connection& connection) { return move_in(connection, request); });
  if (reply.ok() && request.move != spi::Move::quarantine &&
      std::ranges::any_of(reply->items, [](const auto& item) { return item.moved; })) {
    context_.wake.ring(request.table);
  }
  return reply;
}

}  // namespace sagabox::sqlite
