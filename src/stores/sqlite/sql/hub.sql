-- The delivery hub. Times are microseconds, other durations nanoseconds. Lists are JSON text; "in
-- turn" says that a statement runs once for each element of its lists. There is one shard, 0.

-- name: hub_made
SELECT 1 FROM sqlite_schema WHERE name = 'sagabox_hub_event';

-- name: hub_shards
SELECT 1 FROM sqlite_schema WHERE name = 'sagabox_hub_event';

-- name: hub_publish
-- ?1 id, ?2 tenant, ?3 source, ?4 external id, ?5 type, ?6 key, ?7 whether it is JSON, ?8 digest,
-- ?9 aggregate type and ?10 id, ?11 priority, ?12 content type, ?13 headers, ?14 time, ?15
-- traceparent, ?16 tracestate, ?17 request id, ?18 correlation id, ?19 payload, ?20 shard, ?21 now;
-- each event in turn. The ids of those that were not there.
INSERT INTO sagabox_hub_event (
  id, tenant, source, external_id, type, key, is_json, digest, aggregate_type, aggregate_id,
  priority, content_type, headers, occurred_at, traceparent, tracestate, request_id,
  correlation_id, payload, published_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?21)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: hub_known
-- ?1 id, ?2 tenant, ?3 source, ?4 external id; each event in turn.
SELECT id, tenant, source, external_id, type, digest
FROM sagabox_hub_event
WHERE id = ?1
UNION ALL
SELECT id, tenant, source, external_id, type, digest
FROM sagabox_hub_event
WHERE tenant = ?2 AND source = ?3 AND external_id = ?4 AND external_id <> '';

-- name: hub_unpublish
-- ?1 ids. In the transaction that published them.
DELETE FROM sagabox_hub_event WHERE id IN (SELECT value FROM json_each(?1));

-- name: hub_read
-- Shards ?1, after ?2, rows at most ?3; bytes at most ?4. The number of the range, three columns
-- that tell nothing here, the event. One row more than asked for, if there is one, and one more
-- than fits.
SELECT (SELECT s.key + 1 FROM json_each(?1) AS s WHERE s.value = 0), NULL, NULL, NULL,
       seq, id, tenant, source, external_id, type, key, is_json, digest, aggregate_type,
       aggregate_id, priority, content_type, headers, occurred_at, traceparent, tracestate,
       request_id, correlation_id, published_at, 0, payload
FROM (
  SELECT *, row_number() OVER (ORDER BY seq) AS place,
         sum(octets) OVER (ORDER BY seq) AS octets_to
  FROM (
    SELECT *, length(payload) AS octets
    FROM sagabox_hub_event
    WHERE seq > (SELECT a.value FROM json_each(?2) AS a JOIN json_each(?1) AS s ON s.key = a.key
                 WHERE s.value = 0)
    ORDER BY seq
    LIMIT coalesce((SELECT m.value + 1 FROM json_each(?3) AS m JOIN json_each(?1) AS s
                    ON s.key = m.key WHERE s.value = 0), 0)))
WHERE place <= 2 OR octets_to - octets <= ?4
ORDER BY seq;

-- name: hub_draw_transaction
-- Commits come in order here.
SELECT 1;

-- name: hub_positions
-- ?1 shards.
SELECT shard, position FROM sagabox_hub_position
WHERE shard IN (SELECT value FROM json_each(?1));

-- name: hub_hold
-- ?1 scope, ?2 owner; shards ?3, epochs ?4. The shards whose fence holds.
SELECT o.shard
FROM json_each(?3) AS s
JOIN json_each(?4) AS e ON e.key = s.key
JOIN sagabox_owner AS o ON o.scope = ?1 AND o.shard = s.value AND o.epoch = e.value
WHERE o.owner = ?2;

-- name: hub_move
-- ?1 shard, ?2 position; each in turn.
INSERT INTO sagabox_hub_position AS p (shard, position)
VALUES (?1, ?2)
ON CONFLICT (shard) DO UPDATE SET position = excluded.position
WHERE excluded.position > p.position;

-- name: hub_changed
-- After change ?1, ?2 now. From the start without those that have been disabled for days: they
-- match nothing, and nobody has to be told about them.
SELECT id, tenant, name, state, types, target, settings, reason, active_since, version, change,
       created_at, changed_at
FROM sagabox_hub_subscription
WHERE change > ?1 AND (?1 > 0 OR state <> 'disabled' OR changed_at > ?2 - 172800000000)
ORDER BY change;

-- name: hub_named
-- ?1 subscriptions.
SELECT id, tenant, name, state, types, target, settings, reason, active_since, version, change,
       created_at, changed_at
FROM sagabox_hub_subscription
WHERE id IN (SELECT value FROM json_each(?1));

-- name: hub_subscription_lock
-- ?1 id. As it is until the transaction ends.
SELECT id, tenant, name, state, types, target, settings, reason, active_since, version, change,
       created_at, changed_at
FROM sagabox_hub_subscription
WHERE id = ?1;

-- name: hub_subscription_get
-- ?1 id.
SELECT id, tenant, name, state, types, target, settings, reason, active_since, version, change,
       created_at, changed_at
FROM sagabox_hub_subscription
WHERE id = ?1;

-- name: hub_subscription_write
-- ?1 id, ?2 tenant, ?3 name, ?4 state, ?5 types, ?6 target, ?7 settings, ?8 reason, ?9 active since,
-- ?10 version, ?11 now. A row if it was written.
INSERT INTO sagabox_hub_subscription AS s (
  id, tenant, name, state, types, target, settings, reason, active_since, version, change,
  created_at, changed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
        (SELECT coalesce(max(change), 0) + 1 FROM sagabox_hub_subscription), ?11, ?11)
ON CONFLICT (id) DO UPDATE
SET name = excluded.name, state = excluded.state, types = excluded.types,
    target = excluded.target, settings = excluded.settings, reason = excluded.reason,
    active_since = excluded.active_since, version = excluded.version, change = excluded.change,
    changed_at = excluded.changed_at
WHERE s.version = excluded.version - 1
RETURNING 1;

-- name: hub_subscription_list
-- After ?1; ?2 tenant, ?3 state, ?4 name, where they are not null; ?5 rows at most.
SELECT id, tenant, name, state, types, target, settings, reason, active_since, version, change,
       created_at, changed_at
FROM sagabox_hub_subscription
WHERE id > ?1 AND (?2 IS NULL OR tenant = ?2) AND (?3 IS NULL OR state = ?3)
  AND (?4 IS NULL OR name = ?4)
ORDER BY id
LIMIT ?5;

-- name: hub_subscription_list_in
-- The same of one tenant.
SELECT id, tenant, name, state, types, target, settings, reason, active_since, version, change,
       created_at, changed_at
FROM sagabox_hub_subscription
WHERE tenant = ?2 AND id > ?1 AND (?3 IS NULL OR state = ?3) AND (?4 IS NULL OR name = ?4)
ORDER BY id
LIMIT ?5;

-- name: hub_subscription_count
-- ?1 tenant. Those that are not disabled, and those that are.
SELECT coalesce(sum(state <> 'disabled'), 0), coalesce(sum(state = 'disabled'), 0)
FROM sagabox_hub_subscription
WHERE tenant = ?1;

