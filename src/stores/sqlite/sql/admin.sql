-- What operators can see of an outbox and do to its messages.
--
-- A record is state, sequence, shard, attempts, replays, written_at, due, retrying, ended_at, code,
-- error, note, history, bytes of the payload; the columns of the message and its digest; whether it
-- was never checked; the payload or NULL. decode_record() in stores/sql/record.hpp reads it.

-- name: admin_stats
-- Counts are kept in the row of the outbox, and the oldest of each lane is its first. Answers with
-- pending, waiting, done, dead, quarantined, the oldest pending; whether pending, done, dead are
-- estimates.
SELECT max(seq, coalesce((SELECT place FROM "{table}_pending"
                            WHERE place >= 105553116266496
                            ORDER BY place DESC LIMIT 1) - 105553116266496, 0)) - gone,
  waiting, done, dead, quarantined,
  (SELECT min(written_at)
   FROM (SELECT * FROM (SELECT written_at FROM "{table}_pending"
                        WHERE place < 35184372088832 ORDER BY place LIMIT 1)
         UNION ALL
         SELECT * FROM (SELECT written_at FROM "{table}_pending"
                        WHERE place BETWEEN 35184372088832 AND 70368744177663
                        ORDER BY place LIMIT 1)
         UNION ALL
         SELECT * FROM (SELECT written_at FROM "{table}_pending"
                        WHERE place BETWEEN 70368744177664 AND 105553116266495
                        ORDER BY place LIMIT 1)
         UNION ALL
         SELECT * FROM (SELECT written_at FROM "{table}_pending"
                        WHERE place >= 105553116266496 ORDER BY place LIMIT 1))),
  0, 0, 0
FROM sagabox_outbox WHERE name = '{table}';

-- name: admin_horizon
-- No transaction keeps SQLite from reusing pages.
SELECT NULL, NULL;

-- name: list_pending
-- The filter is ?1 to ?10, as in replay.sql. ?11 after, ?12 rows_max, ?13 whether payloads are
-- wanted; they are also read if the digest must be computed from them. Reads rows_max of each lane,
-- and returns the first of all.
WITH found AS MATERIALIZED (
  SELECT * FROM (SELECT place, seq FROM "{table}_pending"
    WHERE place > ?11 AND place < 35184372088832
      AND (?1 IS NULL OR tenant = ?1)
      AND (?2 IS NULL OR topic = ?2)
      AND (?3 IS NULL OR aggregate_type = ?3)
      AND (?4 IS NULL OR coalesce(key, '') = ?4)
      AND (?5 IS NULL OR code = ?5)
      AND (?6 IS NULL OR seq >= ?6)
      AND (?7 IS NULL OR seq <= ?7)
      AND (NOT ?8 OR retrying)
      AND (?9 IS NULL OR written_at >= ?9)
      AND (?10 IS NULL OR written_at < ?10)
    ORDER BY place LIMIT ?12 + 1)
  UNION ALL
  SELECT * FROM (SELECT place, seq FROM "{table}_pending"
    WHERE place > ?11 + 35184372088832 AND place < 70368744177664
      AND (?1 IS NULL OR tenant = ?1)
      AND (?2 IS NULL OR topic = ?2)
      AND (?3 IS NULL OR aggregate_type = ?3)
      AND (?4 IS NULL OR coalesce(key, '') = ?4)
      AND (?5 IS NULL OR code = ?5)
      AND (?6 IS NULL OR seq >= ?6)
      AND (?7 IS NULL OR seq <= ?7)
      AND (NOT ?8 OR retrying)
      AND (?9 IS NULL OR written_at >= ?9)
      AND (?10 IS NULL OR written_at < ?10)
    ORDER BY place LIMIT ?12 + 1)
  UNION ALL
  SELECT * FROM (SELECT place, seq FROM "{table}_pending"
    WHERE place > ?11 + 70368744177664 AND place < 105553116266496
      AND (?1 IS NULL OR tenant = ?1)
      AND (?2 IS NULL OR topic = ?2)
      AND (?3 IS NULL OR aggregate_type = ?3)
      AND (?4 IS NULL OR coalesce(key, '') = ?4)
      AND (?5 IS NULL OR code = ?5)
      AND (?6 IS NULL OR seq >= ?6)
      AND (?7 IS NULL OR seq <= ?7)
      AND (NOT ?8 OR retrying)
      AND (?9 IS NULL OR written_at >= ?9)
      AND (?10 IS NULL OR written_at < ?10)
    ORDER BY place LIMIT ?12 + 1)
  UNION ALL
  SELECT * FROM (SELECT place, seq FROM "{table}_pending"
    WHERE place > ?11 + 105553116266496
      AND (?1 IS NULL OR tenant = ?1)
      AND (?2 IS NULL OR topic = ?2)
      AND (?3 IS NULL OR aggregate_type = ?3)
      AND (?4 IS NULL OR coalesce(key, '') = ?4)
      AND (?5 IS NULL OR code = ?5)
      AND (?6 IS NULL OR seq >= ?6)
      AND (?7 IS NULL OR seq <= ?7)
      AND (NOT ?8 OR retrying)
      AND (?9 IS NULL OR written_at >= ?9)
      AND (?10 IS NULL OR written_at < ?10)
    ORDER BY place LIMIT ?12 + 1)
)
SELECT 'pending', seq, 0, attempts, replays, written_at, due, retrying, NULL, code, error, NULL,
  history, length(payload), id, tenant, topic, aggregate_type, aggregate_id, key, priority,
  is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
  correlation_id, digest, digest IS NULL, CASE WHEN ?13 OR digest IS NULL THEN payload END
