-- Mode competing. A fresh row without a key belongs to the shard that has claimed it, other rows to
-- the shard they were written to. Settles of this mode are those of settle.sql and also delete the
-- claims. Claims are looked up like rows, by the primary key and for a list; their shards are
-- compared in a way that no index serves.

-- name: competing_settle_delete
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
),
claimed AS MATERIALIZED (
  SELECT seq, shard FROM "{schema}"."{table}_claim" AS claim WHERE claim.seq = ANY ($5::int8[])
),
let_go AS (
  DELETE FROM "{schema}"."{table}_claim" AS claim
  USING unnest($5::int8[], $6::int2[]) AS item(seq, shard)
        JOIN held ON held.shard = item.shard
  WHERE claim.seq = item.seq AND claim.shard IS NOT DISTINCT FROM item.shard
    AND claim.seq = ANY ($5::int8[])
),
item AS (
  SELECT unnest($5::int8[]) AS seq, unnest($6::int2[]) AS shard, unnest($7::text[]) AS id
),
gone AS (
  DELETE FROM "{schema}"."{table}_outbox" AS t
  USING item JOIN held ON held.shard = item.shard LEFT JOIN claimed ON claimed.seq = item.seq
  WHERE t.seq = item.seq
    AND CASE WHEN t.due IS NULL THEN coalesce(claimed.shard, t.shard)
         ELSE t.shard END = item.shard
    AND t.id IS NOT DISTINCT FROM item.id
    AND t.seq = ANY ($5::int8[])
  RETURNING item.shard
)
SELECT shard, 0::int8 FROM held
UNION ALL
SELECT shard, count(*) FROM gone GROUP BY shard;

-- name: competing_settle_delete_uncounted
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
),
claimed AS MATERIALIZED (
  SELECT seq, shard FROM "{schema}"."{table}_claim" AS claim WHERE claim.seq = ANY ($5::int8[])
),
let_go AS (
  DELETE FROM "{schema}"."{table}_claim" AS claim
  USING unnest($5::int8[], $6::int2[]) AS item(seq, shard)
        JOIN held ON held.shard = item.shard
  WHERE claim.seq = item.seq AND claim.shard IS NOT DISTINCT FROM item.shard
    AND claim.seq = ANY ($5::int8[])
),
item AS (
  SELECT unnest($5::int8[]) AS seq, unnest($6::int2[]) AS shard, unnest($7::text[]) AS id
)
DELETE FROM "{schema}"."{table}_outbox" AS t
USING item JOIN held ON held.shard = item.shard LEFT JOIN claimed ON claimed.seq = item.seq
WHERE t.seq = item.seq
  AND CASE WHEN t.due IS NULL THEN coalesce(claimed.shard, t.shard)
       ELSE t.shard END = item.shard
  AND t.id IS NOT DISTINCT FROM item.id
  AND t.seq = ANY ($5::int8[]);

