#include "stores/postgres/outbox/statements.hpp"

#include "stores/postgres/driver/fragments.hpp"

#include <array>

namespace sagabox::postgres {
namespace {

/// Locks the ownership rows that a settle relies on: $1 scope, $2 owner, $3 shards, $4 epochs.
/// MATERIALIZED and joined, or taken as an array: a plain sub-select is no fence under READ
/// COMMITTED, and EXISTS becomes a nested loop. FOR SHARE would do as a fence, but leaves a number
/// that is no transaction's where two hold a row; see `holders_fragment`.
constexpr Fragment held{"held", R"sql(held AS MATERIALIZED (
  SELECT o.shard
  FROM "{schema}".shard_owner AS o
  JOIN unnest($3::int2[], $4::int8[]) AS fence(shard, epoch)
    ON fence.shard = o.shard AND fence.epoch = o.epoch
  WHERE o.scope = $1 AND o.owner = $2
  ORDER BY o.shard
  FOR NO KEY UPDATE OF o
))sql"};

/// Where rows are bound to the shard they were written to.
constexpr std::array by_shard{
    Fragment{"bound", "t.shard = item.shard"},
    Fragment{"claims", ""},
    Fragment{"let_go_done", ""},
    Fragment{"let_go_waiting", ""},
    Fragment{"let_go_buried", ""},
};

/// Mode competing: a fresh row is bound to the shard that claimed it. What is done with lets go.
/// Claims are looked for as rows are: by the primary key, for a list. Their shards are compared in
/// a way that no index serves.
constexpr std::array by_claim{
    Fragment{"bound", R"sql(CASE WHEN t.due IS NULL THEN coalesce(claimed.shard, t.shard)
                               ELSE t.shard END = item.shard)sql"},
    Fragment{"claims", "LEFT JOIN claimed ON claimed.seq = item.seq"},
    Fragment{"let_go_done", R"sql(
claimed AS MATERIALIZED (
  SELECT seq, shard FROM "{schema}"."{table}_claim" AS claim WHERE claim.seq = ANY ($5::int8[])
),
let_go AS (
  DELETE FROM "{schema}"."{table}_claim" AS claim
  USING unnest($5::int8[], $6::int2[]) AS item(seq, shard)
        JOIN held ON held.shard = item.shard
  WHERE claim.seq = item.seq AND claim.shard IS NOT DISTINCT FROM item.shard
    AND claim.seq = ANY ($5::int8[])
),)sql"},
    Fragment{"let_go_waiting", R"sql(
claimed AS MATERIALIZED (
  SELECT seq, shard FROM "{schema}"."{table}_claim" AS claim WHERE claim.seq = ANY ($6::int8[])
),
let_go AS (
  DELETE FROM "{schema}"."{table}_claim" AS claim
  USING unnest($6::int8[], $7::int2[], $10::bool[]) AS item(seq, shard, waits)
        JOIN held ON held.shard = item.shard
  WHERE claim.seq = item.seq AND claim.shard IS NOT DISTINCT FROM item.shard AND item.waits
    AND claim.seq = ANY ($6::int8[])
),)sql"},
    Fragment{"let_go_buried", R"sql(
claimed AS MATERIALIZED (
  SELECT seq, shard FROM "{schema}"."{table}_claim" AS claim WHERE claim.seq = ANY ($6::int8[])
),
let_go AS (
  DELETE FROM "{schema}"."{table}_claim" AS claim
  USING unnest($6::int8[], $7::int2[]) AS item(seq, shard)
        JOIN held ON held.shard = item.shard
  WHERE claim.seq = item.seq AND claim.shard IS NOT DISTINCT FROM item.shard
    AND claim.seq = ANY ($6::int8[])
),)sql"},
};

/// Where rows go that are done, and how many did of which shard: those of `gone`.
constexpr Fragment archived{"archived", R"sql(archived AS (
  INSERT INTO "{schema}"."{table}_archive" (
    seq, shard, ended_at, attempts, failed_for_good, replays, written_at,
    {carried}, code, error, history)
  SELECT seq, shard, (SELECT clock_timestamp()), spent, failed_for_good, replays, written_at,
    {carried}, code, error, history
  FROM gone
)
SELECT shard, 0::int8 FROM held
UNION ALL
SELECT held_by, count(*) FROM gone GROUP BY held_by)sql"};

/// The failures of a row with one more: an earlier one of the same number gives way, the newest
/// are kept. Of row t and what the settle says of it. Producers may write any JSON into the column:
/// what is not an array of objects counts as no failure, and no value in it is converted.
constexpr Fragment history_fragment{"history", R"sql((
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
    ))sql"};

