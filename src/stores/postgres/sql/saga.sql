-- Sagas. The first runs on connections of callers: what it uses is qualified.

-- name: saga_append
-- $1 ids, $2 sagas, $3 definitions, $4 tenants, $5 kinds, $6 bodies. Sequences in this order.
INSERT INTO "{schema}".saga_inbox (id, saga, definition, tenant, kind, body)
SELECT pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]),
       pg_catalog.unnest($3::pg_catalog.text[]), pg_catalog.unnest($4::pg_catalog.text[]),
       pg_catalog.unnest($5::pg_catalog.text[]), pg_catalog.unnest($6::pg_catalog.text[]);

-- name: saga_shards
SELECT shards FROM "{schema}".saga_setting;

-- name: saga_define
-- $1 name, $2 version, $3 digest, $4 text, $5 time. The digest that is stored then. No row if that
-- was committed after this statement began.
WITH defined AS (
  INSERT INTO "{schema}".saga_definition (name, version, digest, text, registered_at)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (name, version) DO NOTHING
  RETURNING digest
)
SELECT digest FROM defined
UNION ALL
SELECT digest FROM "{schema}".saga_definition
WHERE name = $1 AND version = $2 AND NOT EXISTS (SELECT FROM defined);

-- name: saga_definitions
-- $1 name; '' means all.
SELECT name, version, digest, text, registered_at
FROM "{schema}".saga_definition
WHERE $1 = '' OR name = $1
ORDER BY name, version;

-- name: saga_read_inbox
-- $1 definition; shards $2, after $3, rows at most $4; bytes at most $5. The first row has the
-- snapshot, the next transaction id counted from 3 and the transactions that have locked a row of
-- ownership (see read.sql: they bring no command that this read could miss). The others have the
-- number of the range and the command; of each range one row more than asked for, if there is one,
-- and after the bytes one more than fits.
SELECT 0::int8, pg_current_snapshot(), age('3'::xid)::int8,
       (SELECT string_agg(DISTINCT owner.xmax::text, ',')
        FROM "{schema}".shard_owner AS owner
        WHERE owner.scope = 'saga:' || $1 AND owner.xmax <> '0'::xid),
       NULL::int8, NULL, NULL, NULL, NULL, NULL, NULL, NULL::timestamptz, NULL::int2
UNION ALL
SELECT number, NULL, NULL, NULL, seq, id, saga, definition, tenant, kind, body, written_at, shard
FROM (
  SELECT r.number, c.*,
         row_number() OVER place AS place,
         sum(octet_length(c.body)) OVER place AS octets_to
  FROM unnest($2::int8[], $3::int8[], $4::int8[])
       WITH ORDINALITY AS r(of_shard, after, rows_max, number)
  CROSS JOIN LATERAL (
    SELECT seq, id, saga, definition, tenant, kind, body, written_at, shard
    FROM "{schema}".saga_inbox AS i
    WHERE i.definition = $1 AND i.shard = r.of_shard::int2 AND i.seq > r.after
    ORDER BY i.seq
    LIMIT r.rows_max + 1
  ) AS c
  WINDOW place AS (ORDER BY r.number, c.seq)
) AS found
WHERE place <= 2 OR octets_to - octet_length(body) <= $5;

-- name: saga_draw_transaction
-- On its own it ends a transaction with a number, so that snapshots name all before it.
SELECT pg_current_xact_id();

-- name: saga_load
-- $1 ids.
SELECT id, tenant, definition, definition_version, shard, state, quarantined, version, due, key,
       isolate, started_at, changed_at, ended_at, body, person, overdue_from
FROM "{schema}".saga
WHERE id = ANY ($1::text[])
ORDER BY id;

-- name: saga_load_due
-- Here and below the time is a subquery, so that the index is read to that time and no further: a
-- volatile function would only filter rows.
-- $1 definition, $2 shard, after $3 time and $4 id, $5 rows at most.
SELECT id, tenant, definition, definition_version, shard, state, quarantined, version, due, key,
       isolate, started_at, changed_at, ended_at, body, person, overdue_from
