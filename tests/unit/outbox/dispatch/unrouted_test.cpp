#include "outbox/dispatch/unrouted.hpp"

#include "unit/outbox/relay_world.hpp"

#include <sagabox/admin.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::outbox {
namespace {

using memory::Inspected;
using std::chrono::minutes;
using std::chrono::seconds;
using State = Inspected::State;

constexpr Duration grace = minutes(10);

/// Takes the topics that it is told of, and delivers them at once.
class KnownTopics final : public spi::Sink {
 public:
  [[nodiscard]] std::optional<spi::ClassId> class_of(const Message&) const override { return {}; }
  [[nodiscard]] bool closed(spi::ClassId) const override { return false; }
  [[nodiscard]] bool takes(const Message& message) const override {
    const bool no = (noes & 1U) != 0;
    noes >>= 1U;
    return !no && known.contains(message.topic());
  }
  [[nodiscard]] std::uint64_t routes_version() const override { return version; }
  [[nodiscard]] std::uint32_t attempts_max(std::uint32_t of_table) const override {
    return of_table;
  }
  void join(spi::DispatchResults& results) override { member = &results; }
  void deliver(std::span<spi::Dispatch> dispatches, spi::DispatchResults& results) override {
    for (auto& dispatch : dispatches) {
      before_each();
      spi::Dispatched answer{.outcome = done()};
      if (!takes(*dispatch.message)) {
        answer.outcome = reject("no route");
        answer.outcome.code = Code::tx_unroutable;
      } else {
        delivered.push_back(dispatch.message->topic());
      }
      results.dispatched(dispatch.ticket, std::move(answer));
    }
  }
  void recall(spi::DispatchResults&, Shard) override {}
  void leave(spi::DispatchResults&) override {}

  /// As a reload does.
  void change(std::set<std::string> topics) {
    known = std::move(topics);
    ++version;
    member->opened();
  }

  std::set<std::string> known{"orders"};
  std::uint64_t version = 0;
  mutable std::uint32_t noes = 0;  ///< a bit for each of the next calls: nothing is taken
  spi::DispatchResults* member = nullptr;
  std::vector<std::string> delivered;
  std::function<void()> before_each = [] {};
};

class CountingLog final : public Logger {
 public:
  [[nodiscard]] bool enabled(LogLevel level) const noexcept override {
    return level == LogLevel::warning;
  }
  void write(LogLevel level, std::string_view, std::span<const LogField>) noexcept override {
    if (level == LogLevel::warning) ++warnings;
  }
  int warnings = 0;
};

/// A base, so that it exists before the relay.
struct HasLog {
  CountingLog log;
};

class UnroutedWorld : public HasLog, public RelayWorld {
 protected:
  explicit UnroutedWorld(std::shared_ptr<spi::Sink> sink = nullptr, bool claims = false)
      : RelayWorld({.options = {.claim = claims ? ClaimMode::competing : ClaimMode::sharded,
                                .unroutable_grace = grace,
                                .sink = std::move(sink),
                                .log = &log},
                    .claims = claims,
                    .unroutable = Unroutable::wait}) {}

  void write_about(const char* topic, std::string key = {}) {
    write({{.topic = topic, .key = std::move(key), .payload = json("{}")}});
  }
  /// Everything that may go has gone.
  void settle_down() {
    for (int round = 0; round < 4; ++round) {
      read();
      auto& runner = relay.dispatcher().runner(0);
      while (relay.dispatcher().take(runner, now()) == Dispatcher::Took::handler) {
        delivered.push_back(runner.entry().message->topic());
        relay.dispatcher().complete(runner, relay.dispatcher().invoke(runner), now());
      }
      clock.advance(std::chrono::milliseconds(5));
      settle();
    }
  }
  /// In small steps, so that the lease is kept.
  void pass(Duration time) {
    for (const auto end = now() + time; now() < end;) {
      clock.advance(std::min<Duration>(seconds(5), end - now()));
      keep_shards();
      relay.tick(now());
      relay.wake();
      settle_down();
    }
  }
  [[nodiscard]] std::vector<Inspected> rows() const { return store.inspect(table); }
  [[nodiscard]] std::vector<Inspected> rows_in(State state) const {
    auto found = rows();
    std::erase_if(found, [&](const Inspected& one) { return one.state != state; });
    return found;
  }
  [[nodiscard]] bool is_dead_of_it(const Inspected& row) const {
    return row.state == State::dead && row.code == Code::tx_unroutable;
  }

