#include "bench/baselines/sqlite/link.hpp"

#include <stdexcept>

namespace sagabox::bench::by_hand::sqlite {
namespace {

void check(sqlite3* connection, int result) {
  if (result == SQLITE_OK) return;
  throw std::runtime_error(std::string("SQLite: ") + sqlite3_errmsg(connection));
}

int keep_first(void* into, int columns, char** values, char**) {
  if (columns > 0 && values[0] != nullptr) *static_cast<std::string*>(into) = values[0];
  return 0;
}

}  // namespace

Statement::Statement(sqlite3* connection, const std::string& sql) : connection_(connection) {
  sqlite3_stmt* made = nullptr;
  check(connection,
        sqlite3_prepare_v3(connection, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr));
  statement_.reset(made);
}

Statement& Statement::integer(int at, std::int64_t value) {
  check(connection_, sqlite3_bind_int64(statement_.get(), at, value));
  return *this;
}

Statement& Statement::text(int at, std::string_view value) {
  check(connection_, sqlite3_bind_text64(statement_.get(), at, value.data(), value.size(),
                                         SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Statement& Statement::text_or_null(int at, std::string_view value) {
  if (!value.empty()) return text(at, value);
  check(connection_, sqlite3_bind_null(statement_.get(), at));
  return *this;
}

Statement& Statement::blob(int at, std::string_view value) {
  check(connection_,
        sqlite3_bind_blob64(statement_.get(), at, value.data(), value.size(), SQLITE_STATIC));
  return *this;
}

bool Statement::step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) check(connection_, result);
  return false;
}

void Statement::run() {
  while (step()) continue;
  reset();
}

Link::Link(const std::string& path, int checkpoint_pages) {
  sqlite3* opened = nullptr;
  const int result =
      sqlite3_open_v2(path.c_str(), &opened,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  connection_.reset(opened);
  check(opened, result);
  sqlite3_busy_timeout(opened, 5000);
  sql("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = " +
      std::to_string(checkpoint_pages));
}

std::string Link::sql(const std::string& text) {
  std::string value;
  check(handle(), sqlite3_exec(handle(), text.c_str(), &keep_first, &value, nullptr));
  return value;
}

}  // namespace sagabox::bench::by_hand::sqlite
