-- Settling messages of one outbox. Native, because throughput depends on it. $1 scope, $2 owner, $3
-- shards and $4 epochs are always the fences: "held" has the shards whose fence holds, and locks
-- their rows of ownership until the transaction ends. It is MATERIALIZED and joined, or taken as an
-- array: a plain sub-select is not a fence under READ COMMITTED, and EXISTS becomes a nested loop.
-- FOR SHARE would be sufficient as a fence, but two holders of a row would leave a multixact id in
-- xmax, and reads need the id of a transaction there (read.sql).

-- name: settle_hold
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
)
SELECT shard, 0::int8 FROM held;

-- name: settle_keep_plan
-- Run before every statement that settles, in its transaction: the plan is made once and kept. An
-- outbox is nearly empty most of the time, also when the server last counted its rows. Then a
-- look-up by key and a comparison of every row with every item have the same estimated cost, near
-- zero. So the planner is left with only a look-up by the primary key, for a list, and a hash. The
-- cost settings are reset to their usual values: settle_keep_dense_plan may have run before.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true),
       set_config('enable_indexscan', 'on', true),
       set_config('enable_indexonlyscan', 'off', true),
       set_config('enable_nestloop', 'off', true),
       set_config('enable_mergejoin', 'off', true),
       set_config('enable_hashjoin', 'on', true),
       set_config('random_page_cost', NULL, true),
       set_config('cpu_index_tuple_cost', NULL, true),
       set_config('cpu_operator_cost', NULL, true);

-- name: settle_plan_as_usual
-- For the statements that follow in the same transaction.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true),
       set_config('enable_seqscan', 'on', true),
       set_config('enable_bitmapscan', 'on', true),
       set_config('enable_indexonlyscan', 'on', true),
       set_config('enable_nestloop', 'on', true),
       set_config('enable_mergejoin', 'on', true);

-- name: settle_keep_dense_plan
-- Run before settle_delete_dense and settle_archive_dense, whose plan is also made once and kept.
-- The planner is left with only a bitmap scan, and uses the index that leaves the fewest rows: with
-- these settings all indexes have a cost near zero, however many rows it estimates. Do not plan any
-- other statement with them.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'on', true),
       set_config('enable_indexscan', 'off', true),
       set_config('enable_indexonlyscan', 'off', true),
       set_config('enable_nestloop', 'off', true),
       set_config('enable_mergejoin', 'off', true),
       set_config('enable_hashjoin', 'on', true),
       set_config('random_page_cost', '0', true),
       set_config('cpu_index_tuple_cost', '0', true),
       set_config('cpu_operator_cost', '0', true);

-- name: settle_delete
-- From $5 on: sequences, shards, ids. The list of sequences occurs twice: an equality between two
-- relations may be used for an index, one with a list is used. The id is compared in a way that no
-- index serves: the primary key finds the row. There is one unnest for each list, side by side: a
-- single call for all of them would first materialize every list.
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
),
item AS (
  SELECT unnest($5::int8[]) AS seq, unnest($6::int2[]) AS shard, unnest($7::text[]) AS id
),
gone AS (
  DELETE FROM "{schema}"."{table}_outbox" AS t
  USING item JOIN held ON held.shard = item.shard
  WHERE t.seq = item.seq AND t.shard = item.shard AND t.id IS NOT DISTINCT FROM item.id
    AND t.seq = ANY ($5::int8[])
  RETURNING item.shard
)
SELECT shard, 0::int8 FROM held
UNION ALL
SELECT shard, count(*) FROM gone GROUP BY shard;

-- name: settle_delete_uncounted
-- The same without the count for each shard: RETURNING fetches every deleted row again.
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
),
item AS (
  SELECT unnest($5::int8[]) AS seq, unnest($6::int2[]) AS shard, unnest($7::text[]) AS id
)
DELETE FROM "{schema}"."{table}_outbox" AS t
USING item JOIN held ON held.shard = item.shard
WHERE t.seq = item.seq AND t.shard = item.shard AND t.id IS NOT DISTINCT FROM item.id
  AND t.seq = ANY ($5::int8[]);

