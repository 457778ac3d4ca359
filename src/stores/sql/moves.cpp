#include "core/same_id.hpp"
#include "observe/audit_events.hpp"
#include "stores/same_id.hpp"
#include "stores/sql/admin_store.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace sagabox::sql {
namespace {

/// The state of a message after a permitted move.
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

Result<FoundById> lock(Session& session, const AdminStatements& statements,
                       const spi::MoveRequest& request) {
  std::vector<std::string> ids;
  for (const auto& id : request.ids) ids.emplace_back(id.view());
  const Values values{std::move(ids), request.tenant};
  // One after the other, each with a snapshot of its own: a row that moves from the first table to
  // another meanwhile is found there.
  const std::array calls{Call{&statements.lock_pending, values},
                         Call{&statements.lock_ended, values}, Call{&statements.lock_done, values}};
  auto answers = session.run(calls);
  if (!answers.ok()) return answers.error();
  FoundById found;
  for (const auto& rows : *answers) {
    for (const auto row : rows) {
      auto [record, message, tenant] = decode_record(row);
      auto& of_id = found[record.id];
      of_id.rows.push_back({std::move(tenant), record.state, record.sequence});
      of_id.messages.push_back(audited_message(row));
      of_id.records.push_back(std::move(record));
    }
  }
  return found;
}

/// A row to be moved, and the item that names it.
struct Chosen {
  std::size_t item = 0;
  const MessageRecord* record = nullptr;
  const Message* message = nullptr;
};

/// Chooses the row for each id, and fills in the reply for those that are not moved.
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
    // The id occurs twice: report the state after the first move.
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

}  // namespace

Result<std::vector<Sequence>> AdminStore::carry_out(Session& session,
                                                    const spi::MoveRequest& request,
                                                    const MovedRows& rows, WallTime now) {
  const auto& statements = statements_.of(request.table);
  std::vector<Call> calls;
  switch (request.move) {
    case spi::Move::replay:
      return parts_.replay.replay(session, request.table, rows.ended, now, request.as_new);
    case spi::Move::release:
      calls.push_back({&statements.release, {numbers_of(rows.ended), now}});
      break;
    case spi::Move::quarantine:
      calls.push_back({&statements.quarantine_pending,
                       {numbers_of(rows.pending), request.note, now, rows.pending_ids}});
      calls.push_back({&statements.quarantine_dead, {numbers_of(rows.ended), request.note, now}});
      break;
  }
  auto answers = session.run(calls);
  if (!answers.ok()) return answers.error();
  std::vector<Sequence> moved;
  for (const auto& answer : *answers) {
    const auto some = sequences_of(answer);
    moved.insert(moved.end(), some.begin(), some.end());
  }
  return moved;
}

Result<spi::MoveReply> AdminStore::move_in(Session& session, const spi::MoveRequest& request) {
  if (auto known = parts_.known.check(session, request.table); !known.ok()) return known.error();
  auto found = lock(session, statements_.of(request.table), request);
  if (!found.ok()) return found.error();
  spi::MoveReply reply;
  const auto chosen = choose(*found, request, reply);
  if (chosen.empty()) return reply;
  const auto now = session.now();
  if (!now.ok()) return now.error();
  MovedRows rows;
  for (const auto& [item, record, message] : chosen) {
    if (record->state == MessageState::pending) {
      rows.pending.push_back(record->sequence);
      rows.pending_ids.emplace_back(record->id.view());
    } else {
      rows.ended.push_back(record->sequence);
    }
  }
  auto moved = carry_out(session, request, rows, *now);
  if (!moved.ok()) return moved.error();
  std::vector<AuditEvent> events;
  for (const auto& [at, record, message] : chosen) {
    auto& item = reply.items[at];
    item.moved = std::ranges::find(*moved, record->sequence) != moved->end();
    // If it was not moved, its id became pending in another transaction meanwhile.
    item.id_is_pending = !item.moved;
    if (!item.moved) continue;
    events.push_back(operator_event(audit_kind(request.move),
                                    {request.table, record->id, message, record->attempts},
                                    request.actor, request.note, *now));
  }
  if (events.empty()) return reply;
  if (auto head = parts_.audit.append(session, events); !head.ok()) return head.error();
  return reply;
}

Result<spi::MoveReply> AdminStore::move(const spi::MoveRequest& request) {
  auto reply =
      in_transaction(parts_.sessions, [&](Session& session) { return move_in(session, request); });
  if (reply.ok() && request.move != spi::Move::quarantine &&
      std::ranges::any_of(reply->items, [](const auto& item) { return item.moved; })) {
    parts_.notify(request.table);
  }
  return reply;
}

}  // namespace sagabox::sql
