#include "stores/sqlite/audit_store.hpp"

#include "core/stored_message.hpp"
#include "observe/audit_events.hpp"
#include "stores/sqlite/unit_of_work.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace sagabox::sqlite {
namespace {

constexpr std::string_view head_table = "sagabox_audit_head";

/// Nullopt if somebody has deleted its row.
Result<std::optional<AuditHead>> head_of(Connection& connection,
                                         const AuditStatements& statements) {
  auto run = connection.run(statements.head);
  auto row = run.step();
  if (!row.ok()) return row.error();
  if (!*row) return std::optional<AuditHead>();
  return std::optional(AuditHead{run.natural(0), digest_of(run.bytes(1))});
}

AuditEntry entry_from(const Run& run) {
  const auto text = [&](int column) { return std::string(run.bytes(column)); };
  AuditEntry entry;
  entry.number = run.natural(0);
  // A name that this version does not know makes the entry's hash wrong, and is found so.
  entry.event.kind = audit_from_name(run.text(1)).value_or(AuditKind{});
  entry.event.at = run.time(2);
  entry.event.table = text(3);
  entry.event.tenant = text(4);
  entry.event.topic = text(5);
  entry.event.message_id = text(6);
  entry.event.attempt = static_cast<std::uint32_t>(run.integer(7));
  entry.event.digest = digest_of(run.bytes(8));
  entry.event.traceparent = text(9);
  entry.event.code = text(10);
  entry.event.detail = text(11);
  entry.event.actor = text(12);
  entry.previous = digest_of(run.bytes(13));
  entry.hash = digest_of(run.bytes(14));
  return entry;
}

Status append_one(Connection& connection, const Sql& sql, const AuditEntry& entry) {
  const auto& event = entry.event;
  auto run = connection.run(sql);
  run.with(entry.number).with(audit_name(event.kind)).with(event.at);
  run.with_blob(event.table).with_blob(event.tenant).with_blob(event.topic);
  run.with_blob(event.message_id).with(event.attempt).with_blob(bytes_of(event.digest));
  run.with_blob(event.traceparent).with_blob(event.code).with_blob(event.detail);
  run.with_blob(event.actor).with_blob(bytes_of(entry.previous)).with_blob(bytes_of(entry.hash));
  return run.finish();
}

}  // namespace

Result<AuditHead> AuditChain::append(Connection& connection,
                                     std::span<const AuditEvent> events) const {
  auto known = head_of(connection, statements_);
  if (!known.ok()) return known.error();
  if (events.empty()) return known->value_or(AuditHead{});
  if (!*known) return no_audit_head(head_table);
  AuditHead head = **known;
  for (const auto& event : events) {
    const auto entry = chain(head, event);
    if (auto added = append_one(connection, statements_.append, entry); !added.ok()) {
      return added.error();
    }
    head = {entry.number, entry.hash};
  }
  auto move = connection.run(statements_.move_head);
  move.with(head.number).with_blob(bytes_of(head.hash));
  if (auto moved = move.finish(); !moved.ok()) return moved.error();
  if (connection.changes() == 0) return no_audit_head(head_table);
  return head;
}

Result<AuditHead> SqliteAudit::append(std::span<const AuditEvent> events) {
  return in_transaction(*context_.writer,
                        [&](Connection& connection) { return chain_.append(connection, events); });
}

Result<std::vector<AuditEntry>> SqliteAudit::read(std::uint64_t after, std::uint32_t rows_max) {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  auto run = (*reader)->run(chain_.statements().read);
  run.with(std::min<std::uint64_t>(after, INT64_MAX)).with(rows_max);
  std::vector<AuditEntry> entries;
  for (;;) {
    auto row = run.step();
    if (!row.ok()) return row.error();
    if (!*row) return entries;
    entries.push_back(entry_from(run));
  }
}

Result<AuditHead> SqliteAudit::head() {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  auto head = head_of(**reader, chain_.statements());
  if (!head.ok()) return head.error();
  // Without its row it is that of an empty log.
  return head->value_or(AuditHead{});
}

}  // namespace sagabox::sqlite
