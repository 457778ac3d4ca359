#pragma once

#include "crash/eventually.hpp"
#include "crash/history.hpp"
#include "crash/process.hpp"
#include "crash/seeds.hpp"
#include "support/postgres_database.hpp"
#include "support/postgres_server.hpp"

#include <sagabox/random.hpp>
#include <sagabox/store.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sagabox::crash {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Words = std::map<std::string, std::string>;

/// Where the processes of a test meet: an outbox `orders` in a schema of its own, the producers'
/// ledger beside it, and files for what they note.
class Ground {
 public:
  explicit Ground(const testing::PostgresServer& server);
  ~Ground();
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  /// A relay, started; its connections have the name of its process.
  [[nodiscard]] Process relay(Words settings = {});
  [[nodiscard]] Process producer(Words settings);

  /// Of a connection with this application name.
  [[nodiscard]] std::string url(const std::string& name) const;
  [[nodiscard]] const std::string& schema() const noexcept { return schema_; }
  [[nodiscard]] std::string in_schema(const std::string& name) const {
    return schema_ + "." + name;
  }
  /// Writes messages by plain SQL, with their lines in the ledger, in one statement; of one key if
  /// given.
  void write(PGconn* connection, int count, const std::string& key = {},
             const std::string& headers = {});
  void write(int count, const std::string& key = {}, const std::string& headers = {});

  /// Values of the first row; connects again when the server has gone and come back.
  std::vector<std::string> sql(const std::string& text);
  [[nodiscard]] testing::PgConnection connect(const std::string& name = "test") const;
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_ / name; }

  [[nodiscard]] RelayNotes notes() const { return read_relay_notes(file("notes")); }
  /// How many different messages have been delivered.
  [[nodiscard]] std::size_t delivered() const;
  /// How many of the shards that relays share are in the hands of workers whose lease runs.
  std::uint64_t shards_held();
  /// Workers that hold shards and whose lease runs.
  std::uint64_t owners();
  /// Waits until nothing is pending.
  bool drained();
  History history();
  /// What is wrong with it, a few of them, with the relays' last words; empty: nothing.
  std::string problems();

 private:
  std::vector<std::string> column(const std::string& text);
  std::vector<std::vector<std::string>> rows(const std::string& text);
  [[nodiscard]] Process start(const std::string& program, const Words& settings);

  const testing::PostgresServer& server_;
  std::string schema_;
  std::filesystem::path folder_;
  testing::PgConnection admin_;
  int started_ = 0;
};

/// A server of the test's own, to be ended and set up at will.
class OwnServer {
 public:
  OwnServer() : server_(testing::PostgresServer::start(getpid())) {}
  ~OwnServer() { testing::PostgresServer::stop(server_.folder); }
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;
  [[nodiscard]] const testing::PostgresServer& get() const noexcept { return server_; }

 private:
  testing::PostgresServer server_;
};

/// Tests named Postgres… have a server.
class CrashTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto& server = testing::PostgresServer::shared();
    if (!server.problem.empty()) GTEST_SKIP() << server.problem;
    ground = std::make_unique<Ground>(server);
  }
  /// Instead of the one that all tests share.
  void use_own_server() {
    own = std::make_unique<OwnServer>();
    ASSERT_EQ(own->get().problem, "");
    ground = std::make_unique<Ground>(own->get());
  }

  std::unique_ptr<OwnServer> own;
  std::unique_ptr<Ground> ground;
};

}  // namespace sagabox::crash
