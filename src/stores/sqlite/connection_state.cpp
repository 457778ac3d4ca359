#include "stores/sqlite/connection_state.hpp"

#include "stores/sqlite/result_code.hpp"

#include <mutex>
#include <unordered_map>
#include <utility>

namespace sagabox::sqlite {
namespace {

/// SQLite cannot store application data with a connection, so it is looked up by address.
class KnownConnections {
 public:
  std::shared_ptr<ConnectionState> find(sqlite3* connection) {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(connection);
    return known == known_.end() ? nullptr : known->second;
  }
  void add(sqlite3* connection, std::shared_ptr<ConnectionState> connection_state) {
    const std::lock_guard lock(mutex_);
    known_.insert_or_assign(connection, std::move(connection_state));
  }
  void forget(sqlite3* connection) {
    const std::lock_guard lock(mutex_);
    known_.erase(connection);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<sqlite3*, std::shared_ptr<ConnectionState>> known_;
};

KnownConnections& known_connections() {
  // Never destroyed: connections may be closed after everything else.
  static auto* all = new KnownConnections;
  return *all;
}

/// An empty virtual table. SQLite disconnects it when the connection is closed, before it checks
/// for statements that are left (the full text search of SQLite relies on this order, too). The
/// table is hidden unless it is named in a query, and it is not stored in a file.
struct CloseListener {
  sqlite3_vtab base;
  ConnectionState* connection_state;
};

constexpr const char* listener_name = "sagabox_enlisted";

int connect(sqlite3* connection, void* connection_state, int, const char* const*,
            sqlite3_vtab** out, char**) {
  if (const int made = sqlite3_declare_vtab(connection, "CREATE TABLE listener (unused)");
      made != SQLITE_OK) {
    return made;
  }
  auto* listener = new CloseListener{{}, static_cast<ConnectionState*>(connection_state)};
  listener->connection_state->told_of_close = true;
  *out = &listener->base;
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  auto* listener = reinterpret_cast<CloseListener*>(table);
  listener->connection_state->link.forget_statements();
  listener->connection_state->told_of_close = false;
  delete listener;
  return SQLITE_OK;
}

int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** out) {
  *out = new sqlite3_vtab_cursor{};
  return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete cursor;
  return SQLITE_OK;
}

sqlite3_module listener_module() {
  sqlite3_module module{};
  module.xConnect = &connect;
  module.xDisconnect = &disconnect;
  module.xBestIndex = [](sqlite3_vtab*, sqlite3_index_info*) { return SQLITE_OK; };
  module.xOpen = &open_cursor;
  module.xClose = &close_cursor;
  module.xFilter = [](sqlite3_vtab_cursor*, int, const char*, int, sqlite3_value**) {
    return SQLITE_OK;
  };
  module.xNext = [](sqlite3_vtab_cursor*) { return SQLITE_OK; };
  module.xEof = [](sqlite3_vtab_cursor*) { return 1; };
  module.xColumn = [](sqlite3_vtab_cursor*, sqlite3_context*, int) { return SQLITE_OK; };
  module.xRowid = [](sqlite3_vtab_cursor*, sqlite3_int64* id) {
    *id = 0;
    return SQLITE_OK;
  };
  return module;
}

void closed(void* connection_state) {
  known_connections().forget(static_cast<ConnectionState*>(connection_state)->link.handle());
}

/// SQLite connects the table when a statement first names it. The statement is prepared, but not
/// run: it would read, and SQLite does not let a transaction that has read wait for the write lock.
Status listen(ConnectionState& connection_state) {
  if (connection_state.told_of_close) return {};
  sqlite3_stmt* named = nullptr;
  const int prepared = sqlite3_prepare_v2(connection_state.link.handle(),
                                          "SELECT 1 FROM sagabox_enlisted", -1, &named, nullptr);
  sqlite3_finalize(named);
  if (prepared != SQLITE_OK) return error_of(connection_state.link.handle(), prepared);
  return {};
}

}  // namespace

Result<std::shared_ptr<ConnectionState>> connection_state_of(sqlite3* connection) {
  auto known = known_connections().find(connection);
  if (known == nullptr) {
    static const sqlite3_module module = listener_module();
    known = std::make_shared<ConnectionState>(connection);
    // Added before the module: if its creation fails, SQLite calls `closed` at once.
    known_connections().add(connection, known);
    const int made =
        sqlite3_create_module_v2(connection, listener_name, &module, known.get(), &closed);
    if (made != SQLITE_OK) return error_of(connection, made);
  }
  if (auto listens = listen(*known); !listens.ok()) return listens.error();
  return known;
}

}  // namespace sagabox::sqlite
