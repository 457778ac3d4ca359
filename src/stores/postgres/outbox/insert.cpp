#include "stores/postgres/outbox/insert.hpp"

#include "core/headers_text.hpp"
#include "core/stored_message.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace sagabox::postgres {
namespace {

// These statements run in transactions of callers, too. Every name has its schema, because the
// caller's search_path may find functions and operators of other users.

// A statement of its own, after the insert, so that it sees messages settled while the insert ran.
// Both bounds exclude the partitions in which none of these can have ended. It looks up one id at a
// time: the plan is kept, and for all ids at once it would read a partition that was new when the
// plan was made from end to end. It finds the newest by ordering by an expression: a plan must not
// walk the index of sequences.
constexpr std::string_view ended_sql = R"sql(
SELECT found.id, found.tenant, found.seq, found.shard
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id,
             pg_catalog.unnest($2::pg_catalog.text[]) AS tenant) AS wanted
CROSS JOIN LATERAL (
  SELECT ended.*
  FROM (
    SELECT id, tenant, seq, shard FROM "{schema}"."{table}_dead" AS d
    WHERE d.id OPERATOR(pg_catalog.=) wanted.id AND d.tenant OPERATOR(pg_catalog.=) wanted.tenant
    UNION ALL
    SELECT id, tenant, seq, shard FROM "{schema}"."{table}_archive" AS a
    WHERE a.id OPERATOR(pg_catalog.=) wanted.id AND a.tenant OPERATOR(pg_catalog.=) wanted.tenant
      AND a.ended_at OPERATOR(pg_catalog.>=) $3
      AND a.ended_at OPERATOR(pg_catalog.<)
          (pg_catalog.now() OPERATOR(pg_catalog.+) interval '1 day')
  ) AS ended
  ORDER BY ended.seq OPERATOR(pg_catalog.+) 0 DESC
  LIMIT 1
) AS found
)sql";

constexpr std::string_view pending_sql = R"sql(
SELECT o.id, o.tenant, o.seq, o.shard
FROM (SELECT pg_catalog.unnest($1::pg_catalog.text[]) AS id,
             pg_catalog.unnest($2::pg_catalog.text[]) AS tenant) AS wanted
JOIN "{schema}"."{table}_outbox" AS o
  ON o.id OPERATOR(pg_catalog.=) wanted.id AND o.tenant OPERATOR(pg_catalog.=) wanted.tenant
)sql";

constexpr std::string_view undo_sql = R"sql(
SELECT "{schema}"."{table}_undo"($1::bigint[])
)sql";

using Messages = std::span<const std::shared_ptr<const Message>>;

