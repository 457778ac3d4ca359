-- Reading and settling one outbox. Native, because throughput depends on them.

-- name: read
-- ?1 place after, ?2 last place of the lane, ?3 rows_max.
SELECT place, attempts, replays, targets_done, written_at, due, retrying,
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, content_type, headers,
  occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, digest, payload
FROM "{table}_pending"
WHERE place > ?1 AND place <= ?2
ORDER BY place
LIMIT ?3 + 1;

-- name: read_due
-- ?1 after_due, ?2 place after, ?3 now, ?4 rows_max.
SELECT place, attempts, replays, targets_done, written_at, due, retrying,
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, content_type, headers,
  occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, digest, payload
FROM "{table}_pending"
WHERE due IS NOT NULL AND (due, place) > (?1, ?2) AND due <= ?3
ORDER BY due, place
LIMIT ?4 + 1;

-- name: read_retrying_keys
-- ?1 place after, ?2 last place, ?3 rows_max. Retries are among the waiting rows.
SELECT place, key, tenant
FROM "{table}_pending"
WHERE place > ?1 AND place <= ?2 AND retrying AND key IS NOT NULL
ORDER BY place
LIMIT ?3 + 1;

-- name: settle_remove
-- ?1 place, ?2 id; empty if the id of the row cannot be read: the place is enough then.
DELETE FROM "{table}_pending" WHERE place = ?1 AND ?2 IN (id, '');

-- name: settle_remove_run
-- ?1 first place, ?2 last place. sagabox_expected() is a function of the connection that returns
-- whether the settle names this row.
DELETE FROM "{table}_pending" WHERE place BETWEEN ?1 AND ?2 AND sagabox_expected(place, id);

-- name: settle_archive_run
-- ?1 first place, ?2 last place, ?3 now, ?4 attempts. OR FAIL: a failed settle is rolled back as a
-- whole, so this statement needs no statement journal.
INSERT OR FAIL INTO "{table}_archive" (
  seq, ended_at, attempts, failed_for_good, replays, written_at, code, error, history,
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, digest, content_type,
  headers, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, payload)
SELECT seq, ?3, ?4, failed_for_good, replays, written_at, code, error, history,
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, digest, content_type,
  headers, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, payload
FROM "{table}_pending"
WHERE place BETWEEN ?1 AND ?2 AND sagabox_expected(place, id)
ORDER BY place;

-- name: settle_failures
-- ?1 place, ?2 id; empty if the id of the row cannot be read.
SELECT failed_for_good, code, error, history FROM "{table}_pending"
WHERE place = ?1 AND ?2 IN (id, '');

-- name: settle_retry
-- ?1 place, ?2 new place, ?3 attempts, ?4 due, ?5 failed for good, ?6 code, ?7 error, ?8 history,
-- ?9 targets done.
UPDATE "{table}_pending"
SET place = ?2, attempts = ?3, due = ?4, retrying = 1, failed_for_good = ?5, code = ?6,
    error = ?7, history = ?8, targets_done = ?9
WHERE place = ?1;

-- name: settle_attempt
-- ?1 place, ?2 id, ?3 attempts.
UPDATE "{table}_pending" SET attempts = ?3 WHERE place = ?1 AND id = ?2;

-- name: settle_failed_attempt
-- ?1 place, ?2 attempts, ?3 code, ?4 error, ?5 history.
UPDATE "{table}_pending" SET attempts = ?2, code = ?3, error = ?4, history = ?5 WHERE place = ?1;

-- name: settle_bury
-- ?1 place, ?2 state, ?3 now, ?4 attempts, ?5 failed for good, ?6 code, ?7 error, ?8 history,
-- ?9 note.
INSERT INTO "{table}_dead" (
  seq, state, ended_at, attempts, failed_for_good, replays, written_at, code, error, history, note,
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, digest, content_type,
  headers, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, payload)
SELECT seq, ?2, ?3, ?4, ?5, replays, written_at, ?6, ?7, ?8, ?9,
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, digest, content_type,
  headers, occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, payload
FROM "{table}_pending"
WHERE place = ?1;

-- name: settle_buried
-- ?1 sequence.
SELECT state, seq, 0, attempts, replays, written_at, NULL, 0, ended_at, code, error, note, history,
  length(payload),
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, content_type, headers,
  occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, digest,
  digest IS NULL, NULL
FROM "{table}_dead"
WHERE seq = ?1;

-- name: counts_add
-- ?1 outbox, ?2 to ?7 by how much each count changes, ?8 the highest sequence that is no longer in
-- the normal lane.
UPDATE sagabox_outbox
SET seq = max(seq, ?8), gone = gone + ?2, waiting = waiting + ?3, done = done + ?4,
    dead = dead + ?5, quarantined = quarantined + ?6, taken = taken + ?7
WHERE name = ?1;
