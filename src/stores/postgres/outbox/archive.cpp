#include "stores/postgres/outbox/archive.hpp"

#include "stores/postgres/driver/unit_of_work.hpp"
#include "stores/sql/admin_store.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

namespace sagabox::postgres {
namespace {

/// Names as quoted by the server.
struct OldDays {
  std::string tables;  ///< separated by commas
  std::uint64_t rows = 0;
};

Result<OldDays> days_older_than(Connection& connection, const ArchiveStatements& statements,
                                Duration older_than) {
  Params age;
  age.microseconds(older_than);
  auto days = connection.run(statements.old_days, age, Effect::none);
  if (!days.ok()) return days.error();
  OldDays old;
  for (int row = 0; row < days->size(); ++row) {
    const std::string table(days->text(row, 0));
    Params counted;
    counted.int8(sql::stats_rows_exact);
    // The same estimates as in `stats`. After a crash of the server, they are those of the last
    // vacuum.
    const Statement count{"", "SELECT count(*) FROM (SELECT FROM " + table + " LIMIT $1) AS rows"};
    auto rows = connection.run(count, counted, Effect::none);
    if (!rows.ok()) return rows.error();
    auto there = rows->int8(0, 0);
    if (there >= sql::stats_rows_exact) there = std::max(there, days->int8(row, 1));
    old.rows += static_cast<std::uint64_t>(there);
    old.tables += (old.tables.empty() ? "" : ", ") + table;
  }
  return old;
}

/// Runs the calls in a transaction of its own that waits for locks only briefly. Returns false if
/// it did not get them, or lacks the right.
Result<bool> run_soon(Pool& pool, std::span<const Call> calls) {
  static const Statement limit{"", "SELECT set_config('lock_timeout', $1, true)"};
  Params wait;
  wait.text(std::to_string(
      std::chrono::duration_cast<std::chrono::milliseconds>(archive_lock_max).count()));
  auto done = in_transaction(pool, [&](Connection& connection) -> Status {
    auto limited = connection.run(limit, wait, Effect::none);
    if (!limited.ok()) return limited.error();
    auto answers = connection.run(calls, Effect::none);
    if (!answers.ok()) return answers.error();
    return {};
  });
  if (done.ok()) return true;
  // Readers held the locks, or the role lacks the right.
  const auto code = done.error().code;
  if (code == Code::storage_conflict || code == Code::config_invalid) return false;
  return done.error();
}

}  // namespace

Status make_days_ahead(Pool& pool, const ArchiveStatements& statements) {
  const Params none;
  const Call call{&statements.archive_ahead, &none};
  auto made = run_soon(pool, std::span(&call, 1));
  if (!made.ok()) return made.error();
  return {};
}

Result<std::uint64_t> drop_old_days(Pool& pool, const ArchiveStatements& statements,
                                    Duration older_than) {
  OldDays days;
  {
    auto connection = pool.take();
    if (!connection.ok()) return connection.error();
    auto found = days_older_than(**connection, statements, older_than);
    if (!found.ok()) return found.error();
    days = std::move(*found);
  }
  if (days.tables.empty()) return std::uint64_t{0};
  const Statement drop{"", "DROP TABLE " + days.tables};
  const Params none;
  // Locks the whole archive first, in the order in which every reader and writer locks it.
  const std::array calls{Call{&statements.lock_archive, &none}, Call{&drop, &none}};
  auto dropped = run_soon(pool, calls);
  if (!dropped.ok()) return dropped.error();
  return *dropped ? days.rows : 0;
}

}  // namespace sagabox::postgres
