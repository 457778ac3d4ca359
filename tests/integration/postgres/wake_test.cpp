#include "stores/postgres/wake/wake.hpp"

#include "integration/postgres/world.hpp"
#include "stores/postgres/sql_files.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

namespace sagabox::integration {
namespace {

using testing::run_sql;

/// Hears every NOTIFY of a schema, as a relay would.
class Ear {
 public:
  explicit Ear(const testing::PostgresDatabase& database) : connection_(database.connect()) {
    run_sql(connection_.get(), "LISTEN \"sagabox " + database.schema() + "\"");
  }
  /// So far. What was committed before the call is among them.
  int heard() {
    run_sql(connection_.get(), "SELECT 1");
    while (PGnotify* notify = PQnotifies(connection_.get())) {
      ++seen_;
      PQfreemem(notify);
    }
    return seen_;
  }

 private:
  testing::PgConnection connection_;
  int seen_ = 0;
};

/// Relays that hardly poll: what comes soon was told, or found by looking before they slept.
class PostgresWake : public PostgresWorld {
 protected:
  static OutboxOptions sleepy() {
    auto options = defaults();
    options.poll_interval = std::chrono::hours(1);
    return options;
  }
  Outbox started_sleepy(Store& on) { return started(on, into_inbox(), sleepy()); }

  /// A producer whose transactions are not going to be prepared.
  [[nodiscard]] testing::PgConnection producer() const {
    auto connection = database->connect();
    run_sql(connection.get(), "SET sagabox.notify = on");
    return connection;
  }
  [[nodiscard]] std::string enqueue_sql(const std::string& payload = "{}") const {
    return "SELECT " + database->schema() + ".enqueue('" + topic + "', '" + payload +
           "', outbox => 'orders')";
  }
  int sleepers() {
    const auto flags = std::stoll(
        database->sql("SELECT last_value & 2147483647 FROM " + database->schema() + ".orders_flags")
            .at(0));
    return __builtin_popcountll(static_cast<unsigned long long>(flags));
  }
  /// Somebody's flag is up, and no transaction that could not see it is open.
  [[nodiscard]] bool sleeps(int count = 1) {
    return eventually([&] { return sleepers() == count; });
  }
  [[nodiscard]] bool received(std::size_t count) {
    return eventually([&] { return inbox.size() >= count; });
  }
  std::string listener_pid() {
    const auto found =
        database->sql("SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE query LIKE '%" +
                      database->schema() + "%take_sleeper%' AND pid <> pg_backend_pid()");
    return found.at(0);
  }
};

TEST_F(PostgresWake, CommitOfAnotherProcessWakesASleeper) {
  auto outbox = started_sleepy(*store);
  ASSERT_TRUE(sleeps());
  Ear ear(*database);
  auto connection = producer();
  run_sql(connection.get(), enqueue_sql());
  ASSERT_TRUE(received(1));
  EXPECT_EQ(ear.heard(), 1);
}

/// It sleeps for hours: nothing but a NOTIFY that is heard ends that.
TEST_F(PostgresWake, NotificationAloneEndsASleep) {
  store->outbox().prepare(table).value();
  const auto names = postgres::Names::parse(database->schema()).value();
  auto sections = sql::Sections::parse(postgres::sql_files, names.schema()).value();
  postgres::Context context(names, {.url = database->url()}, database->options(), sections);
  postgres::Wake wake(sections, context, std::chrono::hours(10));
  std::atomic<int> waits{0};
  std::atomic<int> seen{0};
  std::atomic<bool> ending{false};
  std::atomic<bool> ended{false};
  std::thread reader([&] {
    const auto own = database->connect();
    while (!ending) {
      ++waits;
      wake.wait(table, std::chrono::hours(10));
      const int rows = std::stoi(run_sql(own.get(), "SELECT count(*) FROM " + outbox_table())[0]);
      wake.looked(table, {}, static_cast<std::size_t>(rows - seen.exchange(rows)));
    }
    ended = true;
  });
  auto connection = producer();
  for (int written = 1; written <= 3; ++written) {
    // Its flag is up, and it looks no more.
    EXPECT_TRUE(eventually([&] {
      const int before = waits;
      std::this_thread::sleep_for(2 * postgres::Sleep::awake_for);
      return sleepers() == 1 && waits == before;
    }));
    run_sql(connection.get(), enqueue_sql());
    EXPECT_TRUE(eventually([&] { return seen == written; }, seconds(20))) << "it is deaf";
  }
  ending = true;
  while (!ended) wake.notify(table);
  reader.join();
}

/// Readers that wait for feeds of one store, a thread each, and look at nothing but the clock.
class FeedReaders {
 public:
  FeedReaders(const testing::PostgresDatabase& database, std::vector<postgres::WatchedFeed> feeds)
      : names_(postgres::Names::parse(database.schema()).value()),
        sections_(sql::Sections::parse(postgres::sql_files, names_.schema()).value()),
        context_(names_, {.url = database.url()}, database.options(), sections_),
        wake_(sections_, context_, std::chrono::hours(10)),
        feeds_(std::move(feeds)),
        returns_(feeds_.size()) {
    for (std::size_t reader = 0; reader < feeds_.size(); ++reader) {
      threads_.emplace_back([this, reader] {
        while (!ending_) {
          wake_.wait(feeds_[reader], std::chrono::hours(10));
          ++returns_[reader];
          wake_.looked(feeds_[reader], {}, 0);
        }
        ++ended_;
      });
    }
  }
  ~FeedReaders() {
    ending_ = true;
    while (ended_ < threads_.size()) {
      for (const auto& feed : feeds_) wake_.notify(feed);
    }
    for (auto& thread : threads_) thread.join();
  }
  FeedReaders(const FeedReaders&) = delete;
  FeedReaders& operator=(const FeedReaders&) = delete;

