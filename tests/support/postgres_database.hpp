#pragma once

#include <sagabox/stores/postgres.hpp>
#include <sagabox/time.hpp>

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::testing {

struct FinishConnection {
  void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
};
using PgConnection = std::unique_ptr<PGconn, FinishConnection>;

/// Runs SQL as one types it; returns the values of the first row. Throws std::runtime_error on
/// failure.
std::vector<std::string> run_sql(PGconn* connection, const std::string& sql);

/// A schema of the test's own on the shared server, dropped at the end. Its clock can be moved: on
/// this server `clock_timestamp()` adds an offset, in sessions that name the test. Tables that a
/// test makes without naming a schema are in it, too.
class PostgresDatabase {
 public:
  /// `reused`: may be the schema of an earlier test of this process, with its tables emptied.
  /// Creating them takes longer than most tests.
  enum class Schema : std::uint8_t { fresh, reused };

  explicit PostgresDatabase(Schema schema = Schema::fresh);
  ~PostgresDatabase();
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;

  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  [[nodiscard]] const std::string& schema() const noexcept { return schema_; }
  [[nodiscard]] postgres::Options options() const { return {.schema = schema_}; }

  /// The query that gives a connection without `url()` the clock that can be moved.
  [[nodiscard]] std::string clock_query() const { return "SET sagabox_test.clock = " + schema_; }

  /// The current content of a `reused` schema is what the next test finds there. No-op if called
  /// before.
  void remember();

  [[nodiscard]] PgConnection connect() const;
  /// On a connection of its own.
  std::vector<std::string> sql(const std::string& text) { return run_sql(admin_.get(), text); }
  /// Moves `clock_timestamp()` forward.
  void advance_time(Duration by);

 private:
  void drop();
  [[nodiscard]] bool empty();

  bool reused_;
  std::string schema_;
  bool remembered_;
  std::string url_;
  PgConnection admin_;
};

}  // namespace sagabox::testing
