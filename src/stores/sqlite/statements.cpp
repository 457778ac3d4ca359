#include "stores/sqlite/statements.hpp"

#include "stores/sqlite/fragments.hpp"

namespace sagabox::sqlite {
namespace {

/// The columns of a row as `decode_row` reads them.
constexpr Fragment row{
    "row",
    R"sql(place, attempts, replays, targets_done, written_at, due, retrying, {message}, payload)sql"};

/// ?1 place after, ?2 last place of the lane, ?3 rows_max.
constexpr std::string_view read = R"sql(
SELECT {row}
FROM "{table}_pending"
WHERE place > ?1 AND place <= ?2
ORDER BY place
LIMIT ?3 + 1
)sql";

/// ?1 after_due, ?2 place after, ?3 now, ?4 rows_max.
constexpr std::string_view read_due = R"sql(
SELECT {row}
FROM "{table}_pending"
WHERE due IS NOT NULL AND (due, place) > (?1, ?2) AND due <= ?3
ORDER BY due, place
LIMIT ?4 + 1
)sql";

/// ?1 place after, ?2 last place, ?3 rows_max. Among what waits, which is where retries are.
constexpr std::string_view retrying_keys = R"sql(
SELECT place, key, tenant
FROM "{table}_pending"
WHERE place > ?1 AND place <= ?2 AND retrying AND key IS NOT NULL
ORDER BY place
LIMIT ?3 + 1
)sql";

/// ?1 place, ?2 id; empty where the row has one that cannot be read: its place is its own.
constexpr std::string_view remove = R"sql(
DELETE FROM "{table}_pending" WHERE place = ?1 AND ?2 IN (id, '')
)sql";

/// ?1 first place, ?2 last place.
constexpr std::string_view remove_run = R"sql(
DELETE FROM "{table}_pending" WHERE place BETWEEN ?1 AND ?2 AND sagabox_expected(place, id)
)sql";

/// ?1 first place, ?2 last place, ?3 now, ?4 attempts. OR FAIL: whoever settles rolls everything
/// back when it fails, and needs no journal of this statement alone.
constexpr std::string_view archive_run = R"sql(
INSERT OR FAIL INTO "{table}_archive" (
  seq, ended_at, attempts, failed_for_good, replays, written_at, code, error, history, {carried})
SELECT seq, ?3, ?4, failed_for_good, replays, written_at, code, error, history, {carried}
FROM "{table}_pending"
WHERE place BETWEEN ?1 AND ?2 AND sagabox_expected(place, id)
ORDER BY place
)sql";

/// ?1 place, ?2 id; empty where the row has one that cannot be read.
constexpr std::string_view trouble = R"sql(
SELECT failed_for_good, code, error, history FROM "{table}_pending"
WHERE place = ?1 AND ?2 IN (id, '')
)sql";

/// ?1 place, ?2 place then, ?3 attempts, ?4 due, ?5 failed for good, ?6 code, ?7 error, ?8 history,
/// ?9 targets done.
constexpr std::string_view retry = R"sql(
UPDATE "{table}_pending"
SET place = ?2, attempts = ?3, due = ?4, retrying = 1, failed_for_good = ?5, code = ?6,
    error = ?7, history = ?8, targets_done = ?9
WHERE place = ?1
)sql";

/// ?1 place, ?2 id, ?3 attempts.
constexpr std::string_view attempt = R"sql(
UPDATE "{table}_pending" SET attempts = ?3 WHERE place = ?1 AND id = ?2
)sql";

/// ?1 place, ?2 attempts, ?3 code, ?4 error, ?5 history.
constexpr std::string_view failed_attempt = R"sql(
UPDATE "{table}_pending" SET attempts = ?2, code = ?3, error = ?4, history = ?5 WHERE place = ?1
)sql";

/// ?1 place, ?2 state, ?3 now, ?4 attempts, ?5 failed for good, ?6 code, ?7 error, ?8 history,
/// ?9 note.
constexpr std::string_view bury = R"sql(
INSERT INTO "{table}_dead" (
  seq, state, ended_at, attempts, failed_for_good, replays, written_at, code, error, history, note,
  {carried})
SELECT seq, ?2, ?3, ?4, ?5, replays, written_at, ?6, ?7, ?8, ?9, {carried}
FROM "{table}_pending"
WHERE place = ?1
)sql";

/// ?1 sequence.
constexpr std::string_view buried = R"sql(
SELECT {ended}, NULL FROM "{table}_dead" WHERE seq = ?1
)sql";

}  // namespace

OutboxStatements::OutboxStatements(const TableName& table) {
  const Filler fill(table, {row});
  read = fill(sqlite::read);
  read_due = fill(sqlite::read_due);
  retrying_keys = fill(sqlite::retrying_keys);
  remove = fill(sqlite::remove);
  remove_run = fill(sqlite::remove_run);
  archive_run = fill(sqlite::archive_run);
  trouble = fill(sqlite::trouble);
  retry = fill(sqlite::retry);
  attempt = fill(sqlite::attempt);
  failed_attempt = fill(sqlite::failed_attempt);
  bury = fill(sqlite::bury);
  buried = fill(sqlite::buried);
}

}  // namespace sagabox::sqlite