FROM "{table}_pending"
WHERE place IN (SELECT place FROM found ORDER BY seq LIMIT ?12 + 1)
ORDER BY seq;

-- name: list_ended
-- The same, and ?14 state.
SELECT state, seq, 0, attempts, replays, written_at, NULL, 0, ended_at, code, error, note,
  history, length(payload), id, tenant, topic, aggregate_type, aggregate_id, key, priority,
  is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
  correlation_id, digest, digest IS NULL, CASE WHEN ?13 OR digest IS NULL THEN payload END
FROM "{table}_dead"
WHERE state = ?14 AND seq > ?11
  AND (?1 IS NULL OR tenant = ?1)
  AND (?2 IS NULL OR topic = ?2)
  AND (?3 IS NULL OR aggregate_type = ?3)
  AND (?4 IS NULL OR coalesce(key, '') = ?4)
  AND (?5 IS NULL OR code = ?5)
  AND (?6 IS NULL OR seq >= ?6)
  AND (?7 IS NULL OR seq <= ?7)
  AND NOT ?8
  AND (?9 IS NULL OR ended_at >= ?9)
  AND (?10 IS NULL OR ended_at < ?10)
ORDER BY seq
LIMIT ?12 + 1;

-- name: list_done
SELECT 'done', seq, 0, attempts, replays, written_at, NULL, 0, ended_at, code, error, NULL,
  history, length(payload), id, tenant, topic, aggregate_type, aggregate_id, key, priority,
  is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
  correlation_id, digest, digest IS NULL, CASE WHEN ?13 OR digest IS NULL THEN payload END
FROM "{table}_archive"
WHERE seq > ?11
  AND (?1 IS NULL OR tenant = ?1)
  AND (?2 IS NULL OR topic = ?2)
  AND (?3 IS NULL OR aggregate_type = ?3)
  AND (?4 IS NULL OR coalesce(key, '') = ?4)
  AND (?5 IS NULL OR code = ?5)
  AND (?6 IS NULL OR seq >= ?6)
  AND (?7 IS NULL OR seq <= ?7)
  AND NOT ?8
  AND (?9 IS NULL OR ended_at >= ?9)
  AND (?10 IS NULL OR ended_at < ?10)
ORDER BY seq
LIMIT ?12 + 1;

-- name: look
-- ?1 id, ?2 tenant or NULL. All rows that have the id, see choose_row().
SELECT 'pending', seq, 0, attempts, replays, written_at, due, retrying, NULL, code, error, NULL,
  history, length(payload), id, tenant, topic, aggregate_type, aggregate_id, key, priority,
  is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
  correlation_id, digest, digest IS NULL, payload
