#include "stores/postgres/driver/connection.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <string_view>
#include <utility>

namespace sagabox::postgres {
namespace {

const Statement begin_statement{"", "BEGIN"};
const Statement begin_pooled_statement{"", "BEGIN ISOLATION LEVEL READ COMMITTED"};
const Statement begin_snapshot_statement{"begin_snapshot",
                                         "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
const Statement end_snapshot_statement{"end_snapshot", "COMMIT"};
const Statement commit_statement{"", "COMMIT"};
const Statement rollback_statement{"", "ROLLBACK"};

// $4 is the server process that answers if there is no pooler. Behind a pooler another process
// answers; the settings then end with the transaction, because clients share the session. Every
// name has its schema: the search_path of a new session may find functions and operators of other
// users first. The search_path set here finds only those of the server.
const Statement set_up_statement{"", R"sql(
SELECT pg_catalog.pg_is_in_recovery(),
       CASE WHEN NOT pg_catalog.pg_is_in_recovery()
            THEN pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()) END,
       pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE'),
       shared,
       pg_catalog.current_setting('transaction_isolation'),
       pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', shared),
       pg_catalog.set_config('statement_timeout', $1, shared),
       pg_catalog.set_config('lock_timeout', $2, shared),
       pg_catalog.set_config('idle_in_transaction_session_timeout', $5, shared),
       pg_catalog.set_config('plan_cache_mode', $3, shared),
       pg_catalog.set_config(
         'enable_seqscan',
         CASE WHEN $6 THEN 'off' ELSE pg_catalog.current_setting('enable_seqscan') END, shared),
       pg_catalog.set_config(
         'enable_bitmapscan',
         CASE WHEN $7 THEN 'off' ELSE pg_catalog.current_setting('enable_bitmapscan') END, shared),
       pg_catalog.set_config(
         'enable_sort',
         CASE WHEN $7 THEN 'off' ELSE pg_catalog.current_setting('enable_sort') END, shared),
       pg_catalog.set_config('jit', 'off', shared),
       pg_catalog.set_config('default_transaction_isolation', 'read committed', shared),
       -- Ours are never prepared for a two-phase commit.
       pg_catalog.set_config(
         'sagabox.notify',
         CASE WHEN pg_catalog.current_setting('sagabox.notify', true) OPERATOR(pg_catalog.<>) ''
              THEN pg_catalog.current_setting('sagabox.notify', true) ELSE 'on' END, shared)
FROM (SELECT pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.<>) $4 AS shared) AS session
)sql"};

const Statement system_statement{"",
                                 "SELECT CAST(system_identifier AS text) FROM pg_control_system()"};

std::string milliseconds_text(Duration duration) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

/// Plans that do not depend on the parameters are made once. In mode auto the server would plan
/// again for each list, because it estimates lists to be shorter than the generic plan does.
std::string_view plan_cache_mode(const ConnectSettings& settings) {
  if (settings.custom_plans) return "force_custom_plan";
  return settings.index_scans_only ? "force_generic_plan" : "auto";
}

/// libpq takes milliseconds as an int.
constexpr Duration user_timeout_max = std::chrono::hours(24);

/// The first eight digits of a WAL file's name are its timeline.
constexpr std::size_t timeline_digits = 8;

struct FreeOptions {
  void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};
using ConninfoOptions = std::unique_ptr<PQconninfoOption, FreeOptions>;

/// A value of a key=value pair.
std::string conninfo_value(std::string_view value) {
  std::string out = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

Error not_a_url() {
  return {Code::config_invalid,
          "the connection string cannot be parsed; write postgres://user@host:5432/database or "
          "pairs like host=… dbname=…"};
}

/// An unescaped character in a password makes libpq take the rest of the password for a host or a
/// port, which error texts would show.
bool is_cut_password(std::string_view host, std::string_view port) {
  // A leading @ belongs to an abstract socket.
  return host.find('@', 1) != std::string_view::npos ||
         port.find_first_not_of("0123456789,") != std::string_view::npos;
}

/// The same for a password that begins with digits: its rest would be shown as the database.
bool is_cut_in_path(std::string_view url) {
  constexpr std::string_view scheme_end = "://";
  const auto begin = url.find(scheme_end);
  if (begin == std::string_view::npos) return false;
  const auto rest = url.substr(begin + scheme_end.size());
  const auto path = rest.substr(std::min(rest.find('/'), rest.size()));
  return path.substr(0, path.find('?')).find('@') != std::string_view::npos;
}

Error password_is_cut() {
  return {Code::config_invalid,
          "the host or the port of the connection string is not one; in a password write @ as %40, "
          "/ as %2F, : as %3A, ? as %3F and # as %23"};
}

}  // namespace

Status check_server_version(int version) {
  constexpr int version_min = 130000;
  constexpr int major = 10000;
  if (version >= version_min) return {};
  return Error{Code::config_invalid,
               "this server is PostgreSQL " + std::to_string(version / major) +
                   "; sagabox needs 13 or newer, which shows its transactions as xid8"};
}

Connection::Connection(Handle handle, const ConnectSettings& settings)
    : handle_(std::move(handle)),
      link_(handle_.get(), &prepared_,
            {settings.clock, settings.statement_max == Duration{}
                                 ? std::optional<Duration>{}
                                 : settings.statement_max + settings.answer_grace}) {}

Result<std::unique_ptr<Connection>> Connection::open(const ConnectSettings& settings) {
  if (auto name = public_name(settings.url); !name.ok()) return name.error();
  const auto seconds =
      std::to_string(std::chrono::ceil<std::chrono::seconds>(settings.connect_max).count());
  const auto answer_max = milliseconds_text(
      std::min<Duration>(settings.statement_max + settings.answer_grace, user_timeout_max));
  // The URL overrides the keywords before `dbname`, but not those after it.
  const std::array keywords{"connect_timeout", "fallback_application_name", "tcp_user_timeout",
                            "dbname",          "client_encoding",           (const char*)nullptr};
  const std::array values{seconds.c_str(),      "sagabox", answer_max.c_str(),
                          settings.url.c_str(), "UTF8",    (const char*)nullptr};
  Handle handle(PQconnectdbParams(keywords.data(), values.data(), 1));
  if (handle == nullptr) return Error{Code::storage_unavailable, "libpq: out of memory"};
  if (PQstatus(handle.get()) != CONNECTION_OK) return connect_error(handle.get());
  if (auto known = check_server_version(PQserverVersion(handle.get())); !known.ok()) {
    return known.error();
  }
  // Warnings are meant for interactive use only.
  PQsetNoticeReceiver(handle.get(), [](void*, const PGresult*) {}, nullptr);
  std::unique_ptr<Connection> connection(new Connection(std::move(handle), settings));
  if (auto ready = connection->set_up(settings); !ready.ok()) return ready.error();
  return connection;
}

Status Connection::set_up(const ConnectSettings& settings) {
  // No server process has this number.
  constexpr std::int32_t nobody = 0;
  limits_.text(milliseconds_text(settings.statement_max))
      .text(milliseconds_text(settings.lock_max))
      .text(plan_cache_mode(settings))
      .int4(settings.pooled ? nobody : PQbackendPID(handle_.get()))
      .text(milliseconds_text(settings.idle_max))
      .boolean(settings.index_scans_only)
      .boolean(settings.in_index_order);
  auto facts = link_.run(set_up_statement, limits_, Effect::none);
  if (!facts.ok()) return facts.error();
  may_ask_system_ = facts->boolean(0, 2);
  pooled_ = facts->boolean(0, 3);
  if (pooled_) link_.prepare_nothing();
  Rows system;
  if (may_ask_system_) {
    auto asked = run(system_statement, {}, Effect::none);
    if (!asked.ok()) return asked.error();
    system = std::move(*asked);
  }
  return learn(*facts, system);
}

Status Connection::learn(const Rows& facts, const Rows& system) {
  if (facts.boolean(0, 0)) {
    return Error{Code::storage_unavailable,
                 "this server is a replica and takes no writes; connect to the primary "
                 "(several hosts in the URL and target_session_attrs=read-write find it)"};
  }
  if (pooled_ && facts.text(0, 4) != "read committed") {
    return Error{Code::config_invalid,
                 "behind a pooler the server's own default_transaction_isolation counts, and it is "
                 "not 'read committed'; ALTER ROLE … SET default_transaction_isolation, or connect "
                 "without the pooler"};
  }
  std::string history(facts.text(0, 1).substr(0, timeline_digits));
  if (may_ask_system_) history += system.text(0, 0);
  timeline_ = Timeline{stable_hash(history)};
  return {};
}

Result<std::vector<Rows>> Connection::run_pooled(const Call* begin, std::span<const Call> calls,
                                                 Effect effect) {
  const Params none;
  std::vector<Call> all;
  if (begin != nullptr) all.push_back(*begin);
  const auto facts_at = all.size();
  all.push_back({&set_up_statement, &limits_});
  if (may_ask_system_) all.push_back({&system_statement, &none});
  const auto own = all.size();
  all.insert(all.end(), calls.begin(), calls.end());
  auto answers = link_.run(all, effect);
  if (!answers.ok()) return answers.error();
  const Rows no_rows;
  auto learnt = learn((*answers)[facts_at], may_ask_system_ ? (*answers)[facts_at + 1] : no_rows);
  if (!learnt.ok()) return learnt.error();
  answers->erase(answers->begin(), answers->begin() + static_cast<std::ptrdiff_t>(own));
  return answers;
}

Result<std::vector<Rows>> Connection::run(std::span<const Call> calls, Effect effect) {
  if (!pooled_ || in_transaction()) return link_.run(calls, effect);
  return run_pooled(nullptr, calls, effect);
}

Result<Rows> Connection::run(const Statement& statement, const Params& params, Effect effect) {
  if (!pooled_ || in_transaction()) return link_.run(statement, params, effect);
  const Call call{&statement, &params};
  auto answers = run_pooled(nullptr, std::span(&call, 1), effect);
  if (!answers.ok()) return answers.error();
  return std::move(answers->front());
}

Status Connection::run_on_snapshot(std::span<const Call> calls, const Link::Take& take) {
  assert(!pooled_);
  const Params none;
  std::vector<Call> all{{&begin_snapshot_statement, &none}};
  all.insert(all.end(), calls.begin(), calls.end());
  all.push_back({&end_snapshot_statement, &none});
  return link_.run(all, Effect::none, [&](std::size_t call, Rows answer) {
    if (call > 0 && call <= calls.size()) take(call - 1, std::move(answer));
  });
}

Result<std::string> Connection::script_value(const std::string& sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(handle_.get(), sql.c_str()),
                                                             &PQclear);
  switch (PQresultStatus(result.get())) {
    case PGRES_COMMAND_OK:
      return std::string();
    case PGRES_TUPLES_OK:
      return std::string(PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "");
    default:
      if (result == nullptr || PQstatus(handle_.get()) != CONNECTION_OK) {
        return lost_connection(PQerrorMessage(handle_.get()), Effect::none);
      }
      return server_error(result.get(), Effect::none);
  }
}

