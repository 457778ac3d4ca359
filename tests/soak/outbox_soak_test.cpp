#include <sagabox/admin.hpp>
#include <sagabox/outbox.hpp>
#include <sagabox/stores/memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sagabox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t producers = 3;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t transactions_each = 700;
#else
constexpr std::uint64_t transactions_each = 3'000;
#endif
constexpr std::uint64_t messages_each = transactions_each * 3;
constexpr std::uint64_t keys_each = 4;  // of one producer alone: that serialises them
constexpr std::uint64_t attempts_max = 4;

/// Every so many messages never succeed; others fail at their first attempt.
bool is_dead(std::uint64_t number) { return number % 97 == 0; }
bool fails_first(std::uint64_t number) { return number % 13 == 0; }

std::uint64_t number_of(const Delivery& delivery) {
  return std::stoull(std::string(delivery.payload().view()));
}

/// What the handlers of all processes saw.
class Seen {
 public:
  Outcome handle(const Delivery& delivery) {
    const auto number = number_of(delivery);
    if (is_dead(number) || (fails_first(number) && delivery.attempt() == 1)) {
      return retry_after(milliseconds(1));
    }
    const std::scoped_lock lock(mutex_);
    ++done_[number];
    if (!delivery.key().empty()) order_[delivery.key()].push_back(number);
    return done();
  }

  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> done_counts() const {
    const std::scoped_lock lock(mutex_);
    return done_;
  }
  [[nodiscard]] std::map<std::string, std::vector<std::uint64_t>> order() const {
    const std::scoped_lock lock(mutex_);
    return order_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> done_;
  std::map<std::string, std::vector<std::uint64_t>> order_;
};

OutboxOptions soak_options() {
  OutboxOptions options;
  options.table = "orders";
  options.workers = 2;
  options.hot_capacity = 64;
  options.cold_capacity = 64;
  options.unsettled_max = 128;
  options.settle_rows_max = 50;
  options.poll_interval = milliseconds(5);
  // Long enough for a machine that is busy with something else; nothing expires here.
  options.lease = seconds(30);
  options.dispatch_timeout = seconds(60);
  options.drain_timeout = seconds(60);
  options.retry.attempts_max = attempts_max;
  options.control_interval = milliseconds(2);
  return options;
}

Outbox start_one(memory::MemoryStore& store, Seen& seen) {
  auto outbox = Outbox::several_processes(store, soak_options()).value();
  outbox.listen("order.paid", [&seen](const Delivery& d) { return seen.handle(d); }).value();
  outbox.start().value();
  return outbox;
}

/// A keyed message and one without in a transaction of ours, one in a borrowed transaction.
void produce(memory::MemoryStore& store, Outbox& outbox, std::uint64_t producer) {
  const auto first = 1 + producer * messages_each;
  const auto message = [](std::uint64_t number, std::string key) {
    return NewMessage{
        .topic = "order.paid", .key = std::move(key), .payload = bytes(std::to_string(number))};
  };
  for (std::uint64_t at = 0; at < transactions_each; ++at) {
    const auto number = first + at * 3;
    const auto key = "k" + std::to_string(producer) + "." + std::to_string(at % keys_each);
    const auto status = store.transaction([&](Transaction& tx) -> Status {
      std::vector<NewMessage> both{message(number, key), message(number + 1, {})};
      auto written = outbox.write_all(tx, std::move(both));
      return written.ok() ? Status() : Status(written.error());
    });
    ASSERT_TRUE(status.ok()) << status.error().text();

    auto connection = store.connect();
    ASSERT_TRUE(connection.begin().ok());
    auto tx = memory::enlist(connection).value();
    ASSERT_TRUE(outbox.write(tx, message(number + 2, {})).ok());
    ASSERT_TRUE(connection.commit().ok());
    if (at % 2 == 0) tx.committed();

    // Written and taken back: nobody may ever see it.
    ASSERT_TRUE(connection.begin().ok());
    auto undone = memory::enlist(connection).value();
    ASSERT_TRUE(outbox.write(undone, message(0, {})).ok());
    ASSERT_TRUE(connection.rollback().ok());
  }
}

std::uint64_t pending(memory::MemoryStore& store) {
  return store.outbox_admin().stats(TableName::parse("orders").value()).value().pending;
}

/// Until nothing is pending; the limit only ends a run that hangs.
bool wait_until_delivered(memory::MemoryStore& store) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (pending(store) > 0) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Once each, nothing lost, nothing from rollbacks, each key in order; the store counts the same.
void expect_all_delivered(memory::MemoryStore& store, const Seen& seen) {
  const auto done = seen.done_counts();
  std::uint64_t dead = 0;
  for (std::uint64_t number = 1; number <= producers * messages_each; ++number) {
    if (is_dead(number)) {
      ++dead;
      EXPECT_FALSE(done.contains(number));
      continue;
    }
    // No process died and no lease ran out: once, not at least once.
    const auto found = done.find(number);
    ASSERT_TRUE(found != done.end()) << number << " was lost";
    EXPECT_EQ(found->second, 1U) << number;
  }
  EXPECT_FALSE(done.contains(0)) << "rolled back, yet delivered";
  for (const auto& [key, numbers] : seen.order()) {
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end())) << "order of " << key;
  }
  const auto stats = store.outbox_admin().stats(TableName::parse("orders").value()).value();
  EXPECT_EQ(stats.done, producers * messages_each - dead);
  EXPECT_EQ(stats.dead, dead);
  EXPECT_EQ(stats.quarantined, 0U);
}

