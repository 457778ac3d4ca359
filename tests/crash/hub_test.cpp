#include "core/base64.hpp"
#include "crash/eventually.hpp"
#include "crash/hub_endpoints.hpp"
#include "crash/hub_judgement.hpp"
#include "crash/hub_producer.hpp"
#include "crash/process.hpp"
#include "crash/seeds.hpp"
#include "delivery/secret_box.hpp"
#include "delivery/worker/targets.hpp"
#include "support/postgres_database.hpp"
#include "support/postgres_server.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/hub.hpp>
#include <sagabox/random.hpp>
#include <sagabox/stores/postgres.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

namespace sagabox::crash {
namespace {

using std::chrono::milliseconds;
using Words = std::map<std::string, std::string>;

constexpr std::string_view all_roles = "router,orchestrator,worker,cleaner";
/// Nobody has to wait for hours; most that fails comes through in the end.
const std::string patient = R"("timeout": "400ms", "retry": {"jitter": 1, "waits": [
  "20ms", "20ms", "20ms", "50ms", "50ms", "50ms", "100ms", "100ms", "100ms", "200ms", "200ms"]})";
constexpr auto notice_type = "hub.subscription.disabled.v1";

/// Seals the secrets of the endpoints.
std::string secret_key() {
  std::string text = "k1:";
  append_base64(std::string(delivery::SecretBox::key_bytes, '1'), text);
  return text;
}