-- name: settle_archive
-- From $5 on: sequences, shards, ids, attempts.
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
),
item AS (
  SELECT unnest($5::int8[]) AS seq, unnest($6::int2[]) AS shard, unnest($7::text[]) AS id,
         unnest($8::int4[]) AS attempts
),
gone AS (
  DELETE FROM "{schema}"."{table}_outbox" AS t
  USING item JOIN held ON held.shard = item.shard
  WHERE t.seq = item.seq AND t.shard = item.shard AND t.id IS NOT DISTINCT FROM item.id
    AND t.seq = ANY ($5::int8[])
  RETURNING t.*, item.attempts AS spent, item.shard AS held_by
),
archived AS (
  INSERT INTO "{schema}"."{table}_archive" (
    seq, shard, ended_at, attempts, failed_for_good, replays, written_at,
    id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
    content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, code, error, history)
  SELECT seq, shard, (SELECT clock_timestamp()), spent, failed_for_good, replays, written_at,
    id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
    content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, code, error, history
  FROM gone
)
SELECT shard, 0::int8 FROM held
UNION ALL
SELECT held_by, count(*) FROM gone GROUP BY held_by;

-- name: settle_delete_dense
-- From $5 on: sequences, ids, the first and the last sequence, lane. Rows that lie close together
-- are found by walking from the first to the last, page by page, which takes a third fewer
-- instructions a row. Of the rows between the two sequences it inspects the fresh ones in one lane
-- of the held shards, by the index they are read by. The held shards are computed once, with their
-- locks, before any row is scanned. A list of lanes would not work: the planner may leave it out of
-- the index condition and scan the whole of each shard.
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
),
item AS (SELECT unnest($5::int8[]) AS seq, unnest($6::text[]) AS id)
DELETE FROM "{schema}"."{table}_outbox" AS t
USING item
WHERE t.seq = item.seq AND t.id IS NOT DISTINCT FROM item.id
  AND t.due IS NULL AND t.shard = ANY (ARRAY(SELECT shard FROM held)) AND t.lane = $9
  AND t.seq BETWEEN $7 AND $8;

-- name: settle_archive_dense
-- Like settle_delete_dense, and $10 attempts.
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
),
item AS (
  SELECT unnest($5::int8[]) AS seq, unnest($6::text[]) AS id, unnest($10::int4[]) AS attempts
),
gone AS (
  DELETE FROM "{schema}"."{table}_outbox" AS t
  USING item
  WHERE t.seq = item.seq AND t.id IS NOT DISTINCT FROM item.id
    AND t.due IS NULL AND t.shard = ANY (ARRAY(SELECT shard FROM held)) AND t.lane = $9
    AND t.seq BETWEEN $7 AND $8
  RETURNING t.*, item.attempts AS spent, t.shard AS held_by
),
archived AS (
  INSERT INTO "{schema}"."{table}_archive" (
    seq, shard, ended_at, attempts, failed_for_good, replays, written_at,
    id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
    content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, code, error, history)
  SELECT seq, shard, (SELECT clock_timestamp()), spent, failed_for_good, replays, written_at,
    id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
    content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, code, error, history
  FROM gone
)
SELECT shard, 0::int8 FROM held
UNION ALL
SELECT held_by, count(*) FROM gone GROUP BY held_by;

-- name: settle_retry
-- $5 failures kept; from $6 on: sequences, shards, ids, attempts, whether it waits for a retry,
-- delays in microseconds, whether there is a failure to record, its code and error, targets done.
-- Adds one failure to those of a row: it replaces an earlier one of the same number, and the newest
-- are kept. Producers may write any JSON into the column: a value that is not an array of objects
-- counts as no failures, and no value in it is converted.
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
),
now AS MATERIALIZED (SELECT clock_timestamp() AS at),
changed AS (
  UPDATE "{schema}"."{table}_outbox" AS t
  SET attempts = item.attempts,
      due = CASE WHEN item.waits
                 THEN (SELECT at FROM now) + item.delay * interval '1 microsecond'
                 ELSE t.due END,
      retrying = item.waits OR t.retrying,
      targets_done = CASE WHEN item.waits THEN item.targets_done ELSE t.targets_done END,
      code = CASE WHEN item.fails THEN item.code ELSE t.code END,
      error = CASE WHEN item.fails THEN item.error ELSE t.error END,
      history = CASE WHEN item.fails AND item.attempts > t.failed_for_good
        THEN (
            SELECT jsonb_agg(entry ORDER BY place)
            FROM (
              SELECT entry, place
              FROM (
                SELECT entry, place
                FROM jsonb_array_elements(
                       CASE WHEN jsonb_typeof(t.history) = 'array' THEN t.history ELSE '[]' END)
                     WITH ORDINALITY AS old(entry, place)
                WHERE jsonb_typeof(entry) = 'object'
                  AND entry -> 'number' IS DISTINCT FROM to_jsonb(item.attempts)
                UNION ALL
                SELECT jsonb_build_object(
                         'number', item.attempts,
                         'at', (extract(epoch FROM (SELECT at FROM now)) * 1000000)::int8,
                         'code', item.code,
                         'error', item.error),
                       9223372036854775807
              ) AS every
              ORDER BY place DESC
              LIMIT $5
            ) AS newest
        )
        ELSE t.history END,
      failed_for_good = CASE WHEN item.waits
                             THEN greatest(t.failed_for_good, item.attempts)
                             ELSE t.failed_for_good END
  FROM unnest($6::int8[], $7::int2[], $8::text[], $9::int4[], $10::bool[], $11::int8[],
              $12::bool[], $13::text[], $14::text[], $15::int8[])
         AS item(seq, shard, id, attempts, waits, delay, fails, code, error, targets_done)
       JOIN held ON held.shard = item.shard
  WHERE t.seq = item.seq AND t.shard = item.shard AND t.id IS NOT DISTINCT FROM item.id
    AND t.seq = ANY ($6::int8[])
  RETURNING item.shard
)
SELECT shard, 0::int8 FROM held
UNION ALL
SELECT shard, count(*) FROM changed GROUP BY shard;

