#include "stores/postgres/driver/fragments.hpp"
#include "stores/postgres/outbox/statements.hpp"

namespace sagabox::postgres {
namespace {

/// $1 tenant, $2 topic, $3 aggregate type, $4 key, $5 code, $6 first, $7 last, $8 retrying, $9
/// from, $10 until; what is NULL fits everything. Plans are made for the values given, so that
/// those cost nothing.
constexpr Fragment fits{"fits", R"sql(
      ($1::text IS NULL OR tenant = $1)
  AND ($2::text IS NULL OR topic = $2)
  AND ($3::text IS NULL OR aggregate_type = $3)
  AND ($4::text IS NULL OR coalesce(key, '') = $4)
  AND ($5::text IS NULL OR code = $5)
  AND ($6::int8 IS NULL OR seq >= $6)
  AND ($7::int8 IS NULL OR seq <= $7))sql"};

constexpr Fragment fits_pending{"fits_pending", R"sql({fits}
  AND (NOT $8::bool OR (retrying AND due IS NOT NULL))
  AND ($9::timestamptz IS NULL OR written_at >= $9)
  AND ($10::timestamptz IS NULL OR written_at < $10))sql"};

/// What ended waits for nothing.
constexpr Fragment fits_ended{"fits_ended", R"sql({fits}
  AND NOT $8::bool
  AND ($9::timestamptz IS NULL OR ended_at >= $9)
  AND ($10::timestamptz IS NULL OR ended_at < $10))sql"};

/// $1: so many are counted; what is more is estimated by the server's own statistics, which are
/// seconds old and forgotten in a crash until the next vacuum. The orders make every count a walk
/// along an index that has only what is counted.
constexpr std::string_view stats = R"sql(
WITH counted AS MATERIALIZED (
  SELECT
    (SELECT count(*) FROM (
       SELECT FROM "{schema}"."{table}_outbox" ORDER BY seq LIMIT $1) AS counted_rows) AS pending,
    (SELECT count(*) FROM (
       SELECT FROM "{schema}"."{table}_outbox" WHERE due IS NOT NULL
       ORDER BY shard, due, seq LIMIT $1) AS counted_rows) AS waiting,
    (SELECT count(*) FROM (
       SELECT FROM "{schema}"."{table}_archive" LIMIT $1) AS counted_rows) AS done,
    (SELECT count(*) FROM (
       SELECT FROM "{schema}"."{table}_dead" WHERE state = 'dead'
       ORDER BY state, ended_at LIMIT $1) AS counted_rows) AS dead,
    (SELECT count(*) FROM (
       SELECT FROM "{schema}"."{table}_dead" WHERE state = 'quarantined'
       ORDER BY state, ended_at LIMIT $1) AS counted_rows) AS quarantined
)
SELECT
  CASE WHEN pending < $1 THEN pending
       ELSE greatest(pending, pg_stat_get_live_tuples('"{schema}"."{table}_outbox"'::regclass))
       END,
  waiting,
  CASE WHEN done < $1 THEN done
       ELSE greatest(done, (
         SELECT sum(pg_stat_get_live_tuples(inhrelid))::int8 FROM pg_inherits
         WHERE inhparent = '"{schema}"."{table}_archive"'::regclass)) END,
  CASE WHEN dead < $1 THEN dead
       ELSE greatest(dead, pg_stat_get_live_tuples('"{schema}"."{table}_dead"'::regclass)) END,
  quarantined,
  (SELECT written_at FROM "{schema}"."{table}_outbox" ORDER BY seq LIMIT 1),
  clock_timestamp()
FROM counted
)sql";

/// Microseconds, and transactions.
constexpr std::string_view horizon = R"sql(
SELECT (coalesce(max(h.seconds), 0) * 1000000)::int8,
       coalesce(max(h.transactions) FILTER (WHERE h.kind = 'slot'), 0)
FROM "{schema}".horizon_holders() AS h
)sql";

/// $11 after, $12 rows_max, $13 whether payloads are wanted.
constexpr std::string_view list_pending = R"sql(
SELECT {pending}, CASE WHEN $13 THEN payload END
FROM "{schema}"."{table}_outbox"
WHERE seq > $11 AND {fits_pending}
ORDER BY seq
LIMIT $12 + 1
)sql";

/// The same, and $14 state.
constexpr std::string_view list_ended = R"sql(
SELECT {ended}, CASE WHEN $13 THEN payload END
FROM "{schema}"."{table}_dead"
WHERE state = $14 AND seq > $11 AND {fits_ended}
ORDER BY seq
LIMIT $12 + 1
)sql";

