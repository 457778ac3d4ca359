-- The delivery hub. The first three run on connections of callers: what they use is qualified.
--
-- Plans are kept, and made while a table was empty as well as when it is full, without sequential
-- scans, bitmaps and sorts where an index has the order (context.hpp). Single rows are found by
-- their primary key in a subquery with LIMIT 1 of its own: outside of it nothing can lead the
-- planner to a partial index. What is found is changed by its ctid: nobody but the holder of the
-- fence changes deliveries, and jobs are locked before.
--
-- Adding, beginning, making jobs and leasing do not wait for the disk (docs/decisions/044-hub.md).

-- name: hub_publish
-- Lists: $1 ids, $2 tenants, $3 sources, $4 external ids, $5 types, $6 keys, $7 whether it is JSON,
-- $8 digests, $9 aggregate types and $10 ids, $11 priorities, $12 content types, $13 headers, $14
-- times, $15 traceparents, $16 tracestates, $17 request ids, $18 correlation ids, $19 payloads. The
-- ids of those that were not there. The table has shard and time.
INSERT INTO "{schema}".hub_event (
  id, tenant, source, external_id, type, key, is_json, digest, aggregate_type, aggregate_id,
  priority, content_type, headers, occurred_at, traceparent, tracestate, request_id,
  correlation_id, payload)
SELECT e.id, e.tenant, e.source, e.external_id, e.type, e.key, e.is_json OPERATOR(pg_catalog.<>) 0,
       e.digest, e.aggregate_type, e.aggregate_id, e.priority, e.content_type, e.headers,
       e.occurred_at, e.traceparent, e.tracestate, e.request_id, e.correlation_id, e.payload
FROM ROWS FROM (
  pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]),
  pg_catalog.unnest($3::pg_catalog.text[]), pg_catalog.unnest($4::pg_catalog.text[]),
  pg_catalog.unnest($5::pg_catalog.text[]), pg_catalog.unnest($6::pg_catalog.text[]),
  pg_catalog.unnest($7::pg_catalog.int8[]), pg_catalog.unnest($8::pg_catalog.bytea[]),
  pg_catalog.unnest($9::pg_catalog.text[]), pg_catalog.unnest($10::pg_catalog.text[]),
  pg_catalog.unnest($11::pg_catalog.int8[]), pg_catalog.unnest($12::pg_catalog.text[]),
  pg_catalog.unnest($13::pg_catalog.text[]), pg_catalog.unnest($14::pg_catalog.timestamptz[]),
  pg_catalog.unnest($15::pg_catalog.text[]), pg_catalog.unnest($16::pg_catalog.text[]),
  pg_catalog.unnest($17::pg_catalog.text[]), pg_catalog.unnest($18::pg_catalog.text[]),
  pg_catalog.unnest($19::pg_catalog.bytea[]))
  AS e(id, tenant, source, external_id, type, key, is_json, digest, aggregate_type, aggregate_id,
       priority, content_type, headers, occurred_at, traceparent, tracestate, request_id,
       correlation_id, payload)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: hub_known
-- Lists: $1 ids, $2 tenants, $3 sources, $4 external ids.
SELECT known.*
FROM ROWS FROM (
  pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]),
  pg_catalog.unnest($3::pg_catalog.text[]), pg_catalog.unnest($4::pg_catalog.text[]))
  AS wanted(id, tenant, source, external_id)
CROSS JOIN LATERAL (
  (SELECT e.id, e.tenant, e.source, e.external_id, e.type, e.digest
   FROM "{schema}".hub_event AS e
   WHERE e.id OPERATOR(pg_catalog.=) wanted.id
   LIMIT 1)
  UNION ALL
  (SELECT e.id, e.tenant, e.source, e.external_id, e.type, e.digest
   FROM "{schema}".hub_event AS e
   WHERE e.tenant OPERATOR(pg_catalog.=) wanted.tenant
     AND e.source OPERATOR(pg_catalog.=) wanted.source
     AND e.external_id OPERATOR(pg_catalog.=) wanted.external_id
     AND e.external_id OPERATOR(pg_catalog.<>) ''
   LIMIT 1)
) AS known;

-- name: hub_unpublish
-- $1 ids. In the transaction that published them.
SELECT "{schema}".hub_unpublish($1::pg_catalog.text[]);

-- name: hub_made
-- No row if there is no table.
SELECT 1 WHERE to_regclass('"{schema}".hub_event') IS NOT NULL;

-- name: hub_shards
SELECT shards FROM "{schema}".hub_setting;

-- name: hub_read
-- Shards $1, after $2, rows at most $3; bytes at most $4. The first row has the snapshot, the next
-- transaction id counted from 3 and the transactions that have locked a row of ownership (see
-- read.sql: they bring no event that this read could miss). The others have the number of the range
-- and the event; of each range one row more than asked for, if there is one, and after the bytes
-- one more than fits. Ranges come in turn: nothing else can drive the join.
SELECT 0::int8, pg_current_snapshot(), age('3'::xid)::int8,
       (SELECT string_agg(DISTINCT owner.xmax::text, ',')
        FROM "{schema}".shard_owner AS owner
        WHERE owner.scope IN ('hub:router', 'hub:deliveries') AND owner.xmax <> '0'::xid),
       NULL::int8, NULL, NULL, NULL, NULL, NULL, NULL, NULL::boolean, NULL::bytea, NULL, NULL,
       NULL::int2, NULL, NULL, NULL::timestamptz, NULL, NULL, NULL, NULL, NULL::timestamptz,
       NULL::int2, NULL::bytea
UNION ALL
SELECT number, NULL, NULL, NULL,
       seq, id, tenant, source, external_id, type, key, is_json, digest, aggregate_type,
       aggregate_id, priority, content_type, headers, occurred_at, traceparent, tracestate,
       request_id, correlation_id, published_at, shard, payload
FROM (
  SELECT r.number, e.*,
         row_number() OVER so_far AS place,
         sum(octet_length(e.payload)) OVER so_far AS octets_to
  FROM unnest($1::int8[], $2::int8[], $3::int8[])
       WITH ORDINALITY AS r(of_shard, after, rows_max, number)
  CROSS JOIN LATERAL (
    SELECT *
    FROM "{schema}".hub_event AS i
    WHERE i.shard = r.of_shard::int2 AND i.seq > r.after
    ORDER BY i.seq
    LIMIT r.rows_max + 1
  ) AS e
  WINDOW so_far AS (ROWS UNBOUNDED PRECEDING)
) AS found
WHERE place <= 2 OR octets_to - octet_length(payload) <= $4;

-- name: hub_unseen
-- The first row of hub_read alone.
SELECT 0::int8, pg_current_snapshot(), age('3'::xid)::int8,
       (SELECT string_agg(DISTINCT owner.xmax::text, ',')
        FROM "{schema}".shard_owner AS owner
        WHERE owner.scope IN ('hub:router', 'hub:deliveries') AND owner.xmax <> '0'::xid);

-- name: hub_draw_transaction
-- On its own it ends a transaction with a number, so that snapshots name all before it.
SELECT pg_current_xact_id();

-- name: hub_positions
-- $1 shards.
SELECT shard, position FROM "{schema}".hub_position WHERE shard = ANY ($1::int8[]);

-- name: hub_hold
-- $1 scope, $2 owner; shards $3, epochs $4. The shards whose fence holds; their rows of ownership
-- are locked until the transaction ends, as in settle.sql.
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int8[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
)
SELECT shard FROM held;

-- name: hub_move
-- Lists: $1 shards, $2 positions.
INSERT INTO "{schema}".hub_position AS p (shard, position)
SELECT shard, position FROM unnest($1::int8[], $2::int8[]) AS to_be(shard, position)
ON CONFLICT (shard) DO UPDATE SET position = excluded.position
WHERE excluded.position > p.position;

-- name: hub_changed
-- After change $1. From the start without those that have been disabled for days: they match
-- nothing, and nobody has to be told about them.
SELECT id, tenant, name, state, types, target, settings, reason, active_since, version, change,
       created_at, changed_at
FROM "{schema}".hub_subscription
WHERE change > $1
  AND ($1 > 0 OR state <> 'disabled'
       OR changed_at > (SELECT clock_timestamp()) - interval '2 days')
ORDER BY change;

-- name: hub_named
-- $1 subscriptions.
SELECT s.id, s.tenant, s.name, s.state, s.types, s.target, s.settings, s.reason, s.active_since,
       s.version, s.change, s.created_at, s.changed_at
FROM unnest($1::text[]) AS a(id)
CROSS JOIN LATERAL (
  SELECT * FROM "{schema}".hub_subscription AS i WHERE i.id = a.id LIMIT 1
) AS s;