-- name: competing_settle_archive
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
),
claimed AS MATERIALIZED (
  SELECT seq, shard FROM "{schema}"."{table}_claim" AS claim WHERE claim.seq = ANY ($5::int8[])
),
let_go AS (
  DELETE FROM "{schema}"."{table}_claim" AS claim
  USING unnest($5::int8[], $6::int2[]) AS item(seq, shard)
        JOIN held ON held.shard = item.shard
  WHERE claim.seq = item.seq AND claim.shard IS NOT DISTINCT FROM item.shard
    AND claim.seq = ANY ($5::int8[])
),
item AS (
  SELECT unnest($5::int8[]) AS seq, unnest($6::int2[]) AS shard, unnest($7::text[]) AS id,
         unnest($8::int4[]) AS attempts
),
gone AS (
  DELETE FROM "{schema}"."{table}_outbox" AS t
  USING item JOIN held ON held.shard = item.shard LEFT JOIN claimed ON claimed.seq = item.seq
  WHERE t.seq = item.seq
    AND CASE WHEN t.due IS NULL THEN coalesce(claimed.shard, t.shard)
         ELSE t.shard END = item.shard
    AND t.id IS NOT DISTINCT FROM item.id
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

-- name: competing_settle_retry
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
),
claimed AS MATERIALIZED (
  SELECT seq, shard FROM "{schema}"."{table}_claim" AS claim WHERE claim.seq = ANY ($6::int8[])
),
let_go AS (
  DELETE FROM "{schema}"."{table}_claim" AS claim
  USING unnest($6::int8[], $7::int2[], $10::bool[]) AS item(seq, shard, waits)
        JOIN held ON held.shard = item.shard
  WHERE claim.seq = item.seq AND claim.shard IS NOT DISTINCT FROM item.shard AND item.waits
    AND claim.seq = ANY ($6::int8[])
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
       JOIN held ON held.shard = item.shard LEFT JOIN claimed ON claimed.seq = item.seq
  WHERE t.seq = item.seq
    AND CASE WHEN t.due IS NULL THEN coalesce(claimed.shard, t.shard)
         ELSE t.shard END = item.shard
    AND t.id IS NOT DISTINCT FROM item.id
    AND t.seq = ANY ($6::int8[])
  RETURNING item.shard
)
SELECT shard, 0::int8 FROM held
UNION ALL
SELECT shard, count(*) FROM changed GROUP BY shard;

