#include "support/sqlite_disk.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

namespace sagabox::testing {

using Kind = SqliteDisk::Kind;

/// A file, independent of its names, and the locks on it.
struct SqliteDisk::Node {
  std::size_t number = 0;
  std::string bytes{};
  int failed_syncs = 0;

  int readers = 0;  // that hold a shared lock or more
  const void* reserved = nullptr;
  const void* pending = nullptr;
  const void* exclusive = nullptr;

  struct Slot {
    int shared = 0;
    const void* exclusive = nullptr;
  };
  std::array<Slot, SQLITE_SHM_NLOCK> slots{};
  std::vector<std::unique_ptr<char[]>> shared_memory{};
  int mapped = 0;
};

/// SQLite allocates this object.
struct DiskFile {
  sqlite3_file base;
  SqliteDisk* disk;
  std::shared_ptr<SqliteDisk::Node> node;
  std::string path;
  bool syncs_folder;     // with its first sync
  bool ends_with_it;     // removed when closed
  int failed_syncs = 0;  // the number that it was told about
  int level = SQLITE_LOCK_NONE;
  bool maps = false;
  std::array<bool, SQLITE_SHM_NLOCK> shares{};

  static DiskFile& of(sqlite3_file* file) { return *reinterpret_cast<DiskFile*>(file); }
};

struct DiskMethods {
  using Node = SqliteDisk::Node;

  static int close(sqlite3_file* base) {
    auto& file = DiskFile::of(base);
    if (file.maps) unmap(base, 0);
    unlock(base, SQLITE_LOCK_NONE);
    if (file.ends_with_it) {
      const std::lock_guard lock(file.disk->mutex_);
      file.disk->folder_.erase(file.path);
    }
    file.~DiskFile();
    return SQLITE_OK;
  }

  static int read(sqlite3_file* base, void* into, int size, sqlite3_int64 at) {
    auto& file = DiskFile::of(base);
    const std::lock_guard lock(file.disk->mutex_);
    const auto& bytes = file.node->bytes;
    const auto wanted = static_cast<std::size_t>(size);
    const auto from = std::min(static_cast<std::size_t>(at), bytes.size());
    const auto there = std::min(wanted, bytes.size() - from);
    std::memcpy(into, bytes.data() + from, there);
    if (there == wanted) return SQLITE_OK;
    std::memset(static_cast<char*>(into) + there, 0, wanted - there);
    return SQLITE_IOERR_SHORT_READ;
  }

  static int write(sqlite3_file* base, const void* from, int size, sqlite3_int64 at) {
    auto& file = DiskFile::of(base);
    const std::lock_guard lock(file.disk->mutex_);
    if (const int refused = file.disk->ask(Kind::write, file.path); refused != SQLITE_OK) {
      return refused;
    }
    auto& bytes = file.node->bytes;
    const auto begin = static_cast<std::size_t>(at);
    const std::string_view written(static_cast<const char*>(from), static_cast<std::size_t>(size));
    if (bytes.size() < begin + written.size()) bytes.resize(begin + written.size());
    bytes.replace(begin, written.size(), written);
    file.disk->note({Kind::write, file.node->number, file.path, begin, std::string(written)});
    return SQLITE_OK;
  }

  static int truncate(sqlite3_file* base, sqlite3_int64 size) {
    auto& file = DiskFile::of(base);
    const std::lock_guard lock(file.disk->mutex_);
    if (const int refused = file.disk->ask(Kind::truncate, file.path); refused != SQLITE_OK) {
      return refused;
    }
    file.node->bytes.resize(static_cast<std::size_t>(size));
    file.disk->note({Kind::truncate, file.node->number, file.path, static_cast<std::size_t>(size)});
    return SQLITE_OK;
  }

  static int sync(sqlite3_file* base, int) {
    auto& file = DiskFile::of(base);
    auto& disk = *file.disk;
    std::unique_lock lock(disk.mutex_);
    const auto begun = disk.acts_.size();
    int refused = disk.ask(Kind::sync, file.path);
    if (refused != SQLITE_OK) ++file.node->failed_syncs;
    // Every handle of the file reports the failure once.
    if (std::exchange(file.failed_syncs, file.node->failed_syncs) != file.node->failed_syncs) {
      refused = SQLITE_IOERR_FSYNC;
    }
    if (refused != SQLITE_OK) {
      disk.note({Kind::failed_sync, file.node->number, file.path, begun});
      return refused;
    }
    if (disk.sync_takes_ > Duration{}) {
      lock.unlock();
      std::this_thread::sleep_for(disk.sync_takes_);
      lock.lock();
    }
    disk.note({Kind::sync, file.node->number, file.path, begun});
    if (std::exchange(file.syncs_folder, false)) disk.note({Kind::sync_folder});
    return SQLITE_OK;
  }