-- name: settle_bury
-- $5 failures kept; from $6 on: sequences, shards, ids, attempts, states, codes, errors, whether to
-- keep an earlier error, notes. A row with a note loses its history: its own result was refused.
-- Returns the rows, as sql::decode_record reads them.
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
),
now AS MATERIALIZED (SELECT clock_timestamp() AS at),
gone AS (
  DELETE FROM "{schema}"."{table}_outbox" AS t
  USING unnest($6::int8[], $7::int2[], $8::text[], $9::int4[], $10::text[], $11::text[],
               $12::text[], $13::bool[], $14::text[])
          AS item(seq, shard, id, attempts, state, code, error, keeps, note)
        JOIN held ON held.shard = item.shard
  WHERE t.seq = item.seq AND t.shard = item.shard AND t.id IS NOT DISTINCT FROM item.id
    AND t.seq = ANY ($6::int8[])
  RETURNING t.*, item.state, item.attempts AS spent, nullif(item.note, '') AS new_note,
    CASE WHEN item.keeps AND t.error <> '' THEN t.code ELSE item.code END AS last_code,
    CASE WHEN item.keeps AND t.error <> '' THEN t.error ELSE item.error END AS last_error,
    CASE WHEN item.note <> '' THEN NULL
         WHEN (item.keeps AND t.error <> '') OR item.attempts <= t.failed_for_good
         THEN t.history
         ELSE (
             SELECT jsonb_agg(entry ORDER BY place)
             FROM (
               SELECT entry, place
               FROM (
                 SELECT entry, place
                 FROM jsonb_array_elements(
                        CASE WHEN jsonb_typeof(t.history) = 'array' THEN t.history ELSE '[]' END)
                      WITH ORDINALITY AS old(entry, place)
                 WHERE jsonb_typeof(entry) = 'object'
                   AND entry -> 'number' IS DISTINCT FROM to_jsonb(item.attempts)
                 UNION ALL
                 SELECT jsonb_build_object(
                          'number', item.attempts,
                          'at', (extract(epoch FROM (SELECT at FROM now)) * 1000000)::int8,
                          'code', item.code,
                          'error', item.error),
                        9223372036854775807
               ) AS every
               ORDER BY place DESC
               LIMIT $5
             ) AS newest
         ) END AS whole_history
),
buried AS (
  INSERT INTO "{schema}"."{table}_dead" (
    seq, shard, state, ended_at, attempts, failed_for_good, replays, written_at,
    id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
    content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, code, error, history, note)
  SELECT seq, shard, state, (SELECT at FROM now), spent, greatest(failed_for_good, spent),
    replays, written_at,
    id, tenant, topic, aggregate_type, aggregate_id, key, priority, payload, is_json, digest,
    content_type, headers, occurred_at, not_before, traceparent, tracestate, request_id,
    correlation_id, last_code, last_error, whole_history, new_note
  FROM gone
  RETURNING *
)
SELECT
  state, seq, shard, attempts, replays, written_at, NULL::timestamptz, false, ended_at, code, error,
  note, history::text, octet_length(payload),
  id, tenant, topic, aggregate_type, aggregate_id, key, priority, is_json, content_type, headers,
  occurred_at, not_before, traceparent, tracestate, request_id, correlation_id,
  coalesce(digest, sha256(payload)), digest IS NULL, NULL::bytea
FROM buried;