/// Pauses and resumes the table, its topic and one relay, and replays what has died, which dies
/// again; leaves nothing paused.
void operate(memory::MemoryStore& store, Outbox& relay, const std::atomic<bool>& writing) {
  auto admin = Admin::open(store, {.actor = "operator"}).value();
  const auto table = TableName::parse("orders").value();
  std::uint64_t rounds = 0;
  do {
    (void)admin.pause_table(table).value();
    while (!relay.snapshot().table_paused) std::this_thread::yield();
    (void)admin.resume_table(table).value();
    while (relay.snapshot().table_paused) std::this_thread::yield();
    (void)admin.pause_topic(table, "order.paid").value();
    if (++rounds % 20 == 0) {
      relay.pause().value();
      while (!relay.snapshot().paused) std::this_thread::yield();
    }
    (void)admin.start_replay(table, {.from = MessageState::dead}).value();
    (void)admin.resume_topic(table, "order.paid").value();
    const auto before = relay.snapshot().delivered;
    relay.resume().value();
    while (writing.load() && relay.snapshot().delivered < before + 20) std::this_thread::yield();
  } while (writing.load());
}

TEST(OutboxSoak, TwoProcessesDeliverEverythingInOrderWhileOneComesAndGoes) {
  memory::MemoryStore store;
  Seen seen;
  auto lasting = start_one(store, seen);
  std::atomic<bool> writing{true};
  std::atomic<std::uint64_t> restarts{0};

  std::vector<std::thread> writers;
  for (std::uint64_t producer = 0; producer < producers; ++producer) {
    writers.emplace_back([&, producer] { produce(store, lasting, producer); });
  }
  std::thread comes_and_goes([&] {
    while (writing.load()) {
      auto other = start_one(store, seen);
      // Until it has something to do, so that there is something to hand over.
      while (writing.load() && other.snapshot().delivered < 50) std::this_thread::yield();
      EXPECT_TRUE(other.stop().ok());
      ++restarts;
    }
  });
  for (auto& writer : writers) writer.join();
  writing.store(false);
  comes_and_goes.join();

  ASSERT_TRUE(wait_until_delivered(store)) << pending(store) << " pending";
  EXPECT_TRUE(lasting.stop().ok());
  EXPECT_GT(restarts.load(), 0U);

  expect_all_delivered(store, seen);
}

TEST(OutboxSoak, OperatorsPauseAndReplayWhileEverythingRuns) {
  memory::MemoryStore store;
  Seen seen;
  auto first = start_one(store, seen);
  auto second = start_one(store, seen);
  std::atomic<bool> writing{true};
  std::vector<std::thread> writers;
  for (std::uint64_t producer = 0; producer < producers; ++producer) {
    writers.emplace_back([&, producer] { produce(store, first, producer); });
  }
  std::thread operators([&] { operate(store, second, writing); });
  for (auto& writer : writers) writer.join();
  writing.store(false);
  operators.join();

  ASSERT_TRUE(wait_until_delivered(store)) << pending(store) << " pending";
  EXPECT_TRUE(first.stop().ok());
  EXPECT_TRUE(second.stop().ok());
  expect_all_delivered(store, seen);
  const auto admin = Admin::open(store, {.actor = "auditor"}).value();
  EXPECT_EQ(admin.verify_audit().value().problems_found, 0U);
}

}  // namespace
}  // namespace sagabox