/// `calm`: nothing fails.
std::vector<EndpointPlan> plans(bool calm) {
  if (calm)
    return {{.id = "plain"},
            {.id = "keyed", .settings = R"({"order": "key"})", .keeps_order = true}};
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

/// Processes that run roles of the hub on one store, producers and endpoints.
class HubGround {
 public:
  struct Place {
    std::unique_ptr<Store> store;
    Words where;  ///< the store, as the program is told
    /// The leases of jobs that these workers have run out. They last minutes.
    std::function<void(const std::string& workers)> end_leases;
    /// The worker has leased a job that has not ended.
    std::function<bool(const std::string& worker)> has_jobs;
  };
  HubGround(Place place, std::vector<EndpointPlan> plans, std::uint64_t seed)
      : place_(std::move(place)),
        plans_(std::move(plans)),
        seed_(seed),
        random_(seeded_random(seed)),
        hub_(Hub::create(*place_.store, {.roles = {}}).value()),
        endpoints_(plans_, seed) {
    for (const auto& plan : plans_) subscribe(plan.id, "shop.**", plan.settings);
    subscribe(watcher, "hub.**", "{" + patient + "}");
  }

  void start_processes(const std::vector<std::string_view>& roles) {
    for (const auto& one : roles) {
      processes_.push_back({.roles = std::string(one)});
      start(processes_.back());
    }
  }
  void start_producers(std::size_t count) {
    for (std::size_t at = 0; at < count; ++at) {
      const auto name = "p" + std::to_string(at);
      producers_.push_back(
          std::make_unique<HubProducer>(*place_.store, hub_, plans_, name, 10 * seed_ + at));
    }
  }
  void stop_producers() {
    for (const auto& one : producers_) one->stop();
  }

  [[nodiscard]] std::size_t processes() const { return processes_.size(); }
  void kill(std::size_t at) {
    auto& one = processes_[at];
    if (one.roles.find("worker") != std::string::npos) {
      (void)eventually([&] { return place_.has_jobs("'" + one.name + "'"); },
                       std::chrono::seconds(2));
    }
    one.process->kill();
    lost_ += (lost_.empty() ? "'" : ",'") + one.name + "'";
    std::this_thread::sleep_for(milliseconds(random_->below(200)));
    start(one);
    place_.end_leases(lost_);
  }
  /// Long enough that it loses its shards, mostly, and its jobs where another process may have
  /// them.
  void stop_for_a_while(std::size_t at) {
    const auto& one = processes_[at];
    one.process->signal(SIGSTOP);
    std::this_thread::sleep_for(milliseconds(100));
    if (processes_.size() > 1) place_.end_leases("'" + one.name + "'");
    std::this_thread::sleep_for(milliseconds(1000 + random_->below(1'500)));
    one.process->signal(SIGCONT);
  }

  [[nodiscard]] bool all_end() {
    std::size_t expected = std::ranges::any_of(plans_, is_gone) ? 1 : 0;  // told to the watcher
    for (const auto& one : producers_) {
      for (const auto& event : one->committed()) expected += event.subscriptions.size();
    }
    bool ended_all = false;
    (void)eventually([&] {
      // None of them ends by itself.
      for (const auto& one : processes_) {
        if (!one.process->is_running()) return true;
      }
      place_.end_leases(lost_);
      ended_all = all_ended(expected);
      return ended_all;
    });
    return ended_all;
  }
  void stop_processes() {
    for (auto& one : processes_) {
      const auto ended = one.process->stop();
      // One that was started a moment ago may not yet wait for the signal.
      EXPECT_TRUE(ended == 0 || ended == 128 + SIGTERM) << ended << '\n' << last_words();
    }
  }

  /// Everything as it is in the end.
  [[nodiscard]] HubRun run() {
    HubRun run{.receipts = endpoints_.receipts()};
    for (const auto& one : producers_) {
      std::ranges::copy(one->committed(), std::back_inserter(run.events));
    }
    for (const auto& notice :
         admin().events({.filter = {.type = notice_type}, .rows_max = 100}).value()) {
      run.events.push_back({.id = notice.id.str(), .subscriptions = {watcher}});
    }
    for (const auto& plan : plans_) {
      run.subscriptions.push_back({.id = plan.id,
                                   .keeps_order = plan.keeps_order,
                                   .gone = is_gone(plan),
                                   .state = state_of(plan.id)});
    }
    run.subscriptions.push_back({.id = watcher, .state = state_of(watcher)});
    for (const auto& one : deliveries({})) run.deliveries.push_back(judged(one));
    return run;
  }
  /// What is wrong, a few of it; empty: nothing.
  std::string problems() {
    constexpr std::size_t shown_max = 10;
    auto all = problems_of(run());
    for (const auto& one : producers_) std::ranges::copy(one->problems(), std::back_inserter(all));
    const auto notices =
        admin().events({.filter = {.type = notice_type}, .rows_max = 100}).value().size();
    if (const auto must = std::ranges::count_if(plans_, is_gone);
        notices != static_cast<std::size_t>(must)) {
      all.push_back(std::to_string(notices) + " times was told that an endpoint is disabled");
    }
    if (all.empty()) return {};
    std::ostringstream out;
    out << all.size() << " problems\n";
    for (std::size_t at = 0; at < all.size() && at < shown_max; ++at) {
      out << all[at] << '\n' << story_of(all[at]);
    }
    out << last_words();
    return out.str();
  }
  /// Leases of jobs that ran out.
  [[nodiscard]] std::uint32_t leases_lost() {
    std::uint32_t all = 0;
    for (const auto& one : deliveries({})) {
      for (const auto& attempt : admin().attempts(one.id).value()) all += attempt.resets;
    }
    return all;
  }
  [[nodiscard]] std::string last_words() const {
    constexpr std::size_t bytes_max = 3'000;
    std::ifstream file(folder_.file("log"));
    std::string text;
    for (std::string line; std::getline(file, line);) {
      if (line.find("a delivery is dead") == std::string::npos) text += line + '\n';
    }
    return text.size() > bytes_max ? text.substr(text.size() - bytes_max) : text;
  }

 private:
  static constexpr auto watcher = "watcher";
  struct Part {
    std::string roles{};
    std::string name{};  // another one after each start
    std::optional<Process> process{};
  };

  static bool is_gone(const EndpointPlan& plan) { return plan.gone_after > 0; }
  [[nodiscard]] spi::HubAdminStore& admin() const { return place_.store->hub()->admin; }

  void subscribe(const std::string& id, const std::string& type, const std::string& settings) {
    SubscriptionRecord record;
    record.id = SubscriptionId::parse(id).value();
    record.tenant = std::string(tenant_default);
    record.state = SubscriptionState::active;
    record.types = {type};
    record.target = endpoints_.url(id);
    record.settings = settings;
    record.version = 1;
    auto& subscriptions = place_.store->hub()->subscriptions;
    EXPECT_TRUE(subscriptions.write(record, {}).value());
    // What is not signed has no webhook-id.
    const auto sealed = delivery::SecretBox::create(secret_key())
                            .value()
                            .seal("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                  delivery::secret_context(record.id), *random_)
                            .value();
    EXPECT_TRUE(subscriptions.add_secret(record.id, sealed, std::chrono::hours(1), {}).ok());
  }
  [[nodiscard]] SubscriptionState state_of(const std::string& id) const {
    const auto parsed = SubscriptionId::parse(id).value();
    return place_.store->hub()->subscriptions.get(parsed).value().value().state;
  }
  void start(Part& part) {
    part.name = "w" + std::to_string(++started_);
    auto settings = place_.where;
    settings["roles"] = part.roles;
    settings["name"] = part.name;
    settings["key"] = secret_key();
    std::vector<std::string> words{SAGABOX_CRASH_HUB};
    for (const auto& [name, value] : settings) words.push_back(name + "=" + value);
    part.process.emplace(words, folder_.file("log"));
  }

  [[nodiscard]] std::vector<DeliveryRecord> deliveries(const spi::DeliveryFilter& filter) const {
    std::vector<DeliveryRecord> all;
    spi::DeliveryList list{.filter = filter, .rows_max = 1000};
    for (;;) {
      const auto page = admin().deliveries(list).value();
      std::ranges::copy(page, std::back_inserter(all));
      if (page.size() < list.rows_max) return all;
      list.before = page.back().sequence;
    }
  }
  /// `expected`: so many deliveries if the gone endpoint had got all events, too.
  [[nodiscard]] bool all_ended(std::size_t expected) const {
    for (const auto& one : admin().count(std::nullopt).value()) {
      if (!has_ended(one.state)) return false;
    }
    const auto all = deliveries({});
    auto there = all.size();
    for (const auto& plan : plans_) {
      if (!is_gone(plan)) continue;
      const auto is_of_it = [&](const auto& one) { return one.subscription.str() == plan.id; };
      there -= static_cast<std::size_t>(std::ranges::count_if(all, is_of_it));
      for (const auto& one : producers_) there += one->committed().size();
    }
    return there >= expected;
  }
  [[nodiscard]] JudgedDelivery judged(const DeliveryRecord& record) const {
    JudgedDelivery one{.id = record.id.str(),
                       .event = record.event.str(),
                       .subscription = record.subscription.str(),
                       .generation = record.generation,
                       .state = record.state,
                       .attempt = record.attempt};
    if (record.state == DeliveryState::dead) {
      const auto dead = admin().dead(record.id).value();
      one.has_snapshot = dead && dead->event.message != nullptr;
    }
    for (const auto& attempt : admin().attempts(record.id).value()) {
      one.attempts.push_back({attempt.attempt, attempt.state});
    }
    return one;
  }
  /// A line for each attempt of the delivery that a problem names.
  [[nodiscard]] std::string story_of(const std::string& problem) const {
    std::ostringstream out;
    for (const auto& one : deliveries({})) {
      const auto place = one.event.str() + " to " + one.subscription.str() + " ";
      if (!problem.starts_with(place)) continue;
      out << "  " << delivery_state_name(one.state) << ' ' << one.error << '\n';
      for (const auto& attempt : admin().attempts(one.id).value()) {
        out << "  " << attempt.attempt << ' ' << hub_job_state_name(attempt.state) << " by "
            << attempt.worker << ", " << attempt.resets << " leases lost, status "
            << attempt.result.status << ' ' << attempt.result.error << '\n';
      }
    }
    return out.str();
  }

  testing::SqliteFolder folder_;  // of logs
  Place place_;
  const std::vector<EndpointPlan> plans_;
  const std::uint64_t seed_;
  std::unique_ptr<Random> random_;
  Hub hub_;  // publishes only
  HubEndpoints endpoints_;
  std::vector<std::unique_ptr<HubProducer>> producers_;
  std::vector<Part> processes_;
  std::string lost_;  // names of workers that were killed, quoted
  int started_ = 0;
};

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
