#include "stores/sqlite/fragments.hpp"
#include "stores/sqlite/statements.hpp"

namespace sagabox::sqlite {
namespace {

/// ?1 tenant, ?2 topic, ?3 aggregate type, ?4 key, ?5 code, ?6 first, ?7 last, ?8 retrying, ?9
/// from, ?10 until; what is NULL fits everything.
constexpr Fragment fits{"fits", R"sql((?1 IS NULL OR tenant = ?1)
  AND (?2 IS NULL OR topic = ?2)
  AND (?3 IS NULL OR aggregate_type = ?3)
  AND (?4 IS NULL OR coalesce(key, '') = ?4)
  AND (?5 IS NULL OR code = ?5)
  AND (?6 IS NULL OR seq >= ?6)
  AND (?7 IS NULL OR seq <= ?7))sql"};

constexpr Fragment fits_pending{"fits_pending", R"sql({fits}
  AND (NOT ?8 OR retrying)
  AND (?9 IS NULL OR written_at >= ?9)
  AND (?10 IS NULL OR written_at < ?10))sql"};

/// What ended waits for nothing.
constexpr Fragment fits_ended{"fits_ended", R"sql({fits}
  AND NOT ?8
  AND (?9 IS NULL OR ended_at >= ?9)
  AND (?10 IS NULL OR ended_at < ?10))sql"};

/// Payloads where they are asked for, or where the digest is still to be made of them.
constexpr Fragment payload{"payload", R"sql(CASE WHEN ?13 OR digest IS NULL THEN payload END)sql"};

/// Nobody counts.
constexpr std::string_view counts = R"sql(
SELECT {last} - gone, waiting, done, dead, quarantined
FROM sagabox_outbox WHERE name = '{table}'
)sql";

/// The oldest of each lane is its first.
constexpr std::string_view oldest = R"sql(
SELECT min(written_at)
FROM (SELECT * FROM (SELECT written_at FROM "{table}_pending"
                     WHERE place < 35184372088832 ORDER BY place LIMIT 1)
      UNION ALL
      SELECT * FROM (SELECT written_at FROM "{table}_pending"
                     WHERE place BETWEEN 35184372088832 AND 70368744177663
                     ORDER BY place LIMIT 1)
      UNION ALL
      SELECT * FROM (SELECT written_at FROM "{table}_pending"
                     WHERE place BETWEEN 70368744177664 AND 105553116266495
                     ORDER BY place LIMIT 1)
      UNION ALL
      SELECT * FROM (SELECT written_at FROM "{table}_pending"
                     WHERE place >= 105553116266496 ORDER BY place LIMIT 1))
)sql";

/// ?11 after, ?12 rows_max, ?13 whether payloads are wanted. So many of each lane, the first of
/// them all.
constexpr std::string_view list_pending = R"sql(
WITH found AS MATERIALIZED (
  SELECT * FROM (SELECT place, seq FROM "{table}_pending"
    WHERE place > ?11 AND place < 35184372088832 AND {fits_pending}
    ORDER BY place LIMIT ?12 + 1)
  UNION ALL
  SELECT * FROM (SELECT place, seq FROM "{table}_pending"
    WHERE place > ?11 + 35184372088832 AND place < 70368744177664 AND {fits_pending}
    ORDER BY place LIMIT ?12 + 1)
  UNION ALL
  SELECT * FROM (SELECT place, seq FROM "{table}_pending"
    WHERE place > ?11 + 70368744177664 AND place < 105553116266496 AND {fits_pending}
    ORDER BY place LIMIT ?12 + 1)
  UNION ALL
  SELECT * FROM (SELECT place, seq FROM "{table}_pending"
    WHERE place > ?11 + 105553116266496 AND {fits_pending}
    ORDER BY place LIMIT ?12 + 1)
)
SELECT {pending}, {payload}
FROM "{table}_pending"
WHERE place IN (SELECT place FROM found ORDER BY seq LIMIT ?12 + 1)
ORDER BY seq
)sql";

/// The same, and ?14 state.
constexpr std::string_view list_ended = R"sql(
SELECT {ended}, {payload}
FROM "{table}_dead"
WHERE state = ?14 AND seq > ?11 AND {fits_ended}
ORDER BY seq
LIMIT ?12 + 1
)sql";

constexpr std::string_view list_done = R"sql(
SELECT {done}, {payload}
FROM "{table}_archive"
WHERE seq > ?11 AND {fits_ended}
ORDER BY seq
LIMIT ?12 + 1
)sql";

constexpr std::string_view extent_pending = R"sql(
SELECT count(*), coalesce(max(seq), 0) FROM "{table}_pending" WHERE {fits_pending}
)sql";

/// ?11 state.
constexpr std::string_view extent_ended = R"sql(
SELECT count(*), coalesce(max(seq), 0) FROM "{table}_dead" WHERE state = ?11 AND {fits_ended}
)sql";

constexpr std::string_view extent_done = R"sql(
SELECT count(*), coalesce(max(seq), 0) FROM "{table}_archive" WHERE {fits_ended}
)sql";

/// ?1 id, ?2 tenant; NULL is everybody's.
constexpr std::string_view look = R"sql(
SELECT {pending}, payload FROM "{table}_pending" WHERE id = ?1 AND (?2 IS NULL OR tenant = ?2)
UNION ALL
SELECT {ended}, payload FROM "{table}_dead" WHERE id = ?1 AND (?2 IS NULL OR tenant = ?2)
UNION ALL
SELECT {done}, payload FROM "{table}_archive" WHERE id = ?1 AND (?2 IS NULL OR tenant = ?2)
)sql";