-- name: hub_disable
-- ?1 id, ?2 reason, ?3 change, ?4 now. A row if it was not disabled, and still is as that change left it.
UPDATE sagabox_hub_subscription
SET state = 'disabled', reason = ?2, version = version + 1, changed_at = ?4,
    change = (SELECT max(change) + 1 FROM sagabox_hub_subscription)
WHERE id = ?1 AND state <> 'disabled' AND change = ?3
RETURNING 1;

-- name: hub_secret_add
-- ?1 subscription, ?2 sealed secret, ?3 overlap in microseconds, ?4 now. Its number.
UPDATE sagabox_hub_secret
SET expires_at = min(coalesce(expires_at, ?4 + ?3), ?4 + ?3)
WHERE subscription = ?1;
INSERT INTO sagabox_hub_secret (subscription, number, sealed, created_at)
SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?4
FROM sagabox_hub_secret
WHERE subscription = ?1
RETURNING number;

-- name: hub_secrets
-- ?1 subscriptions, ?2 now.
SELECT subscription, number, sealed, created_at, expires_at
FROM sagabox_hub_secret
WHERE subscription IN (SELECT value FROM json_each(?1))
  AND (expires_at IS NULL OR expires_at > ?2)
ORDER BY subscription, number DESC;

-- name: hub_reseal
-- ?1 subscription, ?2 number, ?3 secret as it is stored, ?4 as it is to be; each in turn. A row if it
-- was as it was expected.
UPDATE sagabox_hub_secret SET sealed = ?4
WHERE subscription = ?1 AND number = ?2 AND sealed = ?3
RETURNING 1;

-- name: hub_drop_secrets
-- ?1 rows at most, ?2 now. Those that have expired; a row each.
DELETE FROM sagabox_hub_secret
WHERE (subscription, number) IN (
  SELECT s.subscription, s.number FROM sagabox_hub_secret AS s
  WHERE s.expires_at IS NOT NULL AND s.expires_at <= ?2
  ORDER BY s.expires_at
  LIMIT ?1)
RETURNING 1;

-- name: hub_add
-- ?1 id, ?2 event, ?3 subscription, ?4 generation, ?5 tenant, ?6 type, ?7 key, ?8 shard, ?9
-- correlation id, ?10 now; each delivery in turn. The ids of those that were not there.
INSERT INTO sagabox_hub_delivery (
  id, event, subscription, generation, tenant, type, key, correlation_id, next_attempt_at,
  created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?9, ?10, ?10)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: hub_open
-- ?1 shard, after subscription ?2, ?3 rows at most. From one subscription to the next.
WITH RECURSIVE pending (subscription) AS (
  SELECT * FROM (
    SELECT subscription FROM sagabox_hub_delivery
    WHERE state = 'pending' AND subscription > ?2 AND ?1 = 0
    ORDER BY subscription LIMIT 1)
  UNION ALL
  SELECT (SELECT d.subscription FROM sagabox_hub_delivery AS d
          WHERE d.state = 'pending' AND d.subscription > p.subscription
          ORDER BY d.subscription LIMIT 1)
  FROM pending AS p
  WHERE p.subscription IS NOT NULL
  LIMIT ?3
)
SELECT p.subscription,
       (SELECT d.next_attempt_at FROM sagabox_hub_delivery AS d
        WHERE d.state = 'pending' AND d.subscription = p.subscription
        ORDER BY d.next_attempt_at LIMIT 1)
FROM pending AS p
WHERE p.subscription IS NOT NULL;

-- name: hub_due
-- ?1 shard, ?2 subscription, after ?3 time and ?4 sequence, ?5 rows at most; each page in turn. ?6
-- now.
SELECT seq, id, event, subscription, generation, tenant, type, key, 0, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM sagabox_hub_delivery
WHERE state = 'pending' AND ?1 = 0 AND subscription = ?2 AND (next_attempt_at, seq) > (?3, ?4)
  AND next_attempt_at <= ?6
ORDER BY next_attempt_at, seq
LIMIT ?5;

-- name: hub_in_progress
-- ?1 shard, after id ?2, ?3 rows at most.
SELECT seq, id, event, subscription, generation, tenant, type, key, 0, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM sagabox_hub_delivery
WHERE state = 'in_progress' AND ?1 = 0 AND id > ?2
ORDER BY id
LIMIT ?3;

-- name: hub_begin
-- ?1 delivery, ?2 attempt; each in turn. ?3: the fenced shards. Delivery, attempt, and whether it
-- has begun; no row for what does not fit. With a key, only if no earlier delivery of it is open,
-- and none is in progress.
UPDATE sagabox_hub_delivery AS d
SET (state, attempt) = (
  SELECT CASE WHEN is_first THEN 'in_progress' ELSE 'waiting' END,
         CASE WHEN is_first THEN ?2 ELSE d.attempt END
  FROM (SELECT d.key = '' OR NOT EXISTS (
          SELECT 1 FROM sagabox_hub_delivery AS e
          WHERE e.subscription = d.subscription AND e.key = d.key AND e.seq < d.seq
            AND e.key <> '' AND e.state IN ('pending', 'waiting', 'in_progress'))
          AND NOT EXISTS (
          SELECT 1 FROM sagabox_hub_delivery AS b
          WHERE b.subscription = d.subscription AND b.key = d.key
            AND b.key <> '' AND b.state = 'in_progress') AS is_first))
WHERE d.id = ?1 AND d.state = 'pending' AND d.attempt = ?2 - 1;
SELECT id, ?2, state = 'in_progress'
FROM sagabox_hub_delivery
WHERE id = ?1 AND ((state = 'in_progress' AND attempt = ?2)
                   OR (state = 'waiting' AND attempt = ?2 - 1));

-- name: hub_change
-- ?1 delivery, ?2 attempt, ?3 state, ?4 failures, ?5 time of the next attempt, ?6 code, ?7 error, ?8
-- status, ?9 now; each in turn. ?10: the fenced shards. Those that are so now. Whatever an attempt
-- ends with, the first open delivery of its key may go.
UPDATE sagabox_hub_delivery
SET state = ?3, failures = ?4, code = ?6, error = ?7, status = ?8,
    next_attempt_at = CASE WHEN ?3 = 'pending' THEN ?5 ELSE next_attempt_at END,
    ended_at = CASE WHEN ?3 <> 'pending' THEN ?9 END
WHERE id = ?1 AND attempt = ?2 AND state = 'in_progress';
UPDATE sagabox_hub_delivery
SET state = 'pending'
WHERE state = 'waiting' AND seq = (
  SELECT e.seq
  FROM sagabox_hub_delivery AS d
  JOIN sagabox_hub_delivery AS e ON e.subscription = d.subscription AND e.key = d.key
  WHERE d.id = ?1 AND d.state IN ('completed', 'dead', 'pending')
    AND e.key <> '' AND e.state IN ('pending', 'waiting', 'in_progress')
  ORDER BY e.seq
  LIMIT 1);
