#include "observe/audit_events.hpp"
#include "stores/memory/database.hpp"
#include "stores/memory/selection.hpp"
#include "stores/same_id.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::memory {
namespace {

AuditedMessage audited(const TableName& table, const Slot& slot) {
  return {table, slot.id, slot.message.get(), slot.attempts};
}

/// The rows that have one id, for choose_row().
struct Named {
  std::vector<Sequence> sequences;
  std::vector<RowOfId> rows;
};

Named named(const Table& table, const MessageId& id) {
  Named found{table.find(id), {}};
  for (const auto sequence : found.sequences) {
    const Slot& slot = *table.row(sequence);
    found.rows.push_back({std::string(tenant_of(slot)), state_of(slot), sequence});
  }
  return found;
}

}  // namespace

Result<spi::TableStats> Database::stats(const TableName& table) {
  return faulty(Operation::look, [&]() -> Result<spi::TableStats> {
    const std::lock_guard lock(mutex_);
    const Table* rows = find(table);
    if (rows == nullptr) return no_table(table);
    return rows->stats(now());
  });
}

Result<spi::ListReply> Database::list(const spi::ListRequest& request) {
  return faulty(Operation::look, [&]() -> Result<spi::ListReply> {
    const std::lock_guard lock(mutex_);
    const Table* rows = find(request.table);
    if (rows == nullptr) return no_table(request.table);
    const auto selection =
        rows->select(request.state, request.filter, request.after, request.rows_max);
    spi::ListReply reply{.rows = {}, .exhausted = selection.exhausted};
    reply.rows.reserve(selection.rows.size());
    for (const auto sequence : selection.rows) {
      reply.rows.push_back(
          record_of(sequence, *rows->row(sequence),
                    {.history = request.with_history, .payload = request.with_payload}));
    }
    return reply;
  });
}

Result<std::optional<MessageRecord>> Database::find(const spi::FindRequest& request) {
  return faulty(Operation::look, [&]() -> Result<std::optional<MessageRecord>> {
    const std::lock_guard lock(mutex_);
    const Table* rows = find(request.table);
    if (rows == nullptr) return no_table(request.table);
    const auto found = named(*rows, request.id);
    const auto chosen = choose_row(found.rows, request.tenant, request.state, request.sequence);
    if (!chosen.tenants.empty()) return several_tenants(request.id, chosen.tenants);
    if (!chosen.row) return std::optional<MessageRecord>();
    const auto sequence = found.sequences[*chosen.row];
    return std::optional(record_of(sequence, *rows->row(sequence),
                                   {.history = true, .payload = request.with_payload}));
  });
}

Result<std::uint64_t> Database::count(const TableName& table, MessageState state,
                                      const MessageFilter& filter) {
  return faulty(Operation::look, [&]() -> Result<std::uint64_t> {
    const std::lock_guard lock(mutex_);
    const Table* rows = find(table);
    if (rows == nullptr) return no_table(table);
    return rows->extent(state, filter).rows;
  });
}

Result<std::vector<spi::Stray>> Database::strays(const TableName& table, std::uint32_t rows_max) {
  return faulty(Operation::look, [&]() -> Result<std::vector<spi::Stray>> {
    const std::lock_guard lock(mutex_);
    const Table* rows = find(table);
    if (rows == nullptr) return no_table(table);
    return rows->strays(rows_max);
  });
}

spi::MoveReply::Item Database::move_one(Table& rows, const spi::MoveRequest& request,
                                        std::size_t item, TransactionId writer, WallTime at) {
  const auto found = named(rows, request.ids[item]);
  auto chosen = choose_row(found.rows, request.tenant, {}, request.sequence(item));
  if (!chosen.row) return {.tenants = std::move(chosen.tenants)};
  const auto sequence = found.sequences[*chosen.row];
  const Slot& slot = *rows.row(sequence);
  const MessageState was = state_of(slot);
  const bool waits = waits_for_pending(found.rows, *chosen.row, request.move);
  if (waits || !allows(request.move, was)) return {.was = was, .id_is_pending = waits};
  state_.audit.append(operator_event(audit_kind(request.move), audited(request.table, slot),
                                     request.actor, request.note, at));
  switch (request.move) {
    case spi::Move::replay:
      rows.replay(sequence, writer, at, request.as_new);
      break;
    case spi::Move::quarantine:
      if (was == MessageState::pending) ++state_.controls[request.table.str()].taken;
      rows.quarantine(sequence, request.note, at);
      break;
    case spi::Move::release:
      rows.release(sequence, at);
      break;
  }
  return {.was = was, .moved = true};
}

Result<spi::MoveReply> Database::move(const spi::MoveRequest& request) {
  return faulty(Operation::move, [&]() -> Result<spi::MoveReply> {
    spi::MoveReply reply;
    {
      const std::lock_guard lock(mutex_);
      Table* rows = find(request.table);
      if (rows == nullptr) return no_table(request.table);
      if (request.move == spi::Move::replay) {
        if (auto busy = other_writer(nullptr)) return *std::move(busy);
      }
      const TransactionId writer{state_.next_transaction.value++};
      const WallTime at = now();
      for (std::size_t item = 0; item < request.ids.size(); ++item) {
        reply.items.push_back(move_one(*rows, request, item, writer, at));
      }
    }
    const bool any = std::ranges::any_of(reply.items, [](const auto& item) { return item.moved; });
    if (any && request.move != spi::Move::quarantine && options_.notifies) {
      signal(request.table.str()).notify();
    }
    return reply;
  });
}

Result<spi::PurgeReply> Database::purge(const spi::PurgeRequest& request) {
  return faulty(Operation::purge, [&]() -> Result<spi::PurgeReply> {
    Table::Released released;  // freed after the lock is released
    const std::lock_guard lock(mutex_);
    Table* rows = find(request.table);
    if (rows == nullptr) return no_table(request.table);
    const WallTime at = now();
    // `until` is exclusive, but a row that ended at exactly that time is old enough.
    const MessageFilter old{
        .until = at - std::chrono::duration_cast<WallTime::duration>(request.older_than) +
                 WallTime::duration(1)};
    const auto selection = rows->select(request.state, old, {}, request.rows_max);
    for (const auto sequence : selection.rows) {
      if (!request.actor.empty()) {
        state_.audit.append(operator_event(AuditKind::purged,
                                           audited(request.table, *rows->row(sequence)),
                                           request.actor, state_name(request.state), at));
      }
      rows->purge(sequence, released);
    }
    if (request.state == MessageState::pending && !selection.rows.empty()) {
      ++state_.controls[request.table.str()].taken;
    }
    return spi::PurgeReply{.rows = selection.rows.size(), .more = !selection.exhausted};
  });
}

void Database::begin_requeue() {
  const std::lock_guard lock(mutex_);
  state_.hub.deliveries.draw_early();
}

Status Database::misplace(const TableName& table, Sequence sequence) {
  const std::lock_guard lock(mutex_);
  Table* rows = find(table);
  if (rows == nullptr) return no_table(table);
  if (rows->misplace(sequence)) return {};
  return Error{Code::config_invalid, "table \"" + table.str() + "\" has no pending row " +
                                         std::to_string(sequence.value)};
}

void Database::audit_death(const TableName& table, const Slot& row, WallTime at) {
  state_.audit.append(dead_letter_event(audited(table, row),
                                        row.failure_state->code.value_or(Code::unknown_internal),
                                        row.failure_state->error, at));
}

}  // namespace sagabox::memory
