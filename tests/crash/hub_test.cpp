#include "crash/hub_endpoints.hpp"
#include "crash/hub_ground.hpp"
#include "crash/hub_judgement.hpp"
#include "crash/seeds.hpp"
#include "support/postgres_database.hpp"
#include "support/postgres_server.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/random.hpp>
#include <sagabox/stores/postgres.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>

namespace sagabox::crash {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view all_roles = "router,orchestrator,worker,cleaner";
/// Nobody has to wait for hours; most that fails comes through in the end.
const std::string patient = R"("timeout": "400ms", "retry": {"jitter": 1, "waits": [
  "20ms", "20ms", "20ms", "50ms", "50ms", "50ms", "100ms", "100ms", "100ms", "200ms", "200ms"]})";

/// `calm`: nothing fails.
std::vector<EndpointPlan> plans(bool calm) {
  if (calm) {
    return {{.id = "plain"},
            {.id = "keyed", .settings = R"({"order": "key"})", .keeps_order = true}};
  }
  return {
      {.id = "plain", .settings = "{" + patient + "}", .fails = 50, .busy = 5, .hangs = 5},
      {.id = "keyed",
       .settings = R"({"order": "key", )" + patient + "}",
       .keeps_order = true,
       .fails = 30,
       .resets = 2,
       .hangs = 5},
      {.id = "slow",
       .settings = R"({"filter": {"even": true}, )" + patient + "}",
       .even_only = true,
       .resets = 5,
       .hangs = 100},
      // Some of its deliveries die, and the next of their keys go on.
      {.id = "fragile",
       .settings = R"({"order": "key", "retry": {"waits": ["20ms"]}})",
       .keeps_order = true,
       .fails = 200},
      {.id = "gone", .settings = "{" + patient + "}", .fails = 50, .gone_after = 40},
  };
}

/// Events are published while the processes of the hub are killed and stopped and its endpoints
/// fail; in the end every event must have reached whoever it had to, or be dead.
class HubCrash : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  /// SAGABOX_CRASH_TIMES: so many times as many events and faults.
  static int times(int count) {
    const char* text = std::getenv("SAGABOX_CRASH_TIMES");
    return text == nullptr ? count : count * std::atoi(text);
  }

  void events_in_trouble(const std::vector<std::string_view>& roles) {
    const auto random = seeded_random(GetParam());
    ground->start_processes(roles);
    ground->start_producers(2);
    const auto first = random->below(ground->processes());
    for (int round = 0; round < times(6); ++round) {
      std::this_thread::sleep_for(milliseconds(200 + random->below(800)));
      // Each of them in turn, so that none is left out.
      const auto next = first + static_cast<std::uint64_t>(round);
      ground->kill(next % ground->processes());
      if (random->below(3) == 0) {
        ground->stop_for_a_while(random->below(ground->processes()));
      }
    }
    ground->stop_producers();
    ASSERT_TRUE(ground->all_end()) << ground->problems();
    ground->stop_processes();
    tell();
    EXPECT_EQ(ground->problems(), "") << "again: ./dev torture crash " << GetParam();
  }

  void tell() {
    const auto run = ground->run();
    std::size_t dead = 0;
    std::size_t attempts = 0;
    for (const auto& one : run.deliveries) {
      dead += one.state == DeliveryState::dead ? 1U : 0U;
      attempts += one.attempts.size();
    }
    const auto lost = ground->leases_lost();
    std::cout << run.events.size() << " events, " << run.deliveries.size() << " deliveries, "
              << dead << " of them dead, " << attempts << " attempts, " << lost
              << " leases of jobs lost, " << run.receipts.size() << " requests\n";
    EXPECT_GT(run.deliveries.size(), dead);
    EXPECT_GT(dead, 0U);
    EXPECT_GT(attempts, run.deliveries.size());
    EXPECT_GT(lost, 0U) << "no worker was killed with jobs in hand, so nothing was shown";
  }

  std::unique_ptr<HubGround> ground;
};

class PostgresHubCrash : public HubCrash {
 protected:
  void SetUp() override {
    const auto& server = testing::PostgresServer::shared();
    if (!server.problem.empty()) GTEST_SKIP() << server.problem;
    database_.emplace();
    ground = std::make_unique<HubGround>(
        HubGround::Place{.store = postgres::open(database_->url(), database_->options()).value(),
                         .where = {{"url", database_->url()}, {"schema", database_->schema()}},
                         .end_leases = [this](const std::string& workers) { end_leases(workers); },
                         .has_jobs =
                             [this](const std::string& worker) {
                               return database_
                                          ->sql("SELECT EXISTS (SELECT FROM " + jobs() +
                                                " WHERE state = 'leased' AND worker = " + worker +
                                                ")")
                                          .at(0) == "t";
                             }},
        plans(false), GetParam());
  }
  void TearDown() override { ground.reset(); }

 private:
  [[nodiscard]] std::string jobs() const { return "\"" + database_->schema() + "\".hub_job"; }
  /// Whoever is stopped with rows locked is not waited for.
  void end_leases(const std::string& workers) {
    if (workers.empty()) return;
    (void)database_->sql("UPDATE " + jobs() +
                         " SET lease_until = clock_timestamp() - interval '1 second' "
                         "WHERE ctid IN (SELECT ctid FROM " +
                         jobs() + " WHERE state = 'leased' AND worker IN (" + workers +
                         ") FOR UPDATE SKIP LOCKED)");
  }