std::optional<std::string_view> unless_empty(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

/// Columns that messages use together or not at all.
namespace group {
constexpr unsigned addressed = 1;
constexpr unsigned described = 2;
constexpr unsigned scheduled = 4;
constexpr unsigned traced = 8;
}  // namespace group

/// The groups in which this message differs from the table's defaults. Omitted columns get the
/// right value, and every bound value costs the server more than storing it.
unsigned groups_of(const Message& m) {
  unsigned groups = 0;
  if (m.priority() != Priority::normal) groups |= group::addressed;
  if (m.payload().form() != PayloadForm::json) groups |= group::described;
  if (m.has_usual_details()) return groups;
  if (m.tenant() != tenant_default || m.aggregate_type() != aggregate_global ||
      !m.aggregate_id().empty()) {
    groups |= group::addressed;
  }
  if (m.content_type() != json_content_type || !m.headers().empty()) groups |= group::described;
  if (m.not_before()) groups |= group::scheduled;
  if (m.trace() != TraceContext{}) groups |= group::traced;
  return groups;
}

unsigned groups_of(Messages messages) {
  unsigned groups = 0;
  for (const auto& message : messages) groups |= groups_of(*message);
  return groups;
}

/// Calls `visit(name, type, value_of_message)` for each column of these groups, always in the same
/// order.
template <class Visit>
void each_column(unsigned groups, Visit&& visit) {
  using M = Message;
  visit("id", Type::text, [](const M& m) { return m.id().view(); });
  visit("topic", Type::text, [](const M& m) { return std::string_view(m.topic()); });
  visit("key", Type::text, [](const M& m) { return unless_empty(m.key()); });
  visit("payload", Type::bytea, [](const M& m) { return m.payload().view(); });
  visit("digest", Type::bytea, [](const M& m) { return bytes_of(m.digest()); });
  visit("occurred_at", Type::timestamptz, [](const M& m) { return m.occurred_at(); });
  if ((groups & group::addressed) != 0) {
    visit("tenant", Type::text, [](const M& m) { return std::string_view(m.tenant()); });
    visit("aggregate_type", Type::text,
          [](const M& m) { return std::string_view(m.aggregate_type()); });
    visit("aggregate_id", Type::text, [](const M& m) { return unless_empty(m.aggregate_id()); });
    visit("priority", Type::int2,
          [](const M& m) { return static_cast<std::int16_t>(m.priority()); });
  }
  if ((groups & group::described) != 0) {
    visit("is_json", Type::boolean,
          [](const M& m) { return m.payload().form() == PayloadForm::json; });
    visit("content_type", Type::text,
          [](const M& m) { return std::string_view(m.content_type()); });
    visit("headers", Type::text, [](const M& m) -> std::optional<std::string> {
      if (m.headers().empty()) return std::nullopt;
      return headers_text(m.headers());
    });
  }
  if ((groups & group::scheduled) != 0) {
    visit("not_before", Type::timestamptz, [](const M& m) { return m.not_before(); });
  }
  if ((groups & group::traced) != 0) {
    visit("traceparent", Type::text,
          [](const M& m) { return unless_empty(m.trace().traceparent); });
    visit("tracestate", Type::text, [](const M& m) { return unless_empty(m.trace().tracestate); });
    visit("request_id", Type::text, [](const M& m) { return unless_empty(m.trace().request_id); });
    visit("correlation_id", Type::text,
          [](const M& m) { return unless_empty(m.trace().correlation_id); });
  }
}

Params insert_params(unsigned groups, Messages messages) {
  // The size of a message besides its texts: the digest, and lengths.
  constexpr std::size_t beside = 128;
  std::size_t bytes = 0;
  for (const auto& message : messages) bytes += message->bytes() + beside;
  Params params;
  params.reserve(bytes);
  const bool single = messages.size() == 1;
  each_column(groups, [&](std::string_view, Type type, auto&& value) {
    if (single) {
      params.value(type, value(*messages.front()));
    } else {
      params.array(type, messages, [&](const auto& message) { return value(*message); });
    }
  });
  return params;
}

/// The time of a ULID: its first ten characters are milliseconds.
std::optional<WallTime> ulid_time(std::string_view id) {
  constexpr std::string_view digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  constexpr std::size_t length = 26;
  constexpr std::size_t time_length = 10;
  if (id.size() != length || id.front() > '7') return std::nullopt;
  std::int64_t milliseconds = 0;
  for (const char c : id.substr(0, time_length)) {
    const auto digit = digits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    milliseconds = milliseconds * 32 + static_cast<std::int64_t>(digit);
  }
  return WallTime{std::chrono::milliseconds(milliseconds)};
}

/// No message with one of these ids ended before this time, allowing for differences between
/// clocks. Returns nullopt if an id is not one of our ULIDs: not a ULID, or its time is in the
/// future.
std::optional<WallTime> earliest_end(Messages messages, WallTime now) {
  constexpr auto clocks_differ_max = std::chrono::hours(24);
  WallTime earliest = now;
  for (const auto& message : messages) {
    const auto made = ulid_time(message->id().view());
    if (!made || *made > now) return std::nullopt;
    earliest = std::min(earliest, *made);
  }
  return earliest - clocks_differ_max;
}

/// Columns of the answer to an insert. A single message needs no id, and fresh ones are all
/// inserted.
namespace inserted_column {
constexpr int sequence = 0;
constexpr int shard = 1;
constexpr int in_savepoint = 2;
constexpr int id = 3;
constexpr int tenant = 4;
}  // namespace inserted_column

/// The identity of a message: its id is unique within a tenant.
struct Identity {
  std::string_view id;
  std::string_view tenant;
  friend auto operator<=>(const Identity&, const Identity&) = default;
};

Identity identity_of(const Message& message) { return {message.id().view(), message.tenant()}; }

struct Place {
  Sequence sequence{};
  Shard shard{};
  bool in_savepoint = false;
};
using Places = std::map<Identity, Place>;

Place place_at(const Rows& rows, int row, int first) {
  return {Sequence{rows.uint8(row, first)},
          Shard{static_cast<std::uint16_t>(rows.int2(row, first + 1))}};
}

/// Reads rows with an id, a tenant, a sequence and a shard.
Places known_places(const Rows& rows) {
  Places found;
  for (int i = 0; i < rows.size(); ++i) {
    found[{rows.text(i, 0), rows.text(i, 1)}] = place_at(rows, i, 2);
  }
  return found;
}

Place inserted_place(const Rows& rows, int row) {
  auto place = place_at(rows, row, inserted_column::sequence);
  place.in_savepoint = rows.boolean(row, inserted_column::in_savepoint);
  return place;
}

Identity inserted_identity(const Rows& rows, int row, Messages messages) {
  if (messages.size() == 1) return identity_of(*messages.front());
  return {rows.text(row, inserted_column::id), rows.text(row, inserted_column::tenant)};
}

Places inserted_places(const Rows& rows, Messages messages) {
  Places found;
  for (int i = 0; i < rows.size(); ++i) {
    found[inserted_identity(rows, i, messages)] = inserted_place(rows, i);
  }
  return found;
}

/// The result when every message was inserted, since fresh ids cannot exist already.
Result<std::vector<Written>> all_written(const Rows& rows, Messages messages, bool told) {
  // A user's trigger could skip rows.
  if (rows.affected() != messages.size() ||
      (told && static_cast<std::size_t>(rows.size()) != messages.size())) {
    return Error{Code::config_invalid,
                 "the outbox table took fewer messages than were written; remove the trigger on it "
                 "that leaves some out"};
  }
  std::vector<Written> written;
  written.reserve(messages.size());
  int row = 0;
  // Rows come back in the order they were sent.
  for (const auto& message : messages) {
    const auto place = told ? inserted_place(rows, row++) : Place{};
    written.push_back({message->id(), place.sequence, place.shard, false, place.in_savepoint});
  }
  return written;
}

template <class Range, class Of>
Params identity_params(const Range& range, Of&& of) {
  Params params;
  params.array(Type::text, range, [&](const auto& one) { return of(one).id; });
  params.array(Type::text, range, [&](const auto& one) { return of(one).tenant; });
  return params;
}

/// Deletes inserted rows whose id had ended before.
Status undo(Link& link, const Statement& statement, Places& inserted, const Places& ended) {
  std::vector<std::int64_t> sequences;
  for (const auto& [identity, place] : ended) {
    const auto again = inserted.find(identity);
    if (again == inserted.end()) continue;
    sequences.push_back(static_cast<std::int64_t>(again->second.sequence.value));
    inserted.erase(again);
  }
  if (sequences.empty()) return {};
  Params params;
  params.array(Type::int8, sequences, [](std::int64_t sequence) { return sequence; });
  auto undone = link.run(statement, params, Effect::none);
  if (!undone.ok()) return undone.error();
  if (undone->uint8(0, 0) != sequences.size()) {
    return Error{Code::storage_conflict,
                 "a message whose id had ended could not be taken back; roll back and try again"};
  }
  return {};
}

}  // namespace