constexpr std::string_view list_done = R"sql(
SELECT {done}, CASE WHEN $13 THEN payload END
FROM "{schema}"."{table}_archive"
WHERE seq > $11 AND {fits_ended}
ORDER BY seq
LIMIT $12 + 1
)sql";

constexpr std::string_view extent_pending = R"sql(
SELECT count(*), coalesce(max(seq), 0) FROM "{schema}"."{table}_outbox" WHERE {fits_pending}
)sql";

/// $11 state.
constexpr std::string_view extent_ended = R"sql(
SELECT count(*), coalesce(max(seq), 0) FROM "{schema}"."{table}_dead"
WHERE state = $11 AND {fits_ended}
)sql";

constexpr std::string_view extent_done = R"sql(
SELECT count(*), coalesce(max(seq), 0) FROM "{schema}"."{table}_archive" WHERE {fits_ended}
)sql";

/// $1 id, $2 tenant or NULL, $3 tenants_max, $4 state or NULL, $5 sequence or NULL. Of each tenant
/// that has the id the row that is meant, see `choose_row`.
constexpr std::string_view look = R"sql(
SELECT DISTINCT ON (tenant) *
FROM (
  SELECT {pending}, payload, 2 AS rank FROM "{schema}"."{table}_outbox"
  WHERE id = $1 AND ($4::text IS NULL OR $4 = 'pending')
  UNION ALL
  SELECT {ended}, payload, 1 FROM "{schema}"."{table}_dead"
  WHERE id = $1 AND ($4 IS NULL OR state = $4)
  UNION ALL
  SELECT {done}, payload, 0 FROM "{schema}"."{table}_archive"
  WHERE id = $1 AND ($4 IS NULL OR $4 = 'done')
) AS row_of_id
WHERE ($2::text IS NULL OR tenant = $2) AND ($5::int8 IS NULL OR seq = $5)
ORDER BY tenant, rank DESC, seq DESC
LIMIT $3
)sql";

/// $1 ids, $2 tenant or NULL. What is found stays as it is until the transaction ends.
constexpr std::string_view lock_pending = R"sql(
SELECT {pending}, payload FROM "{schema}"."{table}_outbox"
WHERE id = ANY ($1::text[]) AND ($2::text IS NULL OR tenant = $2)
ORDER BY seq
FOR UPDATE
)sql";

constexpr std::string_view lock_ended = R"sql(
SELECT {ended}, payload FROM "{schema}"."{table}_dead"
WHERE id = ANY ($1::text[]) AND ($2::text IS NULL OR tenant = $2)
ORDER BY seq
FOR UPDATE
)sql";

constexpr std::string_view lock_done = R"sql(
SELECT {done}, payload FROM "{schema}"."{table}_archive"
WHERE id = ANY ($1::text[]) AND ($2::text IS NULL OR tenant = $2)
ORDER BY seq
FOR UPDATE
)sql";

/// $1 sequences of locked rows, each once, in the order in which they are replayed. Answers with
/// those that were: not those whose tenant and id are pending, also since another transaction
/// committed a moment ago. Inserted, then deleted: an UPDATE of the sequence would draw it before
/// the transaction shows in snapshots.
constexpr std::string_view replay = R"sql(
WITH asked AS (
  SELECT asked_seq, place FROM unnest($1::int8[]) WITH ORDINALITY AS a(asked_seq, place)
),
found AS MATERIALIZED (
  SELECT DISTINCT ON (id, tenant) *
  FROM (SELECT asked_seq, place, replays, {carried}
        FROM "{schema}"."{table}_dead" AS t JOIN asked ON t.seq = asked_seq
        WHERE t.seq = ANY ($1::int8[])
        UNION ALL
        SELECT asked_seq, place, replays, {carried}
        FROM "{schema}"."{table}_archive" AS t JOIN asked ON t.seq = asked_seq
        WHERE t.seq = ANY ($1::int8[])) AS ended
  ORDER BY id, tenant, place
),
inserted AS (
  INSERT INTO "{schema}"."{table}_outbox" (replays, {carried})
  SELECT replays + 1, {carried} FROM found ORDER BY place
  ON CONFLICT (id, tenant) DO NOTHING
  RETURNING id AS new_id, tenant AS new_tenant
),
replayed AS MATERIALIZED (
  SELECT asked_seq, place FROM found JOIN inserted ON new_id = id AND new_tenant = tenant
),
from_dead AS (
  DELETE FROM "{schema}"."{table}_dead" AS t USING replayed
  WHERE t.seq = asked_seq AND t.seq = ANY ($1::int8[])
),
from_archive AS (
  DELETE FROM "{schema}"."{table}_archive" AS t USING replayed
  WHERE t.seq = asked_seq AND t.seq = ANY ($1::int8[])
)
SELECT asked_seq FROM replayed ORDER BY place
)sql";

