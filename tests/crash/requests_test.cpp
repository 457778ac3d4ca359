#include "crash/eventually.hpp"
#include "crash/process.hpp"
#include "support/postgres_database.hpp"
#include "support/postgres_server.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/idempotency.hpp>
#include <sagabox/stores/postgres.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::crash {
namespace {

using Settings = std::map<std::string, std::string>;

/// Processes that work on the requests of one store, by its kind.
class RequestsCrash : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "Postgres") {
      const auto& server = testing::PostgresServer::shared();
      if (!server.problem.empty()) GTEST_SKIP() << server.problem;
      database_.emplace();
      where_ = {{"url", database_->url()}, {"schema", database_->schema()}};
      store_ = postgres::open(database_->url(), database_->options()).value();
    } else {
      where_ = {{"file", folder_.file()}};
      store_ = sqlite::open(folder_.file(), {.lock_max = std::chrono::minutes(1)}).value();
    }
    store_->outbox().prepare(table_).value();
    store_->idempotency()->prepare().value();
    store_->inbox()->prepare().value();
  }
  Process start(Settings settings) {
    settings.merge(Settings(where_));
    settings.merge(Settings{{"effects", folder_.file("effects")},
                            {"ready", folder_.file("ready")},
                            {"go", folder_.file("go")}});
    std::vector<std::string> words{SAGABOX_CRASH_REQUESTS};
    for (const auto& [name, value] : settings) words.push_back(name + "=" + value);
    return {words, folder_.file("log")};
  }
  [[nodiscard]] bool is_there(const std::string& name) const {
    return std::filesystem::exists(folder_.file(name));
  }
  std::map<std::string, int> effects() {
    std::map<std::string, int> lines;
    std::ifstream file(folder_.file("effects"));
    for (std::string line; std::getline(file, line);) ++lines[line];
    return lines;
  }
  std::string log() {
    std::ifstream file(folder_.file("log"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Lets k0 through here as soon as nobody else holds it.
  Guarded run_here() {
    const auto guard = Guard::create(*store_, {.consumer = "billing"}).value();
    std::optional<Guarded> done;
    EXPECT_TRUE(eventually([&] {
      auto asked = guard->run("acme", "k0", sha256("k0"), [&](const std::stop_token&) {
        ++ran_here_;
        return Result<GuardedResult>(GuardedResult{"here"});
      });
      if (asked.ok()) done = *asked;
      if (!asked.ok()) {
        EXPECT_EQ(asked.error().code, Code::tx_idempotent_busy);
      }
      return asked.ok();
    }));
    return done.value_or(Guarded{});
  }

  testing::SqliteFolder folder_;
  std::optional<testing::PostgresDatabase> database_;
  Settings where_;  // the store, as the program is told
  std::unique_ptr<Store> store_;
  TableName table_ = TableName::parse("orders").value();
  int ran_here_ = 0;
};

TEST_P(RequestsCrash, OfFourProcessesOneWorksOnEachRequest) {
  constexpr int keys = 100;
  std::vector<Process> processes;
  for (int i = 0; i < 4; ++i) {
    // Two and two begin at the same key.
    processes.push_back(start({{"what", "race"},
                               {"keys", std::to_string(keys)},
                               {"from", std::to_string(i / 2 * keys / 2)}}));
  }
  for (auto& process : processes) EXPECT_EQ(process.wait(), 0) << log();
  const auto ran = effects();
  EXPECT_EQ(ran.size(), keys);
  for (const auto& [key, times] : ran) EXPECT_EQ(times, 1) << key;
}

TEST_P(RequestsCrash, Of64ThreadsInFourProcessesOneWorksOnEachRequest) {
  constexpr int keys = 25;
  std::vector<Process> processes;
  for (int i = 0; i < 4; ++i) {
    processes.push_back(
        start({{"what", "race"}, {"keys", std::to_string(keys)}, {"threads", "16"}}));
  }
  for (auto& process : processes) EXPECT_EQ(process.wait(), 0) << log();
  const auto ran = effects();
  EXPECT_EQ(ran.size(), keys);
  for (const auto& [key, times] : ran) EXPECT_EQ(times, 1) << key;
}

TEST_P(RequestsCrash, KilledHolderIsTakenOverOnceAfterItsLease) {
  auto holder = start({{"what", "hold"}, {"lease_ms", "1000"}});
  ASSERT_TRUE(eventually([&] { return is_there("ready"); })) << log();
  holder.kill();
  EXPECT_EQ(run_here().result, "here");
  EXPECT_EQ(ran_here_, 1);
  EXPECT_EQ(run_here().result, "here");
  EXPECT_EQ(ran_here_, 1) << "once";
  EXPECT_EQ(store_->idempotency()->get({"acme", "billing", "k0"}).value()->attempts, 2U);
}

TEST_P(RequestsCrash, StoppedHolderIsTakenOverAndItsLateFinishIsRefused) {
  // It does not renew: stopped within a transaction it would keep the database's lock.
  auto holder = start({{"what", "hold"}, {"lease_ms", "1000"}, {"renews", "0"}});
  ASSERT_TRUE(eventually([&] { return is_there("ready"); })) << log();
  holder.signal(SIGSTOP);
  EXPECT_EQ(run_here().result, "here");
  std::ofstream(folder_.file("go")) << "go";
  holder.signal(SIGCONT);
  EXPECT_EQ(holder.wait(), 0) << log();
  EXPECT_EQ(effects(), (std::map<std::string, int>{{"TX.LEASE_LOST", 1}}));
  EXPECT_EQ(run_here().result, "here");
  EXPECT_EQ(ran_here_, 1);
}

TEST_P(RequestsCrash, HolderAtWorkIsRenewedAndNotTakenOver) {
  auto holder = start({{"what", "hold"}, {"lease_ms", "600"}});
  ASSERT_TRUE(eventually([&] { return is_there("ready"); })) << log();
  const IdempotencyKey key{"acme", "billing", "k0"};
  const auto lease_until = [&] { return store_->idempotency()->get(key).value()->lease_until; };
  const auto first = lease_until();
  ASSERT_TRUE(eventually([&] { return lease_until() > first + std::chrono::seconds(2); }));
  std::ofstream(folder_.file("go")) << "go";
  EXPECT_EQ(holder.wait(), 0) << log();
  EXPECT_EQ(run_here().result, "late");
  EXPECT_EQ(ran_here_, 0);
}

TEST_P(RequestsCrash, InboxHasEveryEffectOnceWhereverTheConsumerIsKilled) {
  constexpr int keys = 5;
  const auto pending = [&] { return store_->outbox_admin().stats(table_).value().pending; };
  const auto consume = [&](const std::string& dies) {
    return start({{"what", "inbox"}, {"keys", std::to_string(keys)}, {"dies", dies}}).wait();
  };
  EXPECT_EQ(consume("before"), 128 + SIGKILL);
  EXPECT_EQ(pending(), 0U) << "the key vanished with the work";
  for (std::uint64_t done = 1; done <= keys; ++done) {
    EXPECT_EQ(consume("after"), 128 + SIGKILL) << log();
    EXPECT_EQ(pending(), done) << "what was committed is never done again";
    if (done < keys) {
      EXPECT_EQ(consume("before"), 128 + SIGKILL);
    }
    EXPECT_EQ(pending(), done);
  }
  EXPECT_EQ(consume(""), 0) << log();
  EXPECT_EQ(pending(), keys);
}

INSTANTIATE_TEST_SUITE_P(Postgres, RequestsCrash, ::testing::Values("Postgres"));
INSTANTIATE_TEST_SUITE_P(Sqlite, RequestsCrash, ::testing::Values("Sqlite"));

}  // namespace
}  // namespace sagabox::crash