-- name: competing_settle_bury
WITH held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
),
claimed AS MATERIALIZED (
  SELECT seq, shard FROM "{schema}"."{table}_claim" AS claim WHERE claim.seq = ANY ($6::int8[])
),
let_go AS (
  DELETE FROM "{schema}"."{table}_claim" AS claim
  USING unnest($6::int8[], $7::int2[]) AS item(seq, shard)
        JOIN held ON held.shard = item.shard
  WHERE claim.seq = item.seq AND claim.shard IS NOT DISTINCT FROM item.shard
    AND claim.seq = ANY ($6::int8[])
),
now AS MATERIALIZED (SELECT clock_timestamp() AS at),
gone AS (
  DELETE FROM "{schema}"."{table}_outbox" AS t
  USING unnest($6::int8[], $7::int2[], $8::text[], $9::int4[], $10::text[], $11::text[],
               $12::text[], $13::bool[], $14::text[])
          AS item(seq, shard, id, attempts, state, code, error, keeps, note)
        JOIN held ON held.shard = item.shard LEFT JOIN claimed ON claimed.seq = item.seq
  WHERE t.seq = item.seq
    AND CASE WHEN t.due IS NULL THEN coalesce(claimed.shard, t.shard)
         ELSE t.shard END = item.shard
    AND t.id IS NOT DISTINCT FROM item.id
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

-- name: competing_own_gates
-- $1 outbox, $2 the requested shards: this waits for their locks. Claims on the rows of a shard are
-- made one after the other, by the transaction that has locked its gate. So a look at them that
-- begins after that is still valid when the claim is written. No transaction waits while it holds
-- the gate of another owner's shard, so there is no deadlock.
SELECT slot FROM "{schema}".counter
WHERE outbox = $1 AND name = 'gate' AND slot = ANY ($2::int2[])
ORDER BY slot
FOR UPDATE;

-- name: competing_other_gates
-- $1 outbox, $2 the requested shards, $3 how many other shards to inspect. They are drawn at
-- random, so that two relays do not inspect them in the same order. The result is kept for the next
-- statement. A claim lost in a crash of the server is made again, so the commit is asynchronous.
SELECT set_config('sagabox.gates', coalesce(string_agg(slot::text, ','), ''), true),
       set_config('synchronous_commit', 'off', true)
FROM (SELECT slot FROM "{schema}".counter
      WHERE outbox = $1 AND name = 'gate' AND slot <> ALL ($2::int2[])
      ORDER BY random()
      LIMIT $3
      FOR UPDATE SKIP LOCKED) AS locked;

-- name: competing_look_for_free
-- $1 shards, $2 lanes, $3 after, $4 rows_max. Looks for rows to claim: returns their number, the
-- snapshot in which it looked, the same as text, and its own transaction. Then, for each range that
-- has more than rows_max, where to stop. Writes nothing. Rows with a key are never claimed, so
-- claims are not looked up for them. Claims are looked up row by row: a join or EXISTS would be
-- planned to read all claims, and thousands of dead rows.
WITH own AS MATERIALIZED (
  SELECT r.number, r.rows_max, r.shard, r.lane, m.seq, m.is_free
  FROM unnest($1::int2[], $2::int2[], $3::int8[], $4::int8[])
       WITH ORDINALITY AS r(shard, lane, after, rows_max, number)
  CROSS JOIN LATERAL (
    SELECT o.seq, o.key IS NULL AND (SELECT c.shard FROM "{schema}"."{table}_claim" AS c
     WHERE c.seq = o.seq) IS NULL AS is_free
    FROM "{schema}"."{table}_outbox" AS o
    WHERE o.due IS NULL
      AND o.shard = r.shard
      AND (o.lane, o.seq) > (r.lane, r.after)
      AND o.lane <= r.lane
      AND (o.key IS NOT NULL OR coalesce((SELECT c.shard FROM "{schema}"."{table}_claim" AS c
       WHERE c.seq = o.seq), r.shard) = r.shard)
    ORDER BY o.lane, o.seq
    LIMIT r.rows_max
  ) AS m
)
SELECT 0::int8, (SELECT count(*) FROM own WHERE is_free), pg_current_snapshot(),
       pg_current_snapshot()::text, pg_current_xact_id_if_assigned()
UNION ALL
SELECT number, max(seq), NULL, NULL, NULL
FROM own
GROUP BY number, rows_max
HAVING count(*) = rows_max;

-- name: competing_claim
-- Claims these rows, and returns the same. $5 the lanes in which rows of other shards are wanted
-- too, $6 the shards to claim them for, $7 after, $8 rows_max, $9 how many rows it inspects, $10
-- how many are claimed from other shards at once; with its own rows a range has at most rows_max.
WITH own AS MATERIALIZED (
  SELECT r.number, r.rows_max, r.shard, r.lane, m.seq, m.is_free
  FROM unnest($1::int2[], $2::int2[], $3::int8[], $4::int8[])
       WITH ORDINALITY AS r(shard, lane, after, rows_max, number)
  CROSS JOIN LATERAL (
    SELECT o.seq, o.key IS NULL AND (SELECT c.shard FROM "{schema}"."{table}_claim" AS c
     WHERE c.seq = o.seq) IS NULL AS is_free
    FROM "{schema}"."{table}_outbox" AS o
    WHERE o.due IS NULL
      AND o.shard = r.shard
      AND (o.lane, o.seq) > (r.lane, r.after)
      AND o.lane <= r.lane
      AND (o.key IS NOT NULL OR coalesce((SELECT c.shard FROM "{schema}"."{table}_claim" AS c
       WHERE c.seq = o.seq), r.shard) = r.shard)
    ORDER BY o.lane, o.seq
    LIMIT r.rows_max
  ) AS m
),
others AS MATERIALIZED (
  SELECT r.shard, r.lane, m.seq
  FROM (SELECT u.lane, u.shard, u.after,
               least($10::int8, u.rows_max - (SELECT count(*) FROM own AS mine
                                              WHERE mine.shard = u.shard AND mine.lane = u.lane))
                 AS room
        FROM unnest($5::int2[], $6::int2[], $7::int8[], $8::int8[])
             AS u(lane, shard, after, rows_max)) AS r
  CROSS JOIN LATERAL (
    SELECT f.seq
    FROM unnest(string_to_array(current_setting('sagabox.gates'), ',')::int2[]) AS gate(shard)
    CROSS JOIN LATERAL (
      SELECT o.seq
      FROM (SELECT o.seq, o.key
            FROM "{schema}"."{table}_outbox" AS o
            WHERE o.due IS NULL
              AND o.shard = gate.shard
              AND (o.lane, o.seq) > (r.lane, r.after)
              AND o.lane <= r.lane
            ORDER BY o.lane, o.seq
            LIMIT $9) AS o
      WHERE o.key IS NULL AND (SELECT c.shard FROM "{schema}"."{table}_claim" AS c
       WHERE c.seq = o.seq) IS NULL
      ORDER BY o.seq
      LIMIT greatest(r.room, 0)
    ) AS f
    ORDER BY f.seq
    LIMIT greatest(r.room, 0)
  ) AS m
),
claimed AS (
  INSERT INTO "{schema}"."{table}_claim" (seq, shard, lane)
  SELECT seq, shard, lane FROM own WHERE is_free
  UNION ALL
  SELECT seq, shard, lane FROM others
  ON CONFLICT DO NOTHING
  RETURNING seq
)
SELECT 0::int8, (SELECT count(*) FROM claimed), pg_current_snapshot(),
       pg_current_snapshot()::text, pg_current_xact_id()
UNION ALL
SELECT number, max(seq), NULL, NULL, NULL
FROM own
GROUP BY number, rows_max
HAVING count(*) = rows_max;

-- name: competing_next_transaction
-- The next transaction id counted from 3, at the moment of the first call in a transaction that has
-- no id itself; therefore it is not part of a claim. Then the last two columns of the first row of
-- read.
SELECT age('3'::xid)::int8,
       (SELECT string_agg(DISTINCT owner.xmax::text, ',')
        FROM "{schema}".shard_owner AS owner
        WHERE owner.scope = '{scope}' AND owner.xmax <> '0'::xid),
       (SELECT o.shards::text FROM "{schema}".outbox AS o WHERE o.name = '{table}');

-- name: competing_read_claimed
-- $1 payload_max, $2 shards, $3 lanes, $4 after, $5 rows_max, $6 where to stop, $7 the snapshot of
-- the claim. Rows with a key belong to their shard. Those committed after that snapshot are left
-- for the next read: otherwise the reader would pass unclaimed rows of the same commits.
SELECT r.number, NULL, m.*
FROM unnest($2::int2[], $3::int2[], $4::int8[], $5::int8[], $6::int8[])
     WITH ORDINALITY AS r(shard, lane, after, rows_max, stop, number)
CROSS JOIN LATERAL (
  SELECT * FROM (
    (SELECT
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
       AND (o.shard, o.lane, o.seq) > (r.shard, r.lane, r.after)
       AND (o.shard, o.lane, o.seq) <= (r.shard, r.lane, r.stop)
       AND CASE WHEN o.key IS NOT NULL
                THEN pg_visible_in_snapshot(o.xid, $7::text::pg_snapshot)
                ELSE (SELECT c.shard FROM "{schema}"."{table}_claim" AS c
                 WHERE c.seq = o.seq) = r.shard END
     ORDER BY o.shard, o.lane, o.seq
     LIMIT r.rows_max + 1)
    UNION ALL
    (SELECT
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
     FROM (SELECT seq AS claim_seq, shard AS claim_shard, lane AS claim_lane
           FROM "{schema}"."{table}_claim") AS c
     JOIN "{schema}"."{table}_outbox" AS o ON o.seq = claim_seq
     WHERE (claim_shard, claim_lane, claim_seq) > (r.shard, r.lane, r.after)
       AND (claim_shard, claim_lane, claim_seq) <= (r.shard, r.lane, r.stop)
       AND claim_lane >= 0
       AND o.shard <> r.shard AND o.due IS NULL
     ORDER BY claim_shard, claim_lane, claim_seq
     LIMIT r.rows_max + 1)
  ) AS ours
  ORDER BY seq
  LIMIT r.rows_max + 1
) AS m;
