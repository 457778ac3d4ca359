#include "stores/postgres/outbox/statements.hpp"

namespace sagabox::postgres {
namespace {

/// Everything of an outbox has its name as $1.
constexpr std::string_view known = R"sql(
SELECT coalesce((SELECT sum(value)::int8 FROM "{schema}".counter
                 WHERE outbox = $1 AND name = 'taken'), 0),
       clock_timestamp()
FROM "{schema}".outbox
WHERE name = $1
)sql";

constexpr std::string_view pauses = R"sql(
SELECT topic, actor, note, since FROM "{schema}".pause WHERE outbox = $1 ORDER BY topic
)sql";

/// $2 topic, $3 actor, $4 note; no row where it was paused already.
constexpr std::string_view pause = R"sql(
INSERT INTO "{schema}".pause (outbox, topic, actor, note, since)
VALUES ($1, $2, $3, $4, clock_timestamp())
ON CONFLICT (outbox, topic) DO NOTHING
RETURNING since
)sql";

constexpr std::string_view resume = R"sql(
DELETE FROM "{schema}".pause WHERE outbox = $1 AND topic = $2
RETURNING clock_timestamp()
)sql";

constexpr std::string_view job_columns =
    "id, state, from_state, tenant, topic, aggregate_type, key, code, ended_from, ended_until, "
    "first, last_wanted, retrying, cursor, last, rate_max, matched, replayed, actor, error, "
    "created_at, changed_at, skipped";

/// $2 from, then what the filter says, $13 last, $14 rate_max, $15 matched, $16 actor. Whoever
/// creates two jobs at once waits for the other: the outbox's row gives out the numbers.
constexpr std::string_view create_job = R"sql(
WITH one_at_a_time AS MATERIALIZED (
  SELECT name FROM "{schema}".outbox WHERE name = $1 FOR UPDATE
)
INSERT INTO "{schema}".replay_job (
  outbox, id, from_state, tenant, topic, aggregate_type, key, code, ended_from, ended_until,
  first, last_wanted, retrying, last, rate_max, matched, actor, created_at, changed_at)
SELECT name,
       coalesce((SELECT max(id) FROM "{schema}".replay_job WHERE outbox = $1), 0) + 1,
       $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, now.at, now.at
FROM one_at_a_time, (SELECT clock_timestamp() AS at) AS now
RETURNING {job}
)sql";

constexpr std::string_view jobs = R"sql(
SELECT {job} FROM "{schema}".replay_job WHERE outbox = $1 ORDER BY id
)sql";

/// $2 id.
constexpr std::string_view lock_job = R"sql(
SELECT {job} FROM "{schema}".replay_job WHERE outbox = $1 AND id = $2 FOR UPDATE
)sql";

/// $2 id, $3 state, $4 error.
constexpr std::string_view change_job = R"sql(
UPDATE "{schema}".replay_job SET state = $3, error = $4, changed_at = clock_timestamp()
WHERE outbox = $1 AND id = $2
RETURNING {job}
)sql";

/// $2 id, $3 rows, $4 cursor, $5 whether it is finished, $6 how many were left as they are.
constexpr std::string_view advance_job = R"sql(
UPDATE "{schema}".replay_job
SET replayed = replayed + $3,
    skipped = skipped + $6,
    cursor = CASE WHEN $5 THEN last ELSE $4 END,
    state = CASE WHEN $5 THEN 'finished' ELSE state END,
    changed_at = clock_timestamp()
WHERE outbox = $1 AND id = $2
RETURNING {job}
)sql";

/// Who runs replays: $1 scope, $2 owner, $3 epoch. Held until the transaction ends.
constexpr std::string_view hold_replays_sql = R"sql(
SELECT shard FROM "{schema}".shard_owner
WHERE scope = $1 AND shard = 0 AND owner = $2 AND epoch = $3
FOR SHARE
)sql";

Statement filled(const Names& names, std::string_view name, std::string_view sql) {
  std::string whole(sql);
  constexpr std::string_view placeholder = "{job}";
  if (const auto at = whole.find(placeholder); at != std::string::npos) {
    whole.replace(at, placeholder.size(), job_columns);
  }
  return {std::string(name), names.fill(whole)};
}

}  // namespace

ControlStatements::ControlStatements(const Names& names)
    : known(filled(names, "known", postgres::known)),
      pauses(filled(names, "pauses", postgres::pauses)),
      pause(filled(names, "pause", postgres::pause)),
      resume(filled(names, "resume", postgres::resume)),
      create_job(filled(names, "create_job", postgres::create_job)),
      jobs(filled(names, "jobs", postgres::jobs)),
      lock_job(filled(names, "lock_job", postgres::lock_job)),
      change_job(filled(names, "change_job", postgres::change_job)),
      advance_job(filled(names, "advance_job", postgres::advance_job)),
      hold(filled(names, "hold_replays", hold_replays_sql)) {}

}  // namespace sagabox::postgres
