#include "stores/postgres/archive.hpp"

#include "stores/postgres/admin_store.hpp"
#include "stores/postgres/unit_of_work.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace sagabox::postgres {
namespace {

/// Names that the server quoted.
struct OldDays {
  std::string tables;  ///< separated by commas
  std::uint64_t rows = 0;
};

Result<OldDays> old_days(Connection& connection, const AdminStatements& statements,
                         Duration older_than) {
  Params age;
  age.microseconds(older_than);
  auto days = connection.run(statements.old_days, age, Effect::none);
  if (!days.ok()) return days.error();
  OldDays old;
  for (int row = 0; row < days->size(); ++row) {
    const std::string table(days->text(row, 0));
    Params counted;
    counted.int8(stats_rows_exact);
    // The same estimates as in `stats`, and for a server that crashed what the last vacuum saw.
    const Statement count{"", "SELECT count(*) FROM (SELECT FROM " + table + " LIMIT $1) AS rows"};
    auto rows = connection.run(count, counted, Effect::none);
    if (!rows.ok()) return rows.error();
    auto there = rows->int8(0, 0);
    if (there >= stats_rows_exact) there = std::max(there, days->int8(row, 1));
    old.rows += static_cast<std::uint64_t>(there);
    old.tables += (old.tables.empty() ? "" : ", ") + table;
  }
  return old;
}

Status drop(Connection& connection, const AdminStatements& statements, const OldDays& days) {
  static const Statement limit{"", "SELECT set_config('lock_timeout', $1, true)"};
  const Statement drop{"", "DROP TABLE " + days.tables};
  Params wait;
  wait.text(
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(drop_lock_max).count()));
  const Params none;
  // The whole archive first, in the order of everybody who reads or writes it.
  const std::array calls{Call{&limit, &wait}, Call{&statements.lock_archive, &none},
                         Call{&drop, &none}};
  auto dropped = connection.run(calls, Effect::none);
  if (!dropped.ok()) return dropped.error();
  return {};
}

}  // namespace

Result<std::uint64_t> drop_old_days(Pool& pool, const AdminStatements& statements,
                                    Duration older_than) {
  OldDays days;
  {
    auto connection = pool.take();
    if (!connection.ok()) return connection.error();
    auto found = old_days(**connection, statements, older_than);
    if (!found.ok()) return found.error();
    days = std::move(*found);
  }
  if (days.tables.empty()) return std::uint64_t{0};
  auto dropped = in_transaction(
      pool, [&](Connection& connection) { return drop(connection, statements, days); });
  if (dropped.ok()) return days.rows;
  const auto code = dropped.error().code;
  if (code == Code::storage_unavailable || code == Code::storage_in_doubt) return dropped.error();
  return std::uint64_t{0};
}

}  // namespace sagabox::postgres
