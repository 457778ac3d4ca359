#include "bench/sqlite/sync_time.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace sagabox::bench::sqlite {
namespace {

std::mutex mutex;
std::vector<Steady::time_point> ends;  // ascending

/// Of the log: the system's, but for `xSync`.
sqlite3_io_methods methods;
int (*system_sync)(sqlite3_file*, int) = nullptr;

int sync(sqlite3_file* file, int flags) {
  const int result = system_sync(file, flags);
  const std::lock_guard lock(mutex);
  ends.push_back(Steady::now());
  return result;
}

int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out) {
  auto* system = static_cast<sqlite3_vfs*>(vfs->pAppData);
  const int result = system->xOpen(system, path, file, flags, out);
  if (file->pMethods == nullptr || (flags & SQLITE_OPEN_WAL) == 0) return result;
  if (system_sync == nullptr) {
    methods = *file->pMethods;
    system_sync = methods.xSync;
    methods.xSync = &sync;
  }
  file->pMethods = &methods;
  return result;
}

}  // namespace

SyncTime::SyncTime() : vfs_(*sqlite3_vfs_find(nullptr)) {
  vfs_.pAppData = sqlite3_vfs_find(nullptr);
  vfs_.pNext = nullptr;
  vfs_.zName = "sagabox-bench-sync-time";
  vfs_.xOpen = &open;
  sqlite3_vfs_register(&vfs_, 0);
}

SyncTime::~SyncTime() {
  sqlite3_vfs_unregister(&vfs_);
  ends.clear();
}

Steady::time_point SyncTime::first_after(Steady::time_point begin) const {
  const std::lock_guard lock(mutex);
  const auto found = std::ranges::upper_bound(ends, begin);
  if (found == ends.end()) throw std::runtime_error("a commit was not synced");
  return *found;
}

}  // namespace sagabox::bench::sqlite
