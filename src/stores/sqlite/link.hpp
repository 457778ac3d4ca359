#pragma once

#include <sagabox/payload.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <sqlite3.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sagabox::sqlite {

/// A statement as one would type it, with ?1, ?2 … Identified by its address: prepared when first
/// run on a connection, and kept there.
struct Sql {
  std::string text;
};

/// A value of the current row of a statement, looked up once. Only for connections that no other
/// thread uses meanwhile, as the store's own: SQLite takes no lock for it.
class Value {
 public:
  explicit Value(sqlite3_value* value) : value_(value) {}

  [[nodiscard]] bool is_null() const { return sqlite3_value_type(value_) == SQLITE_NULL; }
  [[nodiscard]] bool is_integer() const { return sqlite3_value_type(value_) == SQLITE_INTEGER; }
  [[nodiscard]] std::int64_t integer() const { return sqlite3_value_int64(value_); }
  /// Empty for NULL.
  [[nodiscard]] std::string_view text() const {
    return is_null() ? std::string_view() : sized(sqlite3_value_text(value_));
  }
  /// The bytes of a blob or of a text.
  [[nodiscard]] std::string_view bytes() const {
    return sqlite3_value_type(value_) == SQLITE_BLOB ? sized(sqlite3_value_blob(value_)) : text();
  }

 private:
  [[nodiscard]] std::string_view sized(const void* data) const {
    if (data == nullptr) return {};
    return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_value_bytes(value_))};
  }

  sqlite3_value* value_;
};

/// One use of a prepared statement: bind, step, read. Bound values must live until it ends, and
/// columns are valid until the next step. `step` reports every error.
class Run {
 public:
  Run(sqlite3* connection, sqlite3_stmt* statement, int result)
      : connection_(connection), statement_(statement), result_(result) {}
  Run(Run&& other) noexcept;
  Run& operator=(Run&&) = delete;
  ~Run() { reset(); }

  /// Each binds the next of ?1, ?2 …
  template <std::integral Int>
  Run& with(Int value) {
    return bound(sqlite3_bind_int64(statement_, ++at_, static_cast<sqlite3_int64>(value)));
  }
  Run& with(std::string_view text);
  Run& with_blob(std::string_view bytes);
  /// The text is copied.
  Run& with_copy(const std::string& text);
  Run& with(WallTime time) { return with(time.time_since_epoch().count()); }
  Run& with_null() { return bound(sqlite3_bind_null(statement_, ++at_)); }
  template <class T>
  Run& with(const std::optional<T>& value) {
    return value ? with(*value) : with_null();
  }
  /// Binds NULL for an empty text.
  Run& with_or_null(std::string_view text) { return text.empty() ? with_null() : with(text); }

  /// Returns true if there is a row, false if there is none, or no more.
  Result<bool> step();
  /// Runs to the end; for statements without rows, or whose rows are not needed.
  Status finish();
  /// Allows it to be bound and run again.
  void reset() noexcept;
  /// The highest number of a parameter.
  [[nodiscard]] int parameters() const { return sqlite3_bind_parameter_count(statement_); }
  /// 0 if the statement never returns rows.
  [[nodiscard]] int columns() const { return sqlite3_column_count(statement_); }

  [[nodiscard]] bool is_null(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }
  [[nodiscard]] std::int64_t integer(int column) const {
    return sqlite3_column_int64(statement_, column);
  }
  [[nodiscard]] std::uint64_t natural(int column) const {
    return static_cast<std::uint64_t>(integer(column));
  }
  [[nodiscard]] bool boolean(int column) const { return integer(column) != 0; }
  /// Empty for NULL.
  [[nodiscard]] std::string_view text(int column) const;
  /// The bytes of a blob or of a text.
  [[nodiscard]] std::string_view bytes(int column) const;
  [[nodiscard]] Value value(int column) const {
    return Value(sqlite3_column_value(statement_, column));
  }
  [[nodiscard]] std::size_t size(int column) const {
    return static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  }
  [[nodiscard]] WallTime time(int column) const {
    return WallTime(std::chrono::microseconds(integer(column)));
  }
  [[nodiscard]] std::optional<WallTime> maybe_time(int column) const {
    if (is_null(column)) return std::nullopt;
    return time(column);
  }
  [[nodiscard]] std::optional<std::string> maybe_text(int column) const {
    if (is_null(column)) return std::nullopt;
    return std::string(text(column));
  }

 private:
  Run& bound(int result);

  sqlite3* connection_;
  sqlite3_stmt* statement_;
  int result_;
  int at_ = 0;
};

/// Runs statements over a connection that the caller keeps open, and keeps them prepared. Not
/// thread-safe.
class Link {
 public:
  explicit Link(sqlite3* connection) : connection_(connection) {}
  ~Link() { forget_statements(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// A statement can only be in use once at a time.
  Run run(const Sql& sql);
  /// The same for a statement that is identified by its text.
  Run run(const std::string& text);
  void forget_statements();
  /// Runs several statements without parameters; they are not kept.
  Status script(const std::string& sql);
  /// Rows that the last INSERT, UPDATE or DELETE changed.
  [[nodiscard]] std::int64_t changes() const { return sqlite3_changes64(connection_); }
  [[nodiscard]] sqlite3* handle() const noexcept { return connection_; }
  /// True after a BEGIN, until COMMIT, ROLLBACK or an error that rolls everything back.
  [[nodiscard]] bool in_transaction() const { return sqlite3_get_autocommit(connection_) == 0; }

 private:
  Run run(sqlite3_stmt*& statement, const std::string& text);

  sqlite3* connection_;
  std::unordered_map<const Sql*, sqlite3_stmt*> prepared_;
  std::unordered_map<std::string, sqlite3_stmt*> prepared_texts_;
};

}  // namespace sagabox::sqlite
