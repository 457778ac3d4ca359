#include "stores/postgres/driver/fragments.hpp"
#include "stores/postgres/outbox/statements.hpp"

namespace sagabox::postgres {
namespace {

/// Claims of the rows of a shard are made one after the other, by whoever has locked its gate; so a
/// look at them, begun after that, is still true when the claim is written. $1 outbox, $2 the
/// shards asked for: those are waited for. Nobody waits who holds a gate of another's, so nobody
/// waits in a ring.
constexpr std::string_view own_gates = R"sql(
SELECT slot FROM "{schema}".counter
WHERE outbox = $1 AND name = 'gate' AND slot = ANY ($2::int2[])
ORDER BY slot
FOR UPDATE
)sql";

/// $3: how many of the other shards are looked at. Which ones is a matter of luck, so that two who
/// look do not go the same way. Kept for the next statement. A claim that a crash of the server
/// forgets is made again: nobody waits for the disk.
constexpr std::string_view other_gates = R"sql(
SELECT set_config('sagabox.gates', coalesce(string_agg(slot::text, ','), ''), true),
       set_config('synchronous_commit', 'off', true)
FROM (SELECT slot FROM "{schema}".counter
      WHERE outbox = $1 AND name = 'gate' AND slot <> ALL ($2::int2[])
      ORDER BY random()
      LIMIT $3
      FOR UPDATE SKIP LOCKED) AS locked
)sql";

/// The shard that has claimed row o. Asked row by row: what a join or EXISTS would be made of reads
/// all claims, and thousands that are gone.
constexpr Fragment claimer{"claimer", R"sql((SELECT c.shard FROM "{schema}"."{table}_claim" AS c
           WHERE c.seq = o.seq))sql"};

/// The rows that the ranges may show, in the order of their index: $1 shards, $2 lanes, $3 after,
/// $4 rows_max. Nobody claims rows with a key, so those are not asked about.
constexpr Fragment own{"own", R"sql(own AS MATERIALIZED (
  SELECT r.number, r.rows_max, r.shard, r.lane, m.seq, m.is_free
  FROM unnest($1::int2[], $2::int2[], $3::int8[], $4::int8[])
       WITH ORDINALITY AS r(shard, lane, after, rows_max, number)
  CROSS JOIN LATERAL (
    SELECT o.seq, o.key IS NULL AND {claimer} IS NULL AS is_free
    FROM "{schema}"."{table}_outbox" AS o
    WHERE o.due IS NULL
      AND o.shard = r.shard
      AND (o.lane, o.seq) > (r.lane, r.after)
      AND o.lane <= r.lane
      AND (o.key IS NOT NULL OR coalesce({claimer}, r.shard) = r.shard)
    ORDER BY o.lane, o.seq
    LIMIT r.rows_max
  ) AS m
))sql"};

/// For each range that has more than rows_max, where to stop.
constexpr Fragment stops{"stops", R"sql(
SELECT number, max(seq), NULL, NULL, NULL
FROM own
GROUP BY number, rows_max
HAVING count(*) = rows_max)sql"};

/// Whether there is anything to claim: so many, the snapshot in which it looked, as text too, and
/// its own transaction; then the stops. Writes nothing.
constexpr std::string_view look_for_free = R"sql(
WITH {own}
SELECT 0::int8, (SELECT count(*) FROM own WHERE is_free), pg_current_snapshot(),
       pg_current_snapshot()::text, pg_current_xact_id_if_assigned()
UNION ALL
{stops}
)sql";

/// Claims them, and answers the same. $5 the lanes in which others' rows are wanted too, $6 the
/// shards that they are claimed for, $7 after, $8 rows_max, $9 how far the look goes, $10 how many
/// are claimed from others at once; with those of its own a range has no more than rows_max.
constexpr std::string_view claim = R"sql(
WITH {own},
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
      WHERE o.key IS NULL AND {claimer} IS NULL
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
{stops}
)sql";

/// The next transaction id counted from 3, of the moment in which it is first asked for in a
/// transaction that has none itself: not in a claim. And who holds shards.
constexpr std::string_view next_transaction = R"sql(
SELECT age('3'::xid)::int8, {holders}, {shards}
)sql";

/// What is ours of the ranges: $1 payload_max, $2 shards, $3 lanes, $4 after, $5 rows_max, $6 where
/// to stop, $7 the snapshot of the claim. Rows with a key belong to their shard; those that came
/// after that snapshot wait, lest they be read past others that came with them and are not claimed.
constexpr std::string_view read_claimed = R"sql(
SELECT r.number, NULL, m.*
FROM unnest($2::int2[], $3::int2[], $4::int8[], $5::int8[], $6::int8[])
     WITH ORDINALITY AS r(shard, lane, after, rows_max, stop, number)
CROSS JOIN LATERAL (
  SELECT * FROM (
    (SELECT {row}
     FROM "{schema}"."{table}_outbox" AS o
     WHERE o.due IS NULL
       AND (o.shard, o.lane, o.seq) > (r.shard, r.lane, r.after)
       AND (o.shard, o.lane, o.seq) <= (r.shard, r.lane, r.stop)
       AND CASE WHEN o.key IS NOT NULL
                THEN pg_visible_in_snapshot(o.xid, $7::text::pg_snapshot)
                ELSE {claimer} = r.shard END
     ORDER BY o.shard, o.lane, o.seq
     LIMIT r.rows_max + 1)
    UNION ALL
    (SELECT {row}
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
) AS m
)sql";

}  // namespace

CompetingStatements::CompetingStatements(const Names& names, const TableName& table)
    : OutboxStatements(names, table, ClaimMode::competing) {
  const Filler fill(names, table,
                    {row_fragment, holders_fragment, shards_fragment, own, stops, claimer});
  own_gates = fill("own_gates", postgres::own_gates);
  other_gates = fill("other_gates", postgres::other_gates);
  look_for_free = fill("look_for_free", postgres::look_for_free);
  claim = fill("claim", postgres::claim);
  next_transaction = fill("next_transaction", postgres::next_transaction);
  read_claimed = fill("read_claimed", postgres::read_claimed);
}

}  // namespace sagabox::postgres
