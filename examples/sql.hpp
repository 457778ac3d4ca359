#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

/// Just enough SQLite for the examples; use whatever wrapper you like.
namespace sql {

inline void bind(sqlite3_stmt* statement, int at, const std::string& text) {
  sqlite3_bind_text(statement, at, text.c_str(), -1, SQLITE_TRANSIENT);
}
inline void bind(sqlite3_stmt* statement, int at, std::int64_t number) {
  sqlite3_bind_int64(statement, at, number);
}

/// Runs one statement; the first value of its first row, if there is one.
template <class... Values>
std::optional<std::string> run(sqlite3* connection, const char* text, const Values&... values) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(connection, text, -1, &statement, nullptr);
  int at = 0;
  (bind(statement, ++at, values), ...);
  std::optional<std::string> first;
  int result = sqlite3_step(statement);
  for (; result == SQLITE_ROW; result = sqlite3_step(statement)) {
    const auto* value = sqlite3_column_text(statement, 0);
    if (!first && value != nullptr) first = reinterpret_cast<const char*>(value);
  }
  sqlite3_finalize(statement);
  if (result != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(connection));
  return first;
}

}  // namespace sql
