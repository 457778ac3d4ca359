-- The steps of the schema that were applied. {table} is the table in which those of one engine are
-- recorded, and an outbox in the sections whose names say so.

-- name: record_there
-- No row if the table does not exist.
SELECT 1 WHERE to_regclass('"{schema}".{table}') IS NOT NULL;

-- name: record_make
CREATE SCHEMA IF NOT EXISTS "{schema}";
CREATE TABLE IF NOT EXISTS "{schema}".{table} (
  number     integer     NOT NULL,
  outbox     text        COLLATE "C" NOT NULL DEFAULT '',
  name       text        NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  checksum   text        COLLATE "C",
  PRIMARY KEY (number, outbox)
);

-- name: record_lacks_checksums
-- Returns a row if an older version made the table.
SELECT 1
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_attribute
                  WHERE attrelid = '"{schema}".{table}'::regclass AND attname = 'checksum');

-- name: record_add_checksums
-- Only run if the column is missing: it waits for every reader of the record.
ALTER TABLE "{schema}".{table} ADD COLUMN checksum text COLLATE "C";

-- name: record_drop
DROP TABLE "{schema}".{table};

-- name: record_read
-- As JSON: the record of an older version has no column "checksum".
SELECT number, outbox, applied_at, coalesce(to_jsonb(step) ->> 'checksum', '')
FROM "{schema}".{table} AS step;

-- name: record_add
-- $1 number, $2 outbox, $3 name, $4 checksum, $5 now.
INSERT INTO "{schema}".{table} (number, outbox, name, checksum, applied_at)
VALUES ($1, $2, $3, $4, $5);

-- name: record_remove
-- $1 number, $2 outbox.
DELETE FROM "{schema}".{table} WHERE number = $1 AND outbox = $2;

-- name: outbox_undelivered
-- Returns a row if there is a message that would be lost. The lock keeps writers out between the
-- check and the drop.
LOCK TABLE "{schema}"."{table}_outbox", "{schema}"."{table}_dead" IN ACCESS EXCLUSIVE MODE;
SELECT 1
WHERE EXISTS (SELECT FROM "{schema}"."{table}_outbox")
   OR EXISTS (SELECT FROM "{schema}"."{table}_dead");

-- name: saga_active
-- Returns a row if there is a saga that has not ended. The lock keeps writers out between the check
-- and the drop.
LOCK TABLE "{schema}".saga IN ACCESS EXCLUSIVE MODE;
SELECT 1
WHERE EXISTS (SELECT FROM "{schema}".saga WHERE state IN ('running', 'compensating', 'paused'));

-- name: hub_deliveries_open
-- Returns a row if there is a delivery that has not ended, or an event that is not routed yet. The
-- locks keep writers out between the check and the drop.
LOCK TABLE "{schema}".hub_event, "{schema}".hub_delivery IN ACCESS EXCLUSIVE MODE;
SELECT 1
WHERE EXISTS (SELECT FROM "{schema}".hub_delivery WHERE state = 'pending')
   OR EXISTS (SELECT FROM "{schema}".hub_delivery WHERE state = 'waiting')
   OR EXISTS (SELECT FROM "{schema}".hub_delivery WHERE state = 'in_progress')
   OR EXISTS (
     SELECT
     FROM generate_series(0, (SELECT s.shards FROM "{schema}".hub_setting AS s) - 1) AS part(shard)
     CROSS JOIN LATERAL (
       SELECT FROM "{schema}".hub_event AS e
       WHERE e.shard = part.shard AND e.seq > coalesce((
         SELECT p.position FROM "{schema}".hub_position AS p WHERE p.shard = part.shard), 0)
       LIMIT 1
     ) AS unrouted);

-- name: outbox_empty
TRUNCATE "{schema}"."{table}_outbox", "{schema}"."{table}_dead";

-- name: schema_lock
-- One change of the schema at a time.
SELECT pg_advisory_xact_lock(hashtextextended('sagabox migrations of {schema}', 0::bigint));

-- name: schema_drop
DROP SCHEMA "{schema}";

-- name: outbox_shards
-- $1 outbox; NULL: all of them.
SELECT name, shards FROM "{schema}".outbox WHERE $1 IS NULL OR name = $1;
