#include "stores/sql/audit_store.hpp"

#include "core/stored_message.hpp"
#include "observe/audit_events.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace sagabox::sql {
namespace {

/// If its row is missing (it may have been deleted), the head is that of an empty log.
AuditHead head_from(const Rows& rows) {
  if (rows.empty()) return {};
  return {rows.front().natural(0), digest_of(rows.front().text(1))};
}

AuditEntry entry_from(const Row& row) {
  const auto text = [&](int column) { return std::string(row.text(column)); };
  AuditEntry entry;
  entry.number = row.natural(0);
  // A kind that this version does not know makes the entry's hash wrong, so that it is reported.
  entry.event.kind = audit_from_name(row.text(1)).value_or(AuditKind{});
  entry.event.at = row.time(2);
  entry.event.table = text(3);
  entry.event.tenant = text(4);
  entry.event.topic = text(5);
  entry.event.message_id = text(6);
  entry.event.attempt = row.natural32(7);
  entry.event.digest = digest_of(row.text(8));
  entry.event.traceparent = text(9);
  entry.event.code = text(10);
  entry.event.detail = text(11);
  entry.event.actor = text(12);
  entry.previous = digest_of(row.text(13));
  entry.hash = digest_of(row.text(14));
  return entry;
}

/// One list for each column.
Values columns_of(const std::vector<AuditEntry>& entries) {
  using E = AuditEntry;
  const auto list = [&]<class T>(T (*get)(const E&)) {
    std::vector<T> all;
    all.reserve(entries.size());
    for (const auto& entry : entries) all.push_back(get(entry));
    return Value(std::move(all));
  };
  const auto bytes = [&](std::string AuditEvent::* field) {
    std::vector<Bytes> all;
    for (const auto& entry : entries) all.emplace_back(entry.event.*field);
    return Value(std::move(all));
  };
  return {list(+[](const E& e) { return static_cast<std::int64_t>(e.number); }),
          list(+[](const E& e) { return std::string(audit_name(e.event.kind)); }),
          list(+[](const E& e) { return e.event.at; }),
          bytes(&AuditEvent::table),
          bytes(&AuditEvent::tenant),
          bytes(&AuditEvent::topic),
          bytes(&AuditEvent::message_id),
          list(+[](const E& e) { return std::int64_t{e.event.attempt}; }),
          list(+[](const E& e) { return Bytes(bytes_of(e.event.digest)); }),
          bytes(&AuditEvent::traceparent),
          bytes(&AuditEvent::code),
          bytes(&AuditEvent::detail),
          bytes(&AuditEvent::actor),
          list(+[](const E& e) { return Bytes(bytes_of(e.previous)); }),
          list(+[](const E& e) { return Bytes(bytes_of(e.hash)); })};
}

}  // namespace

AuditStatements::AuditStatements(Sections& sections)
    : lock_head(sections.take("audit_lock_head")),
      head(sections.take("audit_head")),
      append(sections.take("audit_append")),
      move_head(sections.take("audit_move_head")),
      read(sections.take("audit_read")) {}

Result<AuditHead> AuditChain::append(Session& session, std::span<const AuditEvent> events) const {
  auto locked = session.run(statements_.lock_head);
  if (!locked.ok()) return locked.error();
  AuditHead head = head_from(*locked);
  if (events.empty()) return head;
  if (locked->empty()) return no_audit_head(head_table_);
  std::vector<AuditEntry> entries;
  entries.reserve(events.size());
  for (const auto& event : events) {
    entries.push_back(chain(head, event));
    head = {entries.back().number, entries.back().hash};
  }
  const std::array calls{Call{&statements_.append, columns_of(entries)},
                         Call{&statements_.move_head, {head.number, Bytes(bytes_of(head.hash))}}};
  auto appended = session.run(calls);
  if (!appended.ok()) return appended.error();
  if (appended->back().empty()) return no_audit_head(head_table_);
  return head;
}

Result<AuditHead> AuditStore::append(std::span<const AuditEvent> events) {
  return in_transaction(sessions_,
                        [&](Session& session) { return chain_.append(session, events); });
}

Result<std::vector<AuditEntry>> AuditStore::read(std::uint64_t after, std::uint32_t rows_max) {
  auto session = sessions_.reader();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(chain_.statements().read, {after, rows_max});
  if (!rows.ok()) return rows.error();
  std::vector<AuditEntry> entries;
  for (const auto row : *rows) entries.push_back(entry_from(row));
  return entries;
}

Result<AuditHead> AuditStore::head() {
  auto session = sessions_.reader();
  if (!session.ok()) return session.error();
  auto rows = (*session)->run(chain_.statements().head);
  if (!rows.ok()) return rows.error();
  return head_from(*rows);
}

}  // namespace sagabox::sql
