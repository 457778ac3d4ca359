#include "crash/eventually.hpp"
#include "crash/process.hpp"
#include "support/forwarding.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/outbox.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <optional>

namespace sagabox::crash {
namespace {

using std::chrono::milliseconds;
using testing::connect_sqlite;
using testing::run_sql;

/// Counts settles that found the file locked.
class CountingOutbox final : public testing::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<spi::SettleReply> settle(const spi::SettleRequest& request) override {
    auto reply = ForwardingStore::settle(request);
    if (!reply.ok() && reply.error().code == Code::storage_conflict) ++conflicts;
    return reply;
  }
  std::atomic<int> conflicts = 0;
};

class CountingStore final : public Store {
 public:
  explicit CountingStore(Store& to) : to_(to), outbox_(to.outbox()) {}
  CountingOutbox& outbox() override { return outbox_; }
  spi::OutboxAdminStore& outbox_admin() override { return to_.outbox_admin(); }
  spi::ControlStore& control() override { return to_.control(); }
  spi::OwnershipStore& ownership() override { return to_.ownership(); }
  spi::AuditStore& audit() override { return to_.audit(); }
  Result<std::unique_ptr<OwnedTransaction>> begin() override { return to_.begin(); }
  [[nodiscard]] std::string name() const override { return to_.name(); }

 private:
  Store& to_;
  CountingOutbox outbox_;
};

/// Another process holds BEGIN EXCLUSIVE.
class SqliteLocked : public ::testing::Test {
 protected:
  void SetUp() override { run_sql(connect().get(), "CREATE TABLE held (n INTEGER)"); }
  [[nodiscard]] testing::SqliteConnection connect() const {
    return connect_sqlite(folder.file(), std::chrono::seconds(10));
  }
  std::unique_ptr<Store> open(Duration lock_max) {
    return sqlite::open(folder.file(), {.lock_max = lock_max}).value();
  }
  void lock() {
    const auto sign = folder.file("sign");
    std::filesystem::remove(sign);
    holder.emplace(
        std::vector<std::string>{SAGABOX_CRASH_SQLITE, "file=" + folder.file(), "holds=" + sign},
        folder.file("holder.log"));
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(sign); }));
  }
  std::string held() { return run_sql(connect().get(), "SELECT count(*) FROM held").at(0); }
  static void expect_conflict(const Error& error) {
    EXPECT_EQ(error.code, Code::storage_conflict);
    EXPECT_TRUE(is_retry_safe(error.code));
    EXPECT_NE(error.message.find("another process"), std::string::npos) << error.text();
    EXPECT_NE(error.message.find("try again"), std::string::npos) << error.text();
  }

  testing::SqliteFolder folder;
  std::optional<Process> holder;
  const TableName table = TableName::parse("orders").value();
};

TEST_F(SqliteLocked, WritersAreToldAfterAWhileReadersAreNotHeldUp) {
  const auto store = open(milliseconds(50));
  store->outbox().prepare(table).value();
  lock();
  expect_conflict(store->begin().error());
  expect_conflict(store->outbox_admin().purge({.table = table}).error());
  EXPECT_TRUE(store->outbox().prepare(table).ok());
  EXPECT_EQ(store->outbox_admin().stats(table).value().pending, 0U);
  EXPECT_EQ(held(), "0");

  EXPECT_EQ(holder->stop(), 0);
  EXPECT_EQ(held(), "1");
  EXPECT_TRUE(store->begin().ok());
}

TEST_F(SqliteLocked, LockOfAProcessThatIsKilledIsGoneAndSoIsWhatItWrote) {
  const auto store = open(milliseconds(50));
  lock();
  expect_conflict(store->begin().error());
  holder->kill();
  EXPECT_TRUE(store->begin().ok());
  EXPECT_EQ(held(), "0");
}

TEST_F(SqliteLocked, WriterWaitsUntilItIsLetGo) {
  const auto store = open(std::chrono::minutes(2));
  lock();
  auto begun = std::async(std::launch::async, [&] { return store->begin().ok(); });
  EXPECT_EQ(begun.wait_for(milliseconds(20)), std::future_status::timeout);
  EXPECT_EQ(holder->stop(), 0);
  EXPECT_TRUE(begun.get());
}

TEST_F(SqliteLocked, FileWithoutAWriteAheadLogIsOpenedWhenItIsLetGo) {
  run_sql(connect().get(), "PRAGMA journal_mode = DELETE");
  lock();
  const auto refused = sqlite::open(folder.file(), {.lock_max = milliseconds(50)});
  ASSERT_FALSE(refused.ok());
  expect_conflict(refused.error());
  EXPECT_NE(refused.error().message.find(folder.file()), std::string::npos);
  EXPECT_EQ(holder->stop(), 0);
  EXPECT_TRUE(sqlite::open(folder.file()).ok());
}

TEST_F(SqliteLocked, RelaySettlesWhatItDeliveredWhenItIsLetGo) {
  const auto store = open(milliseconds(20));
  CountingStore counting(*store);
  std::promise<void> locked;
  auto when_locked = locked.get_future().share();
  std::atomic<int> delivered = 0;
  OutboxOptions options;
  options.table = "orders";
  auto outbox = Outbox::several_processes(counting, options).value();
  outbox
      .listen("orders.order.placed.v1",
              [&](const Delivery&) {
                when_locked.wait();
                ++delivered;
                return done();
              })
      .value();
  outbox.start().value();
  (void)store
      ->transaction([&](OwnedTransaction& tx) {
        return outbox.write(tx, {.topic = "orders.order.placed.v1", .payload = json("{}")});
      })
      .value();
  ASSERT_TRUE(eventually([&] { return outbox.snapshot().running == 1; }));
  lock();
  locked.set_value();
  ASSERT_TRUE(eventually([&] { return counting.outbox().conflicts > 1; }));
  EXPECT_EQ(store->outbox_admin().stats(table).value().pending, 1U);

  EXPECT_EQ(holder->stop(), 0);
  EXPECT_TRUE(eventually([&] { return store->outbox_admin().stats(table).value().done == 1; }));
  outbox.stop().value();
  EXPECT_EQ(delivered, 1);
}

}  // namespace
}  // namespace sagabox::crash