FROM "{schema}".saga
WHERE definition = $1 AND shard = $2::int2 AND (due, id) > ($3, $4)
  AND due <= (SELECT clock_timestamp()) AND due IS NOT NULL
  AND state IN ('running', 'compensating', 'paused')
ORDER BY due, id
LIMIT $5;

-- name: saga_results
-- $1 ids.
SELECT id, saga, applied, reason, at
FROM "{schema}".saga_command
WHERE id = ANY ($1::text[])
ORDER BY id;

-- name: saga_hold
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

-- name: saga_versions
-- $1 ids.
SELECT id, version FROM "{schema}".saga WHERE id = ANY ($1::text[]);

-- name: saga_holders
-- $1 definition; tenants $2, isolation keys $3. The active sagas that have them.
SELECT s.tenant, s.isolate, s.id
FROM unnest($2::text[], $3::text[]) AS wanted(tenant, isolate)
JOIN "{schema}".saga AS s
  ON s.definition = $1 AND s.tenant = wanted.tenant AND s.isolate = wanted.isolate
     AND s.isolate <> '' AND s.state IN ('running', 'compensating', 'paused');

-- name: saga_write
-- $1 definition; then lists: $2 ids, $3 tenants, $4 versions of the definition, $5 states,
-- $6 quarantined, $7 versions, $8 due, $9 keys, $10 isolation keys, $11 started, $12 changed,
-- $13 ended, $14 bodies, $15 waits for a person, $16 overdue from; the epoch stands for no time. In this order, which gives isolation keys
-- away before others take them. A row for each saga that was written: a new one has version 1.
INSERT INTO "{schema}".saga AS s
  (id, tenant, definition, definition_version, state, quarantined, version, due, key, isolate,
   started_at, changed_at, ended_at, body, person, overdue_from)
SELECT w.id, w.tenant, $1, w.definition_version, w.state, w.quarantined <> 0, w.version,
       nullif(w.due, 'epoch'), w.key, w.isolate, w.started_at, w.changed_at,
       nullif(w.ended_at, 'epoch'), w.body, w.person, nullif(w.overdue_from, 'epoch')
FROM unnest($2::text[], $3::text[], $4::int8[], $5::text[], $6::int8[], $7::int8[],
            $8::timestamptz[], $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[],
            $13::timestamptz[], $14::text[], $15::text[], $16::timestamptz[])
     AS w(id, tenant, definition_version, state, quarantined, version, due, key, isolate,
          started_at, changed_at, ended_at, body, person, overdue_from)
WHERE w.version = 1 OR EXISTS (SELECT FROM "{schema}".saga AS known WHERE known.id = w.id)
ON CONFLICT (id) DO UPDATE
SET (definition_version, state, quarantined, version, due, key, isolate, started_at, changed_at,
     ended_at, body, person, overdue_from) =
    (excluded.definition_version, excluded.state, excluded.quarantined, excluded.version,
     excluded.due, excluded.key, excluded.isolate, excluded.started_at, excluded.changed_at,
     excluded.ended_at, excluded.body, excluded.person, excluded.overdue_from)
WHERE s.version = excluded.version - 1
RETURNING 1;

-- name: saga_add_history
-- Lists: $1 sagas, $2 numbers, $3 times, $4 events, $5 steps, $6 details, $7 hashes.
INSERT INTO "{schema}".saga_history (saga, number, at, event, step, detail, hash)
SELECT * FROM unnest($1::text[], $2::int8[], $3::timestamptz[], $4::text[], $5::text[], $6::text[],
                     $7::bytea[])
ON CONFLICT (saga, number) DO NOTHING;

-- name: saga_cut_history
-- $1 sagas, $2 the last numbers that go; $3 the last number that always stays.
DELETE FROM "{schema}".saga_history AS h
USING unnest($1::text[], $2::int8[]) AS cut(saga, last)
WHERE h.saga = cut.saga AND h.number > $3 AND h.number <= cut.last;

-- name: saga_add_labels
-- Lists: $1 sagas, $2 names, $3 values.
INSERT INTO "{schema}".saga_label (saga, name, value)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
ON CONFLICT (name, value, saga) DO NOTHING;

