#include "stores/postgres/insert.hpp"

#include "core/headers_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace sagabox::postgres {
namespace {

// What a savepoint wrote has another xmin than its transaction.
constexpr std::string_view insert_one_sql = R"sql(
INSERT INTO "{schema}"."{table}_outbox"
  (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
   content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
   correlation_id, due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
        CASE WHEN $14 > clock_timestamp() THEN $14 END)
ON CONFLICT (id) DO NOTHING
RETURNING id, seq, shard, xmin <> xid::xid
)sql";

constexpr std::string_view insert_sql = R"sql(
INSERT INTO "{schema}"."{table}_outbox"
  (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
   content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
   correlation_id, due)
SELECT m.id, m.tenant, m.topic, m.aggregate_type, m.aggregate_id, m.key, m.priority, m.payload,
       m.is_json, m.digest, m.content_type, m.headers, m.occurred_at, m.not_before, m.traceparent,
       m.tracestate, m.request_id, m.correlation_id,
       CASE WHEN m.not_before > clock_timestamp() THEN m.not_before END
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::smallint[],
            $8::bytea[], $9::boolean[], $10::bytea[], $11::text[], $12::text[],
            $13::timestamptz[], $14::timestamptz[], $15::text[], $16::text[], $17::text[],
            $18::text[])
  AS m (id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
        content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
        correlation_id)
ON CONFLICT (id) DO NOTHING
RETURNING id, seq, shard, xmin <> xid::xid
)sql";

// A statement of its own, after the insert: what was settled while the insert looked is seen here.
// Both bounds leave out the days on which none of these can have ended. One id at a time: the plan
// is kept, and with all of them at once it would read a day that was new when it was made from end
// to end.
constexpr std::string_view ended_sql = R"sql(
SELECT found.id, found.seq, found.shard
FROM unnest($1::text[]) AS wanted (id)
CROSS JOIN LATERAL (
  (SELECT id, seq, shard FROM "{schema}"."{table}_dead" AS d WHERE d.id = wanted.id LIMIT 1)
  UNION ALL
  (SELECT id, seq, shard FROM "{schema}"."{table}_archive" AS a
   WHERE a.id = wanted.id AND a.ended_at >= $2 AND a.ended_at < now() + interval '1 day'
   LIMIT 1)
) AS found
)sql";

constexpr std::string_view pending_sql = R"sql(
SELECT id, seq, shard FROM "{schema}"."{table}_outbox" WHERE id = ANY ($1::text[])
)sql";

constexpr std::string_view undo_sql = R"sql(
DELETE FROM "{schema}"."{table}_outbox" WHERE seq = ANY ($1::bigint[])
)sql";

using Messages = std::span<const std::shared_ptr<const Message>>;