SELECT id, attempt
FROM sagabox_hub_delivery
WHERE id = ?1 AND attempt = ?2 AND (state = ?3 OR (?3 = 'pending' AND state = 'waiting'));

-- name: hub_end_unsent
-- The same for those that are not under way, whose subscription is disabled.
UPDATE sagabox_hub_delivery
SET state = ?3, failures = ?4, code = ?6, error = ?7, status = ?8, ended_at = ?9
WHERE id = ?1 AND attempt = ?2 AND state IN ('pending', 'waiting')
  AND coalesce(
    (SELECT s.state FROM sagabox_hub_subscription AS s
     WHERE s.id = sagabox_hub_delivery.subscription),
    'disabled') = 'disabled';
UPDATE sagabox_hub_delivery
SET state = 'pending'
WHERE state = 'waiting' AND seq = (
  SELECT e.seq
  FROM sagabox_hub_delivery AS d
  JOIN sagabox_hub_delivery AS e ON e.subscription = d.subscription AND e.key = d.key
  WHERE d.id = ?1 AND d.state IN ('completed', 'dead')
    AND e.key <> '' AND e.state IN ('pending', 'waiting', 'in_progress')
  ORDER BY e.seq
  LIMIT 1);
SELECT id, attempt
FROM sagabox_hub_delivery
WHERE id = ?1 AND attempt = ?2 AND state = ?3;

-- name: hub_doomed
-- ?1 shard, ?2 subscription, ?3 rows at most. Each kind in the order of its index: a page costs its
-- rows, however many there are. None once the subscription is not disabled any more: its owner may not
-- know that yet.
SELECT * FROM (
  SELECT seq, id, event, subscription, generation, tenant, type, key, 0, state, attempt, failures,
         next_attempt_at, created_at, ended_at, correlation_id, code, error, status
  FROM sagabox_hub_delivery INDEXED BY sagabox_hub_delivery_waiting
  WHERE state = 'waiting' AND ?1 = 0 AND subscription = ?2
    AND coalesce((SELECT s.state FROM sagabox_hub_subscription AS s WHERE s.id = ?2), 'disabled')
        = 'disabled'
  ORDER BY seq
  LIMIT ?3)
UNION ALL
SELECT * FROM (
  SELECT seq, id, event, subscription, generation, tenant, type, key, 0, state, attempt, failures,
         next_attempt_at, created_at, ended_at, correlation_id, code, error, status
  FROM sagabox_hub_delivery
  WHERE state = 'pending' AND ?1 = 0 AND subscription = ?2
    AND coalesce((SELECT s.state FROM sagabox_hub_subscription AS s WHERE s.id = ?2), 'disabled')
        = 'disabled'
  ORDER BY next_attempt_at, seq
  LIMIT ?3)
LIMIT ?3;

-- name: hub_waiting_page
-- ?1 shard, after subscription ?2 and sequence ?3, ?4 rows at most. The last row of a page that is
-- full.
SELECT subscription, seq
FROM sagabox_hub_delivery
WHERE state = 'waiting' AND ?1 = 0 AND (subscription, seq) > (?2, ?3)
ORDER BY subscription, seq
LIMIT 1 OFFSET ?4 - 1;

-- name: hub_release_strays
-- The same page. A row each.
UPDATE sagabox_hub_delivery
SET state = 'pending'
WHERE seq IN (
  SELECT w.seq
  FROM (
    SELECT subscription, key, seq
    FROM sagabox_hub_delivery
    WHERE state = 'waiting' AND ?1 = 0 AND (subscription, seq) > (?2, ?3)
    ORDER BY subscription, seq
    LIMIT ?4) AS w
  WHERE NOT EXISTS (
    SELECT 1 FROM sagabox_hub_delivery AS e
    WHERE e.subscription = w.subscription AND e.key = w.key AND e.seq < w.seq
      AND e.key <> '' AND e.state IN ('pending', 'waiting', 'in_progress'))
    AND NOT EXISTS (
    SELECT 1 FROM sagabox_hub_delivery AS b
    WHERE b.subscription = w.subscription AND b.key = w.key
      AND b.key <> '' AND b.state = 'in_progress'))
RETURNING 1;

-- name: hub_bury
-- ?1 deliveries.
INSERT INTO sagabox_hub_dead (
  delivery, seq, id, tenant, source, external_id, type, key, is_json, digest, aggregate_type,
  aggregate_id, priority, content_type, headers, occurred_at, traceparent, tracestate, request_id,
  correlation_id, published_at, payload)
SELECT d.id, e.seq, e.id, e.tenant, e.source, e.external_id, e.type, e.key, e.is_json, e.digest,
       e.aggregate_type, e.aggregate_id, e.priority, e.content_type, e.headers, e.occurred_at,
       e.traceparent, e.tracestate, e.request_id, e.correlation_id, e.published_at, e.payload
FROM sagabox_hub_delivery AS d
JOIN sagabox_hub_event AS e ON e.id = d.event
WHERE d.id IN (SELECT value FROM json_each(?1))
ON CONFLICT (delivery) DO NOTHING;

-- name: hub_make_jobs
-- ?1 delivery, ?2 attempt, ?3 subscription, ?4 shard, ?5 now; each in turn.
INSERT INTO sagabox_hub_job (delivery, attempt, subscription, attempt_at)
VALUES (?1, ?2, ?3, ?5)
ON CONFLICT (delivery, attempt) DO NOTHING;

-- name: hub_without_job
-- ?1 delivery, ?2 attempt; each in turn.
SELECT ?1, ?2
WHERE NOT EXISTS (SELECT 1 FROM sagabox_hub_job WHERE delivery = ?1 AND attempt = ?2);

-- name: hub_ended
-- ?1 shard, ?2 rows at most.
SELECT delivery, attempt, 0, subscription, state, attempt_at, resets, worker, lease_until,
       ended_at, code, error, status, answer, retry_after, took
FROM sagabox_hub_job
WHERE ended_at IS NOT NULL AND NOT seen AND ?1 = 0
ORDER BY ended_at, delivery, attempt
LIMIT ?2;

-- name: hub_seen
-- ?1 delivery, ?2 attempt; each in turn. Not while the delivery is in progress at that attempt: its
-- result counts still, whatever its owner takes it for, and nobody else would ever look at it.
UPDATE sagabox_hub_job SET seen = 1
WHERE delivery = ?1 AND attempt = ?2 AND ended_at IS NOT NULL
  AND NOT EXISTS (
    SELECT 1 FROM sagabox_hub_delivery AS d
    WHERE d.id = ?1 AND d.state = 'in_progress' AND d.attempt = ?2);

