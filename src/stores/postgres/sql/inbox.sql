-- What transactions noted. The first two run on connections of callers: what they use is qualified.

-- name: inbox_first_time
-- $1 tenant, $2 consumer, $3 key. A row if nobody took the key before.
INSERT INTO "{schema}".inbox (tenant, consumer, key)
VALUES ($1, $2, $3)
ON CONFLICT (tenant, consumer, key) DO NOTHING
RETURNING true;

-- name: inbox_renew
-- $1 tenant, $2 consumer, $3 key, $4 microseconds. Makes a key that was taken or renewed longer ago
-- than that as young as a new one.
UPDATE "{schema}".inbox
SET taken_at = pg_catalog.clock_timestamp()
WHERE tenant OPERATOR(pg_catalog.=) $1 AND consumer OPERATOR(pg_catalog.=) $2
  AND key OPERATOR(pg_catalog.=) $3
  AND taken_at OPERATOR(pg_catalog.<=)
      (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-)
       ($4 OPERATOR(pg_catalog.*) interval '1 microsecond'));

-- name: inbox_barrier
-- $1 tenant, $2 saga, $3 step, $4 round, $5 the state it has if this call is the first, $6 until
-- when it is kept. The state before, null if there was none.
INSERT INTO "{schema}".barrier AS known (tenant, saga, step, round, state, keep_until)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant, saga, step, round) DO UPDATE
SET state_before = known.state,
    state = CASE WHEN known.state OPERATOR(pg_catalog.=) 'acted'
                  AND excluded.state OPERATOR(pg_catalog.=) 'refused'
                 THEN 'undone' ELSE known.state END,
    keep_until = greatest(known.keep_until, excluded.keep_until)
RETURNING state_before;

-- name: inbox_made
-- No row if there is no table.
SELECT 1 WHERE to_regclass('"{schema}".inbox') IS NOT NULL;

-- name: inbox_taken
-- $1 tenant, $2 consumer, $3 key. A row if it was taken.
SELECT 1 FROM "{schema}".inbox WHERE tenant = $1 AND consumer = $2 AND key = $3;

-- name: inbox_purge_keys
-- $1 rows at most, $2 their age in microseconds. A row for each that was removed.
DELETE FROM "{schema}".inbox
WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM "{schema}".inbox
  WHERE taken_at <= (SELECT clock_timestamp()) - $2 * interval '1 microsecond'
  ORDER BY taken_at
  LIMIT $1
  FOR UPDATE SKIP LOCKED))
RETURNING 1;

-- name: inbox_purge_barriers
-- $1 rows at most. A row for each that was removed.
DELETE FROM "{schema}".barrier
WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM "{schema}".barrier
  WHERE keep_until <= (SELECT clock_timestamp())
  ORDER BY keep_until
  LIMIT $1
  FOR UPDATE SKIP LOCKED))
RETURNING 1;