/// $1 sequences, $2 note. Answers with them.
constexpr std::string_view quarantine_pending = R"sql(
WITH gone AS (
  DELETE FROM "{schema}"."{table}_outbox" WHERE seq = ANY ($1::int8[])
  RETURNING *
)
INSERT INTO "{schema}"."{table}_dead" (
  seq, shard, state, ended_at, note, attempts, failed_for_good, replays, written_at,
  {carried}, code, error, history)
SELECT seq, shard, 'quarantined', clock_timestamp(), $2, attempts, failed_for_good, replays,
  written_at, {carried}, code, error, history
FROM gone
RETURNING seq
)sql";

constexpr std::string_view quarantine_dead = R"sql(
UPDATE "{schema}"."{table}_dead"
SET state = 'quarantined', ended_at = clock_timestamp(), note = $2
WHERE seq = ANY ($1::int8[])
RETURNING seq
)sql";

/// $1 sequences of locked rows. Under its own sequence, in the waiting lane: a forward read has
/// passed its place. Answers with those that were released, see `replay`.
constexpr std::string_view release = R"sql(
WITH inserted AS (
  INSERT INTO "{schema}"."{table}_outbox" (
    seq, due, replays, written_at, {carried}, code, error, history) OVERRIDING SYSTEM VALUE
  SELECT seq, clock_timestamp(), replays, written_at, {carried}, code, error, history
  FROM "{schema}"."{table}_dead" WHERE seq = ANY ($1::int8[])
  ON CONFLICT (id, tenant) DO NOTHING
  RETURNING seq AS released_seq
)
DELETE FROM "{schema}"."{table}_dead" AS t USING inserted
WHERE t.seq = released_seq AND t.seq = ANY ($1::int8[])
RETURNING t.seq
)sql";

/// $1 outbox, $2 how many.
constexpr std::string_view taken = R"sql(
UPDATE "{schema}".counter SET value = value + $2
WHERE outbox = $1 AND name = 'taken' AND slot = 0
)sql";

/// $1 age in microseconds, $2 rows_max, $3 whether the rows are to be told. The first column says
/// whether there was more than the batch.
constexpr std::string_view purge_pending = R"sql(
WITH old AS MATERIALIZED (
  SELECT seq FROM "{schema}"."{table}_outbox"
  WHERE written_at <= (SELECT clock_timestamp()) - $1 * interval '1 microsecond'
  ORDER BY seq
  LIMIT $2 + 1
),
gone AS (
  DELETE FROM "{schema}"."{table}_outbox" AS t
  USING (SELECT seq AS old_seq FROM old ORDER BY seq LIMIT $2) AS batch
  WHERE t.seq = old_seq
  RETURNING t.*
)
SELECT (SELECT count(*) FROM old) > $2, (SELECT count(*) FROM gone), told.*
FROM (SELECT 1) AS one
LEFT JOIN (SELECT {pending}, NULL::bytea FROM gone WHERE $3) AS told ON true
)sql";

/// The same, and $4 state.
constexpr std::string_view purge_ended = R"sql(
WITH old AS MATERIALIZED (
  SELECT seq FROM "{schema}"."{table}_dead"
  WHERE state = $4 AND ended_at <= (SELECT clock_timestamp()) - $1 * interval '1 microsecond'
  ORDER BY ended_at, seq
  LIMIT $2 + 1
),
gone AS (
  DELETE FROM "{schema}"."{table}_dead" AS t
  USING (SELECT seq AS old_seq FROM old LIMIT $2) AS batch
  WHERE t.seq = old_seq
  RETURNING t.*
)
SELECT (SELECT count(*) FROM old) > $2, (SELECT count(*) FROM gone), told.*
FROM (SELECT 1) AS one
LEFT JOIN (SELECT {ended}, NULL::bytea FROM gone WHERE $3) AS told ON true
)sql";

/// The purger comes by every hour, so the days ahead are there long before they begin.
constexpr std::string_view archive_ahead = R"sql(
SELECT "{schema}".archive_ahead('{table}', 3)
)sql";

