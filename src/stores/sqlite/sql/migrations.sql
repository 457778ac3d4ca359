-- The steps of the schema that were applied. {table} is the table in which those of one engine are
-- recorded, and an outbox in the sections whose names say so.

-- name: record_there
-- No row if the table does not exist.
SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '{table}';

-- name: record_make
CREATE TABLE IF NOT EXISTS {table} (
  number     INTEGER NOT NULL,
  outbox     TEXT    NOT NULL DEFAULT '',
  name       TEXT    NOT NULL,
  applied_at INTEGER NOT NULL,
  checksum   TEXT,
  PRIMARY KEY (number, outbox)
) STRICT, WITHOUT ROWID;

-- name: record_lacks_checksums
-- Returns a row if an older version made the table.
SELECT 1
WHERE NOT EXISTS (SELECT 1 FROM pragma_table_info('{table}') WHERE name = 'checksum');

-- name: record_add_checksums
ALTER TABLE {table} ADD COLUMN checksum TEXT;

-- name: record_drop
DROP TABLE {table};

-- name: record_read
-- The record of an older version has no column "checksum". The name then refers to the column of
-- "step", which is NULL.
SELECT number, outbox, applied_at,
  (SELECT checksum FROM {table} AS own WHERE own.number = step.number AND own.outbox = step.outbox)
FROM (SELECT number, outbox, applied_at, NULL AS checksum FROM {table}) AS step;

-- name: record_add
-- ?1 number, ?2 outbox, ?3 name, ?4 checksum, ?5 now.
INSERT INTO {table} (number, outbox, name, checksum, applied_at) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: record_remove
-- ?1 number, ?2 outbox.
DELETE FROM {table} WHERE number = ?1 AND outbox = ?2;

-- name: outbox_undelivered
-- Returns a row if there is a message that would be lost.
SELECT 1
WHERE EXISTS (SELECT 1 FROM "{table}_pending") OR EXISTS (SELECT 1 FROM "{table}_dead");

-- name: saga_active
-- Returns a row if there is a saga that has not ended.
SELECT 1
WHERE EXISTS (SELECT 1 FROM sagabox_saga WHERE state IN ('running', 'compensating', 'paused'));

-- name: hub_deliveries_open
-- Returns a row if there is a delivery that has not ended, or an event that is not routed yet.
SELECT 1
WHERE EXISTS (SELECT 1 FROM sagabox_hub_delivery WHERE state = 'pending')
   OR EXISTS (SELECT 1 FROM sagabox_hub_delivery WHERE state = 'waiting')
   OR EXISTS (SELECT 1 FROM sagabox_hub_delivery WHERE state = 'in_progress')
   OR EXISTS (SELECT 1 FROM sagabox_hub_event
              WHERE seq > coalesce((SELECT position FROM sagabox_hub_position), 0));

-- name: outbox_empty
DELETE FROM "{table}_pending";