Status Connection::script(const std::string& sql) {
  auto value = script_value(sql);
  if (!value.ok()) return value.error();
  return {};
}

Status Connection::begin() {
  if (pooled_) {
    const Params none;
    const Call begin{&begin_pooled_statement, &none};
    auto begun = run_pooled(&begin, {}, Effect::none);
    if (begun.ok()) return {};
    (void)rollback();
    return begun.error();
  }
  auto done = link_.run(begin_statement, {}, Effect::none);
  if (!done.ok()) return done.error();
  return {};
}

Result<std::vector<Rows>> Connection::begin_and_run(std::span<const Call> calls) {
  const Params none;
  if (pooled_) {
    const Call begin{&begin_pooled_statement, &none};
    return run_pooled(&begin, calls, Effect::none);
  }
  std::vector<Call> all{{&begin_statement, &none}};
  all.insert(all.end(), calls.begin(), calls.end());
  auto answers = link_.run(all, Effect::none);
  if (answers.ok()) answers->erase(answers->begin());
  return answers;
}

Status Connection::commit() {
  if (PQtransactionStatus(handle_.get()) == PQTRANS_INERROR) {
    (void)rollback();
    return Error{Code::tx_invalid_state,
                 "an earlier statement of this transaction failed: it was rolled back"};
  }
  auto done = link_.run(commit_statement, {}, Effect::commits);
  if (!done.ok()) return done.error();
  return {};
}