-- name: hub_lease
-- ?1 token, ?2 worker, ?3 lease in microseconds, ?4 rows at most, ?5 now, ?6 bytes at most of
-- payloads, after the first. The jobs, each with its delivery and event, or nulls where they are
-- gone.
UPDATE sagabox_hub_job
SET state = 'leased', token = ?1, worker = ?2, lease_until = ?5 + ?3
WHERE (delivery, attempt) IN (
  SELECT delivery, attempt
  FROM (
    SELECT delivery, attempt, sum(octets) OVER so_far AS octets_to,
           row_number() OVER so_far AS number
    FROM (
      SELECT j.delivery, j.attempt, j.attempt_at,
             coalesce((SELECT length(e.payload)
                       FROM sagabox_hub_delivery AS d JOIN sagabox_hub_event AS e ON e.id = d.event
                       WHERE d.id = j.delivery), 0) AS octets
      FROM sagabox_hub_job AS j
      WHERE j.state = 'pending'
      ORDER BY j.attempt_at, j.delivery, j.attempt
      LIMIT ?4)
    WINDOW so_far AS (ORDER BY attempt_at, delivery, attempt ROWS UNBOUNDED PRECEDING))
  WHERE number = 1 OR octets_to <= ?6);
SELECT j.delivery, j.attempt, 0, j.subscription, j.state, j.attempt_at, j.resets, j.worker,
       j.lease_until, j.ended_at, j.code, j.error, j.status, j.answer, j.retry_after, j.took,
       d.seq, d.id, d.event, d.subscription, d.generation, d.tenant, d.type, d.key, 0, d.state,
       d.attempt, d.failures, d.next_attempt_at, d.created_at, d.ended_at, d.correlation_id,
       d.code, d.error, d.status,
       e.seq, e.id, e.tenant, e.source, e.external_id, e.type, e.key, e.is_json, e.digest,
       e.aggregate_type, e.aggregate_id, e.priority, e.content_type, e.headers, e.occurred_at,
       e.traceparent, e.tracestate, e.request_id, e.correlation_id, e.published_at, 0, e.payload
FROM sagabox_hub_job AS j
LEFT JOIN sagabox_hub_delivery AS d ON d.id = j.delivery
LEFT JOIN sagabox_hub_event AS e ON e.id = d.event
WHERE j.state = 'leased' AND j.token = ?1
ORDER BY j.attempt_at, j.delivery, j.attempt;

-- name: hub_finish
-- ?1 delivery, ?2 attempt, ?3 token, ?4 state, ?5 code, ?6 error, ?7 status, ?8 answer, ?9 retry
-- after (-1: none), ?10 time taken, ?11 now; each in turn. Those that had the lease.
UPDATE sagabox_hub_job
SET state = ?4, code = ?5, error = ?6, status = ?7, answer = ?8,
    retry_after = CASE WHEN ?9 >= 0 THEN ?9 END, took = ?10, lease_until = NULL, ended_at = ?11
WHERE delivery = ?1 AND attempt = ?2 AND token = ?3 AND state = 'leased';
SELECT delivery, attempt FROM sagabox_hub_job
WHERE delivery = ?1 AND attempt = ?2 AND token = ?3;

-- name: hub_lost
-- ?1 rows at most, ?2 now. Leases that have run out, the oldest first. Behind each job: event,
-- tenant, correlation id and state of its delivery.
SELECT j.delivery, j.attempt, 0, j.subscription, j.state, j.attempt_at, j.resets, j.worker,
       j.lease_until, j.ended_at, j.code, j.error, j.status, j.answer, j.retry_after, j.took,
       coalesce(d.event, ''), coalesce(d.tenant, ''), coalesce(d.correlation_id, ''),
       coalesce(d.state, '')
FROM sagabox_hub_job AS j
LEFT JOIN sagabox_hub_delivery AS d ON d.id = j.delivery
WHERE j.state = 'leased' AND j.lease_until <= ?2
ORDER BY j.lease_until, j.delivery, j.attempt
LIMIT ?1;

-- name: hub_reset
-- ?1 delivery, ?2 attempt, ?3 resets before, ?4 state, ?5 worker, ?6 code, ?7 error, ?8 now; each in
-- turn. Those that were changed, with their state.
UPDATE sagabox_hub_job
SET state = ?4, resets = ?3 + 1, worker = ?5, token = '', lease_until = NULL, code = ?6,
    error = ?7, ended_at = CASE WHEN ?4 = 'failed' THEN ?8 END
WHERE delivery = ?1 AND attempt = ?2 AND state = 'leased' AND resets = ?3 AND lease_until <= ?8
RETURNING delivery, attempt, state;

-- name: hub_events
-- Before sequence ?1; ?2 tenant, ?3 type, ?4 key, ?5 source, ?6 external id, ?7 from, ?8 to, where
-- they are not null; ?9 rows at most. Without payloads, behind each its size.
SELECT seq, id, tenant, source, external_id, type, key, is_json, digest, aggregate_type,
       aggregate_id, priority, content_type, headers, occurred_at, traceparent, tracestate,
       request_id, correlation_id, published_at, 0, x'',
       length(payload)
FROM sagabox_hub_event
WHERE (?1 IS NULL OR seq < ?1) AND (?2 IS NULL OR tenant = ?2) AND (?3 IS NULL OR type = ?3)
  AND (?4 IS NULL OR key = ?4) AND (?5 IS NULL OR source = ?5)
  AND (?6 IS NULL OR external_id = ?6) AND (?7 IS NULL OR published_at >= ?7)
  AND (?8 IS NULL OR published_at < ?8)
ORDER BY seq DESC
LIMIT ?9;

-- name: hub_events_external
-- The same of those with external id ?6, which each source of a tenant has once: from one source to
-- the next.
WITH RECURSIVE source (tenant, source) AS (
  SELECT * FROM (
    SELECT tenant, source FROM sagabox_hub_event
    WHERE external_id <> '' AND tenant >= coalesce(?2, '')
    ORDER BY tenant, source LIMIT 1)
  UNION ALL
  SELECT n.tenant, n.source
  FROM source AS s
  JOIN sagabox_hub_event AS n ON n.seq = coalesce(
    (SELECT e.seq FROM sagabox_hub_event AS e
     WHERE e.external_id <> '' AND e.tenant = s.tenant AND e.source > s.source
     ORDER BY e.source LIMIT 1),
    (SELECT e.seq FROM sagabox_hub_event AS e
     WHERE e.external_id <> '' AND e.tenant > s.tenant
     ORDER BY e.tenant, e.source LIMIT 1))
  WHERE ?2 IS NULL OR s.tenant = ?2
)
SELECT e.seq, e.id, e.tenant, e.source, e.external_id, e.type, e.key, e.is_json, e.digest,
       e.aggregate_type, e.aggregate_id, e.priority, e.content_type, e.headers, e.occurred_at,
       e.traceparent, e.tracestate, e.request_id, e.correlation_id, e.published_at, 0, x'',
       length(e.payload)
FROM source AS s
CROSS JOIN sagabox_hub_event AS e
WHERE e.tenant = s.tenant AND e.source = s.source AND e.external_id = ?6 AND e.external_id <> ''
  AND (?1 IS NULL OR e.seq < ?1) AND (?2 IS NULL OR e.tenant = ?2) AND (?3 IS NULL OR e.type = ?3)
  AND (?4 IS NULL OR e.key = ?4) AND (?5 IS NULL OR e.source = ?5)
  AND (?7 IS NULL OR e.published_at >= ?7) AND (?8 IS NULL OR e.published_at < ?8)
ORDER BY e.seq DESC
LIMIT ?9;