FROM "{table}_pending" WHERE id = ?1 AND (?2 IS NULL OR tenant = ?2)
UNION ALL
SELECT state, seq, 0, attempts, replays, written_at, NULL, 0, ended_at, code, error, note,
  history, length(payload), id, tenant, topic, aggregate_type, aggregate_id, key, priority,
  is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
  correlation_id, digest, digest IS NULL, payload
FROM "{table}_dead" WHERE id = ?1 AND (?2 IS NULL OR tenant = ?2)
UNION ALL
SELECT 'done', seq, 0, attempts, replays, written_at, NULL, 0, ended_at, code, error, NULL,
  history, length(payload), id, tenant, topic, aggregate_type, aggregate_id, key, priority,
  is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
  correlation_id, digest, digest IS NULL, payload
FROM "{table}_archive" WHERE id = ?1 AND (?2 IS NULL OR tenant = ?2);

-- name: lock_pending
-- ?1 ids, ?2 tenant or NULL. There is one writer, so the rows do not change until the transaction
-- ends.
SELECT 'pending', seq, 0, attempts, replays, written_at, due, retrying, NULL, code, error, NULL,
  history, length(payload), id, tenant, topic, aggregate_type, aggregate_id, key, priority,
  is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
  correlation_id, digest, digest IS NULL, payload
FROM "{table}_pending"
WHERE id IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR tenant = ?2)
ORDER BY seq;

-- name: lock_ended
SELECT state, seq, 0, attempts, replays, written_at, NULL, 0, ended_at, code, error, note,
  history, length(payload), id, tenant, topic, aggregate_type, aggregate_id, key, priority,
  is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
  correlation_id, digest, digest IS NULL, payload
FROM "{table}_dead"
WHERE id IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR tenant = ?2)
ORDER BY seq;

-- name: lock_done
SELECT 'done', seq, 0, attempts, replays, written_at, NULL, 0, ended_at, code, error, NULL,
  history, length(payload), id, tenant, topic, aggregate_type, aggregate_id, key, priority,
  is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
  correlation_id, digest, digest IS NULL, payload
FROM "{table}_archive"
WHERE id IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR tenant = ?2)
ORDER BY seq;

-- name: quarantine_pending
-- ?1 sequences, ?2 note, ?3 now, ?4 ids. Returns the sequences.
UPDATE sagabox_outbox
SET seq = max(seq, moved.last),
    gone = gone + moved.row_count,
    waiting = waiting - moved.waited,
    quarantined = quarantined + moved.row_count,
    taken = taken + moved.row_count
FROM (SELECT coalesce(max(seq), 0) AS last, count(*) AS row_count,
             count(*) FILTER (WHERE place < 35184372088832) AS waited
      FROM "{table}_pending"
      WHERE id IN (SELECT value FROM json_each(?4))
        AND seq IN (SELECT value FROM json_each(?1))) AS moved
WHERE name = '{table}';
INSERT INTO "{table}_dead" (
  seq, state, ended_at, note, attempts, failed_for_good, replays, written_at, code, error, history,
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, digest, content_type,
  headers, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, payload)
SELECT seq, 'quarantined', ?3, ?2, attempts, failed_for_good, replays, written_at, code, error,
  history,
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, digest, content_type,
  headers, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, payload
FROM "{table}_pending"
WHERE id IN (SELECT value FROM json_each(?4)) AND seq IN (SELECT value FROM json_each(?1));
DELETE FROM "{table}_pending"
WHERE id IN (SELECT value FROM json_each(?4)) AND seq IN (SELECT value FROM json_each(?1))
RETURNING place & 35184372088831;

-- name: quarantine_dead
-- ?1 sequences of dead messages, ?2 note, ?3 now. Returns the sequences.
UPDATE sagabox_outbox
SET dead = dead - moved.row_count, quarantined = quarantined + moved.row_count
FROM (SELECT count(*) AS row_count FROM "{table}_dead"
      WHERE seq IN (SELECT value FROM json_each(?1))) AS moved