/// Partitions of the archive that end longer ago than $1 microseconds, oldest first, and how many
/// rows the server thinks they have. Yesterday is `archive_ahead`'s, which would make it again.
constexpr std::string_view old_days = R"sql(
SELECT format('%I.%I', n.nspname, day.relname),
       greatest(pg_stat_get_live_tuples(day.oid), day.reltuples::int8)
FROM pg_inherits AS i
JOIN pg_class AS day ON day.oid = i.inhrelid
JOIN pg_namespace AS n ON n.oid = day.relnamespace
CROSS JOIN (SELECT clock_timestamp() AS at) AS now
CROSS JOIN LATERAL (
  SELECT (regexp_match(pg_get_expr(day.relpartbound, day.oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz
           AS until
) AS bound
WHERE i.inhparent = '"{schema}"."{table}_archive"'::regclass
  AND bound.until <= now.at - $1 * interval '1 microsecond'
  AND bound.until <= ((now.at AT TIME ZONE 'UTC')::date - 1)::timestamp AT TIME ZONE 'UTC'
ORDER BY bound.until
)sql";

constexpr std::string_view lock_archive = R"sql(
LOCK TABLE ONLY "{schema}"."{table}_archive" IN ACCESS EXCLUSIVE MODE
)sql";

constexpr std::string_view purge_done = R"sql(
WITH old AS MATERIALIZED (
  SELECT seq, ended_at FROM "{schema}"."{table}_archive"
  WHERE ended_at <= (SELECT clock_timestamp()) - $1 * interval '1 microsecond'
  LIMIT $2 + 1
),
gone AS (
  DELETE FROM "{schema}"."{table}_archive" AS t
  USING (SELECT seq AS old_seq, ended_at AS old_ended_at FROM old LIMIT $2) AS batch
  WHERE t.seq = old_seq AND t.ended_at = old_ended_at
  RETURNING t.*
)
SELECT (SELECT count(*) FROM old) > $2, (SELECT count(*) FROM gone), told.*
FROM (SELECT 1) AS one
LEFT JOIN (SELECT {done}, NULL::bytea FROM gone WHERE $3) AS told ON true
)sql";

/// $1 outbox, $2 rows_max. The lane is computed and checked by the table, and a row is either
/// fresh or waiting: only the count of shards can be another than the relays'.
constexpr std::string_view strays = R"sql(
(SELECT seq, id FROM "{schema}"."{table}_outbox"
 WHERE due IS NULL AND shard >= (SELECT shards FROM "{schema}".outbox WHERE name = $1)
 ORDER BY shard, lane, seq LIMIT $2)
UNION ALL
(SELECT seq, id FROM "{schema}"."{table}_outbox"
 WHERE due IS NOT NULL AND shard >= (SELECT shards FROM "{schema}".outbox WHERE name = $1)
 ORDER BY shard, due, seq LIMIT $2)
LIMIT $2
)sql";

}  // namespace

AdminStatements::AdminStatements(const Names& names, const TableName& table) {
  const Filler fill(names, table, {fits_pending, fits_ended, fits});
  now = fill("now", "SELECT clock_timestamp()");
  stats = fill("stats", postgres::stats);
  horizon = fill("horizon", postgres::horizon);
  list_pending = fill("list_pending", postgres::list_pending);
  list_ended = fill("list_ended", postgres::list_ended);
  list_done = fill("list_done", postgres::list_done);
  extent_pending = fill("extent_pending", postgres::extent_pending);
  extent_ended = fill("extent_ended", postgres::extent_ended);
  extent_done = fill("extent_done", postgres::extent_done);
  look = fill("look", postgres::look);
  lock_pending = fill("lock_pending", postgres::lock_pending);
  lock_ended = fill("lock_ended", postgres::lock_ended);
  lock_done = fill("lock_done", postgres::lock_done);
  replay = fill("replay", postgres::replay);
  quarantine_pending = fill("quarantine_pending", postgres::quarantine_pending);
  quarantine_dead = fill("quarantine_dead", postgres::quarantine_dead);
  release = fill("release", postgres::release);
  taken = fill("taken", postgres::taken);
  purge_pending = fill("purge_pending", postgres::purge_pending);
  purge_ended = fill("purge_ended", postgres::purge_ended);
  purge_done = fill("purge_done", postgres::purge_done);
  archive_ahead = fill("archive_ahead", postgres::archive_ahead);
  old_days = fill("old_days", postgres::old_days);
  lock_archive = fill("lock_archive", postgres::lock_archive);
  strays = fill("strays", postgres::strays);
}

}  // namespace sagabox::postgres