-- name: hub_event
-- ?1 id.
SELECT seq, id, tenant, source, external_id, type, key, is_json, digest, aggregate_type,
       aggregate_id, priority, content_type, headers, occurred_at, traceparent, tracestate,
       request_id, correlation_id, published_at, 0, payload
FROM sagabox_hub_event
WHERE id = ?1;

-- name: hub_deliveries
-- Before sequence ?1; ?2 tenant, ?3 subscription, ?4 event, ?5 state, ?6 type, ?7 code, ?8 from, ?9
-- to, ?10 ended from, ?11 ended to, ?12 whether a later generation is there, where they are
-- not null; ?13 rows at most.
SELECT seq, id, event, subscription, generation, tenant, type, key, 0, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM sagabox_hub_delivery AS d
WHERE (?1 IS NULL OR seq < ?1) AND (?2 IS NULL OR tenant = ?2)
  AND (?3 IS NULL OR subscription = ?3) AND (?4 IS NULL OR event = ?4)
  AND (?5 IS NULL OR state = ?5) AND (?6 IS NULL OR type = ?6) AND (?7 IS NULL OR code = ?7)
  AND (?8 IS NULL OR created_at >= ?8) AND (?9 IS NULL OR created_at < ?9)
  AND (?10 IS NULL OR ended_at >= ?10) AND (?11 IS NULL OR ended_at < ?11)
  AND (?12 IS NULL OR ?12 = ((
    SELECT 1 FROM sagabox_hub_delivery AS n
    WHERE n.event = d.event AND n.subscription = d.subscription AND n.generation = d.generation + 1
    LIMIT 1) IS NOT NULL))
ORDER BY seq DESC
LIMIT ?13;

-- name: hub_deliveries_dead
-- The same of those that are dead, along their own index.
SELECT seq, id, event, subscription, generation, tenant, type, key, 0, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM sagabox_hub_delivery AS d
WHERE d.state = 'dead' AND (?1 IS NULL OR seq < ?1) AND (?2 IS NULL OR tenant = ?2)
  AND (?3 IS NULL OR subscription = ?3) AND (?4 IS NULL OR event = ?4)
  AND (?6 IS NULL OR type = ?6) AND (?7 IS NULL OR code = ?7)
  AND (?8 IS NULL OR created_at >= ?8) AND (?9 IS NULL OR created_at < ?9)
  AND (?10 IS NULL OR ended_at >= ?10) AND (?11 IS NULL OR ended_at < ?11)
  AND (?12 IS NULL OR ?12 = ((
    SELECT 1 FROM sagabox_hub_delivery AS n
    WHERE n.event = d.event AND n.subscription = d.subscription AND n.generation = d.generation + 1
    LIMIT 1) IS NOT NULL))
ORDER BY seq DESC
LIMIT ?13;

-- name: hub_deliveries_of
-- The same of one subscription.
SELECT seq, id, event, subscription, generation, tenant, type, key, 0, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM sagabox_hub_delivery AS d
WHERE subscription = ?3
  AND (?1 IS NULL OR seq < ?1) AND (?2 IS NULL OR tenant = ?2) AND (?4 IS NULL OR event = ?4)
  AND (?5 IS NULL OR state = ?5) AND (?6 IS NULL OR type = ?6) AND (?7 IS NULL OR code = ?7)
  AND (?8 IS NULL OR created_at >= ?8) AND (?9 IS NULL OR created_at < ?9)
  AND (?10 IS NULL OR ended_at >= ?10) AND (?11 IS NULL OR ended_at < ?11)
  AND (?12 IS NULL OR ?12 = ((
    SELECT 1 FROM sagabox_hub_delivery AS n
    WHERE n.event = d.event AND n.subscription = d.subscription AND n.generation = d.generation + 1
    LIMIT 1) IS NOT NULL))
ORDER BY seq DESC
LIMIT ?13;

-- name: hub_deliveries_of_dead
-- The same of those that are dead, along their own index.
SELECT seq, id, event, subscription, generation, tenant, type, key, 0, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM sagabox_hub_delivery AS d
WHERE d.state = 'dead' AND subscription = ?3
  AND (?1 IS NULL OR seq < ?1) AND (?2 IS NULL OR tenant = ?2) AND (?4 IS NULL OR event = ?4)
  AND (?6 IS NULL OR type = ?6) AND (?7 IS NULL OR code = ?7)
  AND (?8 IS NULL OR created_at >= ?8) AND (?9 IS NULL OR created_at < ?9)
  AND (?10 IS NULL OR ended_at >= ?10) AND (?11 IS NULL OR ended_at < ?11)
  AND (?12 IS NULL OR ?12 = ((
    SELECT 1 FROM sagabox_hub_delivery AS n
    WHERE n.event = d.event AND n.subscription = d.subscription AND n.generation = d.generation + 1
    LIMIT 1) IS NOT NULL))
ORDER BY seq DESC
LIMIT ?13;

-- name: hub_deliveries_in
-- The same of one tenant: the newest of each of its subscriptions, and of these the newest.
SELECT d.seq, d.id, d.event, d.subscription, d.generation, d.tenant, d.type, d.key, 0, d.state,
       d.attempt, d.failures, d.next_attempt_at, d.created_at, d.ended_at, d.correlation_id,
       d.code, d.error, d.status
FROM sagabox_hub_subscription AS s
CROSS JOIN sagabox_hub_delivery AS d
WHERE s.tenant = ?2 AND d.seq IN (
  SELECT i.seq
  FROM sagabox_hub_delivery AS i
  WHERE i.subscription = s.id AND i.tenant = ?2 AND (?1 IS NULL OR i.seq < ?1)
    AND (?3 IS NULL OR i.subscription = ?3) AND (?4 IS NULL OR i.event = ?4)
    AND (?5 IS NULL OR i.state = ?5) AND (?6 IS NULL OR i.type = ?6)
    AND (?7 IS NULL OR i.code = ?7) AND (?8 IS NULL OR i.created_at >= ?8)
    AND (?9 IS NULL OR i.created_at < ?9) AND (?10 IS NULL OR i.ended_at >= ?10)
    AND (?11 IS NULL OR i.ended_at < ?11)
    AND (?12 IS NULL OR ?12 = ((
      SELECT 1 FROM sagabox_hub_delivery AS n
      WHERE n.event = i.event AND n.subscription = i.subscription
        AND n.generation = i.generation + 1
      LIMIT 1) IS NOT NULL))
  ORDER BY i.seq DESC
  LIMIT ?13)
ORDER BY d.seq DESC
LIMIT ?13;

-- name: hub_deliveries_in_dead
-- The same of those that are dead, along their own index.
SELECT d.seq, d.id, d.event, d.subscription, d.generation, d.tenant, d.type, d.key, 0, d.state,
       d.attempt, d.failures, d.next_attempt_at, d.created_at, d.ended_at, d.correlation_id,
       d.code, d.error, d.status