-- name: saga_take
-- $1 definition; shards $2, sequences $3.
DELETE FROM "{schema}".saga_inbox AS i
USING unnest($2::int8[], $3::int8[]) AS taken(shard, seq)
WHERE i.definition = $1 AND i.shard = taken.shard::int2 AND i.seq = taken.seq;

-- name: saga_add_results
-- Lists: $1 ids, $2 sagas, $3 applied, $4 reasons, $5 times.
INSERT INTO "{schema}".saga_command (id, saga, applied, reason, at)
SELECT r.id, r.saga, r.applied <> 0, r.reason, r.at
FROM unnest($1::text[], $2::text[], $3::int8[], $4::text[], $5::timestamptz[])
     AS r(id, saga, applied, reason, at)
ON CONFLICT (id) DO NOTHING;

-- name: saga_list
-- After $1; $2 tenant, $3 definition, $4 state, $5 quarantined, $6 key, $7 started from, $8 to,
-- where they are not null; $9 rows at most, $10 whether with bodies.
SELECT id, tenant, definition, definition_version, shard, state, quarantined, version, due, key,
       isolate, started_at, changed_at, ended_at, CASE WHEN $10 THEN body ELSE '' END,
       person, overdue_from
FROM "{schema}".saga
WHERE id > $1
  AND ($2 IS NULL OR tenant = $2) AND ($3 IS NULL OR definition = $3)
  AND ($4 IS NULL OR state = $4) AND ($5 IS NULL OR quarantined = $5)
  AND ($6 IS NULL OR key = $6) AND ($7 IS NULL OR started_at >= $7)
  AND ($8 IS NULL OR started_at < $8)
ORDER BY id
LIMIT $9;

-- name: saga_list_labelled
-- The same; $11 name and $12 value of a label.
SELECT s.id, tenant, definition, definition_version, shard, state, quarantined, version, due, key,
       isolate, started_at, changed_at, ended_at, CASE WHEN $10 THEN body ELSE '' END,
       person, overdue_from
FROM "{schema}".saga_label AS l
JOIN "{schema}".saga AS s ON s.id = l.saga
WHERE l.name = $11 AND l.value = $12 AND l.saga > $1
  AND ($2 IS NULL OR tenant = $2) AND ($3 IS NULL OR definition = $3)
  AND ($4 IS NULL OR state = $4) AND ($5 IS NULL OR quarantined = $5)
  AND ($6 IS NULL OR key = $6) AND ($7 IS NULL OR started_at >= $7)
  AND ($8 IS NULL OR started_at < $8)
ORDER BY l.saga
LIMIT $9;

-- name: saga_get
-- $1 id.
SELECT id, tenant, definition, definition_version, shard, state, quarantined, version, due, key,
       isolate, started_at, changed_at, ended_at, body, person, overdue_from
FROM "{schema}".saga
WHERE id = $1;

-- name: saga_labels
-- $1 sagas.
SELECT saga, name, value
FROM "{schema}".saga_label
WHERE saga = ANY ($1::text[])
ORDER BY saga, name, value;

-- name: saga_history
-- $1 saga, after $2, $3 rows at most.
SELECT number, at, event, step, detail, hash
FROM "{schema}".saga_history
WHERE saga = $1 AND number > $2
ORDER BY number
LIMIT $3;

-- name: saga_count
-- $1 tenant; null means all.
SELECT definition, state, count(*), min(started_at)
FROM "{schema}".saga
WHERE $1 IS NULL OR tenant = $1
GROUP BY definition, state;

