-- What operators can see of an outbox and do to its messages.
--
-- A record is state, sequence, shard, attempts, replays, written_at, due, retrying, ended_at, code,
-- error, note, history, bytes of the payload; the columns of the message and its digest; whether it
-- was never checked; the payload or NULL. decode_record() in stores/sql/record.hpp reads it.

-- name: admin_stats
-- $1: so many of a state are counted; what is more is estimated by the server's own statistics,
-- which are seconds old and forgotten in a crash until the next vacuum. The orders make every
-- count a walk along an index that has only what is counted. Answers with pending, waiting, done,
-- dead, quarantined, the oldest pending; whether pending, done, dead are estimates.
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
  pending >= $1, done >= $1, dead >= $1
FROM counted;

-- name: admin_horizon
-- Returns what keeps the server from vacuuming: microseconds since the oldest transaction began,
-- transactions since the oldest that a replication slot needs.
SELECT (coalesce(max(h.seconds), 0) * 1000000)::int8,
       coalesce(max(h.transactions) FILTER (WHERE h.kind = 'slot'), 0)
FROM "{schema}".horizon_holders() AS h;

-- name: list_pending
-- The filter is $1 to $10, as in replay.sql. $11 after, $12 rows_max, $13 whether payloads are
-- wanted.
SELECT 'pending'::text, seq, shard, attempts, replays, written_at, due, retrying,
  NULL::timestamptz, code, error, NULL::text, history::text, octet_length(payload), id, tenant,
  topic, aggregate_type, aggregate_id, key, priority, is_json, content_type, headers, occurred_at,
  not_before, traceparent, tracestate, request_id, correlation_id,
  coalesce(digest, sha256(payload)), digest IS NULL, CASE WHEN $13 THEN payload END
FROM "{schema}"."{table}_outbox"
WHERE seq > $11
  AND ($1::text IS NULL OR tenant = $1)
  AND ($2::text IS NULL OR topic = $2)
  AND ($3::text IS NULL OR aggregate_type = $3)
  AND ($4::text IS NULL OR coalesce(key, '') = $4)
  AND ($5::text IS NULL OR code = $5)
  AND ($6::int8 IS NULL OR seq >= $6)
  AND ($7::int8 IS NULL OR seq <= $7)
  AND (NOT $8::bool OR (retrying AND due IS NOT NULL))
  AND ($9::timestamptz IS NULL OR written_at >= $9)
  AND ($10::timestamptz IS NULL OR written_at < $10)
ORDER BY seq
LIMIT $12 + 1;

-- name: list_ended
-- The same, and $14 state.
SELECT state, seq, shard, attempts, replays, written_at, NULL::timestamptz, false, ended_at, code,
  error, note, history::text, octet_length(payload), id, tenant, topic, aggregate_type,
  aggregate_id, key, priority, is_json, content_type, headers, occurred_at, not_before,
  traceparent, tracestate, request_id, correlation_id,
  coalesce(digest, sha256(payload)), digest IS NULL, CASE WHEN $13 THEN payload END
FROM "{schema}"."{table}_dead"
WHERE state = $14 AND seq > $11
  AND ($1::text IS NULL OR tenant = $1)
  AND ($2::text IS NULL OR topic = $2)
  AND ($3::text IS NULL OR aggregate_type = $3)
  AND ($4::text IS NULL OR coalesce(key, '') = $4)
  AND ($5::text IS NULL OR code = $5)
  AND ($6::int8 IS NULL OR seq >= $6)
  AND ($7::int8 IS NULL OR seq <= $7)
  AND NOT $8::bool
  AND ($9::timestamptz IS NULL OR ended_at >= $9)
  AND ($10::timestamptz IS NULL OR ended_at < $10)
ORDER BY seq
LIMIT $12 + 1;

-- name: list_done
SELECT 'done'::text, seq, shard, attempts, replays, written_at, NULL::timestamptz, false,
  ended_at, code, error, NULL::text, history::text, octet_length(payload), id, tenant, topic,
  aggregate_type, aggregate_id, key, priority, is_json, content_type, headers, occurred_at,
  not_before, traceparent, tracestate, request_id, correlation_id,
  coalesce(digest, sha256(payload)), digest IS NULL, CASE WHEN $13 THEN payload END
FROM "{schema}"."{table}_archive"
WHERE seq > $11
  AND ($1::text IS NULL OR tenant = $1)
  AND ($2::text IS NULL OR topic = $2)
  AND ($3::text IS NULL OR aggregate_type = $3)
  AND ($4::text IS NULL OR coalesce(key, '') = $4)
  AND ($5::text IS NULL OR code = $5)
  AND ($6::int8 IS NULL OR seq >= $6)
  AND ($7::int8 IS NULL OR seq <= $7)
  AND NOT $8::bool
  AND ($9::timestamptz IS NULL OR ended_at >= $9)
  AND ($10::timestamptz IS NULL OR ended_at < $10)
ORDER BY seq
LIMIT $12 + 1;

