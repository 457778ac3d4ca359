-- The statements of replays.
--
-- The filter of a job is $1 tenant, $2 topic, $3 aggregate type, $4 key, $5 code, $6 first
-- sequence, $7 last sequence, $8 retrying, $9 from, $10 until. A NULL matches everything. An ended
-- message is never retrying.

-- name: extent_pending
-- The number of matching messages, and the last sequence of them.
SELECT count(*), coalesce(max(seq), 0) FROM "{schema}"."{table}_outbox"
WHERE ($1::text IS NULL OR tenant = $1)
  AND ($2::text IS NULL OR topic = $2)
  AND ($3::text IS NULL OR aggregate_type = $3)
  AND ($4::text IS NULL OR coalesce(key, '') = $4)
  AND ($5::text IS NULL OR code = $5)
  AND ($6::int8 IS NULL OR seq >= $6)
  AND ($7::int8 IS NULL OR seq <= $7)
  AND (NOT $8::bool OR (retrying AND due IS NOT NULL))
  AND ($9::timestamptz IS NULL OR written_at >= $9)
  AND ($10::timestamptz IS NULL OR written_at < $10);

-- name: extent_ended
-- $11 state.
SELECT count(*), coalesce(max(seq), 0) FROM "{schema}"."{table}_dead"
WHERE state = $11
  AND ($1::text IS NULL OR tenant = $1)
  AND ($2::text IS NULL OR topic = $2)
  AND ($3::text IS NULL OR aggregate_type = $3)
  AND ($4::text IS NULL OR coalesce(key, '') = $4)
  AND ($5::text IS NULL OR code = $5)
  AND ($6::int8 IS NULL OR seq >= $6)
  AND ($7::int8 IS NULL OR seq <= $7)
  AND NOT $8::bool
  AND ($9::timestamptz IS NULL OR ended_at >= $9)
  AND ($10::timestamptz IS NULL OR ended_at < $10);

-- name: extent_done
SELECT count(*), coalesce(max(seq), 0) FROM "{schema}"."{table}_archive"
WHERE ($1::text IS NULL OR tenant = $1)
  AND ($2::text IS NULL OR topic = $2)
  AND ($3::text IS NULL OR aggregate_type = $3)
  AND ($4::text IS NULL OR coalesce(key, '') = $4)
  AND ($5::text IS NULL OR code = $5)
  AND ($6::int8 IS NULL OR seq >= $6)
  AND ($7::int8 IS NULL OR seq <= $7)
  AND NOT $8::bool
  AND ($9::timestamptz IS NULL OR ended_at >= $9)
  AND ($10::timestamptz IS NULL OR ended_at < $10);

-- name: next_ended
-- The messages that a replay job takes next: $11 cursor, $12 last, $13 rows_max, $14 state. One row
-- more than rows_max if more is left.
SELECT seq FROM "{schema}"."{table}_dead"
WHERE state = $14 AND seq > $11 AND seq <= $12
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
LIMIT $13 + 1
FOR UPDATE;

-- name: next_done
-- The same for delivered messages.
SELECT seq FROM "{schema}"."{table}_archive"
WHERE seq > $11 AND seq <= $12
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
LIMIT $13 + 1
FOR UPDATE;

-- name: replay
-- $1 sequences of locked rows, each once, in the order in which they are replayed; $2 now; $3
-- whether as new: with a header that numbers the replay, inserted as text because headers written
-- by others may not be JSON. Returns those that were replayed; those whose tenant and id are
-- pending are not, even if another transaction committed them a moment ago. Rows are inserted, then
-- deleted: an UPDATE of the sequence would draw it before the transaction appears in snapshots.
WITH asked AS (
  SELECT asked_seq, place FROM unnest($1::int8[]) WITH ORDINALITY AS a(asked_seq, place)
),
found AS MATERIALIZED (
  SELECT DISTINCT ON (id, tenant) *
  FROM (SELECT asked_seq, place, replays,
    id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
    content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id
        FROM "{schema}"."{table}_dead" AS t JOIN asked ON t.seq = asked_seq
        WHERE t.seq = ANY ($1::int8[])
        UNION ALL
        SELECT asked_seq, place, replays,
          id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json,
          digest, content_type, headers, occurred_at, not_before, traceparent, tracestate,
          request_id, correlation_id
        FROM "{schema}"."{table}_archive" AS t JOIN asked ON t.seq = asked_seq
        WHERE t.seq = ANY ($1::int8[])) AS ended
  ORDER BY id, tenant, place
),
inserted AS (
  INSERT INTO "{schema}"."{table}_outbox" (replays,
    id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
    content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id)
  SELECT replays + 1,
    id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
    content_type,
    CASE WHEN NOT $3::bool THEN headers
         WHEN bare ~ '^\s*\{\s*\}\s*$' THEN '{"sagabox-as-new":"' || (replays + 1)::text || '"}'
         ELSE regexp_replace(bare, '\s*\}\s*$',
                             ',"sagabox-as-new":"' || (replays + 1)::text || '"}') END,
    occurred_at, not_before, traceparent, tracestate, request_id, correlation_id
  FROM found CROSS JOIN LATERAL (
    SELECT regexp_replace(coalesce(headers, '{}'),
      ',\s*"sagabox-as-new":\s*"\d+"|"sagabox-as-new":\s*"\d+"\s*,?', '') AS bare) AS h
  ORDER BY place
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
SELECT asked_seq FROM replayed ORDER BY place;
