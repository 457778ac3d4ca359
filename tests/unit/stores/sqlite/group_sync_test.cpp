#include "stores/sqlite/group_sync.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace sagabox::sqlite {
namespace {

/// A log whose syncs end as told, and are counted.
struct Log : sqlite3_file {
  Log() : sqlite3_file{&methods()} {}

  std::atomic<int> result{SQLITE_OK};
  std::atomic<int> synced{0};

  void await_sync(int count) const {
    for (int seen = synced.load(); seen < count; seen = synced.load()) synced.wait(seen);
  }

 private:
  static int sync(sqlite3_file* file, int) {
    auto* log = static_cast<Log*>(file);
    const int result = log->result.load();
    ++log->synced;
    log->synced.notify_all();
    return result;
  }
  static const sqlite3_io_methods& methods() {
    static const sqlite3_io_methods only_sync = [] {
      sqlite3_io_methods made{};
      made.iVersion = 1;
      made.xSync = &sync;
      return made;
    }();
    return only_sync;
  }
};

TEST(GroupSync, AFailureStays) {
  Log log;
  GroupSync sync(&log);
  EXPECT_TRUE(sync.wait().ok());
  log.result = SQLITE_IOERR_FSYNC;
  EXPECT_EQ(sync.wait().error().code, Code::storage_unavailable);
  log.result = SQLITE_OK;
  EXPECT_FALSE(sync.wait().ok()) << "the system forgets what it could not write";
  EXPECT_FALSE(sync.check().ok());
}

/// The sync of a checkpoint was told of the failure, and ours therefore was not.
TEST(GroupSync, SuccessIsNotToldWhileACheckpointMayHaveFailed) {
  Log log;
  GroupSync sync(&log);
  sync.begun_elsewhere();
  auto waiting = std::async(std::launch::async, [&] { return sync.wait().ok(); });
  log.await_sync(1);
  sync.ended_elsewhere(true);
  EXPECT_FALSE(waiting.get());
  EXPECT_FALSE(sync.check().ok());
}

TEST(GroupSync, SuccessIsToldOnceTheCheckpointHasSucceeded) {
  Log log;
  GroupSync sync(&log);
  sync.begun_elsewhere();
  auto waiting = std::async(std::launch::async, [&] { return sync.wait().ok(); });
  log.await_sync(1);
  sync.ended_elsewhere(false);
  EXPECT_TRUE(waiting.get());
  EXPECT_EQ(log.synced, 1);
}

}  // namespace
}  // namespace sagabox::sqlite
