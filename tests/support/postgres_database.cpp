#include "support/postgres_database.hpp"

#include "support/postgres_server.hpp"

#include <unistd.h>

#include <atomic>
#include <stdexcept>

namespace sagabox::testing {
namespace {

std::string fresh_schema() {
  static std::atomic<int> count{0};
  return "t" + std::to_string(getpid()) + "_" + std::to_string(++count);
}

PgConnection connected_without_notices(const std::string& url) {
  PgConnection connection(PQconnectdb(url.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
  PQsetNoticeReceiver(connection.get(), [](void*, const PGresult*) {}, nullptr);
  return connection;
}

/// The server's own clock_timestamp() gives way to one that adds what the session's test said. Our
/// sessions and functions find nothing that stands outside of pg_catalog.
constexpr auto clock_sql = R"sql(
DO $$
BEGIN
  IF to_regproc('pg_catalog.true_clock_timestamp') IS NOT NULL THEN RETURN; END IF;
  CREATE SCHEMA sagabox_test;
  CREATE TABLE sagabox_test.shift (
    name text PRIMARY KEY, by interval NOT NULL, stands timestamptz);
  GRANT USAGE ON SCHEMA sagabox_test TO PUBLIC;
  GRANT SELECT ON sagabox_test.shift TO PUBLIC;
  ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO true_clock_timestamp;
  CREATE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz
  LANGUAGE sql VOLATILE PARALLEL SAFE AS $clock$
    SELECT coalesce(
      (SELECT coalesce(stands, pg_catalog.true_clock_timestamp()) OPERATOR(pg_catalog.+) by
       FROM sagabox_test.shift
       WHERE name OPERATOR(pg_catalog.=) pg_catalog.current_setting('sagabox_test.clock', true)),
      pg_catalog.true_clock_timestamp())
  $clock$;
END
$$
)sql";

}  // namespace

std::vector<std::string> run_sql(PGconn* connection, const std::string& sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection, sql.c_str()),
                                                             &PQclear);
  const auto status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(sql + ": " + PQerrorMessage(connection));
  }
  std::vector<std::string> values;
  if (PQntuples(result.get()) == 0) return values;
  for (int column = 0; column < PQnfields(result.get()); ++column) {
    values.emplace_back(PQgetvalue(result.get(), 0, column));
  }
  return values;
}

PostgresDatabase::PostgresDatabase()
    : schema_(fresh_schema()),
      url_(PostgresServer::shared().url() + " options='-c sagabox_test.clock=" + schema_ +
           " -c search_path=" + schema_ + "_own'"),
      admin_(connected_without_notices(url_)) {
  // Other test processes make it at the same time.
  sql("SELECT pg_advisory_lock(7315)");
  sql(clock_sql);
  sql("SELECT pg_advisory_unlock(7315)");
  drop();
  sql("CREATE SCHEMA " + schema_ + "_own; INSERT INTO sagabox_test.shift VALUES ('" + schema_ +
      "', interval '0')");
}

PostgresDatabase::~PostgresDatabase() {
  try {
    drop();
  } catch (const std::exception&) {
    // A test that ended the server has nothing to drop.
  }
}

void PostgresDatabase::drop() {
  sql("DROP SCHEMA IF EXISTS " + schema_ + " CASCADE; DROP SCHEMA IF EXISTS " + schema_ +
      "_own CASCADE; DELETE FROM sagabox_test.shift WHERE name = '" + schema_ + "'");
}

PgConnection PostgresDatabase::connect() const { return connected_without_notices(url_); }

void PostgresDatabase::advance_time(Duration by) {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(by).count();
  sql("UPDATE sagabox_test.shift SET by = by + " + std::to_string(microseconds) +
      " * interval '1 microsecond' WHERE name = '" + schema_ + "'");
}

}  // namespace sagabox::testing
