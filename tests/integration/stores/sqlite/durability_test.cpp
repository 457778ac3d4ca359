#include "integration/stores/sqlite/world.hpp"
#include "support/sqlite_vfs.hpp"

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

namespace sagabox::sqlite {
namespace {

using sagabox::testing::run_sql;
using sagabox::testing::WatchedVfs;
using std::chrono::seconds;
using Act = WatchedVfs::Act;

bool is_log(std::string_view path) { return path.ends_with("-wal"); }

class SqliteDurability : public SqliteTest {
 protected:
  std::unique_ptr<Store> make(Durability durability = Durability::full) {
    return open_store({.durability = durability, .lock_max = seconds(60), .vfs = vfs_.name()});
  }

  WatchedVfs vfs_{"sagabox-watched"};
};

TEST_F(SqliteDurability, EveryCommitIsSynced) {
  const auto store = make();
  std::atomic<int> syncs = 0;
  vfs_.watch([&](Act act, std::string_view path) {
    if (act == Act::sync && is_log(path)) ++syncs;
    return SQLITE_OK;
  });
  for (int i = 1; i <= 5; ++i) {
    write(*store).value();
    EXPECT_GE(syncs.load(), i);
  }
}

TEST_F(SqliteDurability, NormalLeavesSyncingToTheSystem) {
  const auto store = make(Durability::normal);
  write(*store).value();
  std::atomic<int> syncs = 0;
  vfs_.watch([&](Act act, std::string_view path) {
    if (act == Act::sync && is_log(path)) ++syncs;
    return SQLITE_OK;
  });
  for (int i = 0; i < 5; ++i) write(*store).value();
  EXPECT_EQ(readable(*store), 6U);
  EXPECT_EQ(syncs.load(), 0);
}

/// A door in front of every sync of the log.
class Door {
 public:
  int pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    return SQLITE_OK;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void until_waiting() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

TEST_F(SqliteDurability, CommitsOfManyThreadsShareASync) {
  const auto store = make();
  write(*store).value();
  Door door;
  std::atomic<int> syncs = 0;
  vfs_.watch([&](Act act, std::string_view path) {
    if (act != Act::sync || !is_log(path)) return SQLITE_OK;
    ++syncs;
    return door.pass();
  });
  constexpr int threads = 8;
  std::vector<std::thread> writers;
  for (int i = 0; i < threads; ++i) writers.emplace_back([&] { write(*store).value(); });
  door.until_waiting();
  // All but one of them commit while the first sync is under way.
  while (count("orders_outbox") != std::to_string(threads + 1)) std::this_thread::yield();
  door.open();
  for (auto& writer : writers) writer.join();
  EXPECT_LE(syncs.load(), 3)
      << "one under way, one for all that came meanwhile, one for a straggler";
}

TEST_F(SqliteDurability, NothingIsDeliveredBeforeItIsOnTheDisk) {
  const auto store = make();
  write(*store).value();
  ASSERT_EQ(readable(*store), 1U);
  Door door;
  vfs_.watch([&](Act act, std::string_view path) {
    return act == Act::sync && is_log(path) ? door.pass() : SQLITE_OK;
  });
  std::thread writer([&] { write(*store).value(); });
  door.until_waiting();
  EXPECT_EQ(count("orders_outbox"), "2") << "others see it already";
  auto reader = std::async(std::launch::async, [&] { return readable(*store); });
  // Long enough for a read that does not wait to be caught; one that waits is never too late.
  EXPECT_EQ(reader.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout)
      << "handed out before it was synced";
  door.open();
  writer.join();
  EXPECT_EQ(reader.get(), 2U);
}

TEST_F(SqliteDurability, WhatOthersWroteIsSyncedOnceBeforeItIsDelivered) {
  const auto store = make();
  auto user = connect();
  run_sql(user.get(), "PRAGMA synchronous = OFF");
  run_sql(user.get(), "INSERT INTO orders_outbox (topic, payload) VALUES ('a.b.c.v1', '1')");
  std::atomic<int> syncs = 0;
  vfs_.watch([&](Act act, std::string_view path) {
    if (act == Act::sync && is_log(path)) ++syncs;
    return SQLITE_OK;
  });
  EXPECT_EQ(readable(*store), 1U);
  EXPECT_EQ(syncs.load(), 1);
  EXPECT_EQ(readable(*store), 1U);
  EXPECT_EQ(syncs.load(), 1);
}

TEST_F(SqliteDurability, CommitThatCannotBeSyncedIsInDoubtAndTheStoreSaysSo) {
  const auto store = make();
  write(*store).value();
  vfs_.watch([&](Act act, std::string_view path) {
    return act == Act::sync && is_log(path) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
  });
  EXPECT_EQ(write(*store).error().code, Code::storage_in_doubt);
  const spi::Range all{Shard{0}, spi::Lane{1}, {}, 10};
  const auto read = store->outbox().read(table_, std::span(&all, 1), 1000);
  ASSERT_FALSE(read.ok()) << "a power cut would take back what was delivered";
  EXPECT_EQ(read.error().code, Code::storage_unavailable);
  vfs_.watch({});
  const auto refused = write(*store);
  ASSERT_FALSE(refused.ok()) << "the system may have forgotten what it could not write";
  EXPECT_EQ(refused.error().code, Code::storage_unavailable);
  EXPECT_NE(refused.error().message.find("open the store again"), std::string::npos);
  const auto again = make();
  EXPECT_TRUE(write(*again).ok());
}

TEST_F(SqliteDurability, SyncThatFailsInACheckpointCountsThoughTheNextSucceeds) {
  const auto store = open_store({.wal_bytes_max = 64UL * 1024, .vfs = vfs_.name()});
  int syncs = 0;
  // A commit syncs once, one with a checkpoint first for that: the system tells a failure once.
  vfs_.watch([&](Act act, std::string_view path) {
    if (act == Act::sync && is_log(path)) ++syncs;
    return SQLITE_OK;
  });
  while (syncs < 2) {
    syncs = 0;
    write(*store).value();
  }
  int failures = 0;
  vfs_.watch([&](Act act, std::string_view path) {
    if (act != Act::sync || !is_log(path)) return SQLITE_OK;
    return ++failures == 1 ? SQLITE_IOERR_FSYNC : SQLITE_OK;
  });
  EXPECT_EQ(write(*store).error().code, Code::storage_in_doubt);
  vfs_.watch({});
  EXPECT_EQ(write(*store).error().code, Code::storage_unavailable);
}

TEST_F(SqliteDurability, WriteThatFailsRollsBackAndTheNextSucceeds) {
  const auto store = make();
  write(*store).value();
  for (const int failure : {SQLITE_FULL, SQLITE_IOERR_WRITE}) {
    vfs_.watch([&](Act act, std::string_view path) {
      return act == Act::write && is_log(path) ? failure : SQLITE_OK;
    });
    const auto refused = write(*store);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::storage_unavailable) << refused.error().text();
    vfs_.watch({});
    EXPECT_EQ(count("orders_outbox"), "1");
    EXPECT_EQ(readable(*store), 1U);
  }
  EXPECT_TRUE(write(*store).ok());
}

TEST_F(SqliteDurability, LogStaysBounded) {
  constexpr std::uint64_t wal_bytes_max = 1024UL * 1024;
  const auto store = open_store({.durability = Durability::normal, .wal_bytes_max = wal_bytes_max});
  const auto log_bytes = [&] { return std::filesystem::file_size(path() + "-wal"); };
  for (int i = 0; i < 2000; ++i) write(*store).value();
  EXPECT_LE(log_bytes(), wal_bytes_max);

  auto reader = connect();
  run_sql(reader.get(), "BEGIN; SELECT count(*) FROM orders_outbox");
  for (int i = 0; i < 600; ++i) write(*store).value();
  EXPECT_GT(log_bytes(), wal_bytes_max) << "somebody still reads what it has";
  run_sql(reader.get(), "COMMIT");
  for (int i = 0; i < 100; ++i) write(*store).value();
  EXPECT_LE(log_bytes(), wal_bytes_max);
  EXPECT_EQ(count("orders_outbox"), "2700");
}

}  // namespace
}  // namespace sagabox::sqlite