FROM sagabox_hub_subscription AS s
CROSS JOIN sagabox_hub_delivery AS d
WHERE s.tenant = ?2 AND d.seq IN (
  SELECT i.seq
  FROM sagabox_hub_delivery AS i
  WHERE i.state = 'dead' AND i.subscription = s.id AND i.tenant = ?2 AND (?1 IS NULL OR i.seq < ?1)
    AND (?3 IS NULL OR i.subscription = ?3) AND (?4 IS NULL OR i.event = ?4)
    AND (?6 IS NULL OR i.type = ?6)
    AND (?7 IS NULL OR i.code = ?7) AND (?8 IS NULL OR i.created_at >= ?8)
    AND (?9 IS NULL OR i.created_at < ?9) AND (?10 IS NULL OR i.ended_at >= ?10)
    AND (?11 IS NULL OR i.ended_at < ?11)
    AND (?12 IS NULL OR ?12 = ((
      SELECT 1 FROM sagabox_hub_delivery AS n
      WHERE n.event = i.event AND n.subscription = i.subscription
        AND n.generation = i.generation + 1
      LIMIT 1) IS NOT NULL))
  ORDER BY i.seq DESC
  LIMIT ?13)
ORDER BY d.seq DESC
LIMIT ?13;

-- name: hub_deliveries_about
-- The same of one event.
SELECT seq, id, event, subscription, generation, tenant, type, key, 0, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM sagabox_hub_delivery AS d
WHERE event = ?4
  AND (?1 IS NULL OR seq < ?1) AND (?2 IS NULL OR tenant = ?2)
  AND (?3 IS NULL OR subscription = ?3)
  AND (?5 IS NULL OR state = ?5) AND (?6 IS NULL OR type = ?6) AND (?7 IS NULL OR code = ?7)
  AND (?8 IS NULL OR created_at >= ?8) AND (?9 IS NULL OR created_at < ?9)
  AND (?10 IS NULL OR ended_at >= ?10) AND (?11 IS NULL OR ended_at < ?11)
  AND (?12 IS NULL OR ?12 = ((
    SELECT 1 FROM sagabox_hub_delivery AS n
    WHERE n.event = d.event AND n.subscription = d.subscription AND n.generation = d.generation + 1
    LIMIT 1) IS NOT NULL))
ORDER BY seq DESC
LIMIT ?13;

-- name: hub_delivery
-- ?1 id.
SELECT seq, id, event, subscription, generation, tenant, type, key, 0, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM sagabox_hub_delivery
WHERE id = ?1;

-- name: hub_attempts
-- ?1 delivery.
SELECT delivery, attempt, 0, subscription, state, attempt_at, resets, worker, lease_until,
       ended_at, code, error, status, answer, retry_after, took
FROM sagabox_hub_job
WHERE delivery = ?1
ORDER BY attempt;

-- name: hub_dead
-- ?1 delivery.
SELECT seq, id, tenant, source, external_id, type, key, is_json, digest, aggregate_type,
       aggregate_id, priority, content_type, headers, occurred_at, traceparent, tracestate,
       request_id, correlation_id, published_at, 0, payload
FROM sagabox_hub_dead
WHERE delivery = ?1;

-- name: hub_count
-- ?1 tenant; null means all. ?2: so many of each subscription and state are counted. From one
-- subscription to the next, as each is one tenant's. Subscription, state, how many, the oldest of
-- those that were counted, whether there are more.
WITH RECURSIVE pending (subscription) AS (
  SELECT * FROM (
    SELECT subscription FROM sagabox_hub_delivery INDEXED BY sagabox_hub_delivery_pending
          WHERE state = 'pending' ORDER BY subscription, next_attempt_at, seq LIMIT 1)
  UNION ALL
  SELECT (SELECT d.subscription FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_pending
          WHERE d.state = 'pending' AND d.subscription > p.subscription
          ORDER BY d.subscription, d.next_attempt_at, d.seq LIMIT 1)
  FROM pending AS p
  WHERE p.subscription IS NOT NULL
), waiting (subscription) AS (
  SELECT * FROM (
    SELECT subscription FROM sagabox_hub_delivery INDEXED BY sagabox_hub_delivery_waiting
          WHERE state = 'waiting' ORDER BY subscription, seq LIMIT 1)
  UNION ALL
  SELECT (SELECT d.subscription FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_waiting
          WHERE d.state = 'waiting' AND d.subscription > p.subscription
          ORDER BY d.subscription, d.seq LIMIT 1)
  FROM waiting AS p
  WHERE p.subscription IS NOT NULL
), dead (subscription) AS (
  SELECT * FROM (
    SELECT subscription FROM sagabox_hub_delivery INDEXED BY sagabox_hub_delivery_dead_of
          WHERE state = 'dead' ORDER BY subscription, seq LIMIT 1)
  UNION ALL
  SELECT (SELECT d.subscription FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_dead_of
          WHERE d.state = 'dead' AND d.subscription > p.subscription
          ORDER BY d.subscription, d.seq LIMIT 1)
  FROM dead AS p
  WHERE p.subscription IS NOT NULL
)
SELECT subscription, state, min(deliveries, ?2), oldest, deliveries > ?2
FROM (
  SELECT one.subscription AS subscription, 'pending' AS state,
         (SELECT count(*) FROM (
            SELECT 1 FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_pending
            WHERE d.state = 'pending' AND d.subscription = one.subscription
            ORDER BY d.next_attempt_at, d.seq LIMIT ?2 + 1)) AS deliveries,
         (SELECT min(created_at) FROM (
            SELECT d.created_at FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_pending
            WHERE d.state = 'pending' AND d.subscription = one.subscription
            ORDER BY d.next_attempt_at, d.seq LIMIT ?2 + 1)) AS oldest
  FROM pending AS one
  WHERE one.subscription IS NOT NULL AND (?1 IS NULL OR ?1 = (
    SELECT d.tenant FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_pending
    WHERE d.state = 'pending' AND d.subscription = one.subscription
    LIMIT 1))
  UNION ALL
  SELECT one.subscription AS subscription, 'waiting' AS state,
         (SELECT count(*) FROM (
            SELECT 1 FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_waiting
            WHERE d.state = 'waiting' AND d.subscription = one.subscription
            ORDER BY d.seq LIMIT ?2 + 1)) AS deliveries,
         (SELECT min(created_at) FROM (
            SELECT d.created_at FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_waiting
            WHERE d.state = 'waiting' AND d.subscription = one.subscription
            ORDER BY d.seq LIMIT ?2 + 1)) AS oldest
  FROM waiting AS one
  WHERE one.subscription IS NOT NULL AND (?1 IS NULL OR ?1 = (
    SELECT d.tenant FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_waiting
    WHERE d.state = 'waiting' AND d.subscription = one.subscription
    LIMIT 1))
  UNION ALL
  SELECT subscription, 'in_progress', count(*), min(created_at)
  FROM (SELECT subscription, tenant, created_at FROM sagabox_hub_delivery
        WHERE state = 'in_progress' ORDER BY id LIMIT 100000)
  WHERE ?1 IS NULL OR tenant = ?1
  GROUP BY subscription
  UNION ALL
  SELECT one.subscription AS subscription, 'dead' AS state,
         (SELECT count(*) FROM (
            SELECT 1 FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_dead_of
            WHERE d.state = 'dead' AND d.subscription = one.subscription
            ORDER BY d.seq LIMIT ?2 + 1)) AS deliveries,
         (SELECT min(created_at) FROM (
            SELECT d.created_at FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_dead_of
            WHERE d.state = 'dead' AND d.subscription = one.subscription
            ORDER BY d.seq LIMIT ?2 + 1)) AS oldest
  FROM dead AS one
  WHERE one.subscription IS NOT NULL AND (?1 IS NULL OR ?1 = (
    SELECT d.tenant FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_dead_of
    WHERE d.state = 'dead' AND d.subscription = one.subscription
    LIMIT 1))
);