  std::optional<testing::PostgresDatabase> database_;
};

HubGround::Place place_in(const testing::SqliteFolder& folder) {
  const auto sql = [file = folder.file()](const std::string& text) {
    const auto connection = testing::connect_sqlite(file, std::chrono::minutes(1));
    return testing::run_sql(connection.get(), text);
  };
  return {.store = sqlite::open(folder.file(), {.lock_max = std::chrono::minutes(1)}).value(),
          .where = {{"file", folder.file()}},
          .end_leases =
              [sql](const std::string& workers) {
                if (workers.empty()) return;
                (void)sql(
                    "UPDATE sagabox_hub_job SET lease_until = 1 WHERE state = 'leased' "
                    "AND worker IN (" +
                    workers + ")");
              },
          .has_jobs =
              [sql](const std::string& worker) {
                return sql("SELECT EXISTS (SELECT 1 FROM sagabox_hub_job WHERE state = 'leased' "
                           "AND worker = " +
                           worker + ")")
                           .at(0) == "1";
              }};
}

class SqliteHubCrash : public HubCrash {
 protected:
  void SetUp() override {
    ground = std::make_unique<HubGround>(place_in(folder_), plans(false), GetParam());
  }
  void TearDown() override { ground.reset(); }

 private:
  testing::SqliteFolder folder_;
};

TEST_P(PostgresHubCrash, EveryDeliveryEndsAndNoneIsMadeUp) {
  events_in_trouble(
      {"router", "orchestrator", "worker", "worker,cleaner", "router,orchestrator", all_roles});
}
TEST_P(SqliteHubCrash, EveryDeliveryEndsAndNoneIsMadeUp) { events_in_trouble({all_roles}); }

INSTANTIATE_TEST_SUITE_P(Seeds, PostgresHubCrash, ::testing::ValuesIn(wanted_seeds(2)),
                         [](const auto& seed) { return std::to_string(seed.param); });
INSTANTIATE_TEST_SUITE_P(Seeds, SqliteHubCrash, ::testing::ValuesIn(wanted_seeds()),
                         [](const auto& seed) { return std::to_string(seed.param); });

/// Books that were edited: the judgement must find it, or it proves nothing.
class SqliteHubBroken : public ::testing::Test {
 protected:
  void SetUp() override {
    ground_->start_processes({all_roles});
    ground_->start_producers(1);
    std::this_thread::sleep_for(milliseconds(1500));
    ground_->stop_producers();
    ASSERT_TRUE(ground_->all_end()) << ground_->problems();
    ground_->stop_processes();
    ASSERT_EQ(ground_->problems(), "");
    run_ = ground_->run();
    ASSERT_GT(run_.deliveries.size(), 10U);
  }
  /// The deliveries to "keyed" of a key with at least two of them.
  std::vector<std::string> events_of_a_key() {
    std::map<std::string, std::vector<std::string>> by_key;
    for (const auto& event : run_.events) by_key[event.key].push_back(event.id);
    return std::ranges::max_element(by_key, {}, [](const auto& one) { return one.second.size(); })
        ->second;
  }
  Receipt& receipt_of(const std::string& event, const std::string& subscription) {
    return *std::ranges::find_if(run_.receipts, [&](const auto& one) {
      return one.event == event && one.subscription == subscription;
    });
  }

  testing::SqliteFolder folder_;
  std::unique_ptr<HubGround> ground_ =
      std::make_unique<HubGround>(place_in(folder_), plans(true), 1);
  HubRun run_;
};

using Lines = std::vector<std::string>;

TEST_F(SqliteHubBroken, BooksThatWereEditedAreNamed) {
  const auto run = run_;
  const auto key = events_of_a_key();
  ASSERT_GT(key.size(), 1U);
  const auto& one = key[0];

  std::erase_if(run_.receipts, [&](const auto& receipt) {
    return receipt.event == one && receipt.subscription == "plain";
  });
  EXPECT_EQ(problems_of(run_), Lines{one + " to plain is completed and was never received"});

  run_ = run;
  std::swap(receipt_of(one, "keyed"), receipt_of(key[1], "keyed"));
  const auto swapped = problems_of(run_);
  ASSERT_FALSE(swapped.empty());
  EXPECT_TRUE(swapped[0].starts_with(key[1] + " to keyed came before " + one)) << swapped[0];

  run_ = run;
  std::erase_if(run_.events, [&](const auto& event) { return event.id == one; });
  EXPECT_EQ(problems_of(run_).size(), 4U);  // deliveries and receipts from nowhere

  run_ = run;
  std::erase_if(run_.deliveries, [&](const auto& delivery) {
    return delivery.event == one && delivery.subscription == "plain";
  });
  EXPECT_EQ(problems_of(run_), Lines{one + " to plain has no delivery"});

  run_ = run;
  run_.deliveries[0].attempts[0].number = 2;
  EXPECT_EQ(problems_of(run_).size(), 1U);

  run_ = run;
  run_.subscriptions[0].gone = true;
  EXPECT_EQ(problems_of(run_), Lines{"plain is active and had to be disabled"});
}

}  // namespace
}  // namespace sagabox::crash