  /// How often each was told to look.
  [[nodiscard]] std::vector<int> returns() const { return {returns_.begin(), returns_.end()}; }
  /// All of them, until they are told to look.
  [[nodiscard]] bool sleep() const {
    return eventually([&] {
      const auto before = returns();
      std::this_thread::sleep_for(4 * postgres::Sleep::awake_for);
      return before == returns() &&
             std::ranges::all_of(before, [](int count) { return count > 0; });
    });
  }
  /// Which were told to look since `before`.
  [[nodiscard]] std::vector<std::size_t> told_since(const std::vector<int>& before) const {
    std::vector<std::size_t> told;
    const auto now = returns();
    for (std::size_t reader = 0; reader < now.size(); ++reader) {
      if (now[reader] != before[reader]) told.push_back(reader);
    }
    return told;
  }

 private:
  postgres::Names names_;
  sql::Sections sections_;
  postgres::Context context_;
  postgres::Wake wake_;
  std::vector<postgres::WatchedFeed> feeds_;
  std::vector<std::atomic<int>> returns_;
  std::atomic<bool> ending_{false};
  std::atomic<std::size_t> ended_{0};
  std::vector<std::thread> threads_;
};

TEST_F(PostgresWake, OneConnectionListensForAllTablesAndTellsOnlyTheReaderOfTheOneCommittedTo) {
  constexpr std::size_t tables = 8;
  std::vector<postgres::WatchedFeed> feeds;
  for (std::size_t number = 0; number < tables; ++number) {
    const auto name = TableName::parse("feed_" + std::to_string(number)).value();
    store->outbox().prepare(name).value();
    feeds.push_back(postgres::WatchedFeed::outbox(name));
  }
  const FeedReaders readers(*database, feeds);
  ASSERT_TRUE(readers.sleep());
  EXPECT_EQ(database->sql("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%" +
                          database->schema() + "%take_sleeper%' AND pid <> pg_backend_pid()"),
            std::vector<std::string>{"1"});
  auto connection = producer();
  for (const std::size_t number : {std::size_t{5}, std::size_t{2}}) {
    // On a slow machine, too.
    const auto flags = database->schema() + ".feed_" + std::to_string(number) + "_flags";
    database->sql("SELECT setval('" + flags + "', last_value + (600::bigint << 31)) FROM " + flags);
    const auto before = readers.returns();
    run_sql(connection.get(), "SELECT " + database->schema() + ".enqueue('" + topic +
                                  "', '{}', outbox => 'feed_" + std::to_string(number) + "')");
    EXPECT_TRUE(eventually([&] { return !readers.told_since(before).empty(); }));
    EXPECT_TRUE(readers.sleep());
    EXPECT_EQ(readers.told_since(before), std::vector{number});
  }
}

/// As the inbox of sagas has it: definitions share a table and its flags.
TEST_F(PostgresWake, FeedsThatAreNoOutboxHaveNamesAndFlagsOfTheirOwn) {
  store->outbox().prepare(table).value();
  const auto schema = database->schema();
  database->sql("CREATE SEQUENCE " + schema + ".inbox_flags AS bigint MINVALUE 0 START 0 CACHE 1");
  const FeedReaders readers(*database, {{.name = "saga:travel", .flags = "inbox_flags"},
                                        {.name = "saga:hotel", .flags = "inbox_flags"},
                                        postgres::WatchedFeed::outbox(table)});
  ASSERT_TRUE(readers.sleep());
  EXPECT_EQ(database->sql("SELECT last_value & 2147483647 <> 0 FROM " + schema + ".inbox_flags"),
            std::vector<std::string>{"t"});
  const auto before = readers.returns();
  run_sql(producer().get(), "SELECT pg_notify('sagabox " + schema + "', 'saga:hotel')");
  EXPECT_TRUE(eventually([&] { return !readers.told_since(before).empty(); }));
  EXPECT_TRUE(readers.sleep());
  EXPECT_EQ(readers.told_since(before), std::vector<std::size_t>{1});
}

TEST_F(PostgresWake, PlainInsertWakesToo) {
  auto outbox = started_sleepy(*store);
  ASSERT_TRUE(sleeps());
  Ear ear(*database);
  run_sql(producer().get(),
          "INSERT INTO " + outbox_table() + " (topic, payload) VALUES ('" + topic + "', '{}')");
  ASSERT_TRUE(received(1));
  EXPECT_EQ(ear.heard(), 1);
}

TEST_F(PostgresWake, NothingIsSentWhileNobodySleepsAndRollbacksSendNothing) {
  store->outbox().prepare(table).value();
  Ear ear(*database);
  auto connection = producer();
  run_sql(connection.get(), enqueue_sql());
  EXPECT_EQ(ear.heard(), 0);
  auto outbox = started_sleepy(*store);
  ASSERT_TRUE(received(1));
  ASSERT_TRUE(sleeps());
  run_sql(connection.get(), "BEGIN; " + enqueue_sql() + "; ROLLBACK");
  EXPECT_EQ(ear.heard(), 0);
}

TEST_F(PostgresWake, TransactionThatInsertedBeforeTheFlagWentUpIsFoundByLooking) {
  store->outbox().prepare(table).value();
  auto connection = producer();
  run_sql(connection.get(), "BEGIN; " + enqueue_sql());
  Ear ear(*database);
  auto outbox = started_sleepy(*store);
  ASSERT_TRUE(sleeps());
  run_sql(connection.get(), "COMMIT");
  ASSERT_TRUE(received(1));
  EXPECT_EQ(ear.heard(), 0);
}

TEST_F(PostgresWake, RepeatableReadProducerOfAnOldSnapshotSeesTheFlag) {
  store->outbox().prepare(table).value();
  auto connection = producer();
  run_sql(connection.get(), "BEGIN ISOLATION LEVEL REPEATABLE READ");
  run_sql(connection.get(), "SELECT count(*) FROM " + outbox_table());
  auto outbox = started_sleepy(*store);
  ASSERT_TRUE(sleeps());
  Ear ear(*database);
  run_sql(connection.get(), enqueue_sql() + "; COMMIT");
  ASSERT_TRUE(received(1));
  EXPECT_EQ(ear.heard(), 1);
}

TEST_F(PostgresWake, PreparedTransactionsWorkWhileSomebodySleeps) {
  auto options = defaults();
  auto outbox = started(*store, into_inbox(), options);
  ASSERT_TRUE(sleeps());
  const auto connection = database->connect();
  run_sql(connection.get(), "BEGIN; " + enqueue_sql());
  run_sql(connection.get(), "PREPARE TRANSACTION 'wake " + database->schema() + "'");
  run_sql(connection.get(), "COMMIT PREPARED 'wake " + database->schema() + "'");
  ASSERT_TRUE(received(1)) << "by polling";
}

TEST_F(PostgresWake, SeveralSleepersAreAllTold) {
  const auto other = open();
  auto first = started_sleepy(*store);
  auto second = started_sleepy(*other);
  ASSERT_TRUE(sleeps(2));
  auto connection = producer();
  run_sql(connection.get(), "BEGIN");
  for (int i = 0; i < 32; ++i) run_sql(connection.get(), enqueue_sql());
  run_sql(connection.get(), "COMMIT");
  ASSERT_TRUE(received(32)) << "every shard's owner";
}

TEST_F(PostgresWake, FlagOfADeadSleeperIsClearedByTheNextAndRunsOutAlone) {
  store->outbox().prepare(table).value();
  const auto schema = database->schema();
  {
    const auto dead = database->connect();
    const auto number = run_sql(dead.get(), "SELECT " + schema + ".take_sleeper()").at(0);
    run_sql(dead.get(), "SELECT " + schema + ".set_asleep('" + schema + ".orders_flags', " +
                            number + ", true)");
  }
  ASSERT_EQ(sleepers(), 1);
  Ear ear(*database);
  auto connection = producer();
  // As if more than ten seconds had passed.
  database->sql("SELECT setval('" + schema +
                ".orders_flags', last_value - (11::bigint << 31)) FROM " + schema +
                ".orders_flags");
  run_sql(connection.get(), enqueue_sql());
  EXPECT_EQ(ear.heard(), 0) << "it ran out";

  database->sql("SELECT setval('" + schema +
                ".orders_flags', (last_value + (60::bigint << 31)) | 64) "
                "FROM " +
                schema + ".orders_flags");
  ASSERT_EQ(sleepers(), 2);
  auto outbox = started_sleepy(*store);
  EXPECT_TRUE(sleeps(1)) << "only the one that lives";
}

TEST_F(PostgresWake, LostListenerIsReplacedAndWakesAgain) {
  auto outbox = started_sleepy(*store);
  ASSERT_TRUE(sleeps());
  const auto first = listener_pid();
  ASSERT_NE(first, "0");
  database->sql("SELECT pg_terminate_backend(" + first + ")");
  ASSERT_TRUE(eventually([&] {
    const auto now = listener_pid();
    return now != first && now != "0";
  }));
  ASSERT_TRUE(sleeps());
  auto connection = producer();
  run_sql(connection.get(), enqueue_sql());
  ASSERT_TRUE(received(1));
}

TEST_F(PostgresWake, UnderLoadNoNotifyIsSent) {
  using Time = std::chrono::steady_clock::time_point;
  std::mutex mutex;
  std::vector<Time> times{std::chrono::steady_clock::now()};
  const auto note = [&](const Delivery& delivery) {
    inbox.add(delivery);
    const std::lock_guard lock(mutex);
    times.push_back(std::chrono::steady_clock::now());
    return done();
  };
  auto outbox = started(*store, note, sleepy());
  ASSERT_TRUE(sleeps());
  Ear ear(*database);
  constexpr int producers = 4;
  constexpr int each = 500;
  std::vector<std::thread> threads;
  for (int i = 0; i < producers; ++i) {
    threads.emplace_back([&] {
      const auto connection = producer();
      for (int n = 0; n < each; ++n) run_sql(connection.get(), enqueue_sql());
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(received(producers * each));
  outbox.stop().value();
  // The first ones, and those after a pause of the machine that looks like rest: each producer may
  // be in the middle of its next two before the flag is down again, or of more where a loaded
  // machine keeps the relay from lowering it. Without the flag it would be all of them.
  std::ranges::sort(times);
  int rests = 1;
  for (std::size_t at = 2; at < times.size(); ++at) {
    if (times[at] - times[at - 1] >= milliseconds(10)) ++rests;
  }
  EXPECT_LE(ear.heard(), std::max(rests * producers * 3, producers * each / 10))
      << rests << " rests";
}

TEST_F(PostgresWake, PausedRelayKeepsNoFlag) {
  auto outbox = started(*store, into_inbox());
  ASSERT_TRUE(sleeps());
  outbox.pause().value();
  EXPECT_TRUE(sleeps(0));
  outbox.resume().value();
  EXPECT_TRUE(sleeps());
}

TEST_F(PostgresWake, SwitchedOffItPollsAndHasNoListener) {
  auto options = database->options();
  options.notify = false;
  const auto quiet = postgres::open(database->url(), options).value();
  EXPECT_FALSE(quiet->outbox().capabilities().notifies);
  auto outbox = started(*quiet, into_inbox());
  run_sql(producer().get(), enqueue_sql());
  ASSERT_TRUE(received(1));
  EXPECT_EQ(listener_pid(), "0");
  EXPECT_EQ(sleepers(), 0);
}

/// As one types it.
TEST_F(PostgresWake, TransactionOfPsqlIsDelivered) {
  if (std::system("psql --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "psql is not installed";
  auto options = defaults();
  options.table = "default";
  auto outbox = started(*store, into_inbox(), options);
  const std::string schema = database->schema();
  const std::string command =
      "psql -q -v ON_ERROR_STOP=1 \"" + database->url() + "\" -c \"BEGIN; CREATE TABLE " + schema +
      ".invoice (id int); INSERT INTO " + schema + ".invoice VALUES (1); SELECT " + schema +
      ".enqueue('" + topic + "', '{\\\"id\\\":1}'); COMMIT\" > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  ASSERT_TRUE(received(1));
  EXPECT_EQ(inbox.all()[0].payload, "{\"id\":1}");
  EXPECT_EQ(database->sql("SELECT count(*) FROM " + schema + ".invoice").at(0), "1");
}

}  // namespace
}  // namespace sagabox::integration
