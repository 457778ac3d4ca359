#include "stores/postgres/outbox/vacuum.hpp"

#include <poll.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace sagabox::postgres {
namespace {

constexpr Duration rest_after_failure = std::chrono::minutes(1);
/// A vacuum that takes longer is left to autovacuum.
constexpr Duration vacuum_max = std::chrono::minutes(5);
/// How often a running vacuum checks whether the store is being closed.
constexpr std::chrono::milliseconds look_interval{50};
/// How often it checks whether another session waits for its lock, and how long it continues
/// without an answer.
constexpr Duration ask_interval = std::chrono::seconds(1);
constexpr Duration unasked_max = std::chrono::seconds(10);

/// $1 microseconds, $2 milliseconds that a vacuum may take. Returns whether we own both tables;
/// whether it is time: no vacuum ran since, and no other session holds a lock on a table, which
/// would only add a warning to the server's log; and the counts. Then it makes the server end a
/// vacuum whose client disconnected; a server that cannot do this gets a short timeout.
constexpr std::string_view look_sql = R"sql(
WITH tables AS (
  SELECT oid, relowner FROM pg_class
  WHERE oid IN (to_regclass('"{schema}"."{table}_outbox"'),
                to_regclass('"{schema}"."{table}_claim"'))
)
SELECT (SELECT count(*) = 2 AND bool_and(pg_has_role(relowner, 'USAGE')) FROM tables),
       NOT EXISTS (SELECT FROM tables
                   WHERE greatest(pg_stat_get_last_vacuum_time(oid),
                                  pg_stat_get_last_autovacuum_time(oid))
                         > now() - $1 * interval '1 microsecond')
       AND NOT EXISTS (SELECT FROM tables JOIN pg_locks ON relation = tables.oid
                       JOIN pg_database AS d ON d.oid = database AND datname = current_database()
                       WHERE locktype = 'relation'
                         AND mode IN ('ShareUpdateExclusiveLock', 'ShareLock',
                                      'ShareRowExclusiveLock', 'ExclusiveLock',
                                      'AccessExclusiveLock')),
       pg_stat_get_live_tuples(outbox), pg_stat_get_dead_tuples(outbox),
       pg_stat_get_tuples_inserted(outbox), pg_stat_get_tuples_deleted(outbox),
       set_config('application_name', 'sagabox vacuum', false),
       set_config('statement_timeout', CASE WHEN notices THEN $2 ELSE '10s' END, false),
       CASE WHEN notices
            THEN set_config('client_connection_check_interval', '500ms', false) END
FROM to_regclass('"{schema}"."{table}_outbox"') AS outbox,
     (SELECT current_setting('server_version_num')::integer >= 140000
             AND version() LIKE '%linux%') AS server(notices)
)sql";
namespace column {
constexpr int ours = 0;
constexpr int in_time = 1;
constexpr int live = 2;
constexpr int dead = 3;
constexpr int written = 4;
constexpr int left = 5;
}  // namespace column

constexpr std::string_view vacuum_sql = R"sql(
VACUUM (SKIP_LOCKED, TRUNCATE FALSE, PARALLEL 0)
  "{schema}"."{table}_outbox", "{schema}"."{table}_claim"
)sql";

constexpr std::string_view dead_sql = R"sql(
SELECT coalesce(pg_stat_get_dead_tuples(to_regclass('"{schema}"."{table}_outbox"')), 0)
)sql";

/// $1: the process that vacuums.
constexpr std::string_view waited_for_sql = R"sql(
SELECT EXISTS (SELECT FROM pg_locks
               WHERE locktype = 'relation' AND NOT granted
                 AND relation IN (to_regclass('"{schema}"."{table}_outbox"'),
                                  to_regclass('"{schema}"."{table}_claim"'))
                 AND $1 = ANY (pg_blocking_pids(pid)))
)sql";

RowCounts counts(const Rows& look) {
  return {.live = look.int8(0, column::live),
          .dead = look.int8(0, column::dead),
          .written = look.int8(0, column::written),
          .left = look.int8(0, column::left)};
}

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
  work.enough_since = clock_.boot_now();
  changed_.notify_all();
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    work.rows = 0;  // no thread available: the next time retries
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
    const bool busy_since = work.enough_since <= work.ended + rest + limits_.interval_min;
    const auto before = busy_since ? work.seen : std::nullopt;
    lock.unlock();
    const auto attempt = vacuum(outbox, rest, before);
    lock.lock();
    work.ours = attempt.outcome != Outcome::not_ours;
    work.seen = attempt.seen;
    work.ended = clock_.boot_now();
    work.rest = std::max(limits_.interval_min, attempt.rest);
    if (attempt.outcome == Outcome::failed) {
      work.rows += rows;
      work.enough_since = work.ended;
      work.rest = std::max(work.rest, rest_after_failure);
    }
    work.not_before = work.ended + work.rest;
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

