#include "observe/audit_events.hpp"
#include "stores/postgres/driver/unit_of_work.hpp"
#include "stores/postgres/operate/admin_store.hpp"
#include "stores/postgres/outbox/decode.hpp"
#include "stores/same_id.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace sagabox::postgres {
namespace {

/// What a message is after a move that its state allowed.
MessageState state_after(spi::Move move) {
  return move == spi::Move::quarantine ? MessageState::quarantined : MessageState::pending;
}

/// The rows that have one id, locked.
struct Found {
  std::vector<RowOfId> rows;
  std::vector<MessageRecord> records;
  std::vector<std::shared_ptr<const Message>> messages;
};
using FoundById = std::map<MessageId, Found>;

Result<FoundById> lock(Connection& connection, const AdminStatements& statements,
                       const spi::MoveRequest& request) {
  Params params;
  params.array(Type::text, request.ids, [](const MessageId& id) { return id.view(); });
  request.tenant ? params.text(*request.tenant) : params.null(Type::text);
  // One after the other, each with a snapshot of its own: what is on its way from the first table
  // to another is met there.
  const std::array calls{Call{&statements.lock_pending, &params},
                         Call{&statements.lock_ended, &params},
                         Call{&statements.lock_done, &params}};
  auto answers = connection.run(calls, Effect::none);
  if (!answers.ok()) return answers.error();
  FoundById found;
  for (const auto& rows : *answers) {
    for (int row = 0; row < rows.size(); ++row) {
      auto record = decode_record(rows, row, 0, {});
      auto& of_id = found[record.id];
      of_id.rows.push_back({record.tenant, record.state, record.sequence});
      of_id.messages.push_back(message_of_record(rows, row, 0).message);
      of_id.records.push_back(std::move(record));
    }
  }
  return found;
}

/// A row that is to be moved, and whose item it is.
struct Chosen {
  std::size_t item = 0;
  const MessageRecord* record = nullptr;
  const Message* message = nullptr;
};

/// Which row is meant by each id, and what can be said of those that are not moved.
std::vector<Chosen> choose(const FoundById& found, const spi::MoveRequest& request,
                           spi::MoveReply& reply) {
  std::vector<Chosen> all;
  std::set<Sequence> taken;
  for (std::size_t at = 0; at < request.ids.size(); ++at) {
    auto& item = reply.items.emplace_back();
    const auto known = found.find(request.ids[at]);
    if (known == found.end()) continue;
    const auto& [rows, records, messages] = known->second;
    auto chosen = choose_row(rows, request.tenant, {}, request.sequence(at));
    item.tenants = std::move(chosen.tenants);
    if (!chosen.row) continue;
    item.was = rows[*chosen.row].state;
    // Named again: as the first time leaves it.
    if (taken.contains(rows[*chosen.row].sequence)) {
      item.was = state_after(request.move);
      continue;
    }
    item.id_is_pending = waits_for_pending(rows, *chosen.row, request.move);
    if (item.id_is_pending || !allows(request.move, *item.was)) continue;
    taken.insert(rows[*chosen.row].sequence);
    all.push_back({at, &records[*chosen.row], messages[*chosen.row].get()});
  }
  return all;
}

Result<WallTime> now_of(Connection& connection, const AdminStatements& statements) {
  auto rows = connection.run(statements.now, {}, Effect::none);
  if (!rows.ok()) return rows.error();
  return rows->timestamptz(0, 0);
}

}  // namespace

Params sequence_params(std::span<const Sequence> sequences) {
  Params params;
  params.array(Type::int8, sequences,
               [](Sequence sequence) { return static_cast<std::int64_t>(sequence.value); });
  return params;
}

std::vector<Sequence> sequences_of(const Rows& rows) {
  std::vector<Sequence> sequences;
  for (int row = 0; row < rows.size(); ++row) sequences.push_back(Sequence{rows.uint8(row, 0)});
  return sequences;
}