  static int size(sqlite3_file* base, sqlite3_int64* size) {
    auto& file = DiskFile::of(base);
    const std::lock_guard lock(file.disk->mutex_);
    *size = static_cast<sqlite3_int64>(file.node->bytes.size());
    return SQLITE_OK;
  }

  static int lock(sqlite3_file* base, int level) {
    auto& file = DiskFile::of(base);
    const std::lock_guard lock(file.disk->mutex_);
    auto& node = *file.node;
    if (file.level >= level) return SQLITE_OK;
    const auto others = [&](const void* holder) { return holder != nullptr && holder != &file; };
    if (level == SQLITE_LOCK_SHARED) {
      if (others(node.pending) || others(node.exclusive)) return SQLITE_BUSY;
      ++node.readers;
    } else if (level == SQLITE_LOCK_RESERVED) {
      if (others(node.reserved)) return SQLITE_BUSY;
      node.reserved = &file;
    } else {
      if (others(node.pending) || others(node.reserved)) return SQLITE_BUSY;
      node.pending = &file;
      file.level = SQLITE_LOCK_PENDING;
      if (node.readers > 1) return SQLITE_BUSY;
      node.exclusive = &file;
    }
    file.level = level;
    return SQLITE_OK;
  }

  static int unlock(sqlite3_file* base, int level) {
    auto& file = DiskFile::of(base);
    const std::lock_guard lock(file.disk->mutex_);
    auto& node = *file.node;
    if (file.level <= level) return SQLITE_OK;
    for (const void** holder : {&node.reserved, &node.pending, &node.exclusive}) {
      if (*holder == &file) *holder = nullptr;
    }
    if (level == SQLITE_LOCK_NONE) --node.readers;
    file.level = level;
    return SQLITE_OK;
  }

  static int is_reserved(sqlite3_file* base, int* out) {
    auto& file = DiskFile::of(base);
    const std::lock_guard lock(file.disk->mutex_);
    *out = file.node->reserved != nullptr ? 1 : 0;
    return SQLITE_OK;
  }

  static int map(sqlite3_file* base, int region, int size, int extend, void volatile** out) {
    auto& file = DiskFile::of(base);
    const std::lock_guard lock(file.disk->mutex_);
    auto& memory = file.node->shared_memory;
    if (!std::exchange(file.maps, true)) ++file.node->mapped;
    *out = nullptr;
    const auto wanted = static_cast<std::size_t>(region);
    while (memory.size() <= wanted) {
      if (extend == 0) return SQLITE_OK;
      memory.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
    }
    *out = memory[wanted].get();
    return SQLITE_OK;
  }

  static int lock_memory(sqlite3_file* base, int first, int count, int flags) {
    auto& file = DiskFile::of(base);
    const std::lock_guard lock(file.disk->mutex_);
    for (int at = first; at < first + count; ++at) {
      const auto slot = static_cast<std::size_t>(at);
      if (!may_lock(file, slot, flags)) return SQLITE_BUSY;
    }
    for (int at = first; at < first + count; ++at) {
      const auto slot = static_cast<std::size_t>(at);
      auto& held = file.node->slots[slot];
      if ((flags & SQLITE_SHM_UNLOCK) != 0) {
        if (held.exclusive == &file) held.exclusive = nullptr;
        if (std::exchange(file.shares[slot], false)) --held.shared;
      } else if ((flags & SQLITE_SHM_SHARED) != 0) {
        if (!std::exchange(file.shares[slot], true)) ++held.shared;
      } else {
        held.exclusive = &file;
      }
    }
    return SQLITE_OK;
  }

  static bool may_lock(const DiskFile& file, std::size_t slot, int flags) {
    if ((flags & SQLITE_SHM_UNLOCK) != 0) return true;
    const auto& held = file.node->slots[slot];
    if (held.exclusive != nullptr && held.exclusive != &file) return false;
    return (flags & SQLITE_SHM_SHARED) != 0 || held.shared == (file.shares[slot] ? 1 : 0);
  }

  static void barrier(sqlite3_file*) { std::atomic_thread_fence(std::memory_order_seq_cst); }

  static int unmap(sqlite3_file* base, int) {
    auto& file = DiskFile::of(base);
    lock_memory(base, 0, SQLITE_SHM_NLOCK, SQLITE_SHM_UNLOCK);
    const std::lock_guard lock(file.disk->mutex_);
    if (!std::exchange(file.maps, false)) return SQLITE_OK;
    if (--file.node->mapped == 0) file.node->shared_memory.clear();
    return SQLITE_OK;
  }