Status Connection::rollback() {
  if (lost() || PQstatus(handle_.get()) != CONNECTION_OK) return {};
  auto done = link_.run(rollback_statement, {}, Effect::none);
  if (!done.ok() && !lost()) return done.error();
  return {};
}

bool Connection::reusable() {
  if (lost() || PQstatus(handle_.get()) != CONNECTION_OK || in_transaction()) return false;
  // Does not block. The first call reads the server's last message, the second one sees the end of
  // the connection.
  return PQconsumeInput(handle_.get()) == 1 && PQconsumeInput(handle_.get()) == 1 &&
         PQstatus(handle_.get()) == CONNECTION_OK;
}

Result<std::string> public_name(const std::string& url) {
  char* problem = nullptr;
  const ConninfoOptions options(PQconninfoParse(url.c_str(), &problem));
  // Not shown: it may quote a password.
  PQfreemem(problem);
  if (options == nullptr) return not_a_url();
  std::string host = "localhost";
  std::string port;
  std::string database;
  for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr || *option->val == '\0') continue;
    const std::string_view keyword = option->keyword;
    if (keyword == "host") host = option->val;
    if (keyword == "port") port = option->val;
    if (keyword == "dbname") database = "/" + std::string(option->val);
  }
  if (is_cut_password(host, port) || is_cut_in_path(url)) return password_is_cut();
  return "postgres://" + host + (port.empty() ? "" : ":" + port) + database;
}

Result<std::string> url_of(PGconn* connection) {
  if (connection == nullptr || PQstatus(connection) != CONNECTION_OK) {
    return Error{Code::storage_unavailable, "open() needs a connection that is open"};
  }
  const ConninfoOptions options(PQconninfo(connection));
  if (options == nullptr) return Error{Code::unknown_internal, "libpq: out of memory"};
  std::string url;
  for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    // The settings of a service file are already among the others. A replication connection does
    // not run SQL.
    if (option->val == nullptr || *option->val == '\0' || keyword == "service" ||
        keyword == "replication") {
      continue;
    }
    url += std::string(keyword) + "=" + conninfo_value(option->val) + " ";
  }
  return url;
}

}  // namespace sagabox::postgres
