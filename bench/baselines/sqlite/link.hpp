#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

/// SQLite by hand: its C interface, prepared statements.
namespace sagabox::bench::by_hand::sqlite {

/// One prepared statement. What fails throws std::runtime_error.
class Statement {
 public:
  Statement(sqlite3* connection, const std::string& sql);

  Statement& integer(int at, std::int64_t value);
  /// Must live until the statement has run.
  Statement& text(int at, std::string_view value);
  Statement& text_or_null(int at, std::string_view value);
  Statement& blob(int at, std::string_view value);

  /// Whether there is a row.
  bool step();
  /// To the end, and ready to be run again.
  void run();
  void reset() { sqlite3_reset(statement_.get()); }
  [[nodiscard]] sqlite3_stmt* get() const { return statement_.get(); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  sqlite3* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A connection to a file with a write-ahead log, every commit synced.
class Link {
 public:
  /// The log is copied into the file when it has so many pages.
  explicit Link(const std::string& path, int checkpoint_pages = 1000);

  /// As one types it; the first value of the last statement.
  std::string sql(const std::string& text);
  Statement prepare(const std::string& sql) { return {handle(), sql}; }
  [[nodiscard]] std::int64_t changes() const { return sqlite3_changes64(handle()); }
  [[nodiscard]] sqlite3* handle() const { return connection_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* connection) const noexcept { sqlite3_close_v2(connection); }
  };
  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace sagabox::bench::by_hand::sqlite
