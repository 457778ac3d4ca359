#include "stores/postgres/vacuum.hpp"

#include <poll.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace sagabox::postgres {
namespace {

/// A vacuum has one tenth of the time: it gains nothing while somebody holds a snapshot open.
constexpr int rest_times = 9;
constexpr Duration rest_after_failure = std::chrono::minutes(1);
/// One that takes longer is autovacuum's, which makes way for whoever changes the table.
constexpr Duration vacuum_max = std::chrono::seconds(10);
/// How often a vacuum that runs looks whether we end.
constexpr std::chrono::milliseconds look_interval{50};

/// $1 microseconds, $2 milliseconds that a vacuum may take. Whether both tables are ours, and
/// whether it is worth it: most rows are dead, unlike in a backlog; nobody has
/// vacuumed since; nobody holds a table, which would only bring a warning into the server's log.
/// Then, that the server ends a vacuum whose client hung up, where it can.
constexpr std::string_view look_sql = R"sql(
WITH tables AS (
  SELECT oid, relowner FROM pg_class
  WHERE oid IN (to_regclass('"{schema}"."{table}_outbox"'),
                to_regclass('"{schema}"."{table}_claim"'))
)
SELECT (SELECT count(*) = 2 AND bool_and(pg_has_role(relowner, 'USAGE')) FROM tables),
       (SELECT bool_and(pg_stat_get_dead_tuples(oid) >= 10 * pg_stat_get_live_tuples(oid))
        FROM tables)
       AND NOT EXISTS (SELECT FROM tables
                       WHERE greatest(pg_stat_get_last_vacuum_time(oid),
                                      pg_stat_get_last_autovacuum_time(oid))
                             > now() - $1 * interval '1 microsecond')
       AND NOT EXISTS (SELECT FROM tables JOIN pg_locks ON relation = tables.oid
                       WHERE mode IN ('ShareUpdateExclusiveLock', 'ShareLock',
                                      'ShareRowExclusiveLock', 'ExclusiveLock',
                                      'AccessExclusiveLock')),
       set_config('application_name', 'sagabox vacuum', false),
       set_config('statement_timeout', $2, false),
       CASE WHEN current_setting('server_version_num')::integer >= 140000
                 AND version() LIKE '%linux%'
            THEN set_config('client_connection_check_interval', '500ms', false) END
)sql";
namespace column {
constexpr int ours = 0;
constexpr int worth_it = 1;
}  // namespace column

constexpr std::string_view vacuum_sql = R"sql(
VACUUM (SKIP_LOCKED, TRUNCATE FALSE, PARALLEL 0)
  "{schema}"."{table}_outbox", "{schema}"."{table}_claim"
)sql";

}  // namespace

Vacuum::Vacuum(const Names& names, const ConnectSettings& settings, const Limits& limits)
    : names_(names), settings_(settings), limits_(limits), clock_(*settings_.clock) {}

Vacuum::~Vacuum() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Vacuum::left(const TableName& outbox, std::uint64_t rows) {
  if (limits_.rows_min == 0) return;
  const std::lock_guard lock(mutex_);
  auto& work = works_.try_emplace(outbox, Work{.rest = limits_.interval_min}).first->second;
  if (work.rows == 0) {
    work.not_before = std::max(work.not_before, clock_.boot_now() + limits_.interval_min);
  }
  const bool was_enough = work.rows >= limits_.rows_min;
  work.rows += rows;
  if (was_enough || !work.ours || work.rows < limits_.rows_min) return;
  changed_.notify_all();
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    work.rows = 0;  // no thread to be had: another time
  }
}

void Vacuum::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const auto at = next();
    if (at == works_.end()) {
      changed_.wait(lock);
      continue;
    }
    auto& [outbox, work] = *at;
    const auto begin = clock_.boot_now();
    if (begin < work.not_before) {
      changed_.wait_for(lock, work.not_before - begin);
      continue;
    }
    const auto rows = std::exchange(work.rows, 0);
    const auto rest = work.rest;
    lock.unlock();
    const auto outcome = vacuum(outbox, rest);
    lock.lock();
    const auto end = clock_.boot_now();
    work.ours = outcome != Outcome::not_ours;
    work.rest = std::max<Duration>(limits_.interval_min, rest_times * (end - begin));
    if (outcome == Outcome::failed) {
      work.rows += rows;
      work.rest = std::max(work.rest, rest_after_failure);
    }
    work.not_before = end + work.rest;
  }
}

Vacuum::Works::iterator Vacuum::next() {
  auto first = works_.end();
  for (auto at = works_.begin(); at != works_.end(); ++at) {
    const auto& work = at->second;
    if (!work.ours || work.rows < limits_.rows_min) continue;
    if (first == works_.end() || work.not_before < first->second.not_before) first = at;
  }
  return first;
}

Vacuum::Outcome Vacuum::vacuum(const TableName& outbox, Duration rest) {
  auto connection = Connection::open(settings_);
  if (!connection.ok()) return Outcome::failed;
  if ((*connection)->pooled()) return Outcome::not_ours;
  Params params;
  params.microseconds(rest).text(
      std::to_string(std::chrono::ceil<std::chrono::milliseconds>(vacuum_max).count()));
  auto look = (*connection)->run({"", names_.fill(look_sql, outbox)}, params, Effect::none);
  if (!look.ok()) return Outcome::failed;
  if (!look->boolean(0, column::ours)) return Outcome::not_ours;
  if (!look->boolean(0, column::worth_it)) return Outcome::done;
  PGconn* const handle = (*connection)->handle();
  if (PQsendQuery(handle, names_.fill(vacuum_sql, outbox).c_str()) != 1) return Outcome::failed;
  return await_end(handle);
}

Vacuum::Outcome Vacuum::await_end(PGconn* connection) {
  const auto deadline = clock_.boot_now() + vacuum_max + settings_.answer_grace;
  while (PQisBusy(connection) == 1) {
    if (ending() || clock_.boot_now() > deadline) return Outcome::failed;
    pollfd socket{PQsocket(connection), POLLIN, 0};
    const int ready = poll(&socket, 1, static_cast<int>(look_interval.count()));
    if (ready > 0 && PQconsumeInput(connection) != 1) return Outcome::failed;
  }
  const std::unique_ptr<PGresult, decltype(&PQclear)> answer(PQgetResult(connection), &PQclear);
  return PQresultStatus(answer.get()) == PGRES_COMMAND_OK ? Outcome::done : Outcome::failed;
}

bool Vacuum::ending() {
  const std::lock_guard lock(mutex_);
  return ending_;
}

}  // namespace sagabox::postgres
