#include "stores/postgres/operate/audit_store.hpp"

#include "core/stored_message.hpp"
#include "observe/audit_events.hpp"
#include "stores/postgres/driver/unit_of_work.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

namespace sagabox::postgres {
namespace {

constexpr std::string_view head_table = "audit_head";

/// Without its row, which somebody has deleted, it is that of an empty log.
AuditHead head_from(const Rows& rows) {
  if (rows.size() == 0) return {};
  return {rows.uint8(0, 0), digest_of(rows.text(0, 1))};
}

AuditEntry entry_from(const Rows& rows, int row) {
  const auto text = [&](int column) { return std::string(rows.text(row, column)); };
  AuditEntry entry;
  entry.number = rows.uint8(row, 0);
  // A name that this version does not know makes the entry's hash wrong, and is found so.
  entry.event.kind = audit_from_name(rows.text(row, 1)).value_or(AuditKind{});
  entry.event.at = rows.timestamptz(row, 2);
  entry.event.table = text(3);
  entry.event.tenant = text(4);
  entry.event.topic = text(5);
  entry.event.message_id = text(6);
  entry.event.attempt = static_cast<std::uint32_t>(rows.int8(row, 7));
  entry.event.digest = digest_of(rows.text(row, 8));
  entry.event.traceparent = text(9);
  entry.event.code = text(10);
  entry.event.detail = text(11);
  entry.event.actor = text(12);
  entry.previous = digest_of(rows.text(row, 13));
  entry.hash = digest_of(rows.text(row, 14));
  return entry;
}

Params append_params(const std::vector<AuditEntry>& entries) {
  using E = AuditEntry;
  Params p;
  const auto bytes = [&](std::string AuditEvent::* field) {
    p.array(Type::bytea, entries, [&](const E& e) { return std::string_view(e.event.*field); });
  };
  p.array(Type::int8, entries, [](const E& e) { return static_cast<std::int64_t>(e.number); });
  p.array(Type::text, entries, [](const E& e) { return audit_name(e.event.kind); });
  p.array(Type::timestamptz, entries, [](const E& e) { return e.event.at; });
  bytes(&AuditEvent::table);
  bytes(&AuditEvent::tenant);
  bytes(&AuditEvent::topic);
  bytes(&AuditEvent::message_id);
  p.array(Type::int8, entries, [](const E& e) { return std::int64_t{e.event.attempt}; });
  p.array(Type::bytea, entries, [](const E& e) { return bytes_of(e.event.digest); });
  bytes(&AuditEvent::traceparent);
  bytes(&AuditEvent::code);
  bytes(&AuditEvent::detail);
  bytes(&AuditEvent::actor);
  p.array(Type::bytea, entries, [](const E& e) { return bytes_of(e.previous); });
  p.array(Type::bytea, entries, [](const E& e) { return bytes_of(e.hash); });
  return p;
}

}  // namespace

Result<AuditHead> AuditChain::append(Connection& connection,
                                     std::span<const AuditEvent> events) const {
  auto locked = connection.run(statements_.lock_head, {}, Effect::none);
  if (!locked.ok()) return locked.error();
  AuditHead head = head_from(*locked);
  if (events.empty()) return head;
  if (locked->empty()) return no_audit_head(head_table);
  std::vector<AuditEntry> entries;
  entries.reserve(events.size());
  for (const auto& event : events) {
    entries.push_back(chain(head, event));
    head = {entries.back().number, entries.back().hash};
  }
  const auto append = append_params(entries);
  Params move;
  move.int8(static_cast<std::int64_t>(head.number)).bytea(bytes_of(head.hash));
  const std::array calls{Call{&statements_.append, &append}, Call{&statements_.move_head, &move}};
  auto appended = connection.run(calls, Effect::none);
  if (!appended.ok()) return appended.error();
  if ((*appended)[1].affected() == 0) return no_audit_head(head_table);
  return head;
}

Result<AuditHead> PostgresAudit::append(std::span<const AuditEvent> events) {
  return in_transaction(context_.relay,
                        [&](Connection& connection) { return chain_.append(connection, events); });
}

Result<std::vector<AuditEntry>> PostgresAudit::read(std::uint64_t after, std::uint32_t rows_max) {
  auto connection = context_.relay.take();
  if (!connection.ok()) return connection.error();
  Params params;
  const auto number = std::min<std::uint64_t>(after, std::numeric_limits<std::int64_t>::max());
  params.int8(static_cast<std::int64_t>(number)).int8(rows_max);
  auto rows = (*connection)->run(chain_.statements().read, params, Effect::none);
  if (!rows.ok()) return rows.error();
  std::vector<AuditEntry> entries;
  for (int row = 0; row < rows->size(); ++row) entries.push_back(entry_from(*rows, row));
  return entries;
}

Result<AuditHead> PostgresAudit::head() {
  auto connection = context_.relay.take();
  if (!connection.ok()) return connection.error();
  auto rows = (*connection)->run(chain_.statements().head, {}, Effect::none);
  if (!rows.ok()) return rows.error();
  return head_from(*rows);
}

}  // namespace sagabox::postgres