// Fresh ids meet no conflict; a conflict check adds a WAL record for every row. Rows written in a
// savepoint have another xmin than the transaction. Returning values costs as much as storing a few
// columns.
std::string insert_sql(const InsertForm& form) {
  std::string columns;
  std::string values;
  std::string lists;
  std::string not_before;
  int count = 0;
  each_column(form.groups, [&](std::string_view name, Type type, auto&&) {
    const auto number = "$" + std::to_string(++count);
    const std::string_view comma = count == 1 ? "" : ", ";
    const auto value = form.single ? number : "m." + std::string(name);
    columns.append(comma).append(name);
    values.append(comma).append(value);
    lists.append(comma).append("pg_catalog.unnest(").append(number).append("::");
    lists.append(sql_name(type));
    lists.append("[]) AS ").append(name);
    if (name == "not_before") not_before = value;
  });
  if (!not_before.empty()) {
    columns += ", due";
    values += ", CASE WHEN " + not_before +
              " OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN " + not_before + " END";
  }
  std::string sql = "INSERT INTO \"{schema}\".\"{table}_outbox\" (" + columns + ")\n";
  sql += form.single ? "VALUES (" + values + ")"
                     : "SELECT " + values + "\nFROM (SELECT " + lists + ") AS m";
  if (!form.fresh) sql += "\nON CONFLICT (id, tenant) DO NOTHING";
  if (!form.told) return sql;
  sql += "\nRETURNING seq, shard, xmin OPERATOR(pg_catalog.<>) xid::pg_catalog.xid";
  return form.single || form.fresh ? sql : sql + ", id, tenant";
}

