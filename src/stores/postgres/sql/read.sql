-- Reading one outbox. Native, because throughput depends on it.

-- name: read
-- $1 payload_max, $2 shards, $3 lanes, $4 after, $5 rows_max. The first row has the snapshot in
-- which all others were read, the next transaction id counted from 3 (a snapshot names only those
-- in progress below the last one that has ended), the transactions that have locked or changed a
-- row of ownership, and how many shards the outbox has now. Those transactions (settles, and
-- workers that take or leave a shard) write no message that a read could miss, so reads do not wait
-- for them. A row keeps the id of the last one after its end, when reads do not wait for it any
-- more. These rows are never locked in a mode that two transactions may share: an id is always that
-- of a transaction, not of a multixact. Only the rows of this outbox: a replay writes messages
-- while it holds a shard of its own scope. The number of shards is compared with the reader's: a
-- reshard beside a running relay moves keys between shards, and a relay that continued to read its
-- shards could deliver the later messages of a key first. The other rows have the columns that
-- decode.cpp reads: columns that usually have their defaults come as one value, which is NULL if
-- all of them do (as 28 separate columns, they took 2.1 µs a row on the server and 1.5 µs in
-- libpq). The payload is included if it is not larger than $1. The lane has a lower and an upper
-- bound and is part of ORDER BY, instead of an equality: then the planner may walk the primary key
-- past the rows of all other shards. The upper bound is a condition of its own: a row comparison
-- ends an index scan by its first column only, so that a read of an empty lane scanned the whole
-- backlog of its shard.
SELECT 0::int8, pg_current_snapshot(), age('3'::xid)::int8,
       (SELECT string_agg(DISTINCT owner.xmax::text, ',')
        FROM "{schema}".shard_owner AS owner
        WHERE owner.scope = '{scope}' AND owner.xmax <> '0'::xid),
       (SELECT o.shards::text FROM "{schema}".outbox AS o WHERE o.name = '{table}'),
       NULL, NULL, NULL, NULL, NULL, NULL::record
UNION ALL
SELECT r.number, NULL, m.*
FROM unnest($2::int2[], $3::int2[], $4::int8[], $5::int8[])
     WITH ORDINALITY AS r(shard, lane, after, rows_max, number)
CROSS JOIN LATERAL (
  SELECT
    seq, id, topic, key,
    CASE WHEN octet_length(payload) <= $1 THEN payload END,
    digest, occurred_at, written_at,
    CASE WHEN octet_length(payload) <= $1 AND attempts = 0 AND replays = 0 AND due IS NULL
           AND tenant = 'default' AND aggregate_type = '__GLOBAL__' AND aggregate_id IS NULL
           AND priority = 1 AND is_json AND content_type = 'application/json'
           AND headers IS NULL AND not_before IS NULL AND traceparent IS NULL
           AND tracestate IS NULL AND request_id IS NULL AND correlation_id IS NULL
         THEN NULL
         ELSE ROW(octet_length(payload), attempts, replays, due, tenant, aggregate_type,
                  aggregate_id, priority::smallint, is_json, content_type, headers, not_before,
                  traceparent, tracestate, request_id, correlation_id,
                  coalesce(targets_done, 0), retrying) END
  FROM "{schema}"."{table}_outbox" AS o
  WHERE o.due IS NULL
    AND o.shard = r.shard
    AND (o.lane, o.seq) > (r.lane, r.after)
    AND o.lane <= r.lane
  ORDER BY o.lane, o.seq
  LIMIT r.rows_max + 1
) AS m;

-- name: read_due
-- $1 payload_max, $2 shards, $3 after_due, $4 after, $5 rows_max, $6 how many shards the reader
-- expects. The columns of read. No row after a reshard: read reports it.
SELECT r.number, NULL, m.*
FROM unnest($2::int2[], $3::timestamptz[], $4::int8[], $5::int8[])
     WITH ORDINALITY AS r(shard, after_due, after, rows_max, number)
CROSS JOIN LATERAL (
  SELECT
    seq, id, topic, key,
    CASE WHEN octet_length(payload) <= $1 THEN payload END,
    digest, occurred_at, written_at,
    CASE WHEN octet_length(payload) <= $1 AND attempts = 0 AND replays = 0 AND due IS NULL
           AND tenant = 'default' AND aggregate_type = '__GLOBAL__' AND aggregate_id IS NULL
           AND priority = 1 AND is_json AND content_type = 'application/json'
           AND headers IS NULL AND not_before IS NULL AND traceparent IS NULL
           AND tracestate IS NULL AND request_id IS NULL AND correlation_id IS NULL
         THEN NULL
         ELSE ROW(octet_length(payload), attempts, replays, due, tenant, aggregate_type,
                  aggregate_id, priority::smallint, is_json, content_type, headers, not_before,
                  traceparent, tracestate, request_id, correlation_id,
                  coalesce(targets_done, 0), retrying) END
  FROM "{schema}"."{table}_outbox" AS o
  WHERE o.due IS NOT NULL
    AND o.shard = r.shard
    AND (o.due, o.seq) > (r.after_due, r.after)
    AND o.due <= (SELECT clock_timestamp())
  ORDER BY o.due, o.seq
  LIMIT r.rows_max + 1
) AS m
WHERE (SELECT o.shards FROM "{schema}".outbox AS o WHERE o.name = '{table}') = $6::int8;

-- name: read_keep_plan
-- Run before read and read_due, in their transaction. Planning them takes longer than running them
-- if few rows are found, so the plan is kept: it may be made while the table is empty and must be
-- good when it is full. The planner may only walk the one index that has their rows in order. It
-- then overestimates the cost of sorting the few shard owners, which has no effect except that it
-- could enable JIT, so JIT is off.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true),
       set_config('enable_sort', 'off', true);

-- name: read_lock
-- Run before several reads on one snapshot. A reader that waits here for a change of the table has
-- no snapshot yet, and sees the changed table.
LOCK TABLE "{schema}"."{table}_outbox" IN ACCESS SHARE MODE;

-- name: read_payloads
-- $1 sequences.
SELECT seq, payload
FROM "{schema}"."{table}_outbox"
WHERE seq = ANY ($1::int8[]);

-- name: read_retrying_keys
-- $1 shard, $2 after, $3 rows_max.
SELECT seq, key, tenant
FROM "{schema}"."{table}_outbox"
WHERE retrying AND key IS NOT NULL AND shard = $1 AND seq > $2
ORDER BY seq
LIMIT $3 + 1;

-- name: read_draw_transaction
-- Run on its own, this ends a transaction that has an id, so that snapshots name all transactions
-- before it.
SELECT pg_current_xact_id();
