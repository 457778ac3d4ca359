-- Workers, leases and shard owners. All times are compared with clock_timestamp(): now() does not
-- advance in a transaction that waits.

-- name: scopes_make
-- $1 scopes, $2 shards. Returns the number of shards of each scope. The scopes are locked in the
-- order of their names, so that two workers that join do not deadlock. The rows stay locked: a
-- concurrent change of the count waits.
INSERT INTO "{schema}".scope (name, shards)
SELECT name, $2::smallint FROM unnest($1::text[]) AS name ORDER BY name COLLATE "C"
ON CONFLICT DO NOTHING;
SELECT name, shards FROM "{schema}".scope WHERE name = ANY ($1::text[])
ORDER BY name
FOR KEY SHARE;

-- name: worker_join
-- $1 worker, $2 lease in microseconds, $3 scopes, $4 shards. No row if its lease has run out.
-- First, departed workers that own nothing are deleted.
DELETE FROM "{schema}".worker
WHERE id IN (SELECT w.id FROM "{schema}".worker w
             WHERE w.lease_until <= clock_timestamp() AND w.id <> $1
               AND NOT EXISTS (SELECT FROM "{schema}".shard_owner o WHERE o.owner = w.id)
             FOR UPDATE SKIP LOCKED);
INSERT INTO "{schema}".worker AS w (id, lease_until)
VALUES ($1, clock_timestamp() + $2 * interval '1 microsecond')
ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until
WHERE w.lease_until > clock_timestamp()
RETURNING id;
INSERT INTO "{schema}".member (worker, scope)
SELECT w.id, name FROM "{schema}".worker w, unnest($3::text[]) AS name WHERE w.id = $1
ON CONFLICT DO NOTHING;
INSERT INTO "{schema}".shard_owner (scope, shard)
SELECT name, shard
FROM unnest($3::text[]) AS name, generate_series(0, $4::integer - 1) AS shard
ORDER BY name COLLATE "C", shard
ON CONFLICT DO NOTHING;

-- name: worker_renew
-- $1 worker, $2 lease in microseconds. No row if its lease has run out.
UPDATE "{schema}".worker SET lease_until = clock_timestamp() + $2 * interval '1 microsecond'
WHERE id = $1 AND lease_until > clock_timestamp()
RETURNING id;

-- name: worker_leave
-- $1 worker. Not the current time: after a clock stepped back, the lease would be valid again.
UPDATE "{schema}".worker SET lease_until = '-infinity' WHERE id = $1;

-- name: member_withdraw
-- $1 worker, $2 scopes.
DELETE FROM "{schema}".member WHERE worker = $1 AND scope = ANY ($2::text[]);

-- name: census_members
-- $1 scope.
SELECT w.id FROM "{schema}".member m JOIN "{schema}".worker w ON w.id = m.worker
WHERE m.scope = $1 AND w.lease_until > clock_timestamp()
ORDER BY w.id;

-- name: census_shards
-- $1 scope.
SELECT o.shard, o.owner, o.epoch,
       CASE WHEN w.lease_until > clock_timestamp()
            THEN (extract(epoch FROM w.lease_until - clock_timestamp()) * 1000000)::bigint
            ELSE 0 END
FROM "{schema}".shard_owner o LEFT JOIN "{schema}".worker w ON w.id = o.owner
WHERE o.scope = $1
ORDER BY o.shard;

-- name: shards_lock_free
-- $1 scope, $2 shards_max. Returns only candidates: while this statement waits for a row or skips
-- it, its view of the owner may become outdated. shards_take checks again, with a snapshot made
-- after the rows were locked.
SELECT o.shard FROM "{schema}".shard_owner o LEFT JOIN "{schema}".worker w ON w.id = o.owner
WHERE o.scope = $1 AND (w.id IS NULL OR w.lease_until <= clock_timestamp())
ORDER BY o.shard
LIMIT $2
FOR UPDATE OF o SKIP LOCKED;

-- name: shards_take
-- $1 scope, $2 worker, $3 shards that shards_lock_free has locked. The last column: the previous
-- owner did not release the shard cleanly.
WITH free AS MATERIALIZED (
  SELECT o.shard, o.owner FROM "{schema}".shard_owner o
  WHERE o.scope = $1 AND o.shard = ANY ($3::smallint[])
    AND NOT EXISTS (SELECT FROM "{schema}".worker w
                    WHERE w.id = o.owner AND w.lease_until > clock_timestamp())
    AND EXISTS (SELECT FROM "{schema}".member m JOIN "{schema}".worker w ON w.id = m.worker
                WHERE m.scope = $1 AND m.worker = $2 AND w.lease_until > clock_timestamp())
)
UPDATE "{schema}".shard_owner o SET owner = $2, epoch = o.epoch + 1
FROM free WHERE o.scope = $1 AND o.shard = free.shard
RETURNING o.shard, o.epoch, free.owner IS NOT NULL;

-- name: shards_release
-- $1 scope, $2 worker, $3 shards, $4 epochs, $5 whether each is unclean (1), $6 the owner of an
-- unclean shard.
UPDATE "{schema}".shard_owner o SET owner = CASE WHEN given.unclean = 1 THEN $6 END
FROM unnest($3::smallint[], $4::bigint[], $5::bigint[]) AS given (shard, epoch, unclean)
WHERE o.scope = $1 AND o.owner = $2 AND o.shard = given.shard AND o.epoch = given.epoch;
