#include "support/postgres_database.hpp"

#include "support/postgres_server.hpp"

#include <unistd.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <utility>

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

/// Replaces the server's clock_timestamp() by one that adds the offset set by the test. Our
/// sessions and functions only use functions of pg_catalog.
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

/// Copies the rows of a schema's tables into another schema.
constexpr auto remember_sql = R"sql(
DO $$
DECLARE
  one regclass;
  filled boolean;
BEGIN
  CREATE SCHEMA {schema}_first;
  CREATE TABLE {schema}_first.relations AS
    SELECT count(*) AS number FROM pg_class WHERE relnamespace = '{schema}'::regnamespace;
  FOR one IN SELECT oid FROM pg_class
             WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'r' LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM %s)', one) INTO filled;
    CONTINUE WHEN NOT filled;
    EXECUTE format('CREATE TABLE {schema}_first.%I AS TABLE %s',
                   'of ' || (SELECT relname FROM pg_class WHERE oid = one), one);
  END LOOP;
END
$$
)sql";

/// Restores them. Fails if there are other tables than at the copy.
constexpr auto empty_sql = R"sql(
DO $$
DECLARE
  one pg_class;
  filled boolean;
BEGIN
  ASSERT (SELECT number FROM {schema}_first.relations) =
         (SELECT count(*) FROM pg_class WHERE relnamespace = '{schema}'::regnamespace);
  SET LOCAL session_replication_role = replica;
  SET LOCAL lock_timeout = '10s';
  FOR one IN SELECT * FROM pg_class
             WHERE relnamespace = '{schema}'::regnamespace AND relkind IN ('r', 'S') LOOP
    IF one.relkind = 'S' THEN
      EXECUTE format('ALTER SEQUENCE {schema}.%I RESTART', one.relname);
      CONTINUE;
    END IF;
    EXECUTE format('SELECT EXISTS (SELECT FROM {schema}.%I)', one.relname) INTO filled;
    IF filled AND EXISTS (SELECT FROM pg_constraint WHERE confrelid = one.oid) THEN
      EXECUTE format('DELETE FROM {schema}.%I', one.relname);
    ELSIF filled THEN
      EXECUTE format('TRUNCATE {schema}.%I', one.relname);
    END IF;
    CONTINUE WHEN to_regclass(format('{schema}_first.%I', 'of ' || one.relname)) IS NULL;
    EXECUTE format('INSERT INTO {schema}.%I OVERRIDING SYSTEM VALUE TABLE {schema}_first.%I',
                   one.relname, 'of ' || one.relname);
  END LOOP;
END
$$
)sql";

std::string for_schema(std::string_view sql, const std::string& schema) {
  constexpr std::string_view place = "{schema}";
  std::string text(sql);
  for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at)) {
    text.replace(at, place.size(), schema);
  }
  return text;
}

/// Remembered schemas that no test uses, the longest unused first.
std::deque<std::string> spares;
std::mutex spares_mutex;
/// Sessions of a test that has just ended, and their locks, end a moment later.
constexpr std::size_t spares_resting = 3;

std::string take_spare() {
  const std::lock_guard lock(spares_mutex);
  if (spares.size() <= spares_resting) return {};
  auto name = std::move(spares.front());
  spares.pop_front();
  return name;
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

PostgresDatabase::PostgresDatabase(Schema schema)
    : reused_(schema == Schema::reused),
      schema_(reused_ ? take_spare() : ""),
      remembered_(!schema_.empty()) {
  if (!remembered_) schema_ = fresh_schema();
  url_ = PostgresServer::shared().url() + " options='-c sagabox_test.clock=" + schema_ +
         " -c search_path=" + schema_ + "_own'";
  admin_ = connected_without_notices(url_);
  if (remembered_) return;
  // Other test processes create it at the same time.
  sql("SELECT pg_advisory_lock(7315)");
  sql(clock_sql);
  sql("SELECT pg_advisory_unlock(7315)");
  drop();
  sql("CREATE SCHEMA " + schema_ + "_own; INSERT INTO sagabox_test.shift VALUES ('" + schema_ +
      "', interval '0')");
}

PostgresDatabase::~PostgresDatabase() {
  try {
    if (!remembered_ || !empty()) {
      drop();
      return;
    }
    const std::lock_guard lock(spares_mutex);
    spares.push_back(schema_);
  } catch (const std::exception&) {
    // A test that stopped the server has nothing to drop.
  }
}

void PostgresDatabase::drop() {
  for (const std::string suffix : {"", "_own", "_first"}) {
    sql("DROP SCHEMA IF EXISTS " + schema_ + suffix + " CASCADE");
  }
  sql("DELETE FROM sagabox_test.shift WHERE name = '" + schema_ + "'");
}

void PostgresDatabase::remember() {
  if (!reused_ || remembered_) return;
  sql(for_schema(remember_sql, schema_));
  remembered_ = true;
}

bool PostgresDatabase::empty() {
  try {
    sql(for_schema(empty_sql, schema_));
  } catch (const std::runtime_error&) {
    // The test has created or dropped tables.
    return false;
  }
  sql("DROP SCHEMA " + schema_ + "_own CASCADE; CREATE SCHEMA " + schema_ +
      "_own; UPDATE sagabox_test.shift SET by = interval '0', stands = NULL WHERE name = '" +
      schema_ + "'");
  return true;
}

PgConnection PostgresDatabase::connect() const { return connected_without_notices(url_); }

void PostgresDatabase::advance_time(Duration by) {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(by).count();
  sql("UPDATE sagabox_test.shift SET by = by + " + std::to_string(microseconds) +
      " * interval '1 microsecond' WHERE name = '" + schema_ + "'");
}

}  // namespace sagabox::testing
