#include "stores/postgres/connection.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sagabox::postgres {
namespace {

const Statement begin_statement{"", "BEGIN"};
const Statement commit_statement{"", "COMMIT"};
const Statement rollback_statement{"", "ROLLBACK"};

const Statement set_up_statement{"", R"sql(
SELECT pg_is_in_recovery(),
       CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END,
       has_function_privilege('pg_control_system()', 'EXECUTE'),
       set_config('statement_timeout', $1, false),
       set_config('lock_timeout', $2, false),
       set_config('plan_cache_mode', $3, false),
       set_config('jit', 'off', false),
       set_config('default_transaction_isolation', 'read committed', false)
)sql"};

const Statement system_statement{"",
                                 "SELECT CAST(system_identifier AS text) FROM pg_control_system()"};

std::string milliseconds(Duration duration) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

/// libpq takes milliseconds as an int.
constexpr Duration user_timeout_max = std::chrono::hours(24);

/// The first eight digits of a WAL file's name are its timeline.
constexpr std::size_t timeline_digits = 8;

Error not_a_url() {
  return {Code::config_invalid,
          "the connection string cannot be parsed; write postgres://user@host:5432/database or "
          "pairs like host=… dbname=…"};
}

}  // namespace

Connection::Connection(Handle handle, const ConnectSettings& settings)
    : handle_(std::move(handle)),
      link_(handle_.get(), &prepared_,
            {settings.clock, settings.statement_max == Duration{}
                                 ? std::optional<Duration>{}
                                 : settings.statement_max + settings.answer_grace}) {}

Result<std::unique_ptr<Connection>> Connection::open(const ConnectSettings& settings) {
  const auto seconds =
      std::to_string(std::chrono::ceil<std::chrono::seconds>(settings.connect_max).count());
  const auto answer_max = milliseconds(
      std::min<Duration>(settings.statement_max + settings.answer_grace, user_timeout_max));
  // Those before `dbname` give way to what the URL says, those after it do not.
  const std::array keywords{"connect_timeout", "fallback_application_name", "tcp_user_timeout",
                            "dbname",          "client_encoding",           (const char*)nullptr};
  const std::array values{seconds.c_str(),      "sagabox", answer_max.c_str(),
                          settings.url.c_str(), "UTF8",    (const char*)nullptr};
  Handle handle(PQconnectdbParams(keywords.data(), values.data(), 1));
  if (handle == nullptr) return Error{Code::storage_unavailable, "libpq: out of memory"};
  if (PQstatus(handle.get()) != CONNECTION_OK) return connect_error(handle.get());
  // Warnings are for people at a terminal.
  PQsetNoticeReceiver(handle.get(), [](void*, const PGresult*) {}, nullptr);
  std::unique_ptr<Connection> connection(new Connection(std::move(handle), settings));
  if (auto ready = connection->set_up(settings); !ready.ok()) return ready.error();
  return connection;
}

Status Connection::set_up(const ConnectSettings& settings) {
  Params params;
  params.text(milliseconds(settings.statement_max))
      .text(milliseconds(settings.lock_max))
      .text(settings.custom_plans ? "force_custom_plan" : "auto");
  auto facts = run(set_up_statement, params, Effect::none);
  if (!facts.ok()) return facts.error();
  if (facts->boolean(0, 0)) {
    return Error{Code::storage_unavailable,
                 "this server is a replica and takes no writes; connect to the primary "
                 "(several hosts in the URL and target_session_attrs=read-write find it)"};
  }
  std::string history(facts->text(0, 1).substr(0, timeline_digits));
  if (facts->boolean(0, 2)) {
    auto system = run(system_statement, {}, Effect::none);
    if (!system.ok()) return system.error();
    history += system->text(0, 0);
  }
  timeline_ = Timeline{stable_hash(history)};
  return {};
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
  auto done = run(begin_statement, {}, Effect::none);
  if (!done.ok()) return done.error();
  return {};
}

Status Connection::commit() {
  if (PQtransactionStatus(handle_.get()) == PQTRANS_INERROR) {
    (void)rollback();
    return Error{Code::tx_invalid_state,
                 "an earlier statement of this transaction failed: it was rolled back"};
  }
  auto done = run(commit_statement, {}, Effect::commits);
  if (!done.ok()) return done.error();
  return {};
}

Status Connection::rollback() {
  if (lost() || PQstatus(handle_.get()) != CONNECTION_OK) return {};
  auto done = run(rollback_statement, {}, Effect::none);
  if (!done.ok() && !lost()) return done.error();
  return {};
}

bool Connection::reusable() {
  if (lost() || PQstatus(handle_.get()) != CONNECTION_OK || in_transaction()) return false;
  // Without waiting: a server that went away has said so, which the first one reads, and hung up.
  return PQconsumeInput(handle_.get()) == 1 && PQconsumeInput(handle_.get()) == 1 &&
         PQstatus(handle_.get()) == CONNECTION_OK;
}

Result<std::string> public_name(const std::string& url) {
  struct Free {
    void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
  };
  char* problem = nullptr;
  const std::unique_ptr<PQconninfoOption, Free> options(PQconninfoParse(url.c_str(), &problem));
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
    if (keyword == "port") port = ":" + std::string(option->val);
    if (keyword == "dbname") database = "/" + std::string(option->val);
  }
  return "postgres://" + host + port + database;
}

}  // namespace sagabox::postgres
