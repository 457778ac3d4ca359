#include "support/sqlite_disk.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sagabox::crash {
namespace {

using testing::Files;
using testing::SqliteDisk;
using testing::Unsynced;
using Kind = SqliteDisk::Kind;

/// The disk that the other tests trust.
class SqliteDiskTest : public ::testing::Test {
 protected:
  static constexpr const char* path = "/a";
  static constexpr int log_file = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_WAL;

  ~SqliteDiskTest() override {
    if (file()->pMethods != nullptr) file()->pMethods->xClose(file());
  }
  sqlite3_vfs* vfs() { return sqlite3_vfs_find(disk.name().c_str()); }
  sqlite3_file* file() { return reinterpret_cast<sqlite3_file*>(memory.data()); }
  void open() {
    memory.assign(static_cast<std::size_t>(vfs()->szOsFile), std::byte{});
    ASSERT_EQ(vfs()->xOpen(vfs(), path, file(), log_file, nullptr), SQLITE_OK);
  }
  void write(const std::string& text, sqlite3_int64 at = 0) {
    const auto size = static_cast<int>(text.size());
    ASSERT_EQ(file()->pMethods->xWrite(file(), text.data(), size, at), SQLITE_OK);
  }
  int sync() { return file()->pMethods->xSync(file(), SQLITE_SYNC_NORMAL); }
  Files left(Unsynced unsynced) {
    SqliteDisk::Platter platter(disk);
    platter.go_to(disk.acts());
    return platter.cut(unsynced, *random);
  }

  SqliteDisk disk{"sagabox-disk-itself"};
  std::vector<std::byte> memory = std::vector<std::byte>(sizeof(sqlite3_file));
  std::unique_ptr<Random> random = seeded_random(1);
};

TEST_F(SqliteDiskTest, WhatWasNotSyncedIsLostOrKept) {
  open();
  write("old");
  EXPECT_EQ(left(Unsynced::lost), Files{}) << "not even its name was synced";
  EXPECT_EQ(left(Unsynced::kept), (Files{{path, "old"}}));
  EXPECT_EQ(sync(), SQLITE_OK);
  EXPECT_EQ(left(Unsynced::lost), (Files{{path, "old"}}));
  write("new");
  EXPECT_EQ(left(Unsynced::lost), (Files{{path, "old"}}));
  EXPECT_EQ(left(Unsynced::kept), (Files{{path, "new"}}));
}

TEST_F(SqliteDiskTest, WhatAFailedSyncLostStaysLostThoughItCanBeRead) {
  disk.restore({{path, "old"}});
  open();
  write("new");
  disk.refuse([](Kind kind, std::string_view) {
    return kind == Kind::sync ? SQLITE_IOERR_FSYNC : SQLITE_OK;
  });
  EXPECT_EQ(sync(), SQLITE_IOERR_FSYNC);
  disk.refuse({});
  EXPECT_EQ(sync(), SQLITE_OK);
  EXPECT_EQ(disk.files(), (Files{{path, "new"}}));
  EXPECT_EQ(left(Unsynced::kept), (Files{{path, "old"}}));
}

TEST_F(SqliteDiskTest, SectorsAreTornOneByOne) {
  constexpr std::size_t sector = 512;
  disk.restore({{path, std::string(4 * sector, 'o')}});
  open();
  write(std::string(4 * sector, 'n'));
  std::set<std::string> seen;
  for (int tries = 0; tries < 300; ++tries) {
    const auto bytes = left(Unsynced::random).at(path);
    ASSERT_EQ(bytes.size(), 4 * sector);
    std::string shape;
    for (std::size_t at = 0; at < bytes.size(); at += sector) {
      ASSERT_EQ(bytes.substr(at, sector), std::string(sector, bytes[at]));
      shape += bytes[at];
    }
    seen.insert(shape);
  }
  EXPECT_EQ(seen.size(), 16U) << "old and new, in every combination";
}

TEST_F(SqliteDiskTest, RemovedFileComesBackUnlessTheFolderWasSynced) {
  disk.restore({{path, "old"}});
  EXPECT_EQ(vfs()->xDelete(vfs(), path, 0), SQLITE_OK);
  EXPECT_EQ(left(Unsynced::lost), (Files{{path, "old"}}));
  EXPECT_EQ(left(Unsynced::kept), Files{});
  disk.restore({{path, "old"}});
  EXPECT_EQ(vfs()->xDelete(vfs(), path, 1), SQLITE_OK);
  EXPECT_EQ(left(Unsynced::lost), Files{});
}

}  // namespace
}  // namespace sagabox::crash