  std::vector<std::string> delivered;
};

class UnroutedTest : public UnroutedWorld {
 protected:
  void SetUp() override {
    UnroutedWorld::SetUp();
    registry.add(std::string(aggregate_global), "orders", [](const Delivery&) { return done(); })
        .value();
  }
};

TEST_F(UnroutedTest, WaitsUnspentAndOthersGo) {
  const auto written = clock.wall_now();
  write_about("new");
  write_about("orders");
  pass(minutes(9));
  EXPECT_EQ(delivered, std::vector<std::string>{"orders"});
  const auto pending = rows_in(State::pending);
  ASSERT_EQ(pending.size(), 1U);
  EXPECT_EQ(pending[0].row.attempts, 0U);
  EXPECT_EQ(pending[0].settled, 0U) << "nothing is written for what waits";
  EXPECT_EQ(relay.snapshot().unrouted_topics, 1U);
  const auto topics = relay.unrouted().topics(10);
  ASSERT_EQ(topics.size(), 1U);
  EXPECT_EQ(topics[0].topic, "new");
  EXPECT_EQ(topics[0].aggregate_type, aggregate_global);
  EXPECT_EQ(topics[0].since, written);
  EXPECT_EQ(topics[0].until, written + seconds(5) + grace) << "first read after 5 s";
}

TEST_F(UnroutedTest, IsDeadAfterTheGraceTime) {
  write_about("new");
  pass(grace - seconds(1));
  EXPECT_EQ(rows_in(State::pending).size(), 1U);
  write_about("new");
  pass(seconds(10));
  const auto dead = rows_in(State::dead);
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_TRUE(is_dead_of_it(dead[0]));
  EXPECT_NE(dead[0].error.find("no listener for topic \"new\""), std::string::npos);
  EXPECT_EQ(rows_in(State::pending).size(), 1U) << "the later one has its own time";
  pass(grace);
  EXPECT_EQ(rows_in(State::dead).size(), 2U);
  pass(minutes(2));
  EXPECT_EQ(relay.snapshot().unrouted_topics, 0U);
}

TEST_F(UnroutedTest, GraceGoesOnAfterATakeOver) {
  write_about("new");
  pass(minutes(6));
  clock.advance(minutes(1));
  keep_shards();
  pass(minutes(4));
  ASSERT_EQ(rows_in(State::dead).size(), 1U);
}

TEST_F(UnroutedTest, DelayedMessageHasItsTimeFromWhenItIsDue) {
  write({{.topic = "new", .payload = json("{}"), .not_before = clock.wall_now() + minutes(30)}});
  pass(minutes(39));
  EXPECT_TRUE(rows_in(State::dead).empty());
  EXPECT_EQ(relay.snapshot().unrouted_topics, 1U);
  pass(minutes(2));
  EXPECT_EQ(rows_in(State::dead).size(), 1U);
}

TEST_F(UnroutedTest, KeyWaitsBehindItsHeadAndOtherKeysDoNot) {
  write_about("new", "a");
  write_about("orders", "a");
  write_about("orders", "b");
  pass(minutes(5));
  EXPECT_EQ(delivered.size(), 1U) << "of key b";
  pass(minutes(6));
  EXPECT_EQ(delivered, (std::vector<std::string>{"orders", "new", "orders"}));
  EXPECT_EQ(rows_in(State::dead).size(), 1U);
  EXPECT_TRUE(rows_in(State::pending).empty());
}

TEST_F(UnroutedTest, HoweverManyTopicsThereAreTheyTakeBoundedMemory) {
  for (int number = 0; number < 3000; ++number) {
    write_about(("made.up." + std::to_string(number)).c_str());
  }
  write_about("orders");
  pass(seconds(30));
  EXPECT_EQ(delivered.size(), 1U);
  EXPECT_LE(relay.unrouted().count(), 1001U);
  pass(grace + minutes(1));
  EXPECT_EQ(rows_in(State::dead).size(), 3000U);
}

TEST_F(UnroutedTest, TopicIsNoLongerNamedAfterItsMessagesWereTakenAway) {
  write_about("new");
  pass(seconds(10));
  EXPECT_EQ(relay.unrouted().count(), 1U);
  auto admin = Admin::open(store, {.actor = "ann", .clock = &clock}).value();
  admin
      .purge(table,
             {.state = MessageState::pending, .older_than = Duration{}, .force_pending = true})
      .value();
  pass(minutes(3));
  EXPECT_EQ(relay.unrouted().count(), 0U);
}

TEST_F(UnroutedTest, OwnerTellsUntilWhenItWaits) {
  write_about("new");
  pass(seconds(5));
  MessageRecord record{.id = rows().at(0).row.id,
                       .sequence = rows().at(0).row.sequence,
                       .tenant = std::string(tenant_default),
                       .topic = "new",
                       .aggregate_type = std::string(aggregate_global),
                       .written_at = rows().at(0).row.written_at};
  EXPECT_EQ(relay.owner_view(record)->no_route_until, record.written_at + seconds(5) + grace);
  record.topic = "orders";
  EXPECT_FALSE(relay.owner_view(record)->no_route_until);
}

TEST_F(UnroutedTest, OldMessageHasTheGraceTimeFromWhenItsTopicWasFirstMissed) {
  write_about("new");
  clock.advance(3 * grace);
  keep_shards();
  pass(grace - seconds(5));
  EXPECT_EQ(rows_in(State::pending).size(), 1U);
  EXPECT_EQ(relay.unrouted().count(), 1U);
  pass(seconds(15));
  EXPECT_EQ(rows_in(State::dead).size(), 1U);
}

TEST_F(UnroutedTest, NothingWaitsLongerThanManyGraceTimes) {
  write_about("new");
  clock.advance(24 * grace - minutes(2));
  keep_shards();
  pass(minutes(1));
  EXPECT_EQ(rows_in(State::pending).size(), 1U);
  pass(minutes(2));
  EXPECT_EQ(rows_in(State::dead).size(), 1U);
}

TEST_F(UnroutedTest, NewTopicsAreLoggedInTheTickAndOnce) {
  write_about("new");
  write_about("new");
  settle_down();
  EXPECT_EQ(log.warnings, 0) << "a shard is locked where they are found";
  relay.tick(now());
  EXPECT_EQ(log.warnings, 1);
  pass(minutes(3));
  EXPECT_EQ(log.warnings, 1);
}

TEST_F(UnroutedTest, NamedTopicsHaveClassesOfTheirOwn) {
  const auto build = [&](const std::string& topic) {
    return Message::build({.topic = topic, .payload = json("{}")}, {}, ids, clock).value();
  };
  std::set<spi::ClassId> classes;
  for (int number = 0; number < 1000; ++number) {
    classes.insert(*relay.unrouted().class_of(build("made.up." + std::to_string(number))));
  }
  EXPECT_EQ(classes.size(), 1000U);
  EXPECT_TRUE(classes.contains(*relay.unrouted().class_of(build("made.up.7"))));
  EXPECT_FALSE(classes.contains(*relay.unrouted().class_of(build("one.more"))));
  EXPECT_FALSE(relay.unrouted().class_of(build("orders")));
}

class UnroutedClaimsTest : public UnroutedWorld {
 protected:
  UnroutedClaimsTest() : UnroutedWorld(nullptr, true) {}
};

TEST_F(UnroutedClaimsTest, ClaimOfAMessageWithoutRouteIsReleased) {
  write_about("new");
  write_about("new", "k");
  const auto written = clock.wall_now();
  pass(minutes(1));
  ASSERT_EQ(rows_in(State::waiting).size(), 1U);
  ASSERT_EQ(rows_in(State::pending).size(), 1U);
  const auto released = rows_in(State::waiting)[0];
  const auto keyed = rows_in(State::pending)[0];
  EXPECT_EQ(released.row.attempts, 0U);
  EXPECT_GT(released.row.due, written) << "it waits, so it belongs to its shard";
  EXPECT_EQ(released.settled, 1U) << "once only";
  EXPECT_EQ(keyed.settled, 0U) << "it belongs to its shard anyway";
  EXPECT_EQ(relay.unrouted().count(), 1U);
  pass(grace + minutes(1));
  EXPECT_EQ(rows_in(State::dead).size(), 2U);
}

class UnroutedSinkTest : public UnroutedWorld {
 protected:
  UnroutedSinkTest() : UnroutedSinkTest(std::make_shared<KnownTopics>()) {}
  std::shared_ptr<KnownTopics> sink;

