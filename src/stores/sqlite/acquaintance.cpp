#include "stores/sqlite/acquaintance.hpp"

#include "stores/sqlite/result_code.hpp"

#include <mutex>
#include <unordered_map>
#include <utility>

namespace sagabox::sqlite {
namespace {

/// SQLite cannot store application data with a connection, so it is looked up by address.
class Acquaintances {
 public:
  std::shared_ptr<Acquaintance> find(sqlite3* connection) {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(connection);
    return known == known_.end() ? nullptr : known->second;
  }
  void add(sqlite3* connection, std::shared_ptr<Acquaintance> acquaintance) {
    const std::lock_guard lock(mutex_);
    known_.insert_or_assign(connection, std::move(acquaintance));
  }
  void forget(sqlite3* connection) {
    const std::lock_guard lock(mutex_);
    known_.erase(connection);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<sqlite3*, std::shared_ptr<Acquaintance>> known_;
};

Acquaintances& acquaintances() {
  // Never destroyed: connections may be closed after everything else.
  static auto* all = new Acquaintances;
  return *all;
}

/// An empty virtual table. SQLite disconnects it when the connection is closed, before it checks
/// for statements that are left (the full text search of SQLite relies on this order, too). The
/// table is hidden unless it is named in a query, and it is not stored in a file.
struct Ear {
  sqlite3_vtab base;
  Acquaintance* acquaintance;
};

constexpr const char* ear_name = "sagabox_enlisted";

int connect(sqlite3* connection, void* acquaintance, int, const char* const*, sqlite3_vtab** out,
            char**) {
  if (const int made = sqlite3_declare_vtab(connection, "CREATE TABLE ear (unused)");
      made != SQLITE_OK) {
    return made;
  }
  auto* ear = new Ear{{}, static_cast<Acquaintance*>(acquaintance)};
  ear->acquaintance->will_hear = true;
  *out = &ear->base;
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  auto* ear = reinterpret_cast<Ear*>(table);
  ear->acquaintance->link.forget_statements();
  ear->acquaintance->will_hear = false;
  delete ear;
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

sqlite3_module ear_module() {
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

void closed(void* acquaintance) {
  acquaintances().forget(static_cast<Acquaintance*>(acquaintance)->link.handle());
}

/// SQLite connects the table when a statement first names it. The statement is prepared, but not
/// run: it would read, and SQLite does not let a transaction that has read wait for the write lock.
Status listen(Acquaintance& acquaintance) {
  if (acquaintance.will_hear) return {};
  sqlite3_stmt* named = nullptr;
  const int prepared = sqlite3_prepare_v2(acquaintance.link.handle(),
                                          "SELECT 1 FROM sagabox_enlisted", -1, &named, nullptr);
  sqlite3_finalize(named);
  if (prepared != SQLITE_OK) return error_of(acquaintance.link.handle(), prepared);
  return {};
}

}  // namespace

Result<std::shared_ptr<Acquaintance>> acquaintance_of(sqlite3* connection) {
  auto known = acquaintances().find(connection);
  if (known == nullptr) {
    static const sqlite3_module module = ear_module();
    known = std::make_shared<Acquaintance>(connection);
    // Added before the module: if its creation fails, SQLite calls `closed` at once.
    acquaintances().add(connection, known);
    const int made = sqlite3_create_module_v2(connection, ear_name, &module, known.get(), &closed);
    if (made != SQLITE_OK) return error_of(connection, made);
  }
  if (auto listens = listen(*known); !listens.ok()) return listens.error();
  return known;
}

}  // namespace sagabox::sqlite