std::optional<std::string_view> unless_empty(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

std::string_view digest_bytes(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// Adds the columns of an insert, each by `add(type, value_of_message)`.
template <class Add>
void add_columns(Add&& add) {
  using M = Message;
  const auto digest = [](const M& m) { return digest_bytes(m.digest()); };
  add(Type::text, [](const M& m) { return m.id().view(); });
  add(Type::text, [](const M& m) { return std::string_view(m.tenant()); });
  add(Type::text, [](const M& m) { return std::string_view(m.topic()); });
  add(Type::text, [](const M& m) { return std::string_view(m.aggregate_type()); });
  add(Type::text, [](const M& m) { return unless_empty(m.aggregate_id()); });
  add(Type::text, [](const M& m) { return unless_empty(m.key()); });
  add(Type::int2, [](const M& m) { return static_cast<std::int16_t>(m.priority()); });
  add(Type::bytea, [](const M& m) { return m.payload().view(); });
  add(Type::boolean, [](const M& m) { return m.payload().form() == PayloadForm::json; });
  add(Type::bytea, digest);
  add(Type::text, [](const M& m) { return std::string_view(m.content_type()); });
  add(Type::text, [](const M& m) -> std::optional<std::string> {
    if (m.headers().empty()) return std::nullopt;
    return headers_text(m.headers());
  });
  add(Type::timestamptz, [](const M& m) { return m.occurred_at(); });
  add(Type::timestamptz, [](const M& m) { return m.not_before(); });
  add(Type::text, [](const M& m) { return unless_empty(m.trace().traceparent); });
  add(Type::text, [](const M& m) { return unless_empty(m.trace().tracestate); });
  add(Type::text, [](const M& m) { return unless_empty(m.trace().request_id); });
  add(Type::text, [](const M& m) { return unless_empty(m.trace().correlation_id); });
}

Params insert_params(Messages messages) {
  Params params;
  add_columns([&](Type type, auto&& value) {
    params.array(type, messages, [&](const auto& message) { return value(*message); });
  });
  return params;
}

Params insert_params(const Message& message) {
  Params params;
  add_columns([&](Type type, auto&& value) { params.value(type, value(message)); });
  return params;
}

/// When a ULID was made: its first ten characters are milliseconds.
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

/// Nothing with one of these ids ended before this time, give or take what clocks differ by. An id
/// whose time lies ahead is no ULID of ours.
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

struct Place {
  Sequence sequence{};
  Shard shard{};
  bool in_savepoint = false;
};
using Places = std::map<std::string_view, Place>;

Places places(const Rows& rows) {
  Places found;
  for (int i = 0; i < rows.size(); ++i) {
    found[rows.text(i, 0)] = {Sequence{rows.uint8(i, 1)},
                              Shard{static_cast<std::uint16_t>(rows.int2(i, 2))}};
  }
  return found;
}

Places inserted_places(const Rows& rows) {
  auto found = places(rows);
  for (int i = 0; i < rows.size(); ++i) found[rows.text(i, 0)].in_savepoint = rows.boolean(i, 3);
  return found;
}

Params id_params(const std::vector<std::string_view>& ids) {
  Params params;
  params.array(Type::text, ids, [](std::string_view id) { return id; });
  return params;
}

/// Takes back what went in though its id had ended before.
Status undo(Link& link, const Statement& statement, Places& inserted, const Places& ended) {
  std::vector<std::int64_t> sequences;
  for (const auto& [id, place] : ended) {
    const auto again = inserted.find(id);
    if (again == inserted.end()) continue;
    sequences.push_back(static_cast<std::int64_t>(again->second.sequence.value));
    inserted.erase(again);
  }
  if (sequences.empty()) return {};
  Params params;
  params.array(Type::int8, sequences, [](std::int64_t sequence) { return sequence; });
  auto undone = link.run(statement, params, Effect::none);
  if (!undone.ok()) return undone.error();
  return {};
}

}  // namespace

InsertStatements::InsertStatements(const Names& names, const TableName& table) {
  const std::string where = " " + names.schema() + "." + table.str();
  insert_one = {"sagabox insert one" + where, names.fill(insert_one_sql, table)};
  insert = {"sagabox insert" + where, names.fill(insert_sql, table)};
  ended = {"sagabox ended" + where, names.fill(ended_sql, table)};
  // For duplicates only, so planned each time: a plan kept from an empty outbox reads all of a
  // full one.
  pending = {"", names.fill(pending_sql, table)};
  undo = {"", names.fill(undo_sql, table)};
}

const InsertStatements& InsertCache::of(const TableName& table) {
  const std::lock_guard lock(mutex_);
  return known_.try_emplace(table, names_, table).first->second;
}

Result<std::vector<Written>> insert_messages(Link& link, const InsertStatements& statements,
                                             Messages messages, WallTime now) {
  std::vector<Written> written;
  if (messages.empty()) return written;
  const bool single = messages.size() == 1;
  const Params fields = single ? insert_params(*messages.front()) : insert_params(messages);
  Params ids;
  ids.array(Type::text, messages, [](const auto& message) { return message->id().view(); });
  if (const auto earliest = earliest_end(messages, now)) {
    ids.timestamptz(*earliest);
  } else {
    ids.timestamptz(WallTime{});
  }
  // Nobody can have written an id before that we have just made: the look would be in vain, and
  // planning it costs more than the insert.
  const bool all_fresh = std::all_of(messages.begin(), messages.end(),
                                     [](const auto& message) { return message->has_fresh_id(); });
  const std::array calls{Call{single ? &statements.insert_one : &statements.insert, &fields},
                         Call{&statements.ended, &ids}};
  auto answers = link.run(std::span(calls).first(all_fresh ? 1 : 2), Effect::none);
  if (!answers.ok()) return answers.error();

  Places inserted = inserted_places((*answers)[0]);
  const Places ended = all_fresh ? Places() : places((*answers)[1]);
  if (auto undone = undo(link, statements.undo, inserted, ended); !undone.ok()) {
    return undone.error();
  }
  std::vector<std::string_view> left_out;
  for (const auto& message : messages) {
    const auto id = message->id().view();
    if (!inserted.contains(id) && !ended.contains(id)) left_out.push_back(id);
  }
  Rows pending_rows;
  Places pending;
  if (!left_out.empty()) {
    auto rows = link.run(statements.pending, id_params(left_out), Effect::none);
    if (!rows.ok()) return rows.error();
    pending_rows = std::move(rows).value();
    pending = places(pending_rows);
  }
  std::set<std::string_view> fresh;
  written.reserve(messages.size());
  for (const auto& message : messages) {
    const auto id = message->id().view();
    if (const auto at = inserted.find(id); at != inserted.end()) {
      const bool first = fresh.insert(id).second;
      written.push_back(
          {message->id(), at->second.sequence, at->second.shard, !first, at->second.in_savepoint});
      continue;
    }
    const auto& known = ended.contains(id) ? ended : pending;
    const auto at = known.find(id);
    if (at == known.end()) {
      return Error{Code::storage_conflict,
                   "message id " + std::string(id) +
                       " was being settled at the same moment; roll back and try again"};
    }
    written.push_back({message->id(), at->second.sequence, at->second.shard, true});
  }
  return written;
}

}  // namespace sagabox::postgres
