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

/// Runs SQL as one types it; throws std::runtime_error when it fails. The values of the first row.
std::vector<std::string> run_sql(PGconn* connection, const std::string& sql);

/// A schema of a test's own on the shared server, dropped at the end. Its clock can be moved: on
/// this server `clock_timestamp()` adds what the test said, in sessions that name the test. Tables
/// that a test makes without naming a schema are its own, too.
class PostgresDatabase {
 public:
  /// `reused`: one that another test of this process had may come again, with its tables emptied.
  /// Making them takes longer than most tests.
  enum class Schema : std::uint8_t { fresh, reused };

  explicit PostgresDatabase(Schema schema = Schema::fresh);
  ~PostgresDatabase();
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;

  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  [[nodiscard]] const std::string& schema() const noexcept { return schema_; }
  [[nodiscard]] postgres::Options options() const { return {.schema = schema_}; }

  /// Gives a connection that came another way than by `url()` the clock that can be moved.
  [[nodiscard]] std::string clock_query() const { return "SET sagabox_test.clock = " + schema_; }

  /// What is in a `reused` schema now is what the next test finds there. Does nothing when that was
  /// said before.
  void remember();

  [[nodiscard]] PgConnection connect() const;
  /// On a connection of its own.
  std::vector<std::string> sql(const std::string& text) { return run_sql(admin_.get(), text); }
  /// From now on `clock_timestamp()` is later by so much.
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