-- name: hub_count_of
-- The same of one subscription: ?1 its id, ?2 its shard, ?3 so many of each state, ?4 tenant.
SELECT ?1, state, min(deliveries, ?3), oldest, deliveries > ?3
FROM (
  SELECT 'pending' AS state, count(*) AS deliveries, min(created_at) AS oldest
  FROM (SELECT created_at FROM sagabox_hub_delivery INDEXED BY sagabox_hub_delivery_pending
        WHERE state = 'pending' AND ?2 = 0 AND subscription = ?1
          AND (?4 IS NULL OR tenant = ?4)
        ORDER BY next_attempt_at, seq
        LIMIT ?3 + 1)
  UNION ALL
  SELECT 'waiting' AS state, count(*) AS deliveries, min(created_at) AS oldest
  FROM (SELECT created_at FROM sagabox_hub_delivery INDEXED BY sagabox_hub_delivery_waiting
        WHERE state = 'waiting' AND ?2 = 0 AND subscription = ?1
          AND (?4 IS NULL OR tenant = ?4)
        ORDER BY seq
        LIMIT ?3 + 1)
  UNION ALL
  SELECT 'in_progress', count(*), min(created_at)
  FROM (SELECT subscription, tenant, created_at FROM sagabox_hub_delivery
        WHERE state = 'in_progress' ORDER BY id LIMIT 100000)
  WHERE subscription = ?1 AND (?4 IS NULL OR tenant = ?4)
  UNION ALL
  SELECT 'dead' AS state, count(*) AS deliveries, min(created_at) AS oldest
  FROM (SELECT created_at FROM sagabox_hub_delivery INDEXED BY sagabox_hub_delivery_dead_of
        WHERE state = 'dead' AND ?2 = 0 AND subscription = ?1
          AND (?4 IS NULL OR tenant = ?4)
        ORDER BY seq
        LIMIT ?3 + 1)
)
WHERE deliveries > 0;

-- name: hub_stats
-- ?1: so many of a state are counted, each along an index that has nothing else. Of pending,
-- waiting, in progress and dead: how many, and whether there are at least so many; then when the
-- oldest that has not ended was made. Where there are too many, that is the oldest of those that
-- are first of their subscription.
WITH RECURSIVE first_pending (subscription) AS (
  SELECT * FROM (
    SELECT subscription FROM sagabox_hub_delivery INDEXED BY sagabox_hub_delivery_pending
          WHERE state = 'pending' ORDER BY subscription, next_attempt_at, seq LIMIT 1)
  UNION ALL
  SELECT (SELECT d.subscription FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_pending
          WHERE d.state = 'pending' AND d.subscription > p.subscription
          ORDER BY d.subscription, d.next_attempt_at, d.seq LIMIT 1)
  FROM first_pending AS p
  WHERE p.subscription IS NOT NULL
), first_waiting (subscription) AS (
  SELECT * FROM (
    SELECT subscription FROM sagabox_hub_delivery INDEXED BY sagabox_hub_delivery_waiting
          WHERE state = 'waiting' ORDER BY subscription, seq LIMIT 1)
  UNION ALL
  SELECT (SELECT d.subscription FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_waiting
          WHERE d.state = 'waiting' AND d.subscription > p.subscription
          ORDER BY d.subscription, d.seq LIMIT 1)
  FROM first_waiting AS p
  WHERE p.subscription IS NOT NULL
), pending AS MATERIALIZED (
  SELECT count(*) AS counted, min(created_at) AS oldest
  FROM (SELECT created_at FROM sagabox_hub_delivery INDEXED BY sagabox_hub_delivery_pending
          WHERE state = 'pending'
        ORDER BY subscription, next_attempt_at, seq LIMIT ?1)
), waiting AS MATERIALIZED (
  SELECT count(*) AS counted, min(created_at) AS oldest
  FROM (SELECT created_at FROM sagabox_hub_delivery INDEXED BY sagabox_hub_delivery_waiting
          WHERE state = 'waiting'
        ORDER BY subscription, seq LIMIT ?1)
), in_progress AS MATERIALIZED (
  SELECT count(*) AS counted, min(created_at) AS oldest
  FROM (SELECT created_at FROM sagabox_hub_delivery WHERE state = 'in_progress'
        ORDER BY id LIMIT ?1)
), dead AS MATERIALIZED (
  SELECT count(*) AS counted
  FROM (SELECT 1 FROM sagabox_hub_delivery WHERE state = 'dead' ORDER BY ended_at LIMIT ?1)
)
SELECT pending.counted, pending.counted >= ?1, waiting.counted, waiting.counted >= ?1,
       in_progress.counted, in_progress.counted >= ?1, dead.counted, dead.counted >= ?1,
       (SELECT min(oldest) FROM (
          SELECT pending.oldest AS oldest
          UNION ALL SELECT waiting.oldest
          UNION ALL SELECT in_progress.oldest
          UNION ALL SELECT CASE WHEN pending.counted >= ?1 THEN (
            SELECT min((SELECT d.created_at FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_pending
                        WHERE d.state = 'pending' AND d.subscription = f.subscription
                        ORDER BY d.next_attempt_at, d.seq LIMIT 1))
            FROM (SELECT subscription FROM first_pending LIMIT ?1) AS f) END
          UNION ALL SELECT CASE WHEN waiting.counted >= ?1 THEN (
            SELECT min((SELECT d.created_at FROM sagabox_hub_delivery AS d INDEXED BY sagabox_hub_delivery_waiting
                        WHERE d.state = 'waiting' AND d.subscription = f.subscription
                        ORDER BY d.seq LIMIT 1))
            FROM (SELECT subscription FROM first_waiting LIMIT ?1) AS f) END))
FROM pending, waiting, in_progress, dead;

-- name: hub_unrouted
-- ?1: so many are counted. How many events lie behind the position, and when the first of them was
-- published.
SELECT count(*), min(published_at)
FROM (SELECT published_at FROM sagabox_hub_event
      WHERE seq > coalesce((SELECT p.position FROM sagabox_hub_position AS p WHERE p.shard = 0), 0)
      ORDER BY seq
      LIMIT ?1);