-- name: hub_subscription_lock
-- $1 id. Whoever changes subscriptions or their secrets holds the counter: what is read after it is
-- as it is until the transaction ends, and changes are seen in the order of their numbers.
SELECT change FROM "{schema}".hub_counter FOR NO KEY UPDATE;
SELECT id, tenant, name, state, types, target, settings, reason, active_since, version, change,
       created_at, changed_at
FROM "{schema}".hub_subscription
WHERE id = $1;

-- name: hub_subscription_get
-- $1 id.
SELECT id, tenant, name, state, types, target, settings, reason, active_since, version, change,
       created_at, changed_at
FROM "{schema}".hub_subscription
WHERE id = $1;

-- name: hub_subscription_write
-- $1 id, $2 tenant, $3 name, $4 state, $5 types, $6 target, $7 settings, $8 reason, $9 active
-- since, $10 version, $11 now. A row if it was written.
WITH drawn AS (
  UPDATE "{schema}".hub_counter SET change = change + 1 RETURNING change
)
INSERT INTO "{schema}".hub_subscription AS s (
  id, tenant, name, state, types, target, settings, reason, active_since, version, change,
  created_at, changed_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, drawn.change, $11, $11
FROM drawn
ON CONFLICT (id) DO UPDATE
SET (name, state, types, target, settings, reason, active_since, version, change, changed_at) =
    (excluded.name, excluded.state, excluded.types, excluded.target, excluded.settings,
     excluded.reason, excluded.active_since, excluded.version, excluded.change,
     excluded.changed_at)
WHERE s.version = excluded.version - 1
RETURNING 1;

-- name: hub_subscription_list
-- After $1; $2 tenant, $3 state, $4 name, where they are not null; $5 rows at most.
SELECT id, tenant, name, state, types, target, settings, reason, active_since, version, change,
       created_at, changed_at
FROM "{schema}".hub_subscription
WHERE id > $1 AND ($2 IS NULL OR tenant = $2) AND ($3 IS NULL OR state = $3)
  AND ($4 IS NULL OR name = $4)
ORDER BY id
LIMIT $5;

-- name: hub_subscription_list_in
-- The same of one tenant.
SELECT id, tenant, name, state, types, target, settings, reason, active_since, version, change,
       created_at, changed_at
FROM "{schema}".hub_subscription
WHERE tenant = $2 AND id > $1 AND ($3::text IS NULL OR state = $3)
  AND ($4::text IS NULL OR name = $4)
ORDER BY id
LIMIT $5;

-- name: hub_subscription_count
-- $1 tenant. Those that are not disabled, and those that are.
SELECT count(*) FILTER (WHERE state <> 'disabled'), count(*) FILTER (WHERE state = 'disabled')
FROM "{schema}".hub_subscription
WHERE tenant = $1;

-- name: hub_disable
-- $1 id, $2 reason, $3 change. A row if it was not disabled, and still is as that change left it.
SELECT change FROM "{schema}".hub_counter FOR NO KEY UPDATE;
WITH drawn AS (
  UPDATE "{schema}".hub_counter SET change = change + 1 RETURNING change
)
UPDATE "{schema}".hub_subscription AS s
SET state = 'disabled', reason = $2, version = s.version + 1, changed_at = clock_timestamp(),
    change = drawn.change
FROM drawn
CROSS JOIN LATERAL (
  SELECT i.ctid AS place, i.state, i.change
  FROM "{schema}".hub_subscription AS i
  WHERE i.id = $1
  LIMIT 1
) AS one
WHERE s.ctid = one.place AND one.state <> 'disabled' AND one.change = $3
RETURNING 1;

-- name: hub_secret_add
-- $1 subscription, $2 sealed secret, $3 overlap in microseconds. Its number.
UPDATE "{schema}".hub_secret
SET expires_at = least(expires_at,
                       (SELECT clock_timestamp()) + $3 * interval '1 microsecond')
WHERE subscription = $1;
INSERT INTO "{schema}".hub_secret (subscription, number, sealed, created_at)
SELECT $1, coalesce(max(number), 0) + 1, $2, clock_timestamp()
FROM "{schema}".hub_secret
WHERE subscription = $1
RETURNING number;

-- name: hub_secrets
-- $1 subscriptions.
SELECT subscription, number, sealed, created_at, expires_at
FROM "{schema}".hub_secret
WHERE subscription = ANY ($1::text[])
  AND (expires_at IS NULL OR expires_at > (SELECT clock_timestamp()))
ORDER BY subscription, number DESC;

-- name: hub_reseal
-- Lists: $1 subscriptions, $2 numbers, $3 secrets as they are stored, $4 as they are to be. A row
-- each that was as it was expected.
UPDATE "{schema}".hub_secret AS s
SET sealed = a.after
FROM unnest($1::text[], $2::int8[], $3::text[], $4::text[])
  AS a(subscription, number, before, after)
WHERE s.subscription = a.subscription AND s.number = a.number AND s.sealed = a.before
RETURNING 1;

-- name: hub_drop_secrets
-- $1 rows at most. Those that have expired; a row each.
DELETE FROM "{schema}".hub_secret
WHERE ctid = ANY (ARRAY(
  SELECT s.ctid FROM "{schema}".hub_secret AS s
  WHERE s.expires_at IS NOT NULL AND s.expires_at <= (SELECT clock_timestamp())
  ORDER BY s.expires_at
  LIMIT $1))
RETURNING 1;

-- name: hub_add
-- Lists: $1 ids, $2 events, $3 subscriptions, $4 generations, $5 tenants, $6 types, $7 keys, $8
-- shards, $9 correlation ids. Sequences in this order. The ids of those that were not there. On disk
-- when it returns: the router then moves its position past their events.
INSERT INTO "{schema}".hub_delivery (
  id, event, subscription, generation, tenant, type, key, shard, correlation_id, next_attempt_at,
  created_at)
SELECT d.id, d.event, d.subscription, d.generation, d.tenant, d.type, d.key, d.shard,
       d.correlation_id, moment.at, moment.at
FROM (SELECT clock_timestamp() AS at) AS moment
CROSS JOIN unnest($1::text[], $2::text[], $3::text[], $4::int8[], $5::text[], $6::text[],
                  $7::text[], $8::int8[], $9::text[])
  AS d(id, event, subscription, generation, tenant, type, key, shard, correlation_id)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: hub_open
-- $1 shard, after subscription $2, $3 rows at most. From one subscription to the next.
WITH RECURSIVE pending AS (
  (SELECT subscription, next_attempt_at
   FROM "{schema}".hub_delivery
   WHERE state = 'pending' AND shard = $1::int2 AND subscription > $2
   ORDER BY subscription, next_attempt_at
   LIMIT 1)
  UNION ALL
  SELECT next.*
  FROM pending
  CROSS JOIN LATERAL (
    SELECT d.subscription, d.next_attempt_at
    FROM "{schema}".hub_delivery AS d
    WHERE d.state = 'pending' AND d.shard = $1::int2 AND d.subscription > pending.subscription
    ORDER BY d.subscription, d.next_attempt_at
    LIMIT 1
  ) AS next
)
SELECT subscription, next_attempt_at FROM pending LIMIT $3;

-- name: hub_due
-- Here and below the time is a subquery, so that the index is read to that time and no further: a
-- volatile function would only filter rows.
-- Lists: $1 shards, $2 subscriptions, after $3 times and $4 sequences, $5 rows at most. The pages
-- come in turn: nothing else can drive the join.
SELECT d.*
FROM unnest($1::int8[], $2::text[], $3::timestamptz[], $4::int8[], $5::int8[])
  AS page(shard, subscription, after_due, after, rows_max)
CROSS JOIN LATERAL (
  SELECT i.seq, i.id, i.event, i.subscription, i.generation, i.tenant, i.type, i.key, i.shard,
         i.state, i.attempt, i.failures, i.next_attempt_at, i.created_at, i.ended_at,
         i.correlation_id, i.code, i.error, i.status
  FROM "{schema}".hub_delivery AS i
  WHERE i.state = 'pending' AND i.shard = page.shard::int2 AND i.subscription = page.subscription
    AND (i.next_attempt_at, i.seq) > (page.after_due, page.after)
    AND i.next_attempt_at <= (SELECT clock_timestamp())
  ORDER BY i.next_attempt_at, i.seq
  LIMIT page.rows_max
) AS d;

-- name: hub_in_progress
-- $1 shard, after id $2, $3 rows at most.
SELECT seq, id, event, subscription, generation, tenant, type, key, shard, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM "{schema}".hub_delivery
WHERE state = 'in_progress' AND shard = $1::int2 AND id > $2
ORDER BY id
LIMIT $3;

-- name: hub_begin
-- Lists: $1 deliveries, $2 attempts. $3: the fenced shards. Delivery, attempt, and whether it has
-- begun; no row for what does not fit. With a key, only if no earlier delivery of it is open, and
-- none is in progress: a transaction that commits late may add an earlier one after a later one has
-- begun.
UPDATE "{schema}".hub_delivery AS d
SET state = CASE WHEN found.is_first THEN 'in_progress' ELSE 'waiting' END,
    attempt = CASE WHEN found.is_first THEN found.to_be ELSE d.attempt END
FROM (
  SELECT one.place, a.attempt AS to_be,
         one.key = '' OR coalesce(
           (SELECT e.seq FROM "{schema}".hub_delivery AS e
            WHERE e.subscription = one.subscription AND e.key = one.key AND e.seq < one.seq
              AND e.key <> '' AND e.state IN ('pending', 'waiting', 'in_progress')
            LIMIT 1),
           (SELECT b.seq FROM "{schema}".hub_delivery AS b
            WHERE b.subscription = one.subscription AND b.key = one.key
              AND CASE WHEN b.state = 'in_progress' THEN b.key <> '' ELSE false END
            LIMIT 1)) IS NULL AS is_first
  FROM unnest($1::text[], $2::int8[]) AS a(id, attempt)
  CROSS JOIN LATERAL (
    SELECT i.ctid AS place, i.subscription, i.key, i.seq, i.shard, i.state, i.attempt
    FROM "{schema}".hub_delivery AS i
    WHERE i.id = a.id
    LIMIT 1
  ) AS one
  WHERE one.state = 'pending' AND one.attempt = a.attempt - 1
    AND one.shard = ANY (string_to_array($3, ',')::int2[])
  OFFSET 0  -- so that it looks for earlier ones once
) AS found
WHERE d.ctid = found.place AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off';
SELECT a.id, a.attempt, one.state = 'in_progress'
FROM unnest($1::text[], $2::int8[]) AS a(id, attempt)
CROSS JOIN LATERAL (
  SELECT i.shard, i.state, i.attempt
  FROM "{schema}".hub_delivery AS i
  WHERE i.id = a.id
  LIMIT 1
) AS one
WHERE one.shard = ANY (string_to_array($3, ',')::int2[])
  AND ((one.state = 'in_progress' AND one.attempt = a.attempt)
       OR (one.state = 'waiting' AND one.attempt = a.attempt - 1));

-- name: hub_change
-- Lists: $1 deliveries, $2 attempts, $3 states, $4 failures, $5 times of the next attempt, $6
-- codes, $7 errors, $8 statuses. $10: the fenced shards. Those that are so now. Whatever an attempt
-- ends with, the first open delivery of its key may go: that may be one that was added late.
UPDATE "{schema}".hub_delivery AS d
SET state = c.state, failures = c.failures, code = c.code, error = c.error, status = c.status,
    next_attempt_at = CASE WHEN c.state = 'pending' THEN c.next ELSE d.next_attempt_at END,
    ended_at = CASE WHEN c.state <> 'pending' THEN c.now END
FROM (
  SELECT a.*, one.place, (SELECT clock_timestamp()) AS now
  FROM unnest($1::text[], $2::int8[], $3::text[], $4::int8[], $5::timestamptz[], $6::text[],
              $7::text[], $8::int8[])
    AS a(id, attempt, state, failures, next, code, error, status)
  CROSS JOIN LATERAL (
    SELECT i.ctid AS place, i.shard, i.state, i.attempt
    FROM "{schema}".hub_delivery AS i
    WHERE i.id = a.id
    LIMIT 1
  ) AS one
  WHERE one.state = 'in_progress' AND one.attempt = a.attempt
    AND one.shard = ANY (string_to_array($10, ',')::int2[])
) AS c
WHERE d.ctid = c.place;
UPDATE "{schema}".hub_delivery AS d
SET state = 'pending'
WHERE d.ctid = ANY (ARRAY(
  SELECT first.place
  FROM "{schema}".hub_delivery AS ended
  CROSS JOIN LATERAL (
    SELECT e.ctid AS place, e.state
    FROM "{schema}".hub_delivery AS e
    WHERE e.subscription = ended.subscription AND e.key = ended.key
      AND e.key <> '' AND e.state IN ('pending', 'waiting', 'in_progress')
    ORDER BY e.seq
    LIMIT 1
  ) AS first
  WHERE ended.id = ANY ($1::text[]) AND ended.key <> '' AND ended.state IN ('completed', 'dead', 'pending')
    AND first.state = 'waiting'));
SELECT a.id, a.attempt
FROM unnest($1::text[], $2::int8[], $3::text[]) AS a(id, attempt, state)
CROSS JOIN LATERAL (
  SELECT i.shard, i.state, i.attempt
  FROM "{schema}".hub_delivery AS i
  WHERE i.id = a.id
  LIMIT 1
) AS one
WHERE one.attempt = a.attempt AND one.shard = ANY (string_to_array($10, ',')::int2[])
  AND (one.state = a.state OR (a.state = 'pending' AND one.state = 'waiting'));

-- name: hub_end_unsent
-- The same for those that are not under way, whose subscription is disabled.
UPDATE "{schema}".hub_delivery AS d
SET state = c.state, failures = c.failures, code = c.code, error = c.error, status = c.status,
    ended_at = c.now
FROM (
  SELECT a.*, one.place, (SELECT clock_timestamp()) AS now
  FROM unnest($1::text[], $2::int8[], $3::text[], $4::int8[], $6::text[], $7::text[], $8::int8[])
    AS a(id, attempt, state, failures, code, error, status)
  CROSS JOIN LATERAL (
    SELECT i.ctid AS place, i.shard, i.state, i.attempt, i.subscription
    FROM "{schema}".hub_delivery AS i
    WHERE i.id = a.id
    LIMIT 1
  ) AS one
  WHERE one.state IN ('pending', 'waiting') AND one.attempt = a.attempt
    AND one.shard = ANY (string_to_array($10, ',')::int2[])
    AND coalesce(
          (SELECT s.state FROM "{schema}".hub_subscription AS s WHERE s.id = one.subscription),
          'disabled') = 'disabled'
) AS c
WHERE d.ctid = c.place;
UPDATE "{schema}".hub_delivery AS d
SET state = 'pending'
WHERE d.ctid = ANY (ARRAY(
  SELECT first.place
  FROM "{schema}".hub_delivery AS ended
  CROSS JOIN LATERAL (
    SELECT e.ctid AS place, e.state
    FROM "{schema}".hub_delivery AS e
    WHERE e.subscription = ended.subscription AND e.key = ended.key
      AND e.key <> '' AND e.state IN ('pending', 'waiting', 'in_progress')
    ORDER BY e.seq
    LIMIT 1
  ) AS first
  WHERE ended.id = ANY ($1::text[]) AND ended.key <> '' AND ended.state IN ('completed', 'dead')
    AND first.state = 'waiting'));
SELECT a.id, a.attempt
FROM unnest($1::text[], $2::int8[], $3::text[]) AS a(id, attempt, state)
CROSS JOIN LATERAL (
  SELECT i.shard, i.state, i.attempt
  FROM "{schema}".hub_delivery AS i
  WHERE i.id = a.id
  LIMIT 1
) AS one
WHERE one.attempt = a.attempt AND one.shard = ANY (string_to_array($10, ',')::int2[])
  AND one.state = a.state;

-- name: hub_doomed
-- $1 shard, $2 subscription, $3 rows at most. Each kind in the order of its index: a page costs its
-- rows, however many there are. None once the subscription is not disabled any more: its owner may not
-- know that yet.
(SELECT seq, id, event, subscription, generation, tenant, type, key, shard, state, attempt,
        failures, next_attempt_at, created_at, ended_at, correlation_id, code, error, status
 FROM "{schema}".hub_delivery
 WHERE state = 'waiting' AND shard = $1::int2 AND subscription = $2
   AND coalesce((SELECT s.state FROM "{schema}".hub_subscription AS s WHERE s.id = $2), 'disabled')
       = 'disabled'
 ORDER BY seq
 LIMIT $3)
UNION ALL
(SELECT seq, id, event, subscription, generation, tenant, type, key, shard, state, attempt,
        failures, next_attempt_at, created_at, ended_at, correlation_id, code, error, status
 FROM "{schema}".hub_delivery
 WHERE state = 'pending' AND shard = $1::int2 AND subscription = $2
   AND coalesce((SELECT s.state FROM "{schema}".hub_subscription AS s WHERE s.id = $2), 'disabled')
       = 'disabled'
 ORDER BY next_attempt_at, seq
 LIMIT $3)
LIMIT $3;

-- name: hub_waiting_page
-- $1 shard, after subscription $2 and sequence $3, $4 rows at most. The last row of a page that is
-- full.
SELECT subscription, seq
FROM "{schema}".hub_delivery
WHERE state = 'waiting' AND shard = $1::int2 AND (subscription, seq) > ($2, $3)
ORDER BY subscription, seq
OFFSET $4::int8 - 1
LIMIT 1;

-- name: hub_release_strays
-- The same page. A row each.
UPDATE "{schema}".hub_delivery
SET state = 'pending'
WHERE ctid = ANY (ARRAY(
  SELECT w.place
  FROM (
    SELECT d.ctid AS place, d.subscription, d.key, d.seq
    FROM "{schema}".hub_delivery AS d
    WHERE d.state = 'waiting' AND d.shard = $1::int2 AND (d.subscription, d.seq) > ($2, $3)
    ORDER BY d.subscription, d.seq
    LIMIT $4
  ) AS w
  WHERE coalesce(
    (SELECT e.seq FROM "{schema}".hub_delivery AS e
     WHERE e.subscription = w.subscription AND e.key = w.key AND e.seq < w.seq
       AND e.key <> '' AND e.state IN ('pending', 'waiting', 'in_progress')
     LIMIT 1),
    (SELECT b.seq FROM "{schema}".hub_delivery AS b
     WHERE b.subscription = w.subscription AND b.key = w.key
       AND CASE WHEN b.state = 'in_progress' THEN b.key <> '' ELSE false END
     LIMIT 1)) IS NULL))
RETURNING 1;

-- name: hub_bury
-- $1 deliveries.
INSERT INTO "{schema}".hub_dead (
  delivery, seq, id, tenant, source, external_id, type, key, is_json, digest, aggregate_type,
  aggregate_id, priority, content_type, headers, occurred_at, traceparent, tracestate, request_id,
  correlation_id, published_at, shard, payload)
SELECT a.id, e.seq, e.id, e.tenant, e.source, e.external_id, e.type, e.key, e.is_json, e.digest,
       e.aggregate_type, e.aggregate_id, e.priority, e.content_type, e.headers, e.occurred_at,
       e.traceparent, e.tracestate, e.request_id, e.correlation_id, e.published_at, e.shard,
       e.payload
FROM unnest($1::text[]) AS a(id)
CROSS JOIN LATERAL (
  SELECT i.event FROM "{schema}".hub_delivery AS i WHERE i.id = a.id LIMIT 1
) AS d
CROSS JOIN LATERAL (
  SELECT * FROM "{schema}".hub_event AS i WHERE i.id = d.event LIMIT 1
) AS e
ON CONFLICT (delivery) DO NOTHING;

-- name: hub_make_jobs
-- Lists: $1 deliveries, $2 attempts, $3 subscriptions, $4 shards.
INSERT INTO "{schema}".hub_job (delivery, attempt, subscription, shard, attempt_at)
SELECT j.delivery, j.attempt, j.subscription, j.shard, moment.at
FROM (SELECT clock_timestamp() AS at, set_config('synchronous_commit', 'off', true)) AS moment
CROSS JOIN unnest($1::text[], $2::int8[], $3::text[], $4::int8[])
  AS j(delivery, attempt, subscription, shard)
ON CONFLICT (delivery, attempt) DO NOTHING;

-- name: hub_without_job
-- Lists: $1 deliveries, $2 attempts.
SELECT a.delivery, a.attempt
FROM unnest($1::text[], $2::int8[]) AS a(delivery, attempt)
WHERE (SELECT 1 FROM "{schema}".hub_job AS j
       WHERE j.delivery = a.delivery AND j.attempt = a.attempt
       LIMIT 1) IS NULL;

-- name: hub_ended
-- $1 shard, $2 rows at most.
SELECT delivery, attempt, shard, subscription, state, attempt_at, resets, worker, lease_until,
       ended_at, code, error, status, answer, retry_after, took
FROM "{schema}".hub_job
WHERE ended_at IS NOT NULL AND NOT seen AND shard = $1::int2
ORDER BY ended_at, delivery, attempt
LIMIT $2;

-- name: hub_seen
-- Lists: $1 deliveries, $2 attempts. Not while the delivery is in progress at that attempt: its result
-- counts still, whatever its owner takes it for, and nobody else would ever look at it.
UPDATE "{schema}".hub_job AS j
SET seen = true
FROM (
  SELECT one.place
  FROM unnest($1::text[], $2::int8[]) AS a(delivery, attempt)
  CROSS JOIN LATERAL (
    SELECT i.ctid AS place, i.ended_at, i.seen
    FROM "{schema}".hub_job AS i
    WHERE i.delivery = a.delivery AND i.attempt = a.attempt
    LIMIT 1
    FOR NO KEY UPDATE
  ) AS one
  WHERE one.ended_at IS NOT NULL AND NOT one.seen
    AND coalesce((SELECT d.state = 'in_progress' AND d.attempt = a.attempt
                  FROM "{schema}".hub_delivery AS d
                  WHERE d.id = a.delivery
                  LIMIT 1), false) IS FALSE
) AS ended
WHERE j.ctid = ended.place;

-- name: hub_lease
-- $1 token, $2 worker, $3 lease in microseconds, $4 rows at most, $6 bytes at most of payloads, after
-- the first. The jobs, each with its delivery and event, or nulls where they are gone. Those that
-- others are leasing are passed over.
WITH free AS MATERIALIZED (
  SELECT j.ctid AS place, j.attempt_at, j.delivery, j.attempt,
         coalesce((SELECT (SELECT octet_length(e.payload) FROM "{schema}".hub_event AS e
                           WHERE e.id = d.event LIMIT 1)
                   FROM "{schema}".hub_delivery AS d
                   WHERE d.id = j.delivery
                   LIMIT 1), 0) AS octets
  FROM "{schema}".hub_job AS j
  WHERE j.state = 'pending'
  ORDER BY j.attempt_at, j.delivery, j.attempt
  LIMIT $4
  FOR NO KEY UPDATE OF j SKIP LOCKED
), picked AS MATERIALIZED (
  SELECT place
  FROM (
    SELECT place, sum(octets) OVER so_far AS octets_to, row_number() OVER so_far AS number
    FROM free
    WINDOW so_far AS (ORDER BY attempt_at, delivery, attempt ROWS UNBOUNDED PRECEDING)
  ) AS counted
  WHERE number = 1 OR octets_to <= $6
), leased AS (
  UPDATE "{schema}".hub_job AS j
  SET state = 'leased', token = $1, worker = $2,
      lease_until = (SELECT clock_timestamp()) + $3 * interval '1 microsecond'
  FROM picked
  WHERE j.ctid = picked.place AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
  RETURNING j.*
)
SELECT j.delivery, j.attempt, j.shard, j.subscription, j.state, j.attempt_at, j.resets, j.worker,
       j.lease_until, j.ended_at, j.code, j.error, j.status, j.answer, j.retry_after, j.took,
       d.seq, d.id, d.event, d.subscription, d.generation, d.tenant, d.type, d.key, d.shard,
       d.state, d.attempt, d.failures, d.next_attempt_at, d.created_at, d.ended_at,
       d.correlation_id, d.code, d.error, d.status,
       e.seq, e.id, e.tenant, e.source, e.external_id, e.type, e.key, e.is_json, e.digest,
       e.aggregate_type, e.aggregate_id, e.priority, e.content_type, e.headers, e.occurred_at,
       e.traceparent, e.tracestate, e.request_id, e.correlation_id, e.published_at, e.shard,
       e.payload
FROM leased AS j
LEFT JOIN LATERAL (
  SELECT * FROM "{schema}".hub_delivery AS i WHERE i.id = j.delivery LIMIT 1
) AS d ON true
LEFT JOIN LATERAL (
  SELECT * FROM "{schema}".hub_event AS i WHERE i.id = d.event LIMIT 1
) AS e ON true
ORDER BY j.attempt_at, j.delivery, j.attempt;

-- name: hub_finish
-- Lists: $1 deliveries, $2 attempts, $3 tokens, $4 states, $5 codes, $6 errors, $7 statuses, $8
-- answers, $9 retry after (-1: none), $10 times taken. Those that had the lease.
UPDATE "{schema}".hub_job AS j
SET state = f.state, code = f.code, error = f.error, status = f.status, answer = f.answer,
    retry_after = CASE WHEN f.retry_after >= 0 THEN f.retry_after END, took = f.took,
    lease_until = NULL, ended_at = f.now
FROM (
  SELECT a.*, one.place, (SELECT clock_timestamp()) AS now
  FROM unnest($1::text[], $2::int8[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int8[],
              $8::bytea[], $9::int8[], $10::int8[])
    AS a(delivery, attempt, token, state, code, error, status, answer, retry_after, took)
  CROSS JOIN LATERAL (
    SELECT i.ctid AS place, i.token, i.state
    FROM "{schema}".hub_job AS i
    WHERE i.delivery = a.delivery AND i.attempt = a.attempt
    LIMIT 1
    FOR NO KEY UPDATE
  ) AS one
  WHERE one.token = a.token AND one.state = 'leased'
) AS f
WHERE j.ctid = f.place;
SELECT a.delivery, a.attempt
FROM unnest($1::text[], $2::int8[], $3::text[]) AS a(delivery, attempt, token)
CROSS JOIN LATERAL (
  SELECT i.token FROM "{schema}".hub_job AS i
  WHERE i.delivery = a.delivery AND i.attempt = a.attempt
  LIMIT 1
) AS one
WHERE one.token = a.token;

-- name: hub_lost
-- $1 rows at most, $2 now. Leases that have run out, the oldest first. Those whose result is being
-- written are passed over. Behind each job: event, tenant, correlation id and state of its delivery.
SELECT j.delivery, j.attempt, j.shard, j.subscription, j.state, j.attempt_at, j.resets, j.worker,
       j.lease_until, j.ended_at, j.code, j.error, j.status, j.answer, j.retry_after, j.took,
       coalesce(d.event, ''), coalesce(d.tenant, ''), coalesce(d.correlation_id, ''),
       coalesce(d.state, '')
FROM "{schema}".hub_job AS j
LEFT JOIN LATERAL (
  SELECT * FROM "{schema}".hub_delivery AS i WHERE i.id = j.delivery LIMIT 1
) AS d ON true
WHERE j.state = 'leased' AND j.lease_until <= $2
ORDER BY j.lease_until
LIMIT $1
FOR NO KEY UPDATE OF j SKIP LOCKED;

-- name: hub_reset
-- Lists: $1 deliveries, $2 attempts, $3 resets before, $4 states, $5 workers, $6 codes, $7 errors;
-- $8 now. Those that were changed, with their state.
UPDATE "{schema}".hub_job AS j
SET state = r.state, resets = r.resets + 1, worker = r.worker, token = '', lease_until = NULL,
    code = r.code, error = r.error, ended_at = CASE WHEN r.state = 'failed' THEN $8 END
FROM (
  SELECT a.*, one.place
  FROM unnest($1::text[], $2::int8[], $3::int8[], $4::text[], $5::text[], $6::text[], $7::text[])
    AS a(delivery, attempt, resets, state, worker, code, error)
  CROSS JOIN LATERAL (
    SELECT i.ctid AS place, i.state, i.resets, i.lease_until
    FROM "{schema}".hub_job AS i
    WHERE i.delivery = a.delivery AND i.attempt = a.attempt
    LIMIT 1
  ) AS one
  WHERE one.state = 'leased' AND one.resets = a.resets AND one.lease_until <= $8
) AS r
WHERE j.ctid = r.place
RETURNING j.delivery, j.attempt, j.state;

-- name: hub_events
-- Before sequence $1; $2 tenant, $3 type, $4 key, $5 source, $6 external id, $7 from, $8 to, where
-- they are not null; $9 rows at most. The newest of each shard, and of these the newest.
-- Without payloads, behind each its size.
SELECT e.seq, e.id, e.tenant, e.source, e.external_id, e.type, e.key, e.is_json, e.digest,
       e.aggregate_type, e.aggregate_id, e.priority, e.content_type, e.headers, e.occurred_at,
       e.traceparent, e.tracestate, e.request_id, e.correlation_id, e.published_at, e.shard,
       ''::bytea, octet_length(e.payload)
FROM generate_series(0, (SELECT s.shards FROM "{schema}".hub_setting AS s) - 1) AS part(shard)
CROSS JOIN LATERAL (
  SELECT *
  FROM "{schema}".hub_event AS i
  WHERE i.shard = part.shard
    AND i.seq < coalesce($1, 9223372036854775807) AND ($2 IS NULL OR tenant = $2)
    AND ($3 IS NULL OR type = $3) AND ($4 IS NULL OR key = $4) AND ($5 IS NULL OR source = $5)
    AND ($6 IS NULL OR external_id = $6) AND ($7 IS NULL OR published_at >= $7)
    AND ($8 IS NULL OR published_at < $8)
  ORDER BY i.seq DESC
  LIMIT $9
) AS e
ORDER BY e.seq DESC
LIMIT $9;

-- name: hub_events_external
-- The same of those with external id $6, which each source of a tenant has once: from one source to
-- the next.
WITH RECURSIVE source AS (
  (SELECT tenant, source
   FROM "{schema}".hub_event
   WHERE external_id <> '' AND tenant >= coalesce($2, '')
   ORDER BY tenant, source, external_id
   LIMIT 1)
  UNION ALL
  SELECT next.*
  FROM source
  CROSS JOIN LATERAL (
    SELECT e.tenant, e.source
    FROM "{schema}".hub_event AS e
    WHERE e.external_id <> '' AND (e.tenant, e.source) > (source.tenant, source.source)
    ORDER BY e.tenant, e.source, e.external_id
    LIMIT 1
  ) AS next
  WHERE $2 IS NULL OR source.tenant = $2
)
SELECT e.seq, e.id, e.tenant, e.source, e.external_id, e.type, e.key, e.is_json, e.digest,
       e.aggregate_type, e.aggregate_id, e.priority, e.content_type, e.headers, e.occurred_at,
       e.traceparent, e.tracestate, e.request_id, e.correlation_id, e.published_at, e.shard,
       ''::bytea, octet_length(e.payload)
FROM source
CROSS JOIN LATERAL (
  SELECT * FROM "{schema}".hub_event AS i
  WHERE i.tenant = source.tenant AND i.source = source.source AND i.external_id = $6
    AND i.external_id <> ''
  LIMIT 1
) AS e
WHERE ($1::int8 IS NULL OR e.seq < $1) AND ($2 IS NULL OR e.tenant = $2)
  AND ($3::text IS NULL OR e.type = $3) AND ($4::text IS NULL OR e.key = $4)
  AND ($5::text IS NULL OR e.source = $5) AND ($7::timestamptz IS NULL OR e.published_at >= $7)
  AND ($8::timestamptz IS NULL OR e.published_at < $8)
ORDER BY e.seq DESC
LIMIT $9;

-- name: hub_event
-- $1 id.
SELECT seq, id, tenant, source, external_id, type, key, is_json, digest, aggregate_type,
       aggregate_id, priority, content_type, headers, occurred_at, traceparent, tracestate,
       request_id, correlation_id, published_at, shard, payload
FROM "{schema}".hub_event
WHERE id = $1;

-- name: hub_deliveries
-- Before sequence $1; $2 tenant, $3 subscription, $4 event, $5 state, $6 type, $7 code, $8 from, $9
-- to, $10 ended from, $11 ended to, $12 whether a later generation is there, where they are
-- not null; $13 rows at most.
SELECT seq, id, event, subscription, generation, tenant, type, key, shard, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM "{schema}".hub_delivery AS d
WHERE generation >= 0
  AND seq < coalesce($1, 9223372036854775807) AND ($2 IS NULL OR tenant = $2)
  AND ($3 IS NULL OR subscription = $3) AND ($4 IS NULL OR event = $4)
  AND ($5 IS NULL OR state = $5) AND ($6 IS NULL OR type = $6) AND ($7 IS NULL OR code = $7)
  AND ($8 IS NULL OR created_at >= $8) AND ($9 IS NULL OR created_at < $9)
  AND ($10::timestamptz IS NULL OR ended_at >= $10) AND ($11::timestamptz IS NULL OR ended_at < $11)
  AND ($12::boolean IS NULL OR $12 = ((
    SELECT 1 FROM "{schema}".hub_delivery AS n
    WHERE n.event = d.event AND n.subscription = d.subscription AND n.generation = d.generation + 1
    LIMIT 1) IS NOT NULL))
ORDER BY seq DESC
LIMIT $13;

-- name: hub_deliveries_dead
-- The same of those that are dead, along their own index.
SELECT seq, id, event, subscription, generation, tenant, type, key, shard, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM "{schema}".hub_delivery AS d
WHERE state = 'dead'
  AND seq < coalesce($1, 9223372036854775807) AND ($2::text IS NULL OR tenant = $2)
  AND ($3::text IS NULL OR subscription = $3) AND ($4::text IS NULL OR event = $4)
  AND ($6::text IS NULL OR type = $6) AND ($7::text IS NULL OR code = $7)
  AND ($8::timestamptz IS NULL OR created_at >= $8) AND ($9::timestamptz IS NULL OR created_at < $9)
  AND ($10::timestamptz IS NULL OR ended_at >= $10) AND ($11::timestamptz IS NULL OR ended_at < $11)
  AND ($12::boolean IS NULL OR $12 = ((
    SELECT 1 FROM "{schema}".hub_delivery AS n
    WHERE n.event = d.event AND n.subscription = d.subscription AND n.generation = d.generation + 1
    LIMIT 1) IS NOT NULL))
ORDER BY seq DESC
LIMIT $13;

-- name: hub_deliveries_of
-- The same of one subscription.
SELECT seq, id, event, subscription, generation, tenant, type, key, shard, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM "{schema}".hub_delivery AS d
WHERE generation >= 0 AND subscription = $3
  AND seq < coalesce($1, 9223372036854775807) AND ($2 IS NULL OR tenant = $2)
  AND ($4 IS NULL OR event = $4)
  AND ($5 IS NULL OR state = $5) AND ($6 IS NULL OR type = $6) AND ($7 IS NULL OR code = $7)
  AND ($8 IS NULL OR created_at >= $8) AND ($9 IS NULL OR created_at < $9)
  AND ($10::timestamptz IS NULL OR ended_at >= $10) AND ($11::timestamptz IS NULL OR ended_at < $11)
  AND ($12::boolean IS NULL OR $12 = ((
    SELECT 1 FROM "{schema}".hub_delivery AS n
    WHERE n.event = d.event AND n.subscription = d.subscription AND n.generation = d.generation + 1
    LIMIT 1) IS NOT NULL))
ORDER BY seq DESC
LIMIT $13;

-- name: hub_deliveries_of_dead
-- The same of those that are dead, along their own index.
SELECT seq, id, event, subscription, generation, tenant, type, key, shard, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM "{schema}".hub_delivery AS d
WHERE state = 'dead' AND subscription = $3
  AND seq < coalesce($1, 9223372036854775807) AND ($2::text IS NULL OR tenant = $2)
  AND ($4::text IS NULL OR event = $4)
  AND ($6::text IS NULL OR type = $6) AND ($7::text IS NULL OR code = $7)
  AND ($8::timestamptz IS NULL OR created_at >= $8) AND ($9::timestamptz IS NULL OR created_at < $9)
  AND ($10::timestamptz IS NULL OR ended_at >= $10) AND ($11::timestamptz IS NULL OR ended_at < $11)
  AND ($12::boolean IS NULL OR $12 = ((
    SELECT 1 FROM "{schema}".hub_delivery AS n
    WHERE n.event = d.event AND n.subscription = d.subscription AND n.generation = d.generation + 1
    LIMIT 1) IS NOT NULL))
ORDER BY seq DESC
LIMIT $13;

-- name: hub_deliveries_in
-- The same of one tenant: the newest of each of its subscriptions, and of these the newest.
SELECT d.seq, d.id, d.event, d.subscription, d.generation, d.tenant, d.type, d.key, d.shard,
       d.state, d.attempt, d.failures, d.next_attempt_at, d.created_at, d.ended_at,
       d.correlation_id, d.code, d.error, d.status
FROM (SELECT s.id FROM "{schema}".hub_subscription AS s WHERE s.tenant = $2 OFFSET 0) AS own
CROSS JOIN LATERAL (
  SELECT *
  FROM "{schema}".hub_delivery AS i
  WHERE i.generation >= 0 AND i.subscription = own.id
    AND i.seq < coalesce($1, 9223372036854775807) AND i.tenant = $2
    AND ($3::text IS NULL OR i.subscription = $3) AND ($4::text IS NULL OR i.event = $4)
    AND ($5::text IS NULL OR i.state = $5) AND ($6::text IS NULL OR i.type = $6)
    AND ($7::text IS NULL OR i.code = $7) AND ($8::timestamptz IS NULL OR i.created_at >= $8)
    AND ($9::timestamptz IS NULL OR i.created_at < $9)
    AND ($10::timestamptz IS NULL OR i.ended_at >= $10)
    AND ($11::timestamptz IS NULL OR i.ended_at < $11)
    AND ($12::boolean IS NULL OR $12 = ((
      SELECT 1 FROM "{schema}".hub_delivery AS n
      WHERE n.event = i.event AND n.subscription = i.subscription
        AND n.generation = i.generation + 1
      LIMIT 1) IS NOT NULL))
  ORDER BY i.seq DESC
  LIMIT $13
) AS d
ORDER BY d.seq DESC
LIMIT $13;

-- name: hub_deliveries_in_dead
-- The same of those that are dead, along their own index.
SELECT d.seq, d.id, d.event, d.subscription, d.generation, d.tenant, d.type, d.key, d.shard,
       d.state, d.attempt, d.failures, d.next_attempt_at, d.created_at, d.ended_at,
       d.correlation_id, d.code, d.error, d.status
FROM (SELECT s.id FROM "{schema}".hub_subscription AS s WHERE s.tenant = $2 OFFSET 0) AS own
CROSS JOIN LATERAL (
  SELECT *
  FROM "{schema}".hub_delivery AS i
  WHERE i.state = 'dead' AND i.subscription = own.id
    AND i.seq < coalesce($1, 9223372036854775807) AND i.tenant = $2
    AND ($3::text IS NULL OR i.subscription = $3) AND ($4::text IS NULL OR i.event = $4)
    AND ($6::text IS NULL OR i.type = $6)
    AND ($7::text IS NULL OR i.code = $7) AND ($8::timestamptz IS NULL OR i.created_at >= $8)
    AND ($9::timestamptz IS NULL OR i.created_at < $9)
    AND ($10::timestamptz IS NULL OR i.ended_at >= $10)
    AND ($11::timestamptz IS NULL OR i.ended_at < $11)
    AND ($12::boolean IS NULL OR $12 = ((
      SELECT 1 FROM "{schema}".hub_delivery AS n
      WHERE n.event = i.event AND n.subscription = i.subscription
        AND n.generation = i.generation + 1
      LIMIT 1) IS NOT NULL))
  ORDER BY i.seq DESC
  LIMIT $13
) AS d
ORDER BY d.seq DESC
LIMIT $13;

-- name: hub_deliveries_about
-- The same of one event.
SELECT seq, id, event, subscription, generation, tenant, type, key, shard, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM "{schema}".hub_delivery AS d
WHERE event = $4
  AND ($1 IS NULL OR seq < $1) AND ($2 IS NULL OR tenant = $2)
  AND ($3 IS NULL OR subscription = $3)
  AND ($5 IS NULL OR state = $5) AND ($6 IS NULL OR type = $6) AND ($7 IS NULL OR code = $7)
  AND ($8 IS NULL OR created_at >= $8) AND ($9 IS NULL OR created_at < $9)
  AND ($10::timestamptz IS NULL OR ended_at >= $10) AND ($11::timestamptz IS NULL OR ended_at < $11)
  AND ($12::boolean IS NULL OR $12 = ((
    SELECT 1 FROM "{schema}".hub_delivery AS n
    WHERE n.event = d.event AND n.subscription = d.subscription AND n.generation = d.generation + 1
    LIMIT 1) IS NOT NULL))
ORDER BY seq DESC
LIMIT $13;

-- name: hub_delivery
-- $1 id.
SELECT seq, id, event, subscription, generation, tenant, type, key, shard, state, attempt, failures,
       next_attempt_at, created_at, ended_at, correlation_id, code, error, status
FROM "{schema}".hub_delivery
WHERE id = $1;

-- name: hub_attempts
-- $1 delivery.
SELECT delivery, attempt, shard, subscription, state, attempt_at, resets, worker, lease_until,
       ended_at, code, error, status, answer, retry_after, took
FROM "{schema}".hub_job
WHERE delivery = $1
ORDER BY attempt;

-- name: hub_dead
-- $1 delivery.
SELECT seq, id, tenant, source, external_id, type, key, is_json, digest, aggregate_type,
       aggregate_id, priority, content_type, headers, occurred_at, traceparent, tracestate,
       request_id, correlation_id, published_at, shard, payload
FROM "{schema}".hub_dead
WHERE delivery = $1;

-- name: hub_count
-- $1 tenant; null means all. $2: so many of each subscription and state are counted. From one
-- subscription to the next, as each is one tenant's. Subscription, state, how many, the oldest of
-- those that were counted, whether there are more.
WITH RECURSIVE pending AS (
  (SELECT shard, subscription, tenant
   FROM "{schema}".hub_delivery
   WHERE state = 'pending'
   ORDER BY shard, subscription, next_attempt_at, seq
   LIMIT 1)
  UNION ALL
  SELECT next.*
  FROM pending
  CROSS JOIN LATERAL (
    SELECT d.shard, d.subscription, d.tenant
    FROM "{schema}".hub_delivery AS d
    WHERE d.state = 'pending' AND (d.shard, d.subscription) > (pending.shard, pending.subscription)
    ORDER BY d.shard, d.subscription, d.next_attempt_at, d.seq
    LIMIT 1
  ) AS next
), waiting AS (
  (SELECT shard, subscription, tenant
   FROM "{schema}".hub_delivery
   WHERE state = 'waiting'
   ORDER BY shard, subscription, seq
   LIMIT 1)
  UNION ALL
  SELECT next.*
  FROM waiting
  CROSS JOIN LATERAL (
    SELECT d.shard, d.subscription, d.tenant
    FROM "{schema}".hub_delivery AS d
    WHERE d.state = 'waiting' AND (d.shard, d.subscription) > (waiting.shard, waiting.subscription)
    ORDER BY d.shard, d.subscription, d.seq
    LIMIT 1
  ) AS next
), dead AS (
  (SELECT subscription, tenant
   FROM "{schema}".hub_delivery
   WHERE state = 'dead'
   ORDER BY subscription, seq
   LIMIT 1)
  UNION ALL
  SELECT next.*
  FROM dead
  CROSS JOIN LATERAL (
    SELECT d.subscription, d.tenant
    FROM "{schema}".hub_delivery AS d
    WHERE d.state = 'dead' AND d.subscription > dead.subscription
    ORDER BY d.subscription, d.seq
    LIMIT 1
  ) AS next
), under_way AS (
  SELECT subscription, tenant, created_at
  FROM "{schema}".hub_delivery
  WHERE state = 'in_progress'
  ORDER BY shard, id
  LIMIT 100000
)
SELECT subscription, state, least(deliveries, $2::int8), oldest, deliveries > $2::int8
FROM (
  SELECT one.subscription, 'pending' AS state, counted.*
  FROM pending AS one
  CROSS JOIN LATERAL (
    SELECT count(*) AS deliveries, min(i.created_at) AS oldest
    FROM (SELECT d.created_at FROM "{schema}".hub_delivery AS d
          WHERE d.state = 'pending' AND d.shard = one.shard AND d.subscription = one.subscription
          ORDER BY d.next_attempt_at, d.seq
          LIMIT $2::int8 + 1) AS i
  ) AS counted
  WHERE $1::text IS NULL OR one.tenant = $1
  UNION ALL
  SELECT one.subscription, 'waiting', counted.*
  FROM waiting AS one
  CROSS JOIN LATERAL (
    SELECT count(*), min(i.created_at)
    FROM (SELECT d.created_at FROM "{schema}".hub_delivery AS d
          WHERE d.state = 'waiting' AND d.shard = one.shard AND d.subscription = one.subscription
          ORDER BY d.seq
          LIMIT $2::int8 + 1) AS i
  ) AS counted
  WHERE $1::text IS NULL OR one.tenant = $1
  UNION ALL
  SELECT subscription, 'in_progress', count(*), min(created_at)
  FROM under_way
  WHERE $1::text IS NULL OR tenant = $1
  GROUP BY subscription
  UNION ALL
  SELECT one.subscription, 'dead', counted.*
  FROM dead AS one
  CROSS JOIN LATERAL (
    SELECT count(*), min(i.created_at)
    FROM (SELECT d.created_at FROM "{schema}".hub_delivery AS d
          WHERE d.state = 'dead' AND d.subscription = one.subscription
          ORDER BY d.seq
          LIMIT $2::int8 + 1) AS i
  ) AS counted
  WHERE $1::text IS NULL OR one.tenant = $1
) AS found;

-- name: hub_count_of
-- The same of one subscription: $1 its id, $2 its shard, $3 so many of each state, $4 tenant.
SELECT $1::text, state, least(deliveries, $3::int8), oldest, deliveries > $3::int8
FROM (
  SELECT 'pending' AS state, count(*) AS deliveries, min(created_at) AS oldest
  FROM (SELECT created_at FROM "{schema}".hub_delivery
        WHERE state = 'pending' AND shard = $2::int2 AND subscription = $1
          AND ($4::text IS NULL OR tenant = $4)
        ORDER BY next_attempt_at, seq
        LIMIT $3::int8 + 1) AS pending
  UNION ALL
  SELECT 'waiting', count(*), min(created_at)
  FROM (SELECT created_at FROM "{schema}".hub_delivery
        WHERE state = 'waiting' AND shard = $2::int2 AND subscription = $1
          AND ($4::text IS NULL OR tenant = $4)
        ORDER BY seq
        LIMIT $3::int8 + 1) AS waiting
  UNION ALL
  SELECT 'in_progress', count(*), min(created_at)
  FROM (SELECT subscription, tenant, created_at FROM "{schema}".hub_delivery
        WHERE state = 'in_progress' AND shard = $2::int2
        LIMIT 100000) AS under_way
  WHERE subscription = $1 AND ($4::text IS NULL OR tenant = $4)
  UNION ALL
  SELECT 'dead', count(*), min(created_at)
  FROM (SELECT created_at FROM "{schema}".hub_delivery
        WHERE state = 'dead' AND subscription = $1 AND ($4::text IS NULL OR tenant = $4)
        ORDER BY seq
        LIMIT $3::int8 + 1) AS dead
) AS found
WHERE deliveries > 0;

-- name: hub_stats
-- $1: so many of a state are counted, each along an index that has nothing else; what is more is
-- estimated by the size that the last vacuum found of that index. Of pending, waiting, in progress
-- and dead: how many, and whether that is an estimate; then when the oldest that has not ended was
-- made. Where there are too many, that is the oldest of those that are first of their subscription.
WITH RECURSIVE first_pending AS (
  (SELECT shard, subscription, created_at
   FROM "{schema}".hub_delivery
   WHERE state = 'pending'
   ORDER BY shard, subscription, next_attempt_at, seq
   LIMIT 1)
  UNION ALL
  SELECT next.*
  FROM first_pending AS f
  CROSS JOIN LATERAL (
    SELECT d.shard, d.subscription, d.created_at
    FROM "{schema}".hub_delivery AS d
    WHERE d.state = 'pending' AND (d.shard, d.subscription) > (f.shard, f.subscription)
    ORDER BY d.shard, d.subscription, d.next_attempt_at, d.seq
    LIMIT 1
  ) AS next
), first_waiting AS (
  (SELECT shard, subscription, created_at
   FROM "{schema}".hub_delivery
   WHERE state = 'waiting'
   ORDER BY shard, subscription, seq
   LIMIT 1)
  UNION ALL
  SELECT next.*
  FROM first_waiting AS f
  CROSS JOIN LATERAL (
    SELECT d.shard, d.subscription, d.created_at
    FROM "{schema}".hub_delivery AS d
    WHERE d.state = 'waiting' AND (d.shard, d.subscription) > (f.shard, f.subscription)
    ORDER BY d.shard, d.subscription, d.seq
    LIMIT 1
  ) AS next
), pending AS MATERIALIZED (
  SELECT count(*) AS counted, min(created_at) AS oldest
  FROM (SELECT created_at FROM "{schema}".hub_delivery WHERE state = 'pending'
        ORDER BY shard, subscription, next_attempt_at, seq LIMIT $1) AS i
), waiting AS MATERIALIZED (
  SELECT count(*) AS counted, min(created_at) AS oldest
  FROM (SELECT created_at FROM "{schema}".hub_delivery WHERE state = 'waiting'
        ORDER BY shard, subscription, seq LIMIT $1) AS i
), in_progress AS MATERIALIZED (
  SELECT count(*) AS counted, min(created_at) AS oldest
  FROM (SELECT created_at FROM "{schema}".hub_delivery WHERE state = 'in_progress'
        ORDER BY shard, id LIMIT $1) AS i
), dead AS MATERIALIZED (
  SELECT count(*) AS counted
  FROM (SELECT FROM "{schema}".hub_delivery WHERE state = 'dead'
        ORDER BY ended_at LIMIT $1) AS i
)
SELECT
  CASE WHEN pending.counted < $1 THEN pending.counted
       ELSE greatest(pending.counted, (
         SELECT c.reltuples::int8 FROM pg_class AS c
         WHERE c.oid = '"{schema}".hub_delivery_pending'::regclass)) END,
  pending.counted >= $1,
  CASE WHEN waiting.counted < $1 THEN waiting.counted
       ELSE greatest(waiting.counted, (
         SELECT c.reltuples::int8 FROM pg_class AS c
         WHERE c.oid = '"{schema}".hub_delivery_waiting'::regclass)) END,
  waiting.counted >= $1,
  in_progress.counted,
  in_progress.counted >= $1,
  CASE WHEN dead.counted < $1 THEN dead.counted
       ELSE greatest(dead.counted, (
         SELECT c.reltuples::int8 FROM pg_class AS c
         WHERE c.oid = '"{schema}".hub_delivery_dead'::regclass)) END,
  dead.counted >= $1,
  least(pending.oldest, waiting.oldest, in_progress.oldest,
        CASE WHEN pending.counted >= $1 THEN
          (SELECT min(f.created_at)
           FROM (SELECT created_at FROM first_pending LIMIT $1) AS f) END,
        CASE WHEN waiting.counted >= $1 THEN
          (SELECT min(f.created_at)
           FROM (SELECT created_at FROM first_waiting LIMIT $1) AS f) END)
FROM pending, waiting, in_progress, dead;

-- name: hub_unrouted
-- $1: so many are counted. How many events lie behind the positions, and when the first of them
-- was published.
SELECT
  (SELECT count(*)
   FROM (SELECT
         FROM generate_series(0, (SELECT s.shards FROM "{schema}".hub_setting AS s) - 1)
           AS part(shard)
         CROSS JOIN LATERAL (
           SELECT FROM "{schema}".hub_event AS e
           WHERE e.shard = part.shard AND e.seq > coalesce((
             SELECT p.position FROM "{schema}".hub_position AS p WHERE p.shard = part.shard), 0)
           ORDER BY e.seq
           LIMIT $1
         ) AS behind
         LIMIT $1) AS counted),
  (SELECT min(first.published_at)
   FROM generate_series(0, (SELECT s.shards FROM "{schema}".hub_setting AS s) - 1) AS part(shard)
   CROSS JOIN LATERAL (
     SELECT e.published_at FROM "{schema}".hub_event AS e
     WHERE e.shard = part.shard AND e.seq > coalesce((
       SELECT p.position FROM "{schema}".hub_position AS p WHERE p.shard = part.shard), 0)
     ORDER BY e.seq
     LIMIT 1
   ) AS first);

-- name: hub_health
-- $1 subscription, $2 age in microseconds, $4 how many attempts at most: the newest. Completed,
-- failed, the last times of both, the last error, half and 95 of 100 of those that had an answer
-- took no longer than, and when the first of them ended.
WITH looked AS MATERIALIZED (
  SELECT * FROM (
    (SELECT state, status, took, ended_at, error
     FROM "{schema}".hub_job
     WHERE subscription = $1 AND state = 'completed' AND ended_at IS NOT NULL
       AND ended_at >= (SELECT clock_timestamp()) - $2 * interval '1 microsecond'
     ORDER BY ended_at DESC
     LIMIT $4)
    UNION ALL
    (SELECT state, status, took, ended_at, error
     FROM "{schema}".hub_job
     WHERE subscription = $1 AND state = 'failed' AND ended_at IS NOT NULL
       AND ended_at >= (SELECT clock_timestamp()) - $2 * interval '1 microsecond'
     ORDER BY ended_at DESC
     LIMIT $4)) AS newest
  ORDER BY ended_at DESC
  LIMIT $4
)
SELECT count(*) FILTER (WHERE state = 'completed'), count(*) FILTER (WHERE state = 'failed'),
       max(ended_at) FILTER (WHERE state = 'completed'),
       max(ended_at) FILTER (WHERE state = 'failed'),
       coalesce((SELECT l.error FROM looked AS l
                 WHERE l.state = 'failed' ORDER BY l.ended_at DESC LIMIT 1), ''),
       percentile_disc(0.5) WITHIN GROUP (ORDER BY took)
         FILTER (WHERE state = 'completed' OR status <> 0),
       percentile_disc(0.95) WITHIN GROUP (ORDER BY took)
         FILTER (WHERE state = 'completed' OR status <> 0),
       min(ended_at)
FROM looked;

-- name: hub_failing_since
-- $1 subscription, $2 age in microseconds. When the first attempt failed after the last success: the
-- first that was sent, among the first thousand.
SELECT f.ended_at
FROM (
  SELECT i.ended_at, i.took, i.code
  FROM "{schema}".hub_job AS i
  WHERE i.subscription = $1 AND i.state = 'failed' AND i.ended_at IS NOT NULL
    AND i.ended_at >= (SELECT clock_timestamp()) - $2 * interval '1 microsecond'
    AND i.ended_at > coalesce((
      SELECT c.ended_at FROM "{schema}".hub_job AS c
      WHERE c.subscription = $1 AND c.state = 'completed' AND c.ended_at IS NOT NULL
      ORDER BY c.ended_at DESC
      LIMIT 1), '-infinity')
  ORDER BY i.ended_at
  LIMIT 1000
) AS f
WHERE f.took > 0 AND f.code <> 'TX.LEASE_LOST'
ORDER BY f.ended_at
LIMIT 1;

-- name: hub_generations
-- $1 deliveries. Each with its next generation's state, if that is there.
SELECT d.seq, d.id, d.event, d.subscription, d.generation, d.tenant, d.type, d.key, d.shard,
       d.state, d.attempt, d.failures, d.next_attempt_at, d.created_at, d.ended_at,
       d.correlation_id, d.code, d.error, d.status, n.state
FROM unnest($1::text[]) AS a(id)
CROSS JOIN LATERAL (
  SELECT * FROM "{schema}".hub_delivery AS i WHERE i.id = a.id LIMIT 1
) AS d
LEFT JOIN LATERAL (
  SELECT i.state FROM "{schema}".hub_delivery AS i
  WHERE i.event = d.event AND i.subscription = d.subscription
    AND i.generation = d.generation + 1
  LIMIT 1
) AS n ON true;

-- name: hub_requeue
-- Lists: $1 dead deliveries, $3 details and $4 actors for the audit log, which may be empty. $2
-- tenant; null means all. Those whose next generation is new. Made by a function that operators have
-- a right to, which also writes to the audit log: they cannot.
SELECT dead.id FROM "{schema}".requeue($1::text[], $2::text, $3::text[], $4::text[]) AS dead(id);

-- name: hub_old_jobs
-- $1 age in microseconds, $2 from when on, null from the oldest, $3 rows at most. Jobs that were looked
-- at, when they ended, and whether they may go.
SELECT j.delivery, j.ended_at,
       coalesce((SELECT d.state FROM "{schema}".hub_delivery AS d WHERE d.id = j.delivery LIMIT 1),
                'completed') = 'completed'
FROM "{schema}".hub_job AS j
WHERE j.seen AND j.ended_at >= coalesce($2::timestamptz, '-infinity')
  AND j.ended_at <= (SELECT clock_timestamp()) - $1 * interval '1 microsecond'
ORDER BY j.ended_at
LIMIT $3;

-- name: hub_drop_old_jobs
-- $1 deliveries, $2 age in microseconds. A row each.
DELETE FROM "{schema}".hub_job
WHERE delivery = ANY ($1::text[]) AND seen
  AND ended_at <= (SELECT clock_timestamp()) - $2 * interval '1 microsecond'
RETURNING 1;

-- name: hub_old_deliveries
-- The same as of jobs of those that are completed.
SELECT d.id, d.ended_at,
       (SELECT 1 FROM "{schema}".hub_job AS j WHERE j.delivery = d.id LIMIT 1) IS NULL
       AND (SELECT 1 FROM "{schema}".hub_delivery AS b
            WHERE b.event = d.event AND b.subscription = d.subscription
              AND b.generation = d.generation - 1
            LIMIT 1) IS NULL
FROM "{schema}".hub_delivery AS d
WHERE d.state = 'completed' AND d.ended_at >= coalesce($2::timestamptz, '-infinity')
  AND d.ended_at <= (SELECT clock_timestamp()) - $1 * interval '1 microsecond'
ORDER BY d.ended_at
LIMIT $3;

-- name: hub_old_events
-- $1 age in microseconds, $2 shard, $3 after sequence, $4 rows at most. Events that were routed, whether
-- they are old enough, and whether they may go.
SELECT e.id, e.seq, e.published_at <= (SELECT clock_timestamp()) - $1 * interval '1 microsecond',
       (SELECT 1 FROM "{schema}".hub_delivery AS d WHERE d.event = e.id LIMIT 1) IS NULL
FROM "{schema}".hub_event AS e
WHERE e.shard = $2::int2 AND e.seq > $3
  AND e.seq <= (SELECT p.position FROM "{schema}".hub_position AS p WHERE p.shard = $2::int2)
ORDER BY e.seq
LIMIT $4;

-- name: hub_drop_events
-- $1 events. A row each.
DELETE FROM "{schema}".hub_event AS e
WHERE e.id = ANY ($1::text[])
  AND (SELECT 1 FROM "{schema}".hub_delivery AS d WHERE d.event = e.id LIMIT 1) IS NULL
RETURNING 1;

-- name: hub_old_dead
-- $1 age in microseconds, $2 rows at most. The ids of dead deliveries that may go.
SELECT d.id
FROM "{schema}".hub_delivery AS d
WHERE d.state = 'dead'
  AND d.ended_at <= (SELECT clock_timestamp()) - $1 * interval '1 microsecond'
  AND coalesce((SELECT n.state IN ('pending', 'waiting', 'in_progress')
                FROM "{schema}".hub_delivery AS n
                WHERE n.event = d.event AND n.subscription = d.subscription
                  AND n.generation = d.generation + 1
                LIMIT 1), false) IS FALSE
ORDER BY d.ended_at
LIMIT $2;

-- name: hub_drop_jobs
-- $1 deliveries. A row each.
DELETE FROM "{schema}".hub_job WHERE delivery = ANY ($1::text[]) RETURNING 1;

-- name: hub_drop_dead
-- $1 deliveries. A row each.
DELETE FROM "{schema}".hub_dead WHERE delivery = ANY ($1::text[]) RETURNING 1;

-- name: hub_drop_deliveries
-- $1 deliveries. A row each.
DELETE FROM "{schema}".hub_delivery WHERE id = ANY ($1::text[]) RETURNING 1;