  static const sqlite3_io_methods& all() {
    static const sqlite3_io_methods methods = [] {
      sqlite3_io_methods m{};
      m.iVersion = 2;
      m.xClose = &close;
      m.xRead = &read;
      m.xWrite = &write;
      m.xTruncate = &truncate;
      m.xSync = &sync;
      m.xFileSize = &size;
      m.xLock = &lock;
      m.xUnlock = &unlock;
      m.xCheckReservedLock = &is_reserved;
      m.xFileControl = [](sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; };
      m.xSectorSize = [](sqlite3_file*) { return 4096; };
      // The same value as from the system's VFS.
      m.xDeviceCharacteristics = [](sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; };
      m.xShmMap = &map;
      m.xShmLock = &lock_memory;
      m.xShmBarrier = &barrier;
      m.xShmUnmap = &unmap;
      return m;
    }();
    return methods;
  }

  static SqliteDisk& disk_of(sqlite3_vfs* vfs) { return *static_cast<SqliteDisk*>(vfs->pAppData); }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* base, int flags, int* out) {
    auto& disk = disk_of(vfs);
    base->pMethods = nullptr;
    const std::lock_guard lock(disk.mutex_);
    const std::string name = path == nullptr ? "temporary" + std::to_string(disk.nodes_) : path;
    const auto known = disk.folder_.find(name);
    const bool makes = known == disk.folder_.end();
    if (makes && (flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    if (makes) {
      if (const int refused = disk.ask(Kind::make, name); refused != SQLITE_OK) return refused;
    }
    constexpr int journals = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;
    auto* file = new (base) DiskFile{.base = {&all()},
                                     .disk = &disk,
                                     .node = makes ? disk.make(name) : known->second,
                                     .path = name,
                                     .syncs_folder = makes && (flags & journals) != 0,
                                     .ends_with_it = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0};
    file->failed_syncs = file->node->failed_syncs;
    if (makes) disk.note({Kind::make, file->node->number, name});
    if (out != nullptr) *out = flags;
    return SQLITE_OK;
  }

  static int remove(sqlite3_vfs* vfs, const char* path, int sync_folder) {
    auto& disk = disk_of(vfs);
    const std::lock_guard lock(disk.mutex_);
    const auto known = disk.folder_.find(path);
    if (known == disk.folder_.end()) return SQLITE_IOERR_DELETE_NOENT;
    if (const int refused = disk.ask(Kind::remove, path); refused != SQLITE_OK) return refused;
    disk.note({Kind::remove, known->second->number, path});
    disk.folder_.erase(known);
    if (sync_folder != 0) disk.note({Kind::sync_folder});
    return SQLITE_OK;
  }

  static int access(sqlite3_vfs* vfs, const char* path, int, int* out) {
    auto& disk = disk_of(vfs);
    const std::lock_guard lock(disk.mutex_);
    const auto known = disk.folder_.find(path);
    // As in the system's VFS: an empty file counts as missing.
    *out = known != disk.folder_.end() && !known->second->bytes.empty() ? 1 : 0;
    return SQLITE_OK;
  }

  static int full_path(sqlite3_vfs*, const char* path, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", path);
    return SQLITE_OK;
  }
};

SqliteDisk::SqliteDisk(std::string name) : name_(std::move(name)) {
  vfs_ = *sqlite3_vfs_find(nullptr);
  vfs_.szOsFile = static_cast<int>(sizeof(DiskFile));
  vfs_.zName = name_.c_str();
  vfs_.pNext = nullptr;
  vfs_.pAppData = this;
  vfs_.xOpen = &DiskMethods::open;
  vfs_.xDelete = &DiskMethods::remove;
  vfs_.xAccess = &DiskMethods::access;
  vfs_.xFullPathname = &DiskMethods::full_path;
  sqlite3_vfs_register(&vfs_, 0);
}

SqliteDisk::~SqliteDisk() { sqlite3_vfs_unregister(&vfs_); }

void SqliteDisk::restore(const Files& files) {
  const std::lock_guard lock(mutex_);
  acts_.clear();
  folder_.clear();
  nodes_ = 0;
  restored_ = files;
  for (const auto& [path, bytes] : files) make(path)->bytes = bytes;
}

Files SqliteDisk::files() const {
  const std::lock_guard lock(mutex_);
  Files files;
  for (const auto& [path, node] : folder_) files[path] = node->bytes;
  return files;
}

std::size_t SqliteDisk::acts() const {
  const std::lock_guard lock(mutex_);
  return acts_.size();
}

std::size_t SqliteDisk::acts(Kind kind, std::string_view path) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      acts_, [&](const Act& act) { return act.kind == kind && act.path == path; }));
}

