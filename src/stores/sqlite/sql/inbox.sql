-- What transactions noted. Times are microseconds.

-- name: inbox_first_time
-- ?1 tenant, ?2 consumer, ?3 key, ?4 now. A row if nobody took the key before.
INSERT INTO sagabox_inbox (tenant, consumer, key, taken_at)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (tenant, consumer, key) DO NOTHING
RETURNING 1;

-- name: inbox_renew
-- ?1 tenant, ?2 consumer, ?3 key, ?4 microseconds, ?5 now. Makes a key that was taken or renewed
-- longer ago than that as young as a new one.
UPDATE sagabox_inbox
SET taken_at = ?5
WHERE tenant = ?1 AND consumer = ?2 AND key = ?3 AND taken_at <= ?5 - ?4;

-- name: inbox_barrier
-- ?1 tenant, ?2 saga, ?3 step, ?4 round, ?5 the state it has if this call is the first, ?6 until
-- when it is kept. The state before, null if there was none.
INSERT INTO sagabox_barrier AS known (tenant, saga, step, round, state, keep_until)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (tenant, saga, step, round) DO UPDATE
SET state_before = known.state,
    state = CASE WHEN known.state = 'acted' AND excluded.state = 'refused'
                 THEN 'undone' ELSE known.state END,
    keep_until = max(known.keep_until, excluded.keep_until)
RETURNING state_before;

-- name: inbox_made
-- No row if there is no table.
SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'sagabox_inbox';

-- name: inbox_taken
-- ?1 tenant, ?2 consumer, ?3 key. A row if it was taken.
SELECT 1 FROM sagabox_inbox WHERE tenant = ?1 AND consumer = ?2 AND key = ?3;

-- name: inbox_purge_keys
-- ?1 rows at most, ?2 their age, ?3 now. A row for each that was removed.
DELETE FROM sagabox_inbox
WHERE (tenant, consumer, key) IN (
  SELECT tenant, consumer, key FROM sagabox_inbox
  WHERE taken_at <= ?3 - ?2
  ORDER BY taken_at
  LIMIT ?1)
RETURNING 1;

-- name: inbox_purge_barriers
-- ?1 rows at most, ?2 now. A row for each that was removed.
DELETE FROM sagabox_barrier
WHERE (tenant, saga, step, round) IN (
  SELECT tenant, saga, step, round FROM sagabox_barrier
  WHERE keep_until <= ?2
  ORDER BY keep_until
  LIMIT ?1)
RETURNING 1;
