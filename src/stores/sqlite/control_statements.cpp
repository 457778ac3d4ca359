#include "core/text.hpp"
#include "stores/sqlite/fragments.hpp"
#include "stores/sqlite/statements.hpp"

namespace sagabox::sqlite {
namespace {

/// Everything of an outbox has its name as ?1.
constexpr std::string_view counts_sql = R"sql(
SELECT gone, waiting, done, dead, quarantined, taken FROM sagabox_outbox WHERE name = ?1
)sql";

/// By how much each changes, in the same order; ?8 the highest sequence that is no
/// longer in the normal lane.
constexpr std::string_view count_sql = R"sql(
UPDATE sagabox_outbox
SET seq = max(seq, ?8), gone = gone + ?2, waiting = waiting + ?3, done = done + ?4, dead = dead + ?5,
    quarantined = quarantined + ?6, taken = taken + ?7
WHERE name = ?1
)sql";

constexpr std::string_view pauses = R"sql(
SELECT topic, actor, note, since FROM sagabox_pause WHERE outbox = ?1 ORDER BY topic
)sql";

/// ?2 topic, ?3 actor, ?4 note, ?5 now; changes nothing where it was paused already.
constexpr std::string_view pause = R"sql(
INSERT INTO sagabox_pause (outbox, topic, actor, note, since) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (outbox, topic) DO NOTHING
)sql";

constexpr std::string_view resume = R"sql(
DELETE FROM sagabox_pause WHERE outbox = ?1 AND topic = ?2
)sql";

constexpr std::string_view job_columns =
    "id, state, from_state, tenant, topic, aggregate_type, key, code, ended_from, ended_until, "
    "first, last_wanted, retrying, cursor, last, rate_max, matched, replayed, actor, error, "
    "created_at, changed_at, skipped";

/// ?2 from, then what the filter says, ?13 last, ?14 rate_max, ?15 matched, ?16 actor, ?17 now.
constexpr std::string_view create_job = R"sql(
INSERT INTO sagabox_replay_job (
  outbox, id, from_state, tenant, topic, aggregate_type, key, code, ended_from, ended_until,
  first, last_wanted, retrying, last, rate_max, matched, actor, created_at, changed_at)
SELECT ?1, coalesce((SELECT max(id) FROM sagabox_replay_job WHERE outbox = ?1), 0) + 1,
       ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?17
RETURNING {job}
)sql";

constexpr std::string_view jobs = R"sql(
SELECT {job} FROM sagabox_replay_job WHERE outbox = ?1 ORDER BY id
)sql";

/// ?2 id.
constexpr std::string_view job = R"sql(
SELECT {job} FROM sagabox_replay_job WHERE outbox = ?1 AND id = ?2
)sql";

/// ?2 id, ?3 state, ?4 error, ?5 now.
constexpr std::string_view change_job = R"sql(
UPDATE sagabox_replay_job SET state = ?3, error = ?4, changed_at = ?5
WHERE outbox = ?1 AND id = ?2
RETURNING {job}
)sql";

/// ?2 id, ?3 rows, ?4 cursor, ?5 whether it is finished, ?6 now, ?7 rows that were left.
constexpr std::string_view advance_job = R"sql(
UPDATE sagabox_replay_job
SET replayed = replayed + ?3,
    skipped = skipped + ?7,
    cursor = CASE WHEN ?5 THEN last ELSE ?4 END,
    state = CASE WHEN ?5 THEN 'finished' ELSE state END,
    changed_at = ?6
WHERE outbox = ?1 AND id = ?2
RETURNING {job}
)sql";

/// Who owns a shard: ?1 scope, ?2 shard, ?3 owner, ?4 epoch. There is one writer: it stays so until
/// the transaction ends.
constexpr std::string_view hold = R"sql(
SELECT 1 FROM sagabox_owner WHERE scope = ?1 AND shard = ?2 AND owner = ?3 AND epoch = ?4
)sql";

Sql filled(std::string_view sql) { return {replaced(sql, "{job}", job_columns)}; }

}  // namespace

ControlStatements::ControlStatements()
    : counts(filled(counts_sql)),
      count(filled(count_sql)),
      pauses(filled(sqlite::pauses)),
      pause(filled(sqlite::pause)),
      resume(filled(sqlite::resume)),
      create_job(filled(sqlite::create_job)),
      jobs(filled(sqlite::jobs)),
      job(filled(sqlite::job)),
      change_job(filled(sqlite::change_job)),
      advance_job(filled(sqlite::advance_job)),
      hold(filled(sqlite::hold)) {}

}  // namespace sagabox::sqlite
