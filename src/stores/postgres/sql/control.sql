-- Pauses and replay jobs. $1 is always the name of an outbox.

-- name: outbox_known
-- How often pending messages were taken away. No row if there is no such outbox.
SELECT coalesce((SELECT sum(value)::int8 FROM "{schema}".counter
                 WHERE outbox = $1 AND name = 'taken'), 0)
FROM "{schema}".outbox
WHERE name = $1;

-- name: pauses
SELECT topic, actor, note, since FROM "{schema}".pause WHERE outbox = $1 ORDER BY topic;

-- name: pause
-- $2 topic, $3 actor, $4 note, $5 now. No row if it is paused already.
INSERT INTO "{schema}".pause (outbox, topic, actor, note, since)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (outbox, topic) DO NOTHING
RETURNING topic;

-- name: resume
-- $2 topic. No row if it is not paused.
DELETE FROM "{schema}".pause WHERE outbox = $1 AND topic = $2 RETURNING topic;

-- name: job_create
-- $2 from, $3 to $12 the filter, $13 last, $14 rate_max, $15 matched, $16 actor, $17 now, $18
-- as_new. No row if there is no such outbox. A second job_create waits for the first: the outbox's
-- row assigns the numbers.
WITH one_at_a_time AS MATERIALIZED (
  SELECT name FROM "{schema}".outbox WHERE name = $1 FOR UPDATE
)
INSERT INTO "{schema}".replay_job (
  outbox, id, from_state, tenant, topic, aggregate_type, key, code, ended_from, ended_until,
  first, last_wanted, retrying, last, rate_max, matched, actor, created_at, changed_at,
  as_new)
SELECT name, coalesce((SELECT max(id) FROM "{schema}".replay_job WHERE outbox = $1), 0) + 1,
  $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $17,
  $18
FROM one_at_a_time
RETURNING id, state, from_state, tenant, topic, aggregate_type, key, code, ended_from, ended_until,
  first, last_wanted, retrying, cursor, last, rate_max, matched, replayed, actor, error, created_at,
  changed_at, skipped, as_new;

-- name: jobs
SELECT id, state, from_state, tenant, topic, aggregate_type, key, code, ended_from, ended_until,
  first, last_wanted, retrying, cursor, last, rate_max, matched, replayed, actor, error, created_at,
  changed_at, skipped, as_new
FROM "{schema}".replay_job
WHERE outbox = $1
ORDER BY id;

-- name: job_lock
-- $2 id. The job stays locked until the transaction ends.
SELECT id, state, from_state, tenant, topic, aggregate_type, key, code, ended_from, ended_until,
  first, last_wanted, retrying, cursor, last, rate_max, matched, replayed, actor, error, created_at,
  changed_at, skipped, as_new
FROM "{schema}".replay_job
WHERE outbox = $1 AND id = $2 FOR UPDATE;

-- name: job_change
-- $2 id, $3 state, $4 error, $5 now.
UPDATE "{schema}".replay_job SET state = $3, error = $4, changed_at = $5
WHERE outbox = $1 AND id = $2
RETURNING id, state, from_state, tenant, topic, aggregate_type, key, code, ended_from, ended_until,
  first, last_wanted, retrying, cursor, last, rate_max, matched, replayed, actor, error, created_at,
  changed_at, skipped, as_new;

-- name: job_advance
-- $2 id, $3 rows replayed, $4 cursor, $5 whether it is finished, $6 rows left as they are, $7 now.
UPDATE "{schema}".replay_job
SET replayed = replayed + $3,
    skipped = skipped + $6,
    cursor = CASE WHEN $5 THEN last ELSE $4 END,
    state = CASE WHEN $5 THEN 'finished' ELSE state END,
    changed_at = $7
WHERE outbox = $1 AND id = $2
RETURNING id, state, from_state, tenant, topic, aggregate_type, key, code, ended_from, ended_until,
  first, last_wanted, retrying, cursor, last, rate_max, matched, replayed, actor, error, created_at,
  changed_at, skipped, as_new;

-- name: fence_hold
-- $1 scope, $2 shard, $3 owner, $4 epoch. Returns a row if the owner holds the shard; the shard
-- stays locked until the transaction ends.
SELECT shard FROM "{schema}".shard_owner
WHERE scope = $1 AND shard = $2 AND owner = $3 AND epoch = $4
FOR SHARE;