WHERE name = '{table}';
UPDATE "{table}_dead" SET state = 'quarantined', ended_at = ?3, note = ?2
WHERE seq IN (SELECT value FROM json_each(?1))
RETURNING seq;

-- name: release
-- ?1 sequences, ?2 now. A row keeps its sequence and goes to the waiting rows, because forward
-- reads have passed it. Returns those that were released; those whose tenant and id are pending are
-- not.
CREATE TEMP TABLE IF NOT EXISTS sagabox_released (seq INTEGER PRIMARY KEY);
DELETE FROM temp.sagabox_released;
INSERT INTO temp.sagabox_released (seq)
SELECT seq
FROM (SELECT t.seq, row_number() OVER (PARTITION BY t.id, t.tenant ORDER BY asked.key) AS nth
      FROM json_each(?1) AS asked CROSS JOIN "{table}_dead" AS t ON t.seq = asked.value
      WHERE t.state = 'quarantined'
        AND NOT EXISTS (SELECT 1 FROM "{table}_pending" AS p
                        WHERE p.id = t.id AND p.tenant = t.tenant)) AS fit
WHERE nth = 1;
INSERT INTO "{table}_pending" (
  place, due, replays, written_at, code, error, history,
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, digest, content_type,
  headers, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, payload)
SELECT seq, ?2, replays, written_at, code, error, history,
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, digest, content_type,
  headers, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, payload
FROM "{table}_dead"
WHERE seq IN (SELECT seq FROM temp.sagabox_released);
DELETE FROM "{table}_dead" WHERE seq IN (SELECT seq FROM temp.sagabox_released);
UPDATE sagabox_outbox
SET gone = gone - moved.row_count,
    waiting = waiting + moved.row_count,
    quarantined = quarantined - moved.row_count
FROM (SELECT count(*) AS row_count FROM temp.sagabox_released) AS moved
WHERE name = '{table}';
SELECT seq FROM temp.sagabox_released;

-- name: purge_pending
-- ?1 not younger than this, ?2 rows_max, ?3 whether to return the rows. Returns one row or more:
-- whether there is more than the batch, how many were deleted, and a record if requested.
CREATE TEMP TABLE IF NOT EXISTS sagabox_purged (key INTEGER PRIMARY KEY, nth INTEGER NOT NULL);
DELETE FROM temp.sagabox_purged;
INSERT INTO temp.sagabox_purged (key, nth)
SELECT place, row_number() OVER (ORDER BY seq)
FROM (SELECT place, seq FROM "{table}_pending" WHERE written_at <= ?1
      ORDER BY seq
      LIMIT ?2 + 1);
UPDATE sagabox_outbox
SET seq = max(seq, purged.last),
    gone = gone + purged.row_count,
    waiting = waiting - purged.waited,
    taken = taken + purged.row_count
FROM (SELECT coalesce(max(key & 35184372088831), 0) AS last, count(*) AS row_count,
             count(*) FILTER (WHERE key < 35184372088832) AS waited
      FROM temp.sagabox_purged WHERE nth <= ?2) AS purged
WHERE name = '{table}';
SELECT (SELECT count(*) FROM temp.sagabox_purged) > ?2,
  (SELECT count(*) FROM temp.sagabox_purged WHERE nth <= ?2), told.*
FROM (SELECT 1) AS one
LEFT JOIN (
  SELECT 'pending', seq, 0, attempts, replays, written_at, due, retrying, NULL, code, error, NULL,
    history, length(payload), id, tenant, topic, aggregate_type, aggregate_id, key, priority,
    is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, digest, digest IS NULL, NULL
  FROM "{table}_pending"
  WHERE ?3 AND place IN (SELECT key FROM temp.sagabox_purged WHERE nth <= ?2)
) AS told ON true;
DELETE FROM "{table}_pending" WHERE place IN (SELECT key FROM temp.sagabox_purged WHERE nth <= ?2);

-- name: purge_ended
-- The same, and ?4 state.
CREATE TEMP TABLE IF NOT EXISTS sagabox_purged (key INTEGER PRIMARY KEY, nth INTEGER NOT NULL);
DELETE FROM temp.sagabox_purged;
INSERT INTO temp.sagabox_purged (key, nth)
SELECT seq, row_number() OVER (ORDER BY ended_at, seq)
FROM (SELECT seq, ended_at FROM "{table}_dead" WHERE state = ?4 AND ended_at <= ?1
      ORDER BY ended_at, seq
      LIMIT ?2 + 1);
