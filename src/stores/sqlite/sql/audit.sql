-- The audit log. Texts are blobs: they may contain any bytes.

-- name: audit_lock_head
-- The end of the log. There is one writer: it does not change until the transaction ends.
SELECT number, hash FROM sagabox_audit_head;

-- name: audit_head
SELECT number, hash FROM sagabox_audit_head;

-- name: audit_append
-- Each parameter is a list, in the order of the columns; runs once for each entry.
INSERT INTO sagabox_audit_log (
  number, kind, at, outbox, tenant, topic, message_id, attempt, digest, traceparent, code, detail,
  actor, previous, hash)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15);

-- name: audit_move_head
-- ?1 number, ?2 hash. No row if the head is missing.
UPDATE sagabox_audit_head SET number = ?1, hash = ?2 RETURNING number;

-- name: audit_read
-- ?1 number after, ?2 rows_max.
SELECT number, kind, at, outbox, tenant, topic, message_id, attempt, digest, traceparent, code,
  detail, actor, previous, hash
FROM sagabox_audit_log
WHERE number > ?1
ORDER BY number
LIMIT ?2;
