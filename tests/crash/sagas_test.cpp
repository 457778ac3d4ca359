#include "crash/eventually.hpp"
#include "crash/process.hpp"
#include "crash/sagas_judgement.hpp"
#include "crash/sagas_trip.hpp"
#include "crash/seeds.hpp"
#include "support/postgres_database.hpp"
#include "support/postgres_server.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/random.hpp>
#include <sagabox/saga.hpp>
#include <sagabox/stores/postgres.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace sagabox::crash {
namespace {

using std::chrono::milliseconds;
using Words = std::map<std::string, std::string>;

/// A port of loopback that nobody else gets while a participant is down: bound, not listening.
class HeldPort {
 public:
  HeldPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    setsockopt(socket_, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    if (bind(socket_, address, size) != 0 || getsockname(socket_, address, &size) != 0) {
      throw std::runtime_error("no port is free");
    }
    number_ = ntohs(place.sin_port);
  }
  ~HeldPort() { close(socket_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;
  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

 private:
  int socket_;
  std::uint16_t number_ = 0;
};

/// Orchestrators on one store and a participant for each step of a trip, all of them processes.
class SagasGround {
 public:
  SagasGround(std::unique_ptr<Store> store, Words where)
      : store_(std::move(store)),
        where_(std::move(where)),
        client_(Sagas::create(*store_).value()),
        ports_(trip_steps.size()) {}

  void start_orchestrators(std::size_t count) {
    for (std::size_t at = 0; at < count; ++at) orchestrators_.push_back(orchestrator());
  }
  void start_participants(Words settings) {
    settings_of_participants_ = std::move(settings);
    for (std::size_t at = 0; at < trip_steps.size(); ++at) {
      participants_.push_back(participant(at));
    }
  }
  void kill_an_orchestrator(Random& random) {
    auto& one = orchestrators_[random.below(orchestrators_.size())];
    one.kill();
    one = orchestrator();
  }
  /// Long enough that it loses its shards, sometimes.
  void stop_an_orchestrator_for_a_while(Random& random) {
    const auto& one = orchestrators_[random.below(orchestrators_.size())];
    one.signal(SIGSTOP);
    std::this_thread::sleep_for(milliseconds(100 + random.below(2'200)));
    one.signal(SIGCONT);
  }
  void kill_a_participant(Random& random) {
    const auto at = random.below(participants_.size());
    participants_[at].kill();
    std::this_thread::sleep_for(milliseconds(random.below(200)));
    participants_[at] = participant(at);
  }
  /// Those that have killed themselves are started again.
  void revive_participants() {
    for (std::size_t at = 0; at < participants_.size(); ++at) {
      if (!participants_[at].is_running()) participants_[at] = participant(at);
    }
  }

  void start_trips(Random& random, int count) {
    for (int started = 0; started < count; ++started) start_trip(random);
  }
  /// Asks for the end of one that was started before; it may be too late.
  void cancel_one(Random& random) {
    auto& saga = sagas_[random.below(sagas_.size())];
    if (saga.must_end != SagaState::cancelled) saga.must_end.reset();
    (void)client_
        .request({.saga = SagaId::parse(saga.id).value(),
                  .kind = SagaCommandKind::cancel,
                  .definition = definitions_.at(saga.id),
                  .actor = "test"},
                 milliseconds(0))
        .value();
  }

  [[nodiscard]] bool all_end() {
    bool ended_all = false;
    (void)eventually([&] {
      // None of them ends by itself.
      if (!std::ranges::all_of(orchestrators_, &Process::is_running)) return true;
      revive_participants();
      const auto counts = store_->saga_admin()->count(std::nullopt).value();
      std::size_t ended = 0;
      for (const auto& one : counts) {
        if (has_ended(one.state)) ended += one.sagas;
      }
      ended_all = ended == sagas_.size();
      return ended_all;
    });
    return ended_all;
  }
  void stop_orchestrators() {
    for (auto& one : orchestrators_) {
      const auto ended = one.stop();
      // One that was started a moment ago may not yet wait for the signal.
      EXPECT_TRUE(ended == 0 || ended == 128 + SIGTERM) << ended << '\n' << last_words();
    }
  }

  std::vector<SagaRun> sagas() {
    for (auto& saga : sagas_) {
      const auto found = store_->saga_admin()->get(SagaId::parse(saga.id).value()).value();
      if (found) saga.ended = found->state;
    }
    return sagas_;
  }
  /// What all participants have in their books.
  [[nodiscard]] std::vector<BookedStep> books() const {
    std::vector<BookedStep> all;
    for (const auto& step : trip_steps) {
      const auto book = testing::connect_sqlite(book_of(step), std::chrono::minutes(1));
      for (const auto& row : testing::rows_of(book.get(), R"(
             SELECT saga,
                    (SELECT count(*) FROM effect AS e
                     WHERE e.saga = call.saga AND e.direction = 'action'),
                    (SELECT count(*) FROM effect AS e
                     WHERE e.saga = call.saga AND e.direction = 'compensation'),
                    coalesce(sum(asked) FILTER (WHERE direction = 'action'), 0)
             FROM call GROUP BY saga)")) {
        const auto known = definitions_.find(row[0]);
        all.push_back(
            {.saga = row[0],
             .step = step,
             .done = std::stoi(row[1]),
             .undone = std::stoi(row[2]),
             .asked = std::stoi(row[3]),
             .once = step == "car" && known != definitions_.end() && known->second == "tour"});
      }
    }
    return all;
  }
  /// How many calls were accepted, to be replied to later.
  [[nodiscard]] int accepted() const {
    int all = 0;
    for (const auto& step : trip_steps) {
      const auto book = testing::connect_sqlite(book_of(step), std::chrono::minutes(1));
      all += std::stoi(testing::run_sql(book.get(), "SELECT count(*) FROM reply").at(0));
    }
    return all;
  }
  [[nodiscard]] std::string book_of(const std::string& step) const {
    return folder_.file(step + ".db");
  }
  /// What is wrong, a few of it; empty: nothing.
  std::string problems() {
    constexpr std::size_t shown_max = 10;
    const auto all = problems_of(sagas(), books(), trip_steps);
    if (all.empty()) return {};
    std::ostringstream out;
    out << all.size() << " problems\n";
    for (std::size_t at = 0; at < all.size() && at < shown_max; ++at) out << all[at] << '\n';
    for (const auto& saga : sagas_) {
      if (all.front().find(saga.id) != std::string::npos) out << story_of(saga.id);
    }
    out << last_words();
    return out.str();
  }
  [[nodiscard]] std::string last_words() const {
    constexpr std::size_t bytes_max = 3'000;
    std::ifstream file(folder_.file("log"));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return text.size() > bytes_max ? text.substr(text.size() - bytes_max) : text;
  }

 private:
  /// A line for each entry of its history.
  [[nodiscard]] std::string story_of(const std::string& id) const {
    std::ostringstream out;
    const auto saga = SagaId::parse(id).value();
    for (const auto& entry : store_->saga_admin()->history(saga, 0, 200).value()) {
      out << entry.at.time_since_epoch().count() << ' ' << entry.event << ' ' << entry.step << ' '
          << entry.detail << '\n';
    }
    return out.str();
  }
  void start_trip(Random& random) {
    const auto number = sagas_.size();
    const std::string definition = number % 4 == 3 ? "tour" : "travel";
    // The pivot never fails for good: in doubt it would wait for a person.
    const auto fails_at =
        random.below(4) == 0 ? trip_steps[random.below(3)] : std::string("nowhere");
    const auto id = client_
                        .start_saga({.definition = definition,
                                     .input = R"({"fails_at":")" + fails_at + "\"}",
                                     .key = "trip-" + std::to_string(number)})
                        .value();
    SagaRun saga{.id = id.str()};
    if (fails_at != "nowhere") {
      saga.must_end = SagaState::cancelled;
    } else if (definition == "travel") {
      saga.must_end = SagaState::completed;
    }
    definitions_.emplace(saga.id, definition);
    sagas_.push_back(std::move(saga));
  }
  Process orchestrator() {
    auto settings = where_;
    settings["what"] = "orchestrator";
    for (const auto& port : ports_) {
      auto& ports = settings["ports"];
      ports += (ports.empty() ? "" : ",") + std::to_string(port.number());
    }
    return start(settings);
  }
  Process participant(std::size_t at) {
    auto settings = settings_of_participants_;
    settings.insert(where_.begin(), where_.end());
    settings["what"] = "participant";
    settings["book"] = book_of(trip_steps[at]);
    settings["port"] = std::to_string(ports_[at].number());
    settings["seed"] = std::to_string(++started_);
    return start(settings);
  }
  [[nodiscard]] Process start(const Words& settings) const {
    std::vector<std::string> words{SAGABOX_CRASH_SAGAS};
    for (const auto& [name, value] : settings) words.push_back(name + "=" + value);
    return {words, folder_.file("log")};
  }

  testing::SqliteFolder folder_;  // of books and logs
  std::unique_ptr<Store> store_;
  Words where_;  // the store, as the program is told
  Sagas client_;
  std::vector<HeldPort> ports_;
  Words settings_of_participants_;
  std::vector<Process> participants_;
  std::vector<Process> orchestrators_;
  std::vector<SagaRun> sagas_;
  std::map<std::string, std::string> definitions_;  // by saga
  int started_ = 0;
};

/// Trips are begun while everything that runs them is in trouble; in the end every trip must have
/// ended as it had to, and the participants' books must agree.
class SagasCrash : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  /// SAGABOX_CRASH_TIMES: so many times as many trips and faults.
  static int times(int count) {
    const char* text = std::getenv("SAGABOX_CRASH_TIMES");
    return text == nullptr ? count : count * std::atoi(text);
  }

  void trips_in_trouble() {
    const auto random = seeded_random(GetParam());
    ground->start_participants(
        {{"busy", "20"}, {"late", "20"}, {"accepts", "20"}, {"drops", "40"}, {"dies", "4"}});
    ground->start_orchestrators(2);
    for (int round = times(8); round > 0; --round) {
      ground->start_trips(*random, 15);
      ground->cancel_one(*random);
      std::this_thread::sleep_for(milliseconds(50 + random->below(400)));
      switch (random->below(4)) {
        case 0:
          ground->kill_a_participant(*random);
          break;
        case 1:
          ground->stop_an_orchestrator_for_a_while(*random);
          break;
        default:
          ground->kill_an_orchestrator(*random);
      }
      ground->revive_participants();
    }
    ASSERT_TRUE(ground->all_end()) << ground->problems();
    ground->stop_orchestrators();
    tell();
    EXPECT_EQ(ground->problems(), "") << "again: ./dev torture crash " << GetParam();
  }

  void tell() {
    int completed = 0;
    int repeated = 0;
    int undone = 0;
    const auto sagas = ground->sagas();
    for (const auto& one : sagas) completed += one.ended == SagaState::completed ? 1 : 0;
    for (const auto& one : ground->books()) {
      repeated += std::max(one.asked - 1, 0);
      undone += one.undone;
    }
    std::cout << sagas.size() << " sagas, " << completed << " completed, " << repeated
              << " calls repeated, " << ground->accepted() << " accepted and replied to later, "
              << undone << " steps undone\n";
    EXPECT_GT(completed, 0);
    EXPECT_GT(repeated, 0) << "there was no trouble, so nothing was shown";
    EXPECT_GT(undone, 0);
    EXPECT_GT(ground->accepted(), 0);
  }

  std::unique_ptr<SagasGround> ground;
};

class PostgresSagasCrash : public SagasCrash {
 protected:
  void SetUp() override {
    const auto& server = testing::PostgresServer::shared();
    if (!server.problem.empty()) GTEST_SKIP() << server.problem;
    database_.emplace();
    ground = std::make_unique<SagasGround>(
        postgres::open(database_->url(), database_->options()).value(),
        Words{{"url", database_->url()}, {"schema", database_->schema()}});
  }
  void TearDown() override { ground.reset(); }

 private:
  std::optional<testing::PostgresDatabase> database_;
};

std::unique_ptr<SagasGround> ground_on(const testing::SqliteFolder& folder) {
  return std::make_unique<SagasGround>(
      sqlite::open(folder.file(), {.lock_max = std::chrono::minutes(1)}).value(),
      Words{{"file", folder.file()}});
}

class SqliteSagasCrash : public SagasCrash {
 protected:
  void SetUp() override { ground = ground_on(folder_); }
  void TearDown() override { ground.reset(); }

 private:
  testing::SqliteFolder folder_;
};

TEST_P(PostgresSagasCrash, EverySagaEndsAsItMustAndTheBooksAgree) { trips_in_trouble(); }
TEST_P(SqliteSagasCrash, EverySagaEndsAsItMustAndTheBooksAgree) { trips_in_trouble(); }

INSTANTIATE_TEST_SUITE_P(Seeds, PostgresSagasCrash, ::testing::ValuesIn(wanted_seeds()),
                         [](const auto& seed) { return std::to_string(seed.param); });
INSTANTIATE_TEST_SUITE_P(Seeds, SqliteSagasCrash, ::testing::ValuesIn(wanted_seeds()),
                         [](const auto& seed) { return std::to_string(seed.param); });

/// Participants that break a promise: the judgement must find it, or it proves nothing.
class SqliteSagasBroken : public ::testing::Test {
 protected:
  void run(const Words& participants) {
    const auto random = seeded_random(1);
    ground->start_participants(participants);
    ground->start_orchestrators(1);
    ground->start_trips(*random, 30);
    ASSERT_TRUE(ground->all_end());
    ground->stop_orchestrators();
  }
  void expect_problem(const std::string& text) {
    const auto found = ground->problems();
    EXPECT_NE(found.find(text), std::string::npos) << found;
  }

  testing::SqliteFolder folder_;
  std::unique_ptr<SagasGround> ground = ground_on(folder_);
};

TEST_F(SqliteSagasBroken, ParticipantThatForgetsKeysDoesThingsTwice) {
  run({{"broken", "forgets_keys"}, {"drops", "300"}});
  expect_problem("was done 2 times");
}

TEST_F(SqliteSagasBroken, BookThatWasEditedIsNamed) {
  run({});
  ASSERT_EQ(ground->problems(), "");
  const auto edit = [&](const std::string& sql) {
    const auto book = testing::connect_sqlite(ground->book_of("hotel"), std::chrono::minutes(1));
    return testing::run_sql(book.get(), sql);
  };
  const auto undone = edit(
      "DELETE FROM effect WHERE rowid = (SELECT rowid FROM effect WHERE direction = "
      "'compensation') RETURNING saga");
  ASSERT_FALSE(undone.empty());
  expect_problem("1 problems\nhotel of " + undone[0] + ", which was cancelled, was done 1 times");
  edit("INSERT INTO effect VALUES ('" + undone[0] +
       "', 'hotel', 'compensation');"
       "INSERT INTO call VALUES ('k', 's-1', 'hotel', 'action', 200, 1)");
  expect_problem("1 problems\nhotel of s-1 is from nowhere");
}

}  // namespace
}  // namespace sagabox::crash