/// $1 payload_max, $2 shards, $3 lanes, $4 after, $5 rows_max. The first row has the snapshot in
/// which all others were read, the next transaction id counted from 3 (a snapshot names only those
/// in progress below the last one that has ended), who holds shards, and how many there are. The
/// lane is bounded from both sides and ordered by, not compared for equality: then the planner may
/// walk the primary key past the rows of all other shards. Its upper bound stands alone: a row
/// comparison ends a walk at its first column only, so that an empty lane walked the whole backlog
/// of its shard.
constexpr std::string_view read = R"sql(
SELECT 0::int8, pg_current_snapshot(), age('3'::xid)::int8,
       {holders},
       {shards},
       NULL, NULL, NULL, NULL, NULL, NULL::record
UNION ALL
SELECT r.number, NULL, m.*
FROM unnest($2::int2[], $3::int2[], $4::int8[], $5::int8[])
     WITH ORDINALITY AS r(shard, lane, after, rows_max, number)
CROSS JOIN LATERAL (
  SELECT {row}
  FROM "{schema}"."{table}_outbox" AS o
  WHERE o.due IS NULL
    AND o.shard = r.shard
    AND (o.lane, o.seq) > (r.lane, r.after)
    AND o.lane <= r.lane
  ORDER BY o.lane, o.seq
  LIMIT r.rows_max + 1
) AS m
)sql";

/// Before `read` and `read_due`, in their transaction. Planning them takes longer than running them
/// where little is found, so the plan is kept: it may be made while the table is empty and must
/// serve when it is full. What is left to the planner walks along the one index that has their rows
/// in order. A sort of the few who hold shards looks dear to it then; without JIT that is all.
constexpr std::string_view keep_plan = R"sql(
SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true),
       set_config('enable_sort', 'off', true)
)sql";

/// Who waits for a change of the table here has no snapshot yet, and sees what it was changed to.
constexpr std::string_view lock_to_read = R"sql(
LOCK TABLE "{schema}"."{table}_outbox" IN ACCESS SHARE MODE
)sql";

/// $1 payload_max, $2 shards, $3 after_due, $4 after, $5 rows_max.
constexpr std::string_view read_due = R"sql(
SELECT r.number, NULL, m.*
FROM unnest($2::int2[], $3::timestamptz[], $4::int8[], $5::int8[])
     WITH ORDINALITY AS r(shard, after_due, after, rows_max, number)
CROSS JOIN LATERAL (
  SELECT {row}
  FROM "{schema}"."{table}_outbox" AS o
  WHERE o.due IS NOT NULL
    AND o.shard = r.shard
    AND (o.due, o.seq) > (r.after_due, r.after)
    AND o.due <= (SELECT clock_timestamp())
  ORDER BY o.due, o.seq
  LIMIT r.rows_max + 1
) AS m
)sql";

/// $1 sequences.
constexpr std::string_view payloads = R"sql(
SELECT seq, payload
FROM "{schema}"."{table}_outbox"
WHERE seq = ANY ($1::int8[])
)sql";

/// $1 shard, $2 after, $3 rows_max.
constexpr std::string_view retrying_keys = R"sql(
SELECT seq, key, tenant
FROM "{schema}"."{table}_outbox"
WHERE retrying AND key IS NOT NULL AND shard = $1 AND seq > $2
ORDER BY seq
LIMIT $3 + 1
)sql";

/// On its own it ends a transaction with a number, so that snapshots name all before it.
constexpr std::string_view draw_transaction = R"sql(
SELECT pg_current_xact_id()
)sql";

constexpr std::string_view hold = R"sql(
WITH {held}
SELECT shard, 0::int8 FROM held
)sql";

/// Before every statement that settles, in its transaction: the plan is made once and kept. An
/// outbox is nearly empty most of the time, also when the server last counted its rows, and then it
/// does not care whether it looks for a row by its key or compares every row with every item: both
/// seem to cost nothing. So nothing is left to it but a look by the primary key, for a list, and a
/// hash. Costs are as usual: `keep_dense_plan` may have come before.
constexpr std::string_view keep_settle_plan = R"sql(
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
       set_config('cpu_operator_cost', NULL, true)
)sql";
/// For what follows in the same transaction.
constexpr std::string_view plan_as_usual = R"sql(
SELECT set_config('plan_cache_mode', 'force_custom_plan', true),
       set_config('enable_seqscan', 'on', true),
       set_config('enable_bitmapscan', 'on', true),
       set_config('enable_indexonlyscan', 'on', true),
       set_config('enable_nestloop', 'on', true),
       set_config('enable_mergejoin', 'on', true)
)sql";

