-- The statements of replays.
--
-- The filter of a job is ?1 tenant, ?2 topic, ?3 aggregate type, ?4 key, ?5 code, ?6 first
-- sequence, ?7 last sequence, ?8 retrying, ?9 from, ?10 until. A NULL matches everything. An ended
-- message is never retrying.

-- name: extent_pending
-- The number of matching messages, and the last sequence of them.
SELECT count(*), coalesce(max(seq), 0) FROM "{table}_pending"
WHERE (?1 IS NULL OR tenant = ?1)
  AND (?2 IS NULL OR topic = ?2)
  AND (?3 IS NULL OR aggregate_type = ?3)
  AND (?4 IS NULL OR coalesce(key, '') = ?4)
  AND (?5 IS NULL OR code = ?5)
  AND (?6 IS NULL OR seq >= ?6)
  AND (?7 IS NULL OR seq <= ?7)
  AND (NOT ?8 OR retrying)
  AND (?9 IS NULL OR written_at >= ?9)
  AND (?10 IS NULL OR written_at < ?10);

-- name: extent_ended
-- ?11 state.
SELECT count(*), coalesce(max(seq), 0) FROM "{table}_dead" WHERE state = ?11
  AND (?1 IS NULL OR tenant = ?1)
  AND (?2 IS NULL OR topic = ?2)
  AND (?3 IS NULL OR aggregate_type = ?3)
  AND (?4 IS NULL OR coalesce(key, '') = ?4)
  AND (?5 IS NULL OR code = ?5)
  AND (?6 IS NULL OR seq >= ?6)
  AND (?7 IS NULL OR seq <= ?7)
  AND NOT ?8
  AND (?9 IS NULL OR ended_at >= ?9)
  AND (?10 IS NULL OR ended_at < ?10);

-- name: extent_done
SELECT count(*), coalesce(max(seq), 0) FROM "{table}_archive"
WHERE (?1 IS NULL OR tenant = ?1)
  AND (?2 IS NULL OR topic = ?2)
  AND (?3 IS NULL OR aggregate_type = ?3)
  AND (?4 IS NULL OR coalesce(key, '') = ?4)
  AND (?5 IS NULL OR code = ?5)
  AND (?6 IS NULL OR seq >= ?6)
  AND (?7 IS NULL OR seq <= ?7)
  AND NOT ?8
  AND (?9 IS NULL OR ended_at >= ?9)
  AND (?10 IS NULL OR ended_at < ?10);

-- name: next_ended
-- The messages that a replay job takes next: ?11 cursor, ?12 last, ?13 rows_max, ?14 state. One row
-- more than rows_max if more is left.
SELECT seq FROM "{table}_dead"
WHERE state = ?14 AND seq > ?11 AND seq <= ?12
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
LIMIT ?13 + 1;

-- name: next_done
-- The same for delivered messages.
SELECT seq FROM "{table}_archive"
WHERE seq > ?11 AND seq <= ?12
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
LIMIT ?13 + 1;

-- name: replay
-- ?1 sequences, in the order in which they are replayed; ?2 now; ?3 whether as new: with a header
-- that numbers the replay. Returns those that were replayed; those whose tenant and id are pending
-- are not. Sequences are assigned without gaps, and the row of the outbox counts the moved
-- messages.
CREATE TEMP TABLE IF NOT EXISTS sagabox_replayed (
  seq INTEGER PRIMARY KEY,
  new_seq INTEGER NOT NULL,
  state TEXT NOT NULL
);
DELETE FROM temp.sagabox_replayed;
INSERT INTO temp.sagabox_replayed (seq, new_seq, state)
SELECT fit.seq, outbox.last + row_number() OVER (ORDER BY fit.place), fit.state
FROM (
  SELECT seq, state, place, row_number() OVER (PARTITION BY id, tenant ORDER BY place) AS nth
  FROM (
    SELECT t.seq, t.state, t.id, t.tenant, asked.key AS place
    FROM json_each(?1) AS asked CROSS JOIN "{table}_dead" AS t ON t.seq = asked.value
    UNION ALL
    SELECT t.seq, 'done', t.id, t.tenant, asked.key
    FROM json_each(?1) AS asked CROSS JOIN "{table}_archive" AS t ON t.seq = asked.value
  ) AS ended
  WHERE NOT EXISTS (SELECT 1 FROM "{table}_pending" AS p
                    WHERE p.id = ended.id AND p.tenant = ended.tenant)
) AS fit
CROSS JOIN (
  SELECT max(seq, coalesce((SELECT place FROM "{table}_pending"
                            WHERE place >= 105553116266496
                            ORDER BY place DESC LIMIT 1) - 105553116266496, 0)) AS last
  FROM sagabox_outbox WHERE name = '{table}'
) AS outbox
WHERE fit.nth = 1;
INSERT INTO "{table}_pending" (place, written_at, replays,
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, digest, content_type,
  headers, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, payload)
SELECT new_seq + CASE WHEN key IS NOT NULL OR priority = 1 THEN 105553116266496
       WHEN priority = 0 THEN 35184372088832 ELSE 70368744177664 END, ?2, replays + 1,
         id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, digest,
         content_type,
         CASE WHEN NOT ?3 OR NOT json_valid(coalesce(headers, '{}')) THEN headers
              ELSE json_set(coalesce(headers, '{}'), '$."sagabox-as-new"',
                            CAST(replays + 1 AS TEXT)) END,
         occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, payload
FROM temp.sagabox_replayed AS moved CROSS JOIN "{table}_dead" AS t ON t.seq = moved.seq
ORDER BY new_seq;
INSERT INTO "{table}_pending" (place, written_at, replays,
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, digest, content_type,
  headers, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, payload)
SELECT new_seq + CASE WHEN key IS NOT NULL OR priority = 1 THEN 105553116266496
       WHEN priority = 0 THEN 35184372088832 ELSE 70368744177664 END, ?2, replays + 1,
         id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, digest,
         content_type,
         CASE WHEN NOT ?3 OR NOT json_valid(coalesce(headers, '{}')) THEN headers
              ELSE json_set(coalesce(headers, '{}'), '$."sagabox-as-new"',
                            CAST(replays + 1 AS TEXT)) END,
         occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, payload
FROM temp.sagabox_replayed AS moved CROSS JOIN "{table}_archive" AS t ON t.seq = moved.seq
ORDER BY new_seq;
DELETE FROM "{table}_dead" WHERE seq IN (SELECT seq FROM temp.sagabox_replayed);
DELETE FROM "{table}_archive" WHERE seq IN (SELECT seq FROM temp.sagabox_replayed);
UPDATE sagabox_outbox
SET seq = max(seq, moved.last),
    done = done - moved.from_done,
    dead = dead - moved.from_dead,
    quarantined = quarantined - moved.from_quarantined
FROM (SELECT coalesce(max(new_seq), 0) AS last,
             count(*) FILTER (WHERE state = 'done') AS from_done,
             count(*) FILTER (WHERE state = 'dead') AS from_dead,
             count(*) FILTER (WHERE state = 'quarantined') AS from_quarantined
      FROM temp.sagabox_replayed) AS moved
WHERE name = '{table}';
SELECT seq FROM temp.sagabox_replayed ORDER BY new_seq;