-- name: saga_backlog
-- $1 definition. Running, compensating, paused, dead, those that wait for a decision and for an
-- approval, the oldest active one, since when one is overdue, now. What is due is looked at from its
-- beginning, so many rows of each shard at most.
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM "{schema}".saga
    WHERE definition = $1 AND state = 'running' LIMIT 1000000) AS running),
  (SELECT count(*) FROM (SELECT 1 FROM "{schema}".saga
    WHERE definition = $1 AND state = 'compensating' LIMIT 1000000) AS compensating),
  (SELECT count(*) FROM (SELECT 1 FROM "{schema}".saga
    WHERE definition = $1 AND state = 'paused' LIMIT 1000000) AS paused),
  (SELECT count(*) FROM (SELECT 1 FROM "{schema}".saga
    WHERE definition = $1 AND state = 'failed' AND NOT quarantined LIMIT 1000000) AS dead),
  (SELECT count(*) FROM (SELECT 1 FROM "{schema}".saga
    WHERE definition = $1 AND person = 'decision' AND person <> ''
      AND state IN ('running', 'compensating', 'paused') LIMIT 1000000) AS decision),
  (SELECT count(*) FROM (SELECT 1 FROM "{schema}".saga
    WHERE definition = $1 AND person = 'approval' AND person <> ''
      AND state IN ('running', 'compensating', 'paused') LIMIT 1000000) AS approval),
  least((SELECT min(started_at) FROM "{schema}".saga WHERE definition = $1 AND state = 'running'),
        (SELECT min(started_at) FROM "{schema}".saga WHERE definition = $1 AND state = 'compensating'),
        (SELECT min(started_at) FROM "{schema}".saga WHERE definition = $1 AND state = 'paused')),
  (SELECT min(coalesce(first.overdue_from, first.due))
   FROM generate_series(0, (SELECT shards FROM "{schema}".saga_setting) - 1) AS part(shard),
   LATERAL (SELECT due, overdue_from FROM "{schema}".saga
            WHERE definition = $1 AND shard = part.shard AND due IS NOT NULL
              AND state IN ('running', 'compensating', 'paused')
              AND due <= (SELECT clock_timestamp())
            ORDER BY due
            LIMIT (SELECT greatest(20, 20000 / shards) FROM "{schema}".saga_setting)) AS first
   WHERE coalesce(first.overdue_from, first.due) <= (SELECT clock_timestamp())),
  clock_timestamp();

-- name: saga_without_due
-- $1 definition, after $2 id, $3 rows at most.
SELECT id, tenant, definition, definition_version, shard, state, quarantined, version, due, key,
       isolate, started_at, changed_at, ended_at, body, person, overdue_from
FROM "{schema}".saga
WHERE definition = $1 AND id > $2 AND due IS NULL AND state IN ('running', 'compensating')
ORDER BY id
LIMIT $3;

-- name: saga_pending
-- $1 saga, $2 rows at most.
SELECT seq, id, saga, definition, tenant, kind, body, written_at, shard
FROM "{schema}".saga_inbox
WHERE saga = $1
ORDER BY seq
LIMIT $2;

-- name: saga_purge
-- $1 definition, $2 age in microseconds, $3 rows at most. How many.
WITH old AS MATERIALIZED (
  SELECT id FROM "{schema}".saga
  WHERE definition = $1 AND state IN ('completed', 'cancelled')
    AND ended_at <= (SELECT clock_timestamp()) - $2 * interval '1 microsecond'
  ORDER BY ended_at
  LIMIT $3
  FOR UPDATE SKIP LOCKED
), lines AS (
  DELETE FROM "{schema}".saga_history WHERE saga = ANY (ARRAY(SELECT id FROM old))
), labels AS (
  DELETE FROM "{schema}".saga_label WHERE saga = ANY (ARRAY(SELECT id FROM old))
), commands AS (
  DELETE FROM "{schema}".saga_command WHERE saga = ANY (ARRAY(SELECT id FROM old))
), gone AS (
  DELETE FROM "{schema}".saga WHERE id = ANY (ARRAY(SELECT id FROM old)) RETURNING 1
)
SELECT count(*) FROM gone;

-- name: saga_purge_refused
-- $1 age in microseconds, $2 rows at most. Refused commands of sagas that are not there.
DELETE FROM "{schema}".saga_command
WHERE id = ANY (ARRAY(
  SELECT c.id FROM "{schema}".saga_command AS c
  WHERE NOT c.applied AND c.at <= (SELECT clock_timestamp()) - $1 * interval '1 microsecond'
    AND NOT EXISTS (SELECT FROM "{schema}".saga AS s WHERE s.id = c.saga)
  ORDER BY c.at
  LIMIT $2
  FOR UPDATE SKIP LOCKED));
