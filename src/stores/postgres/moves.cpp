#include "observe/audit_events.hpp"
#include "stores/postgres/admin_store.hpp"
#include "stores/postgres/decode.hpp"
#include "stores/postgres/unit_of_work.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace sagabox::postgres {
namespace {

/// What a message is after a move that its state allowed.
MessageState state_after(spi::Move move) {
  return move == spi::Move::quarantine ? MessageState::quarantined : MessageState::pending;
}

Params id_params(std::span<const MessageId> ids) {
  Params params;
  params.array(Type::text, ids, [](const MessageId& id) { return id.view(); });
  return params;
}

/// A message that was found and locked.
struct Found {
  MessageRecord record;
  std::shared_ptr<const Message> message;
};
using FoundById = std::map<MessageId, Found>;

Result<FoundById> lock(Connection& connection, const AdminStatements& statements,
                       const spi::MoveRequest& request) {
  const auto params = id_params(request.ids);
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
      // A message of another tenant is not there.
      if (request.tenant && record.tenant != *request.tenant) continue;
      const auto id = record.id;
      found.try_emplace(id, Found{std::move(record), message_of_record(rows, row, 0).message});
    }
  }
  return found;
}

Result<WallTime> now_of(Connection& connection, const AdminStatements& statements) {
  auto rows = connection.run(statements.now, {}, Effect::none);
  if (!rows.ok()) return rows.error();
  return rows->timestamptz(0, 0);
}

}  // namespace

Status PostgresAdmin::carry_out(Connection& connection, const spi::MoveRequest& request,
                                const MovedIds& moved) {
  const auto& statements = statements_.of(request.table);
  auto pending = id_params(moved.pending);
  auto ended = id_params(moved.ended);
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
      taken.text(request.table.str()).int8(static_cast<std::int64_t>(moved.pending.size()));
      calls = {{&statements.quarantine_pending, &pending}, {&statements.quarantine_dead, &ended}};
      if (!moved.pending.empty()) calls.push_back({&statements.taken, &taken});
      break;
  }
  auto done = connection.run(calls, Effect::none);
  if (!done.ok()) return done.error();
  return {};
}

Result<spi::MoveReply> PostgresAdmin::move_in(Connection& connection,
                                              const spi::MoveRequest& request) {
  const auto& statements = statements_.of(request.table);
  auto found = lock(connection, statements, request);
  if (!found.ok()) return found.error();
  auto now = now_of(connection, statements);
  if (!now.ok()) return now.error();
  spi::MoveReply reply;
  MovedIds moved;
  std::vector<AuditEvent> events;
  for (const auto& id : request.ids) {
    auto& item = reply.items.emplace_back();
    const auto known = found->find(id);
    if (known == found->end()) continue;
    auto& [record, message] = known->second;
    item.was = record.state;
    if (!allows(request.move, record.state)) continue;
    item.moved = true;
    (record.state == MessageState::pending ? moved.pending : moved.ended).push_back(id);
    events.push_back(operator_event(audit_kind(request.move),
                                    {request.table, id, message.get(), record.attempts},
                                    request.actor, request.note, *now));
    record.state = state_after(request.move);
  }
  if (events.empty()) return reply;
  if (auto done = carry_out(connection, request, moved); !done.ok()) return done.error();
  if (auto head = audit_.append(connection, events); !head.ok()) return head.error();
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
  auto head = audit_.append(connection, in_order);
  if (!head.ok()) return head.error();
  return {};
}

}  // namespace sagabox::postgres