/// From $5 on: sequences, shards, ids. The list of sequences stands twice: an equation between two
/// relations may be used for an index, one with a list is. The id is compared in a way that no
/// index serves: the primary key finds the row. One call for each list, side by side: one call for
/// all of them first writes every list down.
constexpr std::string_view delete_done = R"sql(
WITH {held},{let_go_done}
item AS (
  SELECT unnest($5::int8[]) AS seq, unnest($6::int2[]) AS shard, unnest($7::text[]) AS id
),
gone AS (
  DELETE FROM "{schema}"."{table}_outbox" AS t
  USING item JOIN held ON held.shard = item.shard {claims}
  WHERE t.seq = item.seq AND {bound} AND t.id IS NOT DISTINCT FROM item.id
    AND t.seq = ANY ($5::int8[])
  RETURNING item.shard
)
SELECT shard, 0::int8 FROM held
UNION ALL
SELECT shard, count(*) FROM gone GROUP BY shard
)sql";

/// The same without saying how many of which shard: RETURNING fetches every deleted row again.
constexpr std::string_view delete_uncounted = R"sql(
WITH {held},{let_go_done}
item AS (
  SELECT unnest($5::int8[]) AS seq, unnest($6::int2[]) AS shard, unnest($7::text[]) AS id
)
DELETE FROM "{schema}"."{table}_outbox" AS t
USING item JOIN held ON held.shard = item.shard {claims}
WHERE t.seq = item.seq AND {bound} AND t.id IS NOT DISTINCT FROM item.id
  AND t.seq = ANY ($5::int8[])
)sql";

/// From $5 on: sequences, shards, ids, attempts.
constexpr std::string_view archive_done = R"sql(
WITH {held},{let_go_done}
item AS (
  SELECT unnest($5::int8[]) AS seq, unnest($6::int2[]) AS shard, unnest($7::text[]) AS id,
         unnest($8::int4[]) AS attempts
),
gone AS (
  DELETE FROM "{schema}"."{table}_outbox" AS t
  USING item JOIN held ON held.shard = item.shard {claims}
  WHERE t.seq = item.seq AND {bound} AND t.id IS NOT DISTINCT FROM item.id
    AND t.seq = ANY ($5::int8[])
  RETURNING t.*, item.attempts AS spent, item.shard AS held_by
),
{archived}
)sql";

/// Before `delete_dense` and `archive_dense`, whose plan is made once and kept, too. Nothing is
/// left to the planner but a bitmap, and there the index that leaves the fewest rows: with these
/// costs all indexes seem to cost nothing, however many rows it thinks there are. Nothing else may
/// be planned so.
constexpr std::string_view keep_dense_plan = R"sql(
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
       set_config('cpu_operator_cost', '0', true)
)sql";

/// Of the table's rows between two sequences, those that may be ours: fresh ones of a lane of the
/// shards that are held, by the index they are read by. Which shards are is computed once, with
/// their locks, before any row passes. A list of lanes would not do: the planner may leave it out
/// and walk along the whole of each shard.
constexpr Fragment own_between{"own_between", R"sql(t.due IS NULL
  AND t.shard = ANY (ARRAY(SELECT shard FROM held)) AND t.lane = $9
  AND t.seq BETWEEN $7 AND $8)sql"};

/// Rows that lie close together are found by walking from the first to the last, page by page: a
/// third fewer instructions a row. From $5 on: sequences, ids, the first and the last sequence,
/// lane.
constexpr std::string_view delete_dense = R"sql(
WITH {held},
item AS (SELECT unnest($5::int8[]) AS seq, unnest($6::text[]) AS id)
DELETE FROM "{schema}"."{table}_outbox" AS t
USING item
WHERE t.seq = item.seq AND t.id IS NOT DISTINCT FROM item.id AND {own_between}
)sql";

/// As `delete_dense`, and $10: attempts.
constexpr std::string_view archive_dense = R"sql(
WITH {held},
item AS (
  SELECT unnest($5::int8[]) AS seq, unnest($6::text[]) AS id, unnest($10::int4[]) AS attempts
),
gone AS (
  DELETE FROM "{schema}"."{table}_outbox" AS t
  USING item
  WHERE t.seq = item.seq AND t.id IS NOT DISTINCT FROM item.id AND {own_between}
  RETURNING t.*, item.attempts AS spent, t.shard AS held_by
),
{archived}
)sql";