-- name: look
-- $1 id, $2 tenant or NULL, $3 tenants_max, $4 state or NULL, $5 sequence or NULL. For each tenant
-- that has the id, the row to choose, see choose_row().
SELECT DISTINCT ON (tenant) *
FROM (
  SELECT 'pending'::text, seq, shard, attempts, replays, written_at, due, retrying,
    NULL::timestamptz, code, error, NULL::text, history::text, octet_length(payload), id, tenant,
    topic, aggregate_type, aggregate_id, key, priority, is_json, content_type, headers,
    occurred_at, not_before, traceparent, tracestate, request_id, correlation_id,
    coalesce(digest, sha256(payload)), digest IS NULL, payload, 2 AS rank
  FROM "{schema}"."{table}_outbox"
  WHERE id = $1 AND ($4::text IS NULL OR $4 = 'pending')
  UNION ALL
  SELECT state, seq, shard, attempts, replays, written_at, NULL::timestamptz, false, ended_at,
    code, error, note, history::text, octet_length(payload), id, tenant, topic, aggregate_type,
    aggregate_id, key, priority, is_json, content_type, headers, occurred_at, not_before,
    traceparent, tracestate, request_id, correlation_id,
    coalesce(digest, sha256(payload)), digest IS NULL, payload, 1
  FROM "{schema}"."{table}_dead"
  WHERE id = $1 AND ($4 IS NULL OR state = $4)
  UNION ALL
  SELECT 'done'::text, seq, shard, attempts, replays, written_at, NULL::timestamptz, false,
    ended_at, code, error, NULL::text, history::text, octet_length(payload), id, tenant, topic,
    aggregate_type, aggregate_id, key, priority, is_json, content_type, headers, occurred_at,
    not_before, traceparent, tracestate, request_id, correlation_id,
    coalesce(digest, sha256(payload)), digest IS NULL, payload, 0
  FROM "{schema}"."{table}_archive"
  WHERE id = $1 AND ($4 IS NULL OR $4 = 'done')
) AS row_of_id
WHERE ($2::text IS NULL OR tenant = $2) AND ($5::int8 IS NULL OR seq = $5)
ORDER BY tenant, rank DESC, seq DESC
LIMIT $3;

-- name: lock_pending
-- $1 ids, $2 tenant or NULL. The rows stay locked until the transaction ends.
SELECT 'pending'::text, seq, shard, attempts, replays, written_at, due, retrying,
  NULL::timestamptz, code, error, NULL::text, history::text, octet_length(payload), id, tenant,
  topic, aggregate_type, aggregate_id, key, priority, is_json, content_type, headers, occurred_at,
  not_before, traceparent, tracestate, request_id, correlation_id,
  coalesce(digest, sha256(payload)), digest IS NULL, payload
FROM "{schema}"."{table}_outbox"
WHERE id = ANY ($1::text[]) AND ($2::text IS NULL OR tenant = $2)
ORDER BY seq
FOR UPDATE;

-- name: lock_ended
SELECT state, seq, shard, attempts, replays, written_at, NULL::timestamptz, false, ended_at, code,
  error, note, history::text, octet_length(payload), id, tenant, topic, aggregate_type,
  aggregate_id, key, priority, is_json, content_type, headers, occurred_at, not_before,
  traceparent, tracestate, request_id, correlation_id,
  coalesce(digest, sha256(payload)), digest IS NULL, payload
FROM "{schema}"."{table}_dead"
WHERE id = ANY ($1::text[]) AND ($2::text IS NULL OR tenant = $2)
ORDER BY seq
FOR UPDATE;

-- name: lock_done
SELECT 'done'::text, seq, shard, attempts, replays, written_at, NULL::timestamptz, false,
  ended_at, code, error, NULL::text, history::text, octet_length(payload), id, tenant, topic,
  aggregate_type, aggregate_id, key, priority, is_json, content_type, headers, occurred_at,
  not_before, traceparent, tracestate, request_id, correlation_id,
  coalesce(digest, sha256(payload)), digest IS NULL, payload
FROM "{schema}"."{table}_archive"
WHERE id = ANY ($1::text[]) AND ($2::text IS NULL OR tenant = $2)
ORDER BY seq
FOR UPDATE;

-- name: quarantine_pending
-- $1 sequences, $2 note. Returns the sequences.
WITH gone AS (
  DELETE FROM "{schema}"."{table}_outbox" WHERE seq = ANY ($1::int8[])
  RETURNING *
),
counted AS (
  UPDATE "{schema}".counter SET value = value + (SELECT count(*) FROM gone)
  WHERE outbox = '{table}' AND name = 'taken' AND slot = 0 AND EXISTS (SELECT FROM gone)
)
INSERT INTO "{schema}"."{table}_dead" (
  seq, shard, state, ended_at, note, attempts, failed_for_good, replays, written_at,
    id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
    content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, code, error, history)
SELECT seq, shard, 'quarantined', clock_timestamp(), $2, attempts, failed_for_good, replays,
  written_at,
    id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
    content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, code, error, history
