-- The audit log. Texts are bytea: they may contain any bytes.

-- name: audit_lock_head
-- The end of the log. It is locked until the transaction ends: lock it last.
SELECT number, hash FROM "{schema}".audit_head FOR UPDATE;

-- name: audit_head
SELECT number, hash FROM "{schema}".audit_head;

-- name: audit_append
-- Each parameter is a list, in the order of the columns.
INSERT INTO "{schema}".audit_log (
  number, kind, at, outbox, tenant, topic, message_id, attempt, digest, traceparent, code, detail,
  actor, previous, hash)
SELECT * FROM unnest($1::int8[], $2::text[], $3::timestamptz[], $4::bytea[], $5::bytea[],
                     $6::bytea[], $7::bytea[], $8::int8[], $9::bytea[], $10::bytea[],
                     $11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bytea[]);

-- name: audit_move_head
-- $1 number, $2 hash. No row if the head is missing.
UPDATE "{schema}".audit_head SET number = $1, hash = $2 RETURNING number;

-- name: audit_read
-- $1 number after, $2 rows_max.
SELECT number, kind, at, outbox, tenant, topic, message_id, attempt, digest, traceparent, code,
  detail, actor, previous, hash
FROM "{schema}".audit_log
WHERE number > $1
ORDER BY number
LIMIT $2;
