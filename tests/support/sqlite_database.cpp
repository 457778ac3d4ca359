#include "support/sqlite_database.hpp"

#include "support/kept_files.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace sagabox::testing {
namespace {

int keep_first(void* into, int columns, char** values, char**) {
  auto& row = *static_cast<std::vector<std::string>*>(into);
  if (!row.empty()) return 0;
  for (int i = 0; i < columns; ++i) row.emplace_back(values[i] == nullptr ? "" : values[i]);
  return 0;
}

int keep_all(void* into, int columns, char** values, char** names) {
  auto& row = static_cast<std::vector<std::vector<std::string>>*>(into)->emplace_back();
  return keep_first(&row, columns, values, names);
}

void execute(sqlite3* connection, const std::string& sql, sqlite3_callback keep, void* into) {
  char* error = nullptr;
  if (sqlite3_exec(connection, sql.c_str(), keep, into, &error) == SQLITE_OK) return;
  const std::string text = error == nullptr ? sqlite3_errmsg(connection) : error;
  sqlite3_free(error);
  throw std::runtime_error(text);
}

}  // namespace

SqliteConnection connect_sqlite(const std::string& path, Duration lock_max,
                                const std::string& vfs) {
  sqlite3* opened = nullptr;
  const int result =
      sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                      vfs.empty() ? nullptr : vfs.c_str());
  SqliteConnection connection(opened);
  if (result != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(opened));
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(lock_max).count();
  sqlite3_busy_timeout(opened, static_cast<int>(milliseconds));
  return connection;
}

std::vector<std::string> run_sql(sqlite3* connection, const std::string& sql) {
  std::vector<std::string> row;
  execute(connection, sql, &keep_first, &row);
  return row;
}

std::vector<std::vector<std::string>> rows_of(sqlite3* connection, const std::string& sql) {
  std::vector<std::vector<std::string>> rows;
  execute(connection, sql, &keep_all, &rows);
  return rows;
}

SqliteFolder::SqliteFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "sagabox-sqlite-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

SqliteFolder::~SqliteFolder() { remove_unless_failed(path_); }

}  // namespace sagabox::testing