UPDATE sagabox_outbox
SET dead = dead - CASE WHEN ?4 = 'dead' THEN purged.row_count ELSE 0 END,
    quarantined = quarantined - CASE WHEN ?4 = 'quarantined' THEN purged.row_count ELSE 0 END
FROM (SELECT count(*) AS row_count FROM temp.sagabox_purged WHERE nth <= ?2) AS purged
WHERE name = '{table}';
SELECT (SELECT count(*) FROM temp.sagabox_purged) > ?2,
  (SELECT count(*) FROM temp.sagabox_purged WHERE nth <= ?2), told.*
FROM (SELECT 1) AS one
LEFT JOIN (
  SELECT state, seq, 0, attempts, replays, written_at, NULL, 0, ended_at, code, error, note,
    history, length(payload), id, tenant, topic, aggregate_type, aggregate_id, key, priority,
    is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, digest, digest IS NULL, NULL
  FROM "{table}_dead"
  WHERE ?3 AND seq IN (SELECT key FROM temp.sagabox_purged WHERE nth <= ?2)
) AS told ON true;
DELETE FROM "{table}_dead" WHERE seq IN (SELECT key FROM temp.sagabox_purged WHERE nth <= ?2);

-- name: purge_done
-- Oldest first. No message ends before it is written, and later messages have higher sequences: the
-- scan ends with the first that was written too late, or with a full batch. So no index by time is
-- needed.
CREATE TEMP TABLE IF NOT EXISTS sagabox_purged (key INTEGER PRIMARY KEY, nth INTEGER NOT NULL);
DELETE FROM temp.sagabox_purged;
INSERT INTO temp.sagabox_purged (key, nth)
WITH RECURSIVE walk (seq, is_old, nth) AS (
  SELECT seq, ended_at <= ?1, ended_at <= ?1
  FROM (SELECT seq, ended_at, written_at FROM "{table}_archive" ORDER BY seq LIMIT 1)
  WHERE written_at <= ?1
  UNION ALL
  SELECT t.seq, t.ended_at <= ?1, walk.nth + (t.ended_at <= ?1)
  FROM walk CROSS JOIN "{table}_archive" AS t
    ON t.seq = (SELECT min(seq) FROM "{table}_archive" WHERE seq > walk.seq)
  WHERE t.written_at <= ?1 AND walk.nth <= ?2
)
SELECT seq, nth FROM walk WHERE is_old;
UPDATE sagabox_outbox
SET done = done - purged.row_count
FROM (SELECT count(*) AS row_count FROM temp.sagabox_purged WHERE nth <= ?2) AS purged
WHERE name = '{table}';
SELECT (SELECT count(*) FROM temp.sagabox_purged) > ?2,
  (SELECT count(*) FROM temp.sagabox_purged WHERE nth <= ?2), told.*
FROM (SELECT 1) AS one
LEFT JOIN (
  SELECT 'done', seq, 0, attempts, replays, written_at, NULL, 0, ended_at, code, error, NULL,
    history, length(payload), id, tenant, topic, aggregate_type, aggregate_id, key, priority,
    is_json, content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, digest, digest IS NULL, NULL
  FROM "{table}_archive"
  WHERE ?3 AND seq IN (SELECT key FROM temp.sagabox_purged WHERE nth <= ?2)
) AS told ON true;
DELETE FROM "{table}_archive" WHERE seq IN (SELECT key FROM temp.sagabox_purged WHERE nth <= ?2);

-- name: strays
-- ?1 rows_max. The table checks every place; this finds rows that bypassed the check. Returns
-- sequence, id and what is wrong.
SELECT seq, id, 'pending, but in no place that relays read'
FROM "{table}_pending" WHERE place < 1
UNION ALL
SELECT seq, id, 'pending, but in no place that relays read'
FROM "{table}_pending" WHERE place > 140737488355327
LIMIT ?1;