FROM gone
RETURNING seq;

-- name: quarantine_dead
UPDATE "{schema}"."{table}_dead"
SET state = 'quarantined', ended_at = clock_timestamp(), note = $2
WHERE seq = ANY ($1::int8[])
RETURNING seq;

-- name: release
-- $1 sequences of locked rows. A row keeps its sequence and goes to the waiting lane, because
-- forward reads have passed it. Returns those that were released, see replay in replay.sql.
WITH inserted AS (
  INSERT INTO "{schema}"."{table}_outbox" (
    seq, due, replays, written_at,
      id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
      content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
      correlation_id, code, error, history) OVERRIDING SYSTEM VALUE
  SELECT seq, clock_timestamp(), replays, written_at,
    id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
    content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, code, error, history
  FROM "{schema}"."{table}_dead" WHERE seq = ANY ($1::int8[])
  ON CONFLICT (id, tenant) DO NOTHING
  RETURNING seq AS released_seq
)
DELETE FROM "{schema}"."{table}_dead" AS t USING inserted
WHERE t.seq = released_seq AND t.seq = ANY ($1::int8[])
RETURNING t.seq;

-- name: purge_pending
-- $1 not younger than this, $2 rows_max, $3 whether to return the rows. Returns one row or more:
-- whether there is more than the batch, how many were deleted, and a record if requested.
WITH old AS MATERIALIZED (
  SELECT seq FROM "{schema}"."{table}_outbox"
  WHERE written_at <= $1::timestamptz
  ORDER BY seq
  LIMIT $2 + 1
),
gone AS (
  DELETE FROM "{schema}"."{table}_outbox" AS t
  USING (SELECT seq AS old_seq FROM old ORDER BY seq LIMIT $2) AS batch
  WHERE t.seq = old_seq
  RETURNING t.*
),
counted AS (
  UPDATE "{schema}".counter SET value = value + (SELECT count(*) FROM gone)
  WHERE outbox = '{table}' AND name = 'taken' AND slot = 0 AND EXISTS (SELECT FROM gone)
)
SELECT (SELECT count(*) FROM old) > $2, (SELECT count(*) FROM gone), told.*
FROM (SELECT 1) AS one
LEFT JOIN (SELECT 'pending'::text, seq, shard, attempts, replays, written_at, due, retrying,
  NULL::timestamptz, code, error, NULL::text, history::text, octet_length(payload), id, tenant,
  topic, aggregate_type, aggregate_id, key, priority, is_json, content_type, headers, occurred_at,
  not_before, traceparent, tracestate, request_id, correlation_id,
  coalesce(digest, sha256(payload)), digest IS NULL, NULL::bytea
FROM gone WHERE $3) AS told ON true;

-- name: purge_ended
-- The same, and $4 state.
WITH old AS MATERIALIZED (
  SELECT seq FROM "{schema}"."{table}_dead"
  WHERE state = $4 AND ended_at <= $1::timestamptz
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
LEFT JOIN (SELECT state, seq, shard, attempts, replays, written_at, NULL::timestamptz, false,
  ended_at, code, error, note, history::text, octet_length(payload), id, tenant, topic,
  aggregate_type, aggregate_id, key, priority, is_json, content_type, headers, occurred_at,
  not_before, traceparent, tracestate, request_id, correlation_id,
  coalesce(digest, sha256(payload)), digest IS NULL, NULL::bytea
FROM gone WHERE $3) AS told ON true;

-- name: purge_done
WITH old AS MATERIALIZED (
  SELECT seq, ended_at FROM "{schema}"."{table}_archive"
  WHERE ended_at <= $1::timestamptz
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
LEFT JOIN (SELECT 'done'::text, seq, shard, attempts, replays, written_at, NULL::timestamptz,
  false, ended_at, code, error, NULL::text, history::text, octet_length(payload), id, tenant,
  topic, aggregate_type, aggregate_id, key, priority, is_json, content_type, headers, occurred_at,
  not_before, traceparent, tracestate, request_id, correlation_id,
  coalesce(digest, sha256(payload)), digest IS NULL, NULL::bytea
FROM gone WHERE $3) AS told ON true;

-- name: strays
-- $1 rows_max. The lane is computed and checked by the table, and a row is either fresh or waiting:
-- only the count of shards can differ from that of the relays. Returns sequence, id and what is
-- wrong.
(SELECT seq, id, 'pending, but its shard is none that relays read'
 FROM "{schema}"."{table}_outbox"
 WHERE due IS NULL AND shard >= (SELECT shards FROM "{schema}".outbox WHERE name = '{table}')
 ORDER BY shard, lane, seq LIMIT $1)
UNION ALL
(SELECT seq, id, 'pending, but its shard is none that relays read'
 FROM "{schema}"."{table}_outbox"
 WHERE due IS NOT NULL AND shard >= (SELECT shards FROM "{schema}".outbox WHERE name = '{table}')
 ORDER BY shard, due, seq LIMIT $1)
LIMIT $1;
