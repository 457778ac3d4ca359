-- Writing messages into one outbox, on the store's own or the caller's connection.

-- name: insert_lock
-- ?1 outbox. Changes nothing, but waits for the write lock.
UPDATE sagabox_outbox SET seq = seq WHERE name = ?1;

-- name: insert_last
-- The last sequence that was assigned: the last of the normal lane, or the last outside of it. The
-- rows of the normal lane have places from 105553116266496 on.
SELECT max(seq, coalesce((SELECT place FROM "{table}_pending"
                          WHERE place >= 105553116266496
                          ORDER BY place DESC
                          LIMIT 1) - 105553116266496, 0))
FROM sagabox_outbox
WHERE name = '{table}';

-- name: insert_known
-- ?1 outbox. No row if it does not exist.
SELECT 1 FROM sagabox_outbox WHERE name = ?1;

-- name: insert_one
-- ?1 place, ?2 id, ?3 due, ?4 written_at, then the columns of the message. No-op if the id is
-- pending.
INSERT INTO "{table}_pending" (
  place, id, due, written_at, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json,
  digest, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
  correlation_id, payload)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
        ?20, ?21)
ON CONFLICT (id, tenant) DO NOTHING;

-- name: insert_plain
-- A message with only topic, key and payload: place, id, written_at, topic, key, digest,
-- occurred_at, payload. No-op if the id is pending. OR FAIL: the rows of a failed statement are
-- removed by insert_undo, so it needs no statement journal.
INSERT OR FAIL INTO "{table}_pending" (
  place, id, written_at, tenant, topic, aggregate_type, key, priority, is_json, digest,
  content_type, occurred_at, payload)
VALUES
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?)
ON CONFLICT (id, tenant) DO NOTHING;

-- name: insert_plains
-- The same for sixteen messages: one statement for each would open and close the tables each time.
INSERT OR FAIL INTO "{table}_pending" (
  place, id, written_at, tenant, topic, aggregate_type, key, priority, is_json, digest,
  content_type, occurred_at, payload)
VALUES
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?),
  (?, ?, ?, 'default', ?, '__GLOBAL__', ?, 1, 1, ?, 'application/json', ?, ?)
ON CONFLICT (id, tenant) DO NOTHING;

-- name: insert_ended
-- ?1 id, ?2 tenant. The newest of the dead, quarantined or retained ones.
SELECT seq FROM "{table}_archive" WHERE id = ?1 AND tenant = ?2
UNION ALL
SELECT seq FROM "{table}_dead" WHERE id = ?1 AND tenant = ?2
ORDER BY seq DESC
LIMIT 1;

-- name: insert_pending
-- ?1 id, ?2 tenant.
SELECT seq FROM "{table}_pending" WHERE id = ?1 AND tenant = ?2;

-- name: insert_note
-- ?1 outbox, ?2 how many wait, ?3 the last sequence outside of the normal lane.
UPDATE sagabox_outbox SET waiting = waiting + ?2, seq = max(seq, ?3) WHERE name = ?1;

-- name: insert_undo
-- ?1 place, ?2 id.
DELETE FROM "{table}_pending" WHERE place = ?1 AND id = ?2;