void SqliteDisk::refuse(Refuse refuse) {
  const std::lock_guard lock(mutex_);
  refuse_ = std::move(refuse);
}

int SqliteDisk::ask(Kind kind, std::string_view path) {
  return refuse_ ? refuse_(kind, path) : SQLITE_OK;
}

std::shared_ptr<SqliteDisk::Node> SqliteDisk::make(const std::string& path) {
  auto node = std::make_shared<Node>();
  node->number = nodes_++;
  folder_[path] = node;
  return node;
}

namespace {

void write_into(std::string& bytes, std::size_t at, std::string_view written) {
  if (bytes.size() < at + written.size()) bytes.resize(at + written.size());
  bytes.replace(at, written.size(), written);
}

void apply_to(std::string& bytes, const SqliteDisk::Act& act) {
  if (act.kind == Kind::truncate) {
    bytes.resize(act.at);
  } else {
    write_into(bytes, act.at, act.bytes);
  }
}

/// Writes each of its sectors, or skips it.
void apply_torn(std::string& bytes, const SqliteDisk::Act& act, std::uint64_t percent,
                Random& random) {
  constexpr std::size_t sector = 512;
  if (act.kind == Kind::truncate) {
    if (random.below(100) < percent) apply_to(bytes, act);
    return;
  }
  const std::string_view written = act.bytes;
  for (std::size_t from = 0; from < written.size();) {
    const auto end = std::min(written.size(), ((act.at + from) / sector + 1) * sector - act.at);
    if (random.below(100) < percent) {
      write_into(bytes, act.at + from, written.substr(from, end - from));
    }
    from = end;
  }
}

void apply_to(std::map<std::string, std::size_t>& folder, const SqliteDisk::Act& act) {
  if (act.kind == Kind::make) {
    folder[act.path] = act.node;
  } else {
    folder.erase(act.path);
  }
}

}  // namespace

SqliteDisk::Platter::Platter(const SqliteDisk& disk)
    : acts_([&] {
        const std::lock_guard lock(disk.mutex_);
        return disk.acts_;
      }()) {
  for (const auto& [path, bytes] : disk.restored_) {
    const auto number = folder_.size();
    folder_[path] = number;
    nodes_[number].synced = bytes;
  }
}

void SqliteDisk::Platter::go_to(std::size_t acts) {
  for (; position_ < std::min(acts, acts_.size()); ++position_) apply(acts_[position_]);
}

void SqliteDisk::Platter::apply(const Act& act) {
  auto& file = nodes_[act.node];
  switch (act.kind) {
    case Kind::write:
    case Kind::truncate:
      file.since.push_back(&act);
      return;
    case Kind::sync:
    case Kind::failed_sync: {
      // Data written while a sync runs may not be part of it.
      const auto in_time = std::ranges::find_if(
          file.since, [&](const Act* one) { return one >= acts_.data() + act.at; });
      for (auto one = file.since.begin(); act.kind == Kind::sync && one != in_time; ++one) {
        apply_to(file.synced, **one);
      }
      file.since.erase(file.since.begin(), in_time);
      return;
    }
    case Kind::make:
    case Kind::remove:
      folder_since_.push_back(&act);
      return;
    case Kind::sync_folder:
      for (const auto* one : folder_since_) apply_to(folder_, *one);
      folder_since_.clear();
      return;
  }
}

Files SqliteDisk::Platter::cut(Unsynced unsynced, Random& random) const {
  auto folder = folder_;
  const auto entries = unsynced == Unsynced::kept   ? folder_since_.size()
                       : unsynced == Unsynced::lost ? 0
                                                    : random.below(folder_since_.size() + 1);
  for (std::size_t at = 0; at < entries; ++at) apply_to(folder, *folder_since_[at]);
  constexpr std::array<std::uint64_t, 4> chances{10, 50, 90, 99};
  const auto percent = chances[random.below(chances.size())];
  Files files;
  for (const auto& [path, number] : folder) {
    const auto& file = nodes_.at(number);
    auto bytes = file.synced;
    for (const auto* act : file.since) {
      if (unsynced == Unsynced::kept) apply_to(bytes, *act);
      if (unsynced == Unsynced::random) apply_torn(bytes, *act, percent, random);
    }
    files[path] = std::move(bytes);
  }
  return files;
}

}  // namespace sagabox::testing
