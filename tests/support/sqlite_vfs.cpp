#include "support/sqlite_vfs.hpp"

#include <utility>

namespace sagabox::testing {
namespace {

using Act = WatchedVfs::Act;

/// SQLite allocates this object, with the system's own behind it.
struct WatchedFile {
  sqlite3_file base;
  WatchedVfs* vfs;
  const char* path;  // valid as long as the file
};

WatchedFile* watched(sqlite3_file* file) { return reinterpret_cast<WatchedFile*>(file); }
sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(watched(file) + 1);
}
int ask(sqlite3_file* file, Act act) {
  const char* path = watched(file)->path;
  return watched(file)->vfs->ask(act, path == nullptr ? "" : path);
}

const sqlite3_io_methods methods{
    .iVersion = 2,
    .xClose = [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); },
    .xRead = [](sqlite3_file* f, void* to, int size,
                sqlite3_int64 at) { return real(f)->pMethods->xRead(real(f), to, size, at); },
    .xWrite =
        [](sqlite3_file* f, const void* from, int size, sqlite3_int64 at) {
          if (const int refused = ask(f, Act::write); refused != SQLITE_OK) return refused;
          return real(f)->pMethods->xWrite(real(f), from, size, at);
        },
    .xTruncate =
        [](sqlite3_file* f, sqlite3_int64 size) {
          if (const int refused = ask(f, Act::truncate); refused != SQLITE_OK) return refused;
          return real(f)->pMethods->xTruncate(real(f), size);
        },
    .xSync =
        [](sqlite3_file* f, int flags) {
          if (const int refused = ask(f, Act::sync); refused != SQLITE_OK) return refused;
          return real(f)->pMethods->xSync(real(f), flags);
        },
    .xFileSize = [](sqlite3_file* f,
                    sqlite3_int64* size) { return real(f)->pMethods->xFileSize(real(f), size); },
    .xLock = [](sqlite3_file* f, int how) { return real(f)->pMethods->xLock(real(f), how); },
    .xUnlock = [](sqlite3_file* f, int how) { return real(f)->pMethods->xUnlock(real(f), how); },
    .xCheckReservedLock =
        [](sqlite3_file* f, int* out) {
          return real(f)->pMethods->xCheckReservedLock(real(f), out);
        },
    .xFileControl = [](sqlite3_file* f, int what,
                       void* with) { return real(f)->pMethods->xFileControl(real(f), what, with); },
    .xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); },
    .xDeviceCharacteristics =
        [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); },
    .xShmMap =
        [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
          return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
        },
    .xShmLock = [](sqlite3_file* f, int at, int count,
                   int how) { return real(f)->pMethods->xShmLock(real(f), at, count, how); },
    .xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); },
    .xShmUnmap = [](sqlite3_file* f,
                    int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); },
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out) {
  auto* mine = static_cast<WatchedVfs*>(vfs->pAppData);
  *watched(file) = {{nullptr}, mine, path};
  auto* system = mine->system();
  const int result = system->xOpen(system, path, real(file), flags, out);
  if (real(file)->pMethods != nullptr) watched(file)->base.pMethods = &methods;
  return result;
}

}  // namespace

WatchedVfs::WatchedVfs(std::string name)
    : name_(std::move(name)), system_(sqlite3_vfs_find(nullptr)), vfs_(*system_) {
  vfs_.szOsFile = static_cast<int>(sizeof(WatchedFile)) + system_->szOsFile;
  vfs_.zName = name_.c_str();
  vfs_.pNext = nullptr;
  vfs_.pAppData = this;
  vfs_.xOpen = &open_file;
  sqlite3_vfs_register(&vfs_, 0);
}

WatchedVfs::~WatchedVfs() { sqlite3_vfs_unregister(&vfs_); }

void WatchedVfs::watch(Watch watch) {
  const std::lock_guard lock(mutex_);
  watch_ = std::move(watch);
}

int WatchedVfs::ask(Act act, std::string_view path) {
  Watch watch;
  {
    const std::lock_guard lock(mutex_);
    watch = watch_;
  }
  return watch ? watch(act, path) : SQLITE_OK;
}

}  // namespace sagabox::testing
