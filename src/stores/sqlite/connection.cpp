#include "stores/sqlite/connection.hpp"

#include "stores/sqlite/result_code.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

namespace sagabox::sqlite {
namespace {

const Sql journal_mode_sql{"PRAGMA journal_mode"};
const Sql log_ahead_sql{"PRAGMA journal_mode = WAL"};

constexpr int mode_tries_max = 4;
constexpr int mode_retry_ms = 25;

/// Small, to leave memory to the user's own pages: ours are few and recent.
constexpr int writer_cache_kib = 16 * 1024;

int milliseconds(Duration duration) {
  const auto count = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<int>(std::clamp<std::int64_t>(count, 0, std::numeric_limits<int>::max()));
}

Error cannot_open(const std::string& path, sqlite3* connection, int result, Connection::Use use) {
  const Error error = error_of(connection, result);
  const int reason = sqlite3_system_errno(connection);
  if (use == Connection::Use::read && (result & 0xff) == SQLITE_CANTOPEN && reason == ENOENT) {
    return {Code::config_invalid,
            "there is no file " + path + "; give the path of a database that is there"};
  }
  const std::string what = "cannot open " + path + ": ";
  if ((result & 0xff) != SQLITE_CANTOPEN) return {error.code, what + error.message};
  if (reason == ENOSPC || reason == EMFILE || reason == ENFILE || reason == ENOMEM) {
    return {Code::storage_unavailable,
            what + std::strerror(reason) +
                "; make room for it (disk, open files or memory) and try again"};
  }
  if (reason == 0) return {Code::config_invalid, what + error.message};
  return {Code::config_invalid, what + std::strerror(reason) +
                                    "; give the path of a file in a folder that is there and "
                                    "that this user may write to"};
}

/// The file that SQLite will open: links are followed, also to a file that does not exist yet.
std::filesystem::path target_of(std::filesystem::path path) {
  constexpr int links_max = 40;  // the same limit as in the kernel
  std::error_code no_link;
  for (int links = 0; links < links_max; ++links) {
    const auto next = std::filesystem::read_symlink(path, no_link);
    if (no_link) break;
    path = path.parent_path() / next;
  }
  return path;
}

/// Payloads must be readable by their owner only. SQLite would make a file that all users may read;
/// the files that it makes beside it have the same mode. An existing file keeps its mode, and
/// SQLite reports a wrong path. This never opens an existing file: closing it would release the
/// locks that other connections of this process have on it.
void make_private(const std::string& path) {
  constexpr int mode = 0600;
  if (path.empty() || path == ":memory:") return;
  const int file = ::open(target_of(path).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file >= 0) ::close(file);
}

Error read_only(const std::string& path) {
  return {Code::config_invalid,
          path + " cannot be written; give this user the right to write the file and its folder (" +
              path + "-wal and -shm are made beside it)"};
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, Use use,
                                                     const Options& options) {
  // Each connection is used by one thread at a time: SQLite's mutexes are not needed.
  constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                        SQLITE_OPEN_EXRESCODE;
  if (use == Use::write && options.vfs.empty()) make_private(path);
  sqlite3* opened = nullptr;
  const int result =
      sqlite3_open_v2(path.c_str(), &opened, use == Use::write ? flags | SQLITE_OPEN_CREATE : flags,
                      options.vfs.empty() ? nullptr : options.vfs.c_str());
  Handle handle(opened);
  if (result != SQLITE_OK) return cannot_open(path, opened, result, use);
  std::unique_ptr<Connection> connection(new Connection(std::move(handle)));
  if (auto ready = connection->set_up(path, use, options); !ready.ok()) return ready.error();
  return connection;
}

Status Connection::set_up(const std::string& path, Use use, const Options& options) {
  if (sqlite3_db_readonly(handle(), "main") == 1) return read_only(path);
  wait_for_locks(options.lock_max);
  if (use == Use::read) return link_.script("PRAGMA query_only = ON");
  if (auto logged = log_ahead(path); !logged.ok()) return logged;
  // With synchronous NORMAL a commit only writes, and `GroupSync` syncs it to the disk. The writer
  // makes the checkpoints. Deleted payloads are overwritten if that costs no extra write.
  return link_.script(
      "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;"
      "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = FAST;"
      "PRAGMA cache_size = -" +
      std::to_string(writer_cache_kib) +
      "; PRAGMA journal_size_limit = " + std::to_string(options.wal_bytes_max));
}

void Connection::wait_for_locks(Duration wait_max) {
  sqlite3_busy_timeout(handle(), milliseconds(wait_max));
}

Status Connection::log_ahead(const std::string& path) {
  // If two connections change the mode at once, SQLite refuses one of them without waiting.
  int tries = 0;
  for (const Sql* sql = &journal_mode_sql; sql != nullptr;) {
    auto mode = run(*sql);
    auto row = mode.step();
    const bool is_ahead = row.ok() && mode.text(0) == "wal";
    // SQLite returns the new mode before it has written it.
    if (const auto done = row.ok() ? mode.finish() : Status(row.error()); !done.ok()) {
      const int result = sqlite3_extended_errcode(handle());
      if ((result & 0xff) == SQLITE_READONLY) return read_only(path);
      if ((result & 0xff) == SQLITE_BUSY && ++tries < mode_tries_max) {
        sqlite3_sleep(mode_retry_ms);
        continue;
      }
      return Error{done.error().code, "cannot open " + path + ": " + done.error().message};
    }
    if (is_ahead) return {};
    sql = sql == &journal_mode_sql ? &log_ahead_sql : nullptr;
  }
  return Error{Code::config_invalid,
               path +
                   ": this file cannot have a write-ahead log; give a file on a local disk, not "
                   "\":memory:\" and not one on a network"};
}

}  // namespace sagabox::sqlite