/// $5 failures kept; from $6 on: sequences, shards, ids, attempts, whether it waits for a retry,
/// delays in microseconds, whether there is a failure to note, its code and error, targets done.
constexpr std::string_view retry = R"sql(
WITH {held},{let_go_waiting}
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
                     THEN {history}
                     ELSE t.history END,
      failed_for_good = CASE WHEN item.waits
                             THEN greatest(t.failed_for_good, item.attempts)
                             ELSE t.failed_for_good END
  FROM unnest($6::int8[], $7::int2[], $8::text[], $9::int4[], $10::bool[], $11::int8[],
              $12::bool[], $13::text[], $14::text[], $15::int8[])
         AS item(seq, shard, id, attempts, waits, delay, fails, code, error, targets_done)
       JOIN held ON held.shard = item.shard {claims}
  WHERE t.seq = item.seq AND {bound} AND t.id IS NOT DISTINCT FROM item.id
    AND t.seq = ANY ($6::int8[])
  RETURNING item.shard
)
SELECT shard, 0::int8 FROM held
UNION ALL
SELECT shard, count(*) FROM changed GROUP BY shard
)sql";

/// $5 failures kept; from $6 on: sequences, shards, ids, attempts, states, codes, errors, whether
/// an earlier error stays, notes. A row with a note loses its history: its own result was refused.
/// Answers with the rows, as `sql::decode_record` reads them.
constexpr std::string_view bury = R"sql(
WITH {held},{let_go_buried}
now AS MATERIALIZED (SELECT clock_timestamp() AS at),
gone AS (
  DELETE FROM "{schema}"."{table}_outbox" AS t
  USING unnest($6::int8[], $7::int2[], $8::text[], $9::int4[], $10::text[], $11::text[],
               $12::text[], $13::bool[], $14::text[])
          AS item(seq, shard, id, attempts, state, code, error, keeps, note)
        JOIN held ON held.shard = item.shard {claims}
  WHERE t.seq = item.seq AND {bound} AND t.id IS NOT DISTINCT FROM item.id
    AND t.seq = ANY ($6::int8[])
  RETURNING t.*, item.state, item.attempts AS spent, nullif(item.note, '') AS new_note,
    CASE WHEN item.keeps AND t.error <> '' THEN t.code ELSE item.code END AS last_code,
    CASE WHEN item.keeps AND t.error <> '' THEN t.error ELSE item.error END AS last_error,
    CASE WHEN item.note <> '' THEN NULL
         WHEN (item.keeps AND t.error <> '') OR item.attempts <= t.failed_for_good
         THEN t.history
         ELSE {history} END AS whole_history
),
buried AS (
  INSERT INTO "{schema}"."{table}_dead" (
    seq, shard, state, ended_at, attempts, failed_for_good, replays, written_at,
    {carried}, code, error, history, note)
  SELECT seq, shard, state, (SELECT at FROM now), spent, greatest(failed_for_good, spent),
    replays, written_at, {carried}, last_code, last_error, whole_history, new_note
  FROM gone
  RETURNING *
)
SELECT {ended}, NULL::bytea FROM buried
)sql";

}  // namespace

OutboxStatements::OutboxStatements(const Names& names, const TableName& table, ClaimMode mode) {
  claims = mode == ClaimMode::competing;
  const auto& [bound, claimed, done, waiting, buried] = claims ? by_claim : by_shard;
  const Filler fill(names, table,
                    {held, archived, history_fragment, row_fragment, holders_fragment,
                     shards_fragment, bound, claimed, done, waiting, buried, own_between});
  const auto settling = [&](std::string_view name, std::string_view sql) {
    return fill(claims ? "competing_" + std::string(name) : std::string(name), sql);
  };
  read = fill("read", postgres::read);
  keep_plan = fill("keep_plan", postgres::keep_plan);
  lock_to_read = fill("lock_to_read", postgres::lock_to_read);
  read_due = fill("read_due", postgres::read_due);
  payloads = fill("payloads", postgres::payloads);
  retrying_keys = fill("retrying_keys", postgres::retrying_keys);
  draw_transaction = fill("draw_transaction", postgres::draw_transaction);
  hold = fill("hold", postgres::hold);
  delete_done = settling("delete_done", postgres::delete_done);
  delete_uncounted = settling("delete_uncounted", postgres::delete_uncounted);
  archive_done = settling("archive_done", postgres::archive_done);
  keep_settle_plan = fill("keep_settle_plan", postgres::keep_settle_plan);
  plan_as_usual = fill("plan_as_usual", postgres::plan_as_usual);
  if (!claims) {
    keep_dense_plan = fill("keep_dense_plan", postgres::keep_dense_plan);
    delete_dense = fill("delete_dense", postgres::delete_dense);
    archive_dense = fill("archive_dense", postgres::archive_dense);
  }
  retry = settling("retry", postgres::retry);
  bury = settling("bury", postgres::bury);
}

}  // namespace sagabox::postgres