-- name: hub_health
-- ?1 subscription, ?2 age in microseconds, ?3 now, ?4 how many attempts at most: the newest.
-- Completed, failed, the last times of both, the last error, half and 95 of 100 of those that had an
-- answer took no longer than, and when the first of them ended.
WITH looked AS MATERIALIZED (
  SELECT * FROM (
    SELECT * FROM (
      SELECT state, status, took, ended_at, error FROM sagabox_hub_job
      WHERE subscription = ?1 AND state = 'completed' AND ended_at IS NOT NULL
        AND ended_at >= ?3 - ?2
      ORDER BY ended_at DESC
      LIMIT ?4)
    UNION ALL
    SELECT * FROM (
      SELECT state, status, took, ended_at, error FROM sagabox_hub_job
      WHERE subscription = ?1 AND state = 'failed' AND ended_at IS NOT NULL
        AND ended_at >= ?3 - ?2
      ORDER BY ended_at DESC
      LIMIT ?4))
  ORDER BY ended_at DESC
  LIMIT ?4
), answered AS MATERIALIZED (
  SELECT took FROM looked WHERE state = 'completed' OR status <> 0
)
SELECT coalesce(sum(state = 'completed'), 0), coalesce(sum(state = 'failed'), 0),
       max(CASE WHEN state = 'completed' THEN ended_at END),
       max(CASE WHEN state = 'failed' THEN ended_at END),
       coalesce((SELECT l.error FROM looked AS l
                 WHERE l.state = 'failed' ORDER BY l.ended_at DESC LIMIT 1), ''),
       (SELECT took FROM answered ORDER BY took
        LIMIT 1 OFFSET max((SELECT (count(*) * 50 + 99) / 100 FROM answered) - 1, 0)),
       (SELECT took FROM answered ORDER BY took
        LIMIT 1 OFFSET max((SELECT (count(*) * 95 + 99) / 100 FROM answered) - 1, 0)),
       min(ended_at)
FROM looked;

-- name: hub_failing_since
-- ?1 subscription, ?2 age in microseconds, ?3 now. When the first attempt failed after the last
-- success: the first that was sent, among the first thousand.
SELECT ended_at
FROM (
  SELECT ended_at, took, code
  FROM sagabox_hub_job
  WHERE subscription = ?1 AND state = 'failed' AND ended_at IS NOT NULL AND ended_at >= ?3 - ?2
    AND ended_at > coalesce((
      SELECT c.ended_at FROM sagabox_hub_job AS c
      WHERE c.subscription = ?1 AND c.state = 'completed' AND c.ended_at IS NOT NULL
      ORDER BY c.ended_at DESC
      LIMIT 1), -1)
  ORDER BY ended_at
  LIMIT 1000)
WHERE took > 0 AND code <> 'TX.LEASE_LOST'
ORDER BY ended_at
LIMIT 1;

-- name: hub_generations
-- ?1 deliveries. Each with its next generation's state, if that is there.
SELECT d.seq, d.id, d.event, d.subscription, d.generation, d.tenant, d.type, d.key, 0, d.state,
       d.attempt, d.failures, d.next_attempt_at, d.created_at, d.ended_at, d.correlation_id,
       d.code, d.error, d.status, n.state
FROM sagabox_hub_delivery AS d
LEFT JOIN sagabox_hub_delivery AS n
  ON n.event = d.event AND n.subscription = d.subscription AND n.generation = d.generation + 1
WHERE d.id IN (SELECT value FROM json_each(?1));

-- name: hub_requeue
-- ?1 id, ?2 event, ?3 subscription, ?4 generation, ?5 tenant, ?6 type, ?7 key, ?8 shard, ?9
-- correlation id, ?10 now; each delivery in turn, the next generation of a dead one. The ids of those
-- that are new.
INSERT INTO sagabox_hub_delivery (
  id, event, subscription, generation, tenant, type, key, correlation_id, next_attempt_at,
  created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?9, ?10, ?10)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: hub_old_jobs
-- ?1 age in microseconds, ?2 from when on, null from the oldest, ?3 rows at most, ?4 now. Jobs that were
-- looked at, when they ended, and whether they may go.
SELECT j.delivery, j.ended_at,
       coalesce((SELECT d.state FROM sagabox_hub_delivery AS d WHERE d.id = j.delivery),
                'completed') = 'completed'
FROM sagabox_hub_job AS j
WHERE j.seen AND j.ended_at >= coalesce(?2, 0) AND j.ended_at <= ?4 - ?1
ORDER BY j.ended_at
LIMIT ?3;

-- name: hub_drop_old_jobs
-- ?1 deliveries, ?2 age in microseconds, ?3 now. A row each.
DELETE FROM sagabox_hub_job
WHERE delivery IN (SELECT value FROM json_each(?1)) AND seen AND ended_at <= ?3 - ?2
RETURNING 1;

-- name: hub_old_deliveries
-- The same as of jobs of those that are completed.
SELECT d.id, d.ended_at,
       NOT EXISTS (SELECT 1 FROM sagabox_hub_job AS j WHERE j.delivery = d.id)
       AND NOT EXISTS (
         SELECT 1 FROM sagabox_hub_delivery AS b
         WHERE b.event = d.event AND b.subscription = d.subscription
           AND b.generation = d.generation - 1)
FROM sagabox_hub_delivery AS d
WHERE d.state = 'completed' AND d.ended_at >= coalesce(?2, 0) AND d.ended_at <= ?4 - ?1
ORDER BY d.ended_at
LIMIT ?3;

-- name: hub_old_events
-- ?1 age in microseconds, ?2 shard, ?3 after sequence, ?4 rows at most, ?5 now. Events that were routed,
-- whether they are old enough, and whether they may go.
SELECT e.id, e.seq, e.published_at <= ?5 - ?1,
       NOT EXISTS (SELECT 1 FROM sagabox_hub_delivery AS d WHERE d.event = e.id)
FROM sagabox_hub_event AS e
WHERE e.seq > ?3
  AND e.seq <= (SELECT p.position FROM sagabox_hub_position AS p WHERE p.shard = ?2)
ORDER BY e.seq
LIMIT ?4;

-- name: hub_drop_events
-- ?1 events. A row each.
DELETE FROM sagabox_hub_event
WHERE id IN (SELECT value FROM json_each(?1))
  AND NOT EXISTS (SELECT 1 FROM sagabox_hub_delivery AS d WHERE d.event = sagabox_hub_event.id)
RETURNING 1;

-- name: hub_old_dead
-- ?1 age in microseconds, ?2 rows at most, ?3 now. The ids of dead deliveries that may go.
SELECT d.id
FROM sagabox_hub_delivery AS d
WHERE d.state = 'dead' AND d.ended_at <= ?3 - ?1
  AND NOT EXISTS (
    SELECT 1 FROM sagabox_hub_delivery AS n
    WHERE n.event = d.event AND n.subscription = d.subscription
      AND n.generation = d.generation + 1 AND n.state IN ('pending', 'waiting', 'in_progress'))
ORDER BY d.ended_at
LIMIT ?2;

-- name: hub_drop_jobs
-- ?1 deliveries. A row each.
DELETE FROM sagabox_hub_job WHERE delivery IN (SELECT value FROM json_each(?1)) RETURNING 1;

-- name: hub_drop_dead
-- ?1 deliveries. A row each.
DELETE FROM sagabox_hub_dead WHERE delivery IN (SELECT value FROM json_each(?1)) RETURNING 1;

-- name: hub_drop_deliveries
-- ?1 deliveries. A row each.
DELETE FROM sagabox_hub_delivery WHERE id IN (SELECT value FROM json_each(?1)) RETURNING 1;