/// ?1 sequence, ?2 new sequence, ?3 now. A fresh one, whatever it waited for before; nothing where
/// one of its tenant and id is pending.
constexpr std::string_view replay_ended = R"sql(
INSERT INTO "{table}_pending" (place, written_at, replays, {carried})
SELECT ?2 + {lane}, ?3, replays + 1, {carried}
FROM "{table}_dead" WHERE seq = ?1
ON CONFLICT (id, tenant) DO NOTHING
)sql";

constexpr std::string_view replay_done = R"sql(
INSERT INTO "{table}_pending" (place, written_at, replays, {carried})
SELECT ?2 + {lane}, ?3, replays + 1, {carried}
FROM "{table}_archive" WHERE seq = ?1
ON CONFLICT (id, tenant) DO NOTHING
)sql";

/// ?1 id, ?2 now, ?3 note, ?4 sequence.
constexpr std::string_view quarantine = R"sql(
INSERT INTO "{table}_dead" (
  seq, state, ended_at, note, attempts, failed_for_good, replays, written_at, code, error, history,
  {carried})
SELECT seq, 'quarantined', ?2, ?3, attempts, failed_for_good, replays, written_at, code, error,
  history, {carried}
FROM "{table}_pending" WHERE id = ?1 AND seq = ?4
)sql";

/// ?1 sequence, ?2 now, ?3 note.
constexpr std::string_view requarantine = R"sql(
UPDATE "{table}_dead" SET state = 'quarantined', ended_at = ?2, note = ?3 WHERE seq = ?1
)sql";

/// ?1 sequence, ?2 now. Under its own sequence, among those that wait: a forward read has passed
/// its place.
constexpr std::string_view release = R"sql(
INSERT INTO "{table}_pending" (
  place, due, replays, written_at, code, error, history, {carried})
SELECT seq, ?2, replays, written_at, code, error, history, {carried}
FROM "{table}_dead" WHERE seq = ?1
)sql";

/// ?1 not younger than this, ?2 rows_max.
constexpr std::string_view old_pending = R"sql(
SELECT place FROM "{table}_pending" WHERE written_at <= ?1 ORDER BY seq LIMIT ?2 + 1
)sql";

/// The same, and ?3 state.
constexpr std::string_view old_ended = R"sql(
SELECT seq FROM "{table}_dead" WHERE state = ?3 AND ended_at <= ?1
ORDER BY ended_at, seq
LIMIT ?2 + 1
)sql";

/// Oldest first. Nothing ends before it is written, and what is written later has a higher
/// sequence: the first that was written too late ends the search, so that no index by time is
/// needed.
constexpr std::string_view old_done = R"sql(
SELECT seq, ended_at, written_at FROM "{table}_archive" ORDER BY seq
)sql";

/// ?1 place or sequence.
constexpr std::string_view tell_pending = R"sql(
SELECT {pending}, NULL FROM "{table}_pending" WHERE place = ?1
)sql";

constexpr std::string_view tell_ended = R"sql(
SELECT {ended}, NULL FROM "{table}_dead" WHERE seq = ?1
)sql";

constexpr std::string_view tell_done = R"sql(
SELECT {done}, NULL FROM "{table}_archive" WHERE seq = ?1
)sql";

constexpr std::string_view remove_pending = R"sql(
DELETE FROM "{table}_pending" WHERE place = ?1
)sql";

/// ?1 id, ?2 sequence.
constexpr std::string_view remove_id = R"sql(
DELETE FROM "{table}_pending" WHERE id = ?1 AND seq = ?2
)sql";

constexpr std::string_view remove_ended = R"sql(
DELETE FROM "{table}_dead" WHERE seq = ?1
)sql";

constexpr std::string_view remove_done = R"sql(
DELETE FROM "{table}_archive" WHERE seq = ?1
)sql";

/// ?1 rows_max. The table checks every place; this finds what came in around the check.
constexpr std::string_view strays = R"sql(
SELECT seq, id FROM "{table}_pending" WHERE place < 1
UNION ALL
SELECT seq, id FROM "{table}_pending" WHERE place > 140737488355327
LIMIT ?1
)sql";

}  // namespace

AdminStatements::AdminStatements(const TableName& table) {
  const Filler fill(table, {fits_pending, fits_ended, fits, payload});
  counts = fill(sqlite::counts);
  oldest = fill(sqlite::oldest);
  list_pending = fill(sqlite::list_pending);
  list_ended = fill(sqlite::list_ended);
  list_done = fill(sqlite::list_done);
  extent_pending = fill(sqlite::extent_pending);
  extent_ended = fill(sqlite::extent_ended);
  extent_done = fill(sqlite::extent_done);
  look = fill(sqlite::look);
  replay_ended = fill(sqlite::replay_ended);
  replay_done = fill(sqlite::replay_done);
  quarantine = fill(sqlite::quarantine);
  requarantine = fill(sqlite::requarantine);
  release = fill(sqlite::release);
  old_pending = fill(sqlite::old_pending);
  old_ended = fill(sqlite::old_ended);
  old_done = fill(sqlite::old_done);
  tell_pending = fill(sqlite::tell_pending);
  tell_ended = fill(sqlite::tell_ended);
  tell_done = fill(sqlite::tell_done);
  remove_pending = fill(sqlite::remove_pending);
  remove_id = fill(sqlite::remove_id);
  remove_ended = fill(sqlite::remove_ended);
  remove_done = fill(sqlite::remove_done);
  strays = fill(sqlite::strays);
}

}  // namespace sagabox::sqlite
