#include "crash/world.hpp"

#include <csignal>
#include <iostream>
#include <set>

namespace sagabox::crash {
namespace {

/// Producers write random transactions while relays are in trouble; in the end everything must
/// have come out right. The seed says what is written and when there is trouble.
class PostgresCrash : public CrashTest, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  void SetUp() override {
    CrashTest::SetUp();
    random = seeded_random(GetParam());
  }

  void start_relays(std::size_t count, Words settings = {}) {
    settings_of_relays = std::move(settings);
    for (std::size_t at = 0; at < count; ++at) relays.push_back(ground->relay(settings_of_relays));
  }
  void start_producers(std::size_t count, std::uint64_t transactions, Words settings = {}) {
    settings["transactions"] = std::to_string(times(transactions));
    for (std::size_t at = 0; at < count; ++at) {
      settings["seed"] = std::to_string(GetParam() * 10 + at);
      producers.push_back(ground->producer(settings));
    }
  }
  void kill_a_relay() {
    auto& one = relays[random->below(relays.size())];
    one.kill();
    one = ground->relay(settings_of_relays);
  }
  void pause(std::uint64_t milliseconds_min, std::uint64_t milliseconds_max) {
    std::this_thread::sleep_for(
        milliseconds(milliseconds_min + random->below(milliseconds_max - milliseconds_min)));
  }
  /// Connections of our relays and producers, each with that chance.
  void cut_connections(double chance) {
    ground->sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name "
        "LIKE '" +
        ground->schema() + "\\_%' AND random() < " + std::to_string(chance));
  }
  /// SAGABOX_CRASH_TIMES: so many times as many transactions and faults.
  static std::uint64_t times(std::uint64_t count) {
    const char* text = std::getenv("SAGABOX_CRASH_TIMES");
    return text == nullptr ? count : count * std::strtoull(text, nullptr, 10);
  }

  void end_well() {
    for (auto& one : producers) EXPECT_EQ(one.wait(), 0);
    EXPECT_TRUE(ground->drained());
    for (auto& one : relays) EXPECT_EQ(one.stop(), 0);
    const auto problems = ground->problems();
    const auto history = ground->history();
    std::set<std::string> done;
    std::size_t failed = 0;
    std::size_t repeats = 0;
    for (const auto& one : history.delivered) {
      if (one.kind != Delivered::Kind::done) {
        ++failed;
      } else if (!done.insert(one.id).second) {
        ++repeats;
      }
    }
    std::cout << history.truths.size() << " messages, " << failed << " failed attempts, " << repeats
              << " repeats, " << history.take_overs.size() << " unclean take-overs\n";
    EXPECT_GT(history.truths.size(), 100U);
    EXPECT_EQ(problems, "") << "again: SAGABOX_SEEDS=" << GetParam()
                            << " ./dev test crash, or ./dev torture crash " << GetParam();
  }

  std::unique_ptr<Random> random;
  Words settings_of_relays;
  std::vector<Process> relays;
  std::vector<Process> producers;
};

/// Also writes itself, so that messages take the fast path.
const Words writes_too{{"writers", "1"}, {"transactions", "60"}};

TEST_P(PostgresCrash, TwoRelaysShare) {
  start_relays(2, writes_too);
  start_producers(2, 60, {{"prepares", "1"}});
  EXPECT_TRUE(eventually([&] { return ground->owners() == 2; }));
  end_well();
  EXPECT_TRUE(ground->history().take_overs.empty()) << "nobody died";
}

TEST_P(PostgresCrash, FourRelaysShare) {
  start_relays(4);
  EXPECT_TRUE(eventually([&] { return ground->owners() == 4; }));
  start_producers(3, 60);
  end_well();
  EXPECT_TRUE(ground->history().take_overs.empty()) << "nobody died";
  std::set<int> delivered;
  for (const auto& one : ground->notes().delivered) delivered.insert(one.process);
  EXPECT_EQ(delivered.size(), 4U);
}

TEST_P(PostgresCrash, RelaysAreKilled) {
  start_relays(3, {{"lease_ms", "1500"}, {"work_us", "2000"}});
  start_producers(2, 150);
  for (auto round = times(6); round > 0; --round) {
    pause(100, 1'000);
    kill_a_relay();
  }
  end_well();
}

TEST_P(PostgresCrash, RelaysThatKeepNothingAreKilledAndCutOff) {
  ground->expect_no_archive();
  start_relays(2, {{"lease_ms", "1500"}, {"work_us", "1000"}, {"retention_s", "0"}});
  start_producers(2, 100, {{"prepares", "1"}});
  for (auto round = times(6); round > 0; --round) {
    pause(100, 800);
    if (random->below(2) == 0) {
      kill_a_relay();
    } else {
      cut_connections(0.5);
    }
  }
  end_well();
}

TEST_P(PostgresCrash, BackendsAreKilled) {
  start_relays(2, {{"lease_ms", "5000"}});
  start_producers(2, 150, {{"prepares", "1"}});
  for (auto round = times(40); round > 0; --round) {
    pause(20, 150);
    cut_connections(0.3);
  }
  end_well();
}

TEST_P(PostgresCrash, ServerCrashes) {
  use_own_server();
  start_relays(2, {{"lease_ms", "5000"}, {"writers", "1"}, {"transactions", "150"}});
  start_producers(2, 150, {{"prepares", "1"}});
  for (auto round = times(2); round > 0; --round) {
    pause(500, 1'500);
    ASSERT_TRUE(own->get().crash_and_restart());
  }
  end_well();
}

TEST_P(PostgresCrash, AnyTroubleAtOnce) {
  use_own_server();
  start_relays(4, {{"lease_ms", "1000"}, {"work_us", "2000"}});
  start_producers(2, 200, {{"prepares", "1"}});
  // Nobody waits for this one's word.
  auto doomed = ground->producer({{"seed", "7"}, {"transactions", "100000"}, {"connections", "1"}});
  for (auto round = times(10); round > 0; --round) {
    pause(50, 500);
    switch (random->below(5)) {
      case 0:
        kill_a_relay();
        break;
      case 1:
        cut_connections(0.5);
        break;
      case 2:
        ASSERT_TRUE(own->get().crash_and_restart());
        break;
      default: {
        const auto& one = relays[random->below(relays.size())];
        one.signal(SIGSTOP);
        pause(100, 1'500);
        one.signal(SIGCONT);
      }
    }
  }
  doomed.kill();
  end_well();
}

INSTANTIATE_TEST_SUITE_P(Seeds, PostgresCrash, ::testing::ValuesIn(wanted_seeds()),
                         [](const auto& seed) { return std::to_string(seed.param); });

}  // namespace
}  // namespace sagabox::crash
