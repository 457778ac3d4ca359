#include "integration/stores/sqlite/world.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <thread>

namespace sagabox::sqlite {
namespace {

using sagabox::testing::run_sql;
using std::chrono::hours;
using std::chrono::milliseconds;

class SqliteOpening : public SqliteTest {
 protected:
  static bool told(const std::string& path, std::string_view part, const Options& options = {}) {
    const auto refused = open(path, options);
    if (refused.ok()) return false;
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().text();
    return refused.error().code == Code::config_invalid;
  }
};

TEST_F(SqliteOpening, WrongOptionsAreNamed) {
  EXPECT_TRUE(told("", "path"));
  EXPECT_TRUE(told(":memory:", "MemoryStore"));
  EXPECT_TRUE(told(path(), "readers_max", {.readers_max = 0}));
  EXPECT_TRUE(told(path(), "lock_max", {.lock_max = -milliseconds(1)}));
  EXPECT_TRUE(told(path(), "wal_bytes_max", {.wal_bytes_max = 1}));
  EXPECT_TRUE(told(path(), "watch_interval", {.watch_interval = Duration{}}));
}

TEST_F(SqliteOpening, WrongPathIsTold) {
  EXPECT_TRUE(told(folder_.file("nowhere/test.db"), "No such file or directory"));
  EXPECT_TRUE(told(folder_.path(), "cannot open"));
}

unsigned mode_of(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777U : 0U;
}

/// They hold payloads. The umask of the process may say less, never more.
TEST_F(SqliteOpening, NewFilesAreForTheirOwnerOnly) {
  const auto before = ::umask(0);
  const auto store = open(path()).value();
  run_sql(connect().get(), "CREATE TABLE t (x)");
  for (const auto* suffix : {"", "-wal", "-shm", "-owners"}) {
    EXPECT_EQ(mode_of(path() + suffix), 0600U) << suffix;
  }
  ASSERT_TRUE(open_schema(folder_.file("migrated.db")).value()->up({}).ok());
  EXPECT_EQ(mode_of(folder_.file("migrated.db")), 0600U);
  ::umask(before);
}

TEST_F(SqliteOpening, NewFileBehindALinkIsForItsOwnerOnly) {
  const auto before = ::umask(0);
  const auto target = folder_.file("target.db");
  ASSERT_EQ(::symlink("target.db", folder_.file("middle.db").c_str()), 0) << "relative";
  ASSERT_EQ(::symlink(folder_.file("middle.db").c_str(), folder_.file("link.db").c_str()), 0);
  const auto store = open(folder_.file("link.db")).value();
  EXPECT_EQ(mode_of(target), 0600U);
  ASSERT_EQ(::symlink("round.db", folder_.file("round.db").c_str()), 0);
  EXPECT_FALSE(open(folder_.file("round.db")).ok());
  ::umask(before);
}

TEST_F(SqliteOpening, AFileThatIsThereKeepsItsModeAndThoseBesideItHaveTheSame) {
  std::ofstream(path()).close();
  ASSERT_EQ(::chmod(path().c_str(), 0660), 0);
  const auto before = ::umask(0077);
  const auto store = open(path()).value();
  run_sql(connect().get(), "CREATE TABLE t (x)");
  for (const auto* suffix : {"", "-wal", "-shm", "-owners"}) {
    EXPECT_EQ(mode_of(path() + suffix), 0660U) << suffix;
  }
  ::umask(before);
}

TEST_F(SqliteOpening, WhatIsNoDatabaseIsTold) {
  std::ofstream(path()) << std::string(5000, 'x');
  EXPECT_TRUE(told(path(), "not a SQLite database"));
}

/// In a child that may do less than root.
int as_nobody(const std::function<bool()>& holds) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr unsigned nobody = 65534;
    if (geteuid() == 0 && (setgid(nobody) != 0 || setuid(nobody) != 0)) _exit(3);
    _exit(holds() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(SqliteOpening, ReadOnlyFileIsTold) {
  (void)open_store();
  ASSERT_EQ(chmod(folder_.path().c_str(), 0555), 0);
  ASSERT_EQ(chmod(path().c_str(), 0444), 0);
  EXPECT_EQ(as_nobody([&] { return told(path(), "right to write"); }), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
}

TEST_F(SqliteOpening, FolderThatTakesNoLogBesideTheFileIsTold) {
  (void)open_store();
  ASSERT_EQ(chmod(path().c_str(), 0666), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0555), 0);
  EXPECT_EQ(as_nobody([&] { return told(path(), "the file and its folder"); }), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
}

TEST_F(SqliteOpening, ReadOnlyFileInAFolderThatTakesFilesIsTold) {
  (void)open_store();
  ASSERT_EQ(chmod(path().c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
  EXPECT_EQ(as_nobody([&] { return told(path(), "the file and its folder"); }), 0);
}

TEST_F(SqliteOpening, FolderThatTakesNoFilesIsTold) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0555), 0);
  EXPECT_EQ(as_nobody([&] { return told(path(), "may write"); }), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
}

TEST_F(SqliteOpening, FileOfAUserBecomesOneWithAWriteAheadLog) {
  sql("PRAGMA journal_mode = DELETE; CREATE TABLE business (n INTEGER)");
  observer_.reset();
  const auto store = open_store();
  EXPECT_EQ(sql("PRAGMA journal_mode").at(0), "wal");
  EXPECT_EQ(count("business"), "0");
}

TEST_F(SqliteOpening, NameSaysWhichFile) { EXPECT_EQ(open_store()->name(), "sqlite:" + path()); }

class SqliteWaking : public SqliteTest {
 protected:
  /// Whether the wait ended before its time, which is far away.
  void expect_woken(Store& store, const std::function<void()>& by) {
    // A thread that waits for the first time returns at once if anybody ever woke it.
    std::thread waiter([&] {
      store.outbox().wait(table_, milliseconds(1));
      ready_ = true;
      store.outbox().wait(table_, hours(1));
    });
    while (!ready_) std::this_thread::yield();
    by();
    waiter.join();
  }
  std::atomic<bool> ready_ = false;
};

TEST_F(SqliteWaking, CommitOfAnotherConnectionEndsAWait) {
  const auto store = open_store();
  expect_woken(*store,
               [&] { sql("INSERT INTO orders_outbox (topic, payload) VALUES ('a.b.c.v1', '1')"); });
}

TEST_F(SqliteWaking, CommitOfAnotherStoreEndsAWait) {
  const auto store = open_store();
  const auto other = open_store();
  expect_woken(*store, [&] { write(*other).value(); });
}

TEST_F(SqliteWaking, OwnCommitEndsAWait) {
  const auto store = open_store();
  expect_woken(*store, [&] { write(*store).value(); });
}

TEST_F(SqliteWaking, OwnSettlesWakeNobody) {
  const auto store = open_store();
  store->outbox().wait(table_, milliseconds(20));
  (void)store->control().set_pause({.table = table_}).value();
  const auto before = system_clock().boot_now();
  store->outbox().wait(table_, milliseconds(100));
  EXPECT_GE(system_clock().boot_now() - before, milliseconds(90));
}

}  // namespace
}  // namespace sagabox::sqlite
