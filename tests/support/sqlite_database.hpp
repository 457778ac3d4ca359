#pragma once

#include <sagabox/time.hpp>

#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

namespace sagabox::testing {

struct CloseSqlite {
  void operator()(sqlite3* connection) const noexcept { sqlite3_close(connection); }
};
using SqliteConnection = std::unique_ptr<sqlite3, CloseSqlite>;

/// Opens a connection like a user's. Throws std::runtime_error.
SqliteConnection connect_sqlite(const std::string& path, Duration lock_max = {},
                                const std::string& vfs = {});
/// Runs statements; returns the values of the first row of the last statement with one, as text.
/// Throws std::runtime_error with SQLite's message.
std::vector<std::string> run_sql(sqlite3* connection, const std::string& sql);
/// All rows of one statement.
std::vector<std::vector<std::string>> rows_of(sqlite3* connection, const std::string& sql);

/// A folder for database files, removed at the end unless the test has failed: then its path is
/// printed.
class SqliteFolder {
 public:
  SqliteFolder();
  ~SqliteFolder();
  SqliteFolder(const SqliteFolder&) = delete;
  SqliteFolder& operator=(const SqliteFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(const std::string& name = "test.db") const {
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

}  // namespace sagabox::testing