Vacuum::Attempt Vacuum::vacuum(const TableName& outbox, Duration rest,
                               const std::optional<RowCounts>& before) {
  const auto begin = clock_.boot_now();
  auto connection = Connection::open(settings_);
  if (!connection.ok()) return {.outcome = Outcome::failed};
  if ((*connection)->pooled()) return {.outcome = Outcome::not_ours};
  Params params;
  params.microseconds(rest).text(
      std::to_string(std::chrono::ceil<std::chrono::milliseconds>(vacuum_max).count()));
  auto look = (*connection)->run({"", names_.fill(look_sql, outbox)}, params, Effect::none);
  if (!look.ok()) return {.outcome = Outcome::failed};
  if (!look->boolean(0, column::ours)) return {.outcome = Outcome::not_ours};
  const auto seen = counts(*look);
  if (!look->boolean(0, column::in_time) || !needs_vacuum(seen, before)) {
    return {.outcome = Outcome::done, .seen = seen};
  }
  PGconn* const handle = (*connection)->handle();
  if (PQsendQuery(handle, names_.fill(vacuum_sql, outbox).c_str()) != 1 ||
      !await_end(handle, outbox)) {
    return {.outcome = Outcome::failed, .rest = clock_.boot_now() - begin, .seen = seen};
  }
  const auto took = clock_.boot_now() - begin;
  auto after = (*connection)->run({"", names_.fill(dead_sql, outbox)}, {}, Effect::none);
  const auto dead_after = after.ok() ? after->int8(0, 0) : seen.dead;
  return {.outcome = Outcome::done,
          .rest = rest_after_vacuum(seen.dead, dead_after, took),
          .seen = seen};
}

bool Vacuum::await_end(PGconn* connection, const TableName& outbox) {
  const auto begin = clock_.boot_now();
  const auto deadline = begin + vacuum_max + settings_.answer_grace;
  auto ask_next = begin + ask_interval;
  auto answered = begin;
  std::unique_ptr<Connection> beside;
  bool well = true;
  while (true) {
    while (PQisBusy(connection) == 0) {
      const std::unique_ptr<PGresult, decltype(&PQclear)> answer(PQgetResult(connection), &PQclear);
      if (!answer) return well;
      well = well && PQresultStatus(answer.get()) == PGRES_COMMAND_OK;
    }
    if (ending() || clock_.boot_now() > deadline) return false;
    pollfd socket{PQsocket(connection), POLLIN, 0};
    const int ready = poll(&socket, 1, static_cast<int>(look_interval.count()));
    if (ready > 0 && PQconsumeInput(connection) != 1) return false;
    if (clock_.boot_now() < ask_next) continue;
    const auto waited_for = is_waited_for(beside, PQbackendPID(connection), outbox);
    if (waited_for.value_or(false)) return false;
    ask_next = clock_.boot_now() + ask_interval;
    if (waited_for) answered = clock_.boot_now();
    if (clock_.boot_now() - answered > unasked_max) return false;
  }
}

std::optional<bool> Vacuum::is_waited_for(std::unique_ptr<Connection>& beside, int process,
                                          const TableName& outbox) {
  if (!beside) {
    auto quick = settings_;
    for (auto* limit : {&quick.connect_max, &quick.statement_max, &quick.answer_grace}) {
      *limit = std::min(*limit, ask_interval);
    }
    auto opened = Connection::open(quick);
    if (!opened.ok()) return std::nullopt;
    beside = std::move(*opened);
  }
  Params params;
  params.int4(process);
  auto answer = beside->run({"", names_.fill(waited_for_sql, outbox)}, params, Effect::none);
  if (answer.ok()) return answer->boolean(0, 0);
  beside.reset();
  return std::nullopt;
}

bool Vacuum::ending() {
  const std::lock_guard lock(mutex_);
  return ending_;
}

}  // namespace sagabox::postgres