 private:
  explicit UnroutedSinkTest(std::shared_ptr<KnownTopics> known)
      : UnroutedWorld(known), sink(std::move(known)) {}
};

TEST_F(UnroutedSinkTest, GoesAsSoonAsARouteIsAdded) {
  write_about("new");
  write_about("orders");
  settle_down();
  EXPECT_EQ(sink->delivered, std::vector<std::string>{"orders"});
  sink->member->opened();
  settle_down();
  EXPECT_EQ(sink->delivered.size(), 1U) << "another destination is up again";
  sink->change({"orders", "new"});
  settle_down();
  EXPECT_EQ(sink->delivered, (std::vector<std::string>{"orders", "new"}));
  EXPECT_EQ(relay.unrouted().count(), 0U);
  EXPECT_EQ(rows_in(State::done).at(0).row.attempts, 1U);
}

TEST_F(UnroutedSinkTest, WaitsToo) {
  sink->change({});
  write_about("orders");
  pass(grace - seconds(10));
  EXPECT_EQ(rows_in(State::pending).size(), 1U);
  pass(seconds(20));
  EXPECT_EQ(rows_in(State::dead).size(), 1U);
  EXPECT_TRUE(sink->delivered.empty());
}

TEST_F(UnroutedSinkTest, MessageThatLosesItsRouteOnTheWayWaits) {
  sink->before_each = [this] {
    sink->known.clear();
    ++sink->version;
  };
  write_about("orders", "k");
  settle_down();
  const auto pending = rows_in(State::pending);
  ASSERT_EQ(pending.size(), 1U);
  EXPECT_EQ(pending[0].row.attempts, 0U);
  EXPECT_EQ(relay.unrouted().count(), 1U);
  sink->before_each = [] {};
  sink->change({"orders"});
  settle_down();
  EXPECT_EQ(sink->delivered, std::vector<std::string>{"orders"});
}

TEST_F(UnroutedSinkTest, RouteThatIsAddedWhileItIsTakenIsUsed) {
  write_about("orders");
  // Taken when it is read and when it starts, but not when its route is looked up, twice.
  sink->noes = 0b01010;
  settle_down();
  EXPECT_EQ(sink->delivered, std::vector<std::string>{"orders"});
  EXPECT_TRUE(rows_in(State::dead).empty());
}

TEST(Unrouted, WhereItIsSwitchedOffNothingIsKeptBack) {
  const Registry registry(no_metrics(), "orders");
  const auto table = TableName::parse("orders").value();
  const Unrouted unrouted(
      {.registry = registry, .table = table, .clock = system_clock(), .log = no_log()},
      {.waits = false});
  UlidSource ids(system_clock(), system_random());
  const auto message =
      Message::build({.topic = "new", .payload = json("{}")}, {}, ids, system_clock()).value();
  EXPECT_FALSE(unrouted.class_of(message));
  EXPECT_FALSE(unrouted.waits_until(message, system_clock().wall_now()));
}

}  // namespace
}  // namespace sagabox::outbox
