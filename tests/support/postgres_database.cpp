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

PgConnection connected(const std::string& url) {
  PgConnection connection(PQconnectdb(url.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
  PQsetNoticeReceiver(connection.get(), [](void*, const PGresult*) {}, nullptr);
  return connection;
}

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
      url_(PostgresServer::shared().url() + " options='-c search_path=" + schema_ +
           "_clock,pg_catalog'"),
      admin_(connected(url_)) {
  const std::string clock = schema_ + "_clock";
  sql("DROP SCHEMA IF EXISTS " + schema_ + " CASCADE; DROP SCHEMA IF EXISTS " + clock +
      " CASCADE; CREATE SCHEMA " + clock + "; CREATE TABLE " + clock +
      ".shift AS SELECT interval '0' AS by; CREATE FUNCTION " + clock +
      ".clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE AS $$ SELECT "
      "pg_catalog.clock_timestamp() + by FROM " +
      clock + ".shift $$");
}

PostgresDatabase::~PostgresDatabase() {
  try {
    sql("DROP SCHEMA IF EXISTS " + schema_ + " CASCADE; DROP SCHEMA " + schema_ + "_clock CASCADE");
  } catch (const std::exception&) {
    // A test that ended the server has nothing to drop.
  }
}

PgConnection PostgresDatabase::connect() const { return connected(url_); }

void PostgresDatabase::advance_time(Duration by) {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(by).count();
  sql("UPDATE " + schema_ + "_clock.shift SET by = by + " + std::to_string(microseconds) +
      " * interval '1 microsecond'");
}

}  // namespace sagabox::testing