Result<std::vector<Sequence>> PostgresAdmin::carry_out(Connection& connection,
                                                       const spi::MoveRequest& request,
                                                       const MovedRows& rows) {
  const auto& statements = statements_.of(request.table);
  auto pending = sequence_params(rows.pending);
  auto ended = sequence_params(rows.ended);
  std::vector<Call> calls;
  Params taken;
  switch (request.move) {
    case spi::Move::replay:
      calls = {{&statements.replay, &ended}};
      break;
    case spi::Move::release:
      calls = {{&statements.release, &ended}};
      break;
    case spi::Move::quarantine:
      pending.text(request.note);
      ended.text(request.note);
      taken.text(request.table.str()).int8(static_cast<std::int64_t>(rows.pending.size()));
      calls = {{&statements.quarantine_pending, &pending}, {&statements.quarantine_dead, &ended}};
      if (!rows.pending.empty()) calls.push_back({&statements.taken, &taken});
      break;
  }
  auto answers = connection.run(calls, Effect::none);
  if (!answers.ok()) return answers.error();
  std::vector<Sequence> moved;
  for (const auto& answer : *answers) {
    const auto some = sequences_of(answer);
    moved.insert(moved.end(), some.begin(), some.end());
  }
  return moved;
}

Result<spi::MoveReply> PostgresAdmin::move_in(Connection& connection,
                                              const spi::MoveRequest& request) {
  const auto& statements = statements_.of(request.table);
  auto found = lock(connection, statements, request);
  if (!found.ok()) return found.error();
  auto now = now_of(connection, statements);
  if (!now.ok()) return now.error();
  spi::MoveReply reply;
  const auto chosen = choose(*found, request, reply);
  if (chosen.empty()) return reply;
  MovedRows rows;
  for (const auto& [item, record, message] : chosen) {
    auto& list = record->state == MessageState::pending ? rows.pending : rows.ended;
    list.push_back(record->sequence);
  }
  auto moved = carry_out(connection, request, rows);
  if (!moved.ok()) return moved.error();
  std::vector<AuditEvent> events;
  for (const auto& [at, record, message] : chosen) {
    auto& item = reply.items[at];
    item.moved = std::ranges::find(*moved, record->sequence) != moved->end();
    // Its id became pending in another transaction since the look at it.
    item.id_is_pending = !item.moved;
    if (!item.moved) continue;
    events.push_back(operator_event(audit_kind(request.move),
                                    {request.table, record->id, message, record->attempts},
                                    request.actor, request.note, *now));
  }
  if (events.empty()) return reply;
  LinkSession session(connection.link());
  if (auto head = audit_.append(session, events); !head.ok()) return head.error();
  return reply;
}

Result<spi::MoveReply> PostgresAdmin::move(const spi::MoveRequest& request) {
  auto reply = in_transaction(context_.relay,
                              [&](Connection& connection) { return move_in(connection, request); });
  if (reply.ok() && request.move != spi::Move::quarantine &&
      std::ranges::any_of(reply->items, [](const auto& item) { return item.moved; })) {
    wake_.ring(request.table);
  }
  return reply;
}

Status PostgresAdmin::audit_purge(Connection& connection, const spi::PurgeRequest& request,
                                  const Rows& purged) {
  constexpr int record_column = 2;
  auto now = now_of(connection, statements_.of(request.table));
  if (!now.ok()) return now.error();
  std::map<Sequence, AuditEvent> events;
  for (int row = 0; row < purged.size(); ++row) {
    const auto record = decode_record(purged, row, record_column, {});
    const auto message = message_of_record(purged, row, record_column).message;
    events.emplace(record.sequence,
                   operator_event(AuditKind::purged,
                                  {request.table, record.id, message.get(), record.attempts},
                                  request.actor, state_name(request.state), *now));
  }
  std::vector<AuditEvent> in_order;
  for (auto& [sequence, event] : events) in_order.push_back(std::move(event));
  LinkSession session(connection.link());
  auto head = audit_.append(session, in_order);
  if (!head.ok()) return head.error();
  return {};
}

}  // namespace sagabox::postgres
