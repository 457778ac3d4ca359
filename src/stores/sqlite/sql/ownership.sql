-- Owner and epoch of each shard. Whether an owner is alive is shown by the locks of the operating
-- system.

-- name: places
-- ?1 scope.
SELECT number, shard, owner, epoch FROM sagabox_owner WHERE scope = ?1 ORDER BY shard;

-- name: place_make
-- ?1 scope, ?2 shard.
INSERT INTO sagabox_owner (scope, shard) VALUES (?1, ?2) ON CONFLICT DO NOTHING;

-- name: place_take
-- ?1 number, ?2 worker.
UPDATE sagabox_owner SET owner = ?2, epoch = epoch + 1 WHERE number = ?1;

-- name: place_release
-- ?1 scope, ?2 shard, ?3 worker, ?4 epoch, ?5 whether it is unclean, ?6 its owner if so. No row if
-- the worker does not hold it at this epoch.
UPDATE sagabox_owner SET owner = CASE WHEN ?5 THEN ?6 END
WHERE scope = ?1 AND shard = ?2 AND owner = ?3 AND epoch = ?4
RETURNING number;
