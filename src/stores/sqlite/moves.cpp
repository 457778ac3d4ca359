#include "observe/audit_events.hpp"
#include "stores/sqlite/admin_store.hpp"
#include "stores/sqlite/decode.hpp"
#include "stores/sqlite/places.hpp"
#include "stores/sqlite/unit_of_work.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::sqlite {
namespace {

Result<std::optional<Decoded>> look_up(Connection& connection, const AdminStatements& statements,
                                       const MessageId& id,
                                       const std::optional<std::string>& tenant) {
  auto run = connection.run(statements.look);
  auto row = run.with(id.view()).step();
  if (!row.ok()) return row.error();
  if (!*row) return std::optional<Decoded>();
  auto found = decode_record(run);
  // A message of another tenant is not there.
  if (tenant && found.record.tenant != *tenant) return std::optional<Decoded>();
  return std::optional(std::move(found));
}

}  // namespace

Status SqliteAdmin::replay(Connection& connection, const TableName& table, MessageState from,
                           Sequence sequence) {
  const auto& statements = statements_.of(table);
  const bool archived = from == MessageState::done;
  const auto last = last_sequence(connection.link(), context_.inserts.of(table));
  if (!last.ok()) return last.error();
  auto insert = connection.run(archived ? statements.replay_done : statements.replay_ended);
  insert.with(sequence.value).with(last->value + 1).with(context_.clock.wall_now());
  if (auto inserted = insert.finish(); !inserted.ok()) return inserted;
  // Its lane need not be the normal one.
  const Counts note{.last = Sequence{last->value + 1}};
  if (auto noted = add_counts(connection, context_.control, table, note); !noted.ok()) return noted;
  return connection.run(archived ? statements.remove_done : statements.remove_ended)
      .with(sequence.value)
      .finish();
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
    run.with(record.id.view()).with(now).with(request.note);
    if (auto done = run.finish(); !done.ok()) return done;
    auto remove = connection.run(statements.remove_id);
    if (auto gone = remove.with(record.id.view()).finish(); !gone.ok()) return gone;
    counts.leave(place_of(record.due ? waiting_from : normal_from, record.sequence));
    counts.taken = 1;
  }
  return add_counts(connection, context_.control, request.table, counts);
}

Status SqliteAdmin::release(Connection& connection, const spi::MoveRequest& request,
                            const MessageRecord& record) {
  const auto& statements = statements_.of(request.table);
  auto run = connection.run(statements.release);
  run.with(record.sequence.value).with(context_.clock.wall_now());
  if (auto done = run.finish(); !done.ok()) return done;
  auto gone = connection.run(statements.remove_ended).with(record.sequence.value).finish();
  if (!gone.ok()) return gone;
  return add_counts(connection, context_.control, request.table,
                    {.gone = -1, .waiting = 1, .quarantined = -1});
}

Result<spi::MoveReply> SqliteAdmin::move_in(Connection& connection,
                                            const spi::MoveRequest& request) {
  const auto now = context_.clock.wall_now();
  if (auto known = counts_of(connection, context_.control, request.table); !known.ok()) {
    return known.error();
  }
  spi::MoveReply reply;
  std::vector<AuditEvent> events;
  for (const auto& id : request.ids) {
    auto& item = reply.items.emplace_back();
    auto found = look_up(connection, statements_.of(request.table), id, request.tenant);
    if (!found.ok()) return found.error();
    if (!*found) continue;
    const auto& [record, message] = **found;
    item.was = record.state;
    if (!allows(request.move, record.state)) continue;
    item.moved = true;
    Status done;
    switch (request.move) {
      case spi::Move::replay: {
        done = replay(connection, request.table, record.state, record.sequence);
        Counts counts;
        counts.ended(record.state) = -1;
        if (done.ok()) done = add_counts(connection, context_.control, request.table, counts);
        break;
      }
      case spi::Move::quarantine:
        done = quarantine(connection, request, record);
        break;
      case spi::Move::release:
        done = release(connection, request, record);
        break;
    }
    if (!done.ok()) return done.error();
    events.push_back(operator_event(audit_kind(request.move),
                                    {request.table, id, message.get(), record.attempts},
                                    request.actor, request.note, now));
  }
  if (events.empty()) return reply;
  if (auto head = audit_.append(connection, events); !head.ok()) return head.error();
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
