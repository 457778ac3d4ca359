-- The session lock of mode "leader". $1 is always the scope, except in leader_introduce.

-- name: leader_introduce
-- $1 worker, $2 how long the session may be idle, in milliseconds; 0 leaves it as it is (the
-- setting is unknown before PostgreSQL 14). The name shows operators which worker leads, and whose
-- standby sessions there are.
SELECT set_config('application_name', left('sagabox leader ' || $1, 63), false),
       CASE WHEN $2 <> '0' THEN set_config('idle_session_timeout', $2, false) END;

-- name: leader_lock
SELECT pg_try_advisory_lock(hashtextextended('sagabox leader {schema} ' || $1, 0));

-- name: leader_unlock
SELECT pg_advisory_unlock(hashtextextended('sagabox leader {schema} ' || $1, 0));

-- name: leader_find
-- The server process that holds the lock. No row if the lock is free.
SELECT pid FROM pg_locks
WHERE locktype = 'advisory' AND granted AND objsubid = 1
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (classid::int8 << 32) | objid::int8
      = hashtextextended('sagabox leader {schema} ' || $1, 0);

-- name: leader_end_expired
-- Terminates the session that holds the lock if the lease of its worker has run out. No row if
-- there is no such session.
SELECT pg_terminate_backend(l.pid)
FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (l.classid::int8 << 32) | l.objid::int8
      = hashtextextended('sagabox leader {schema} ' || $1, 0)
  AND a.application_name LIKE 'sagabox leader %'
  AND NOT EXISTS (SELECT FROM "{schema}".worker w
                  WHERE a.application_name = left('sagabox leader ' || w.id, 63)
                    AND w.lease_until > clock_timestamp());

-- name: leader_lock_others
-- $2 worker, $3 shards_max. Waits for a settle that has locked some: no census would show that any
-- are left.
SELECT shard FROM "{schema}".shard_owner
WHERE scope = $1 AND owner IS DISTINCT FROM $2
ORDER BY shard
LIMIT $3
FOR UPDATE;

-- name: leader_take
-- $2 worker, $3 shards. Like shards_take, but also takes from owners whose lease is valid.
WITH others AS MATERIALIZED (
  SELECT o.shard, o.owner FROM "{schema}".shard_owner o
  WHERE o.scope = $1 AND o.shard = ANY ($3::smallint[])
    AND EXISTS (SELECT FROM "{schema}".member m JOIN "{schema}".worker w ON w.id = m.worker
                WHERE m.scope = $1 AND m.worker = $2 AND w.lease_until > clock_timestamp())
)
UPDATE "{schema}".shard_owner o SET owner = $2, epoch = o.epoch + 1
FROM others WHERE o.scope = $1 AND o.shard = others.shard
RETURNING o.shard, o.epoch, others.owner IS NOT NULL;

-- name: leader_owns_any
-- $2 worker.
SELECT EXISTS (SELECT FROM "{schema}".shard_owner WHERE scope = $1 AND owner = $2);