InsertStatements::InsertStatements(const Names& names, const TableName& table)
    : names_(names), table_(table) {
  ended = {names.statement("ended", table), names.fill(ended_sql, table)};
  // Used for duplicates only, so it is planned each time: a plan kept from an empty outbox would
  // read all of a full one.
  pending = {"", names.fill(pending_sql, table)};
  undo = {"", names.fill(undo_sql, table)};
}

const Statement& InsertStatements::insert(const InsertForm& form) const {
  const std::lock_guard lock(mutex_);
  auto& statement = inserts_[form];
  if (statement.sql.empty()) {
    const auto what = "insert " + std::to_string(form.groups) + (form.single ? " one" : "") +
                      (form.fresh ? " fresh" : "") + (form.told ? "" : " blind");
    statement = {names_.statement(what, table_), names_.fill(insert_sql(form), table_)};
  }
  return statement;
}

const InsertStatements& InsertCache::of(const TableName& table) {
  const std::lock_guard lock(mutex_);
  return known_.try_emplace(table, names_, table).first->second;
}

Result<std::vector<Written>> insert_messages(Link& link, const InsertStatements& statements,
                                             Messages messages, WallTime now, bool told) {
  if (messages.empty()) return std::vector<Written>{};
  const bool fresh = std::all_of(messages.begin(), messages.end(),
                                 [](const auto& message) { return message->has_fresh_id(); });
  const auto groups = groups_of(messages);
  // Duplicates need the returned rows anyway.
  const InsertForm form{groups, messages.size() == 1, fresh, told || !fresh};
  const auto& insert = statements.insert(form);
  const Params fields = insert_params(groups, messages);
  // An id made a moment ago cannot exist already: the look-up would find nothing, and planning it
  // costs more than the insert.
  if (fresh) {
    auto rows = link.run(insert, fields, Effect::none);
    if (!rows.ok()) return rows.error();
    return all_written(*rows, messages, form.told);
  }
  auto ids = identity_params(messages, [](const auto& message) { return identity_of(*message); });
  ids.timestamptz(earliest_end(messages, now).value_or(WallTime{}));
  const std::array calls{Call{&insert, &fields}, Call{&statements.ended, &ids}};
  auto answers = link.run(calls, Effect::none);
  if (!answers.ok()) return answers.error();

  Places inserted = inserted_places((*answers)[0], messages);
  const Places ended = known_places((*answers)[1]);
  // Another message with this id was pending when the insert ran.
  std::vector<Identity> left_out;
  for (const auto& message : messages) {
    const auto identity = identity_of(*message);
    if (!inserted.contains(identity)) left_out.push_back(identity);
  }
  if (auto undone = undo(link, statements.undo, inserted, ended); !undone.ok()) {
    return undone.error();
  }
  Rows pending_rows;
  Places pending;
  if (!left_out.empty()) {
    const auto wanted = identity_params(left_out, std::identity());
    auto rows = link.run(statements.pending, wanted, Effect::none);
    if (!rows.ok()) return rows.error();
    pending_rows = std::move(rows).value();
    pending = known_places(pending_rows);
  }
  std::set<Identity> firsts;
  std::vector<Written> written;
  written.reserve(messages.size());
  for (const auto& message : messages) {
    const auto identity = identity_of(*message);
    if (const auto at = inserted.find(identity); at != inserted.end()) {
      const bool first = firsts.insert(identity).second;
      written.push_back(
          {message->id(), at->second.sequence, at->second.shard, !first, at->second.in_savepoint});
      continue;
    }
    const auto& known = pending.contains(identity) ? pending : ended;
    const auto at = known.find(identity);
    if (at == known.end()) {
      return Error{Code::storage_conflict,
                   "message id " + std::string(identity.id) +
                       " was being settled at the same moment; roll back and try again"};
    }
    written.push_back({message->id(), at->second.sequence, at->second.shard, true});
  }
  return written;
}

}  // namespace sagabox::postgres
