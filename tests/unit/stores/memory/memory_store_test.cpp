#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

namespace sagabox::memory {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class MemoryStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { store_.outbox().prepare(table_).value(); }

  std::shared_ptr<const Message> message(std::string id = {}) {
    return std::make_shared<const Message>(
        Message::build({.topic = "a.b.c.v1", .payload = json("{}"), .id = std::move(id)},
                       MessageRules{}, ids_, clock_)
            .value());
  }
  Result<std::vector<Written>> write(const std::shared_ptr<const Message>& message) {
    return store_.transaction(
        [&](OwnedTransaction& tx) { return tx.outbox().insert(table_, std::span(&message, 1)); });
  }
  Result<spi::ReadReply> read() {
    std::vector<spi::Range> ranges;
    for (std::uint16_t s = 0; s < 16; ++s) ranges.push_back({Shard{s}, spi::Lane{1}, {}, 100});
    return store_.outbox().read(table_, ranges, 1 << 20);
  }
  /// The next call of this kind goes wrong, and only that.
  void fail_next(Operation operation, Fault fault) {
    auto armed = std::make_shared<bool>(true);
    store_.set_faults([=](Operation asked) {
      if (asked != operation || !*armed) return Fault::none;
      *armed = false;
      return fault;
    });
  }

  testing::FakeClock clock_;
  std::unique_ptr<Random> random_ = seeded_random(7);
  UlidSource ids_{clock_, *random_};
  MemoryStore store_{{.clock = &clock_}};
  TableName table_ = TableName::parse("orders").value();
};

struct Verdicts {
  int committed = 0;
  int rolled_back = 0;
  int abandoned = 0;
  friend bool operator==(const Verdicts&, const Verdicts&) = default;
};

class Witness final : public TransactionObserver {
 public:
  explicit Witness(Verdicts& verdicts) : verdicts_(verdicts) {}
  void committed() noexcept override { ++verdicts_.committed; }
  void rolled_back() noexcept override { ++verdicts_.rolled_back; }
  void abandoned() noexcept override { ++verdicts_.abandoned; }

 private:
  Verdicts& verdicts_;
};

TEST_F(MemoryStoreTest, RefusedCallDoesNothingAndMayBeRepeated) {
  const auto sent = message();
  fail_next(Operation::insert, Fault::refused);
  const auto refused = write(sent);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::storage_unavailable);
  EXPECT_TRUE(store_.inspect(table_).empty());
  EXPECT_FALSE(write(sent).value().front().duplicate);
}

TEST_F(MemoryStoreTest, CommitLostBeforeRollsBack) {
  Verdicts verdicts;
  const auto sent = message();
  auto tx = store_.begin().value();
  tx->observe(std::make_unique<Witness>(verdicts));
  (void)tx->outbox().insert(table_, std::span(&sent, 1)).value();
  fail_next(Operation::commit, Fault::lost_before);

  const auto status = tx->commit();

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::storage_in_doubt);
  EXPECT_EQ(verdicts, (Verdicts{.abandoned = 1}));
  EXPECT_FALSE(tx->is_open());
  EXPECT_TRUE(store_.inspect(table_).empty());
  tx.reset();
  EXPECT_EQ(verdicts, (Verdicts{.abandoned = 1}));
}

TEST_F(MemoryStoreTest, CommitLostAfterIsCommitted) {
  Verdicts verdicts;
  const auto sent = message();
  auto tx = store_.begin().value();
  tx->observe(std::make_unique<Witness>(verdicts));
  (void)tx->outbox().insert(table_, std::span(&sent, 1)).value();
  fail_next(Operation::commit, Fault::lost_after);

  const auto status = tx->commit();

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::storage_in_doubt);
  EXPECT_EQ(verdicts, (Verdicts{.abandoned = 1}));
  EXPECT_EQ(store_.inspect(table_).size(), 1U);
  EXPECT_TRUE(write(sent).value().front().duplicate) << "writing again by id is safe";
}

TEST_F(MemoryStoreTest, RefusedCommitMayBeRepeated) {
  Verdicts verdicts;
  const auto sent = message();
  auto tx = store_.begin().value();
  tx->observe(std::make_unique<Witness>(verdicts));
  (void)tx->outbox().insert(table_, std::span(&sent, 1)).value();
  fail_next(Operation::commit, Fault::refused);

  EXPECT_EQ(tx->commit().error().code, Code::storage_unavailable);
  EXPECT_TRUE(tx->is_open());
  EXPECT_EQ(verdicts, Verdicts{});
  tx->commit().value();
  EXPECT_EQ(verdicts, (Verdicts{.committed = 1}));
  EXPECT_EQ(store_.inspect(table_).size(), 1U);
}

TEST_F(MemoryStoreTest, DroppedTransactionSaysRolledBack) {
  Verdicts verdicts;
  {
    auto tx = store_.begin().value();
    tx->observe(std::make_unique<Witness>(verdicts));
  }
  EXPECT_EQ(verdicts, (Verdicts{.rolled_back = 1}));
}

TEST_F(MemoryStoreTest, SettleLostAfterHappenedAndMayBeRepeated) {
  const auto worker = ids_.next<WorkerId>();
  const std::vector<spi::Scope> scopes{"outbox:orders"};
  (void)store_.ownership().join(worker, seconds(10), scopes, 16).value();
  std::vector<spi::Fence> fences;
  for (const auto& shard : store_.ownership().take(scopes[0], worker, 16).value()) {
    fences.push_back({shard.shard, shard.epoch});
  }
  const auto row = write(message()).value().front();
  const spi::Settlement item{.sequence = row.sequence, .shard = row.shard, .id = row.id};
  const spi::SettleRequest request{
      table_, {"outbox:orders", worker, fences}, std::span(&item, 1), true};

  fail_next(Operation::settle, Fault::lost_before);
  EXPECT_EQ(store_.outbox().settle(request).error().code, Code::storage_in_doubt);
  EXPECT_EQ(store_.inspect(table_)[0].settled, 0U);

  fail_next(Operation::settle, Fault::lost_after);
  EXPECT_EQ(store_.outbox().settle(request).error().code, Code::storage_in_doubt);
  EXPECT_EQ(store_.inspect(table_)[0].settled, 1U);
  EXPECT_EQ(store_.inspect(table_)[0].state, Inspected::State::done);

  EXPECT_EQ(store_.outbox().settle(request).value().parts[row.shard.value].rows, 0U);
  EXPECT_EQ(store_.inspect(table_)[0].settled, 1U);
}

/// Each operation of the hub once, with nothing in it.
void ask_hub(Store& store, const WorkerId& worker) {
  auto hub = store.hub().value();
  const spi::Fencing fencing{"hub:deliveries", worker, {}};
  store.transaction([](OwnedTransaction& tx) { return tx.events().publish({}); }).value();
  (void)hub.events.read({}, 1, 0).value();
  (void)hub.events.move(fencing, {}).value();
  (void)hub.deliveries.add({}).value();
  (void)hub.deliveries.begin(fencing, {}).value();
  (void)hub.deliveries.change(fencing, {}).value();
  hub.deliveries.bury({}).value();
  hub.deliveries.make_jobs({}).value();
  hub.deliveries.seen({}).value();
  (void)hub.deliveries.disable({}, {}, 0, "gone", {}).value();
  (void)hub.deliveries.subscriptions(0).value();
  (void)hub.jobs.lease("worker", {}, seconds(1), 1).value();
  (void)hub.jobs.finish({}, {}).value();
  (void)hub.jobs.reset(1).value();
  EXPECT_FALSE(hub.subscriptions.add_secret({}, "sealed", {}, {}).ok()) << "of none";
  (void)hub.admin.event({}).value();
  (void)hub.admin.requeue({}, {}, {}).value();
  (void)hub.admin.purge({}).value();
}

TEST_F(MemoryStoreTest, EveryOperationAsksTheFaultPlan) {
  std::set<Operation> asked;
  store_.set_faults([&](Operation operation) {
    asked.insert(operation);
    return Fault::none;
  });
  const auto worker = ids_.next<WorkerId>();
  const std::vector<spi::Scope> scopes{"outbox:orders"};
  (void)write(message()).value();
  (void)read().value();
  const spi::DueRange due{Shard{0}, {}, {}, 1};
  (void)store_.outbox().read_due(table_, std::span(&due, 1), 1).value();
  (void)store_.outbox().read_retrying_keys(table_, Shard{0}, {}, 1).value();
  (void)store_.outbox().settle({table_, {"outbox:orders", worker, {}}, {}, true}).value();
  (void)store_.ownership().join(worker, seconds(1), scopes, 16).value();
  (void)store_.ownership().renew(worker, seconds(1)).value();
  (void)store_.ownership().census(scopes[0]).value();
  const auto taken = store_.ownership().take(scopes[0], worker, 1).value();
  store_.ownership().release(scopes[0], worker, taken).value();
  store_.ownership().withdraw(worker, scopes).value();
  store_.ownership().leave(worker).value();
  auto& control = store_.control();
  (void)store_.outbox_admin().stats(table_).value();
  (void)store_.outbox_admin().move({.table = table_, .ids = {}}).value();
  (void)store_.outbox_admin().purge({.table = table_}).value();
  (void)control.controls(table_).value();
  (void)control.set_pause({.table = table_}).value();
  const auto job = control.create_job({.table = table_}).value().id;
  const spi::Fence fence{};
  (void)control.advance_job({table_, job, {"replay:orders", worker, {&fence, 1}}}).value();
  (void)control.change_job({.table = table_, .job = job}).value();
  (void)store_.audit().head().value();
  auto& idempotency = *store_.idempotency();
  (void)idempotency.check({}).value();
  (void)idempotency.finish({}).value();
  (void)idempotency.renew({}).value();
  (void)idempotency.get({}).value();
  (void)idempotency.purge({}).value();
  (void)store_.inbox()->taken({}).value();
  auto& sagas = *store_.sagas();
  sagas.define({.name = "travel"}).value();
  store_.transaction([](OwnedTransaction& tx) { return tx.sagas().append({}); }).value();
  (void)sagas.read_inbox("travel", {}, 1).value();
  (void)sagas.load({}).value();
  (void)sagas.write({.fencing = {"saga:travel", worker, {}}}).value();
  (void)store_.saga_admin()->get({}).value();
  (void)store_.saga_admin()->purge("travel", {}, 1).value();
  ask_hub(store_, worker);
  EXPECT_EQ(asked.size(), operation_count);
}

TEST_F(MemoryStoreTest, FaultPlanIsAskedWithoutALock) {
  store_.set_faults([&](Operation operation) {
    if (operation == Operation::commit) {
      (void)store_.outbox_admin().stats(table_).value();
      (void)store_.inspect(table_);
      store_.set_faults({});
    }
    return Fault::none;
  });
  (void)write(message()).value();
  EXPECT_EQ(store_.inspect(table_).size(), 1U);
}

TEST_F(MemoryStoreTest, IdInAnotherOpenTransactionIsAConflict) {
  const auto same = message("order-17");
  const auto fresh = message();
  auto first = store_.begin().value();
  (void)first->outbox().insert(table_, std::span(&same, 1)).value();

  auto second = store_.begin().value();
  const std::vector batch{fresh, same};
  const auto conflict = second->outbox().insert(table_, batch);
  ASSERT_FALSE(conflict.ok());
  EXPECT_EQ(conflict.error().code, Code::storage_conflict);
  EXPECT_NE(conflict.error().message.find("order-17"), std::string::npos);

  second->commit().value();
  EXPECT_TRUE(store_.inspect(table_).empty()) << "a batch is written whole or not at all";
  first->rollback().value();
  EXPECT_FALSE(write(same).value().front().duplicate);
  EXPECT_FALSE(write(fresh).value().front().duplicate);
}

TEST_F(MemoryStoreTest, HorizonNamesATransactionFromItsBegin) {
  auto connection = store_.connect();
  EXPECT_EQ(connection.transaction_id(), std::nullopt);
  connection.begin().value();
  const auto id = connection.transaction_id().value();

  auto horizon = read().value().horizon.value();
  EXPECT_EQ(horizon.in_progress, std::vector{id});
  EXPECT_GT(horizon.next, id);

  connection.commit().value();
  EXPECT_TRUE(read().value().horizon.value().in_progress.empty());
}

TEST_F(MemoryStoreTest, LateCommitsOfManyTransactionsAreReadInOrder) {
  std::vector<std::unique_ptr<OwnedTransaction>> open;
  for (int i = 0; i < 40; ++i) {
    open.push_back(store_.begin().value());
  }
  for (int round = 0; round < 10; ++round) {
    for (auto& tx : open) {
      const auto sent = message();
      (void)tx->outbox().insert(table_, std::span(&sent, 1)).value();
    }
  }
  for (std::size_t i = open.size(); i-- > 0;) {
    open[i]->commit().value();
    const auto reply = read().value();
    std::size_t at = 0;
    for (const auto& part : reply.parts) {
      const auto rows = std::span(reply.rows).subspan(at, part.rows);
      EXPECT_TRUE(std::ranges::is_sorted(rows, {}, &spi::Row::sequence));
      at += part.rows;
    }
    EXPECT_EQ(reply.rows.size(), (open.size() - i) * 10);
  }
}

TEST_F(MemoryStoreTest, BusinessRowsFollowTheirTransaction) {
  auto mine = store_.connect();
  auto other = store_.connect();
  EXPECT_EQ(mine.put("orders", "17", "x").error().code, Code::tx_no_transaction);
  mine.begin().value();
  mine.put("orders", "17", "new").value();
  EXPECT_EQ(mine.get("orders", "17").value(), "new");
  EXPECT_EQ(other.get("orders", "17").value(), std::nullopt);
  EXPECT_EQ(store_.count("orders"), 0U);
  mine.commit().value();
  EXPECT_EQ(other.get("orders", "17").value(), "new");
  EXPECT_EQ(store_.count("orders"), 1U);

  mine.begin().value();
  mine.put("orders", "18", "lost").value();
  mine.rollback().value();
  EXPECT_EQ(store_.count("orders"), 1U);
}

TEST_F(MemoryStoreTest, ConnectionThatGoesAwayRollsBack) {
  const auto lost = message();
  {
    auto connection = store_.connect();
    connection.begin().value();
    connection.put("orders", "17", "x").value();
    auto tx = enlist(connection).value();
    (void)tx.outbox().insert(table_, std::span(&lost, 1)).value();
  }
  EXPECT_EQ(store_.count("orders"), 0U);
  EXPECT_TRUE(store_.inspect(table_).empty());
  EXPECT_TRUE(read().value().horizon.value().in_progress.empty());
}

TEST_F(MemoryStoreTest, EnlistedBelongsToOneTransaction) {
  auto connection = store_.connect();
  connection.begin().value();
  auto tx = enlist(connection).value();
  connection.rollback().value();
  connection.begin().value();

  const auto sent = message();
  EXPECT_FALSE(tx.is_open());
  EXPECT_EQ(tx.outbox().insert(table_, std::span(&sent, 1)).error().code, Code::tx_no_transaction);
  EXPECT_EQ(connection.begin().error().code, Code::tx_invalid_state);
}

TEST_F(MemoryStoreTest, FailOverNeedsACheckpoint) { EXPECT_FALSE(store_.fail_over()); }

TEST_F(MemoryStoreTest, FailOverBringsTheRememberedStateBack) {
  const auto worker = ids_.next<WorkerId>();
  const std::vector<spi::Scope> scopes{"outbox:orders"};
  (void)store_.ownership().join(worker, hours(1), scopes, 16).value();
  const auto kept = message();
  const auto settled_later = message();
  const auto kept_row = write(kept).value().front();
  const auto row = write(settled_later).value().front();
  const auto timeline = read().value().timeline;
  store_.checkpoint();

  const auto taken = store_.ownership().take(scopes[0], worker, 16).value();
  std::vector<spi::Fence> fences;
  for (const auto& shard : taken) fences.push_back({shard.shard, shard.epoch});
  const spi::Settlement item{.sequence = row.sequence, .shard = row.shard, .id = row.id};
  (void)store_.outbox()
      .settle({table_, {"outbox:orders", worker, fences}, std::span(&item, 1), false})
      .value();
  const auto lost = message();
  const auto lost_row = write(lost).value().front();

  ASSERT_TRUE(store_.fail_over());

  EXPECT_EQ(read().value().timeline.value, timeline.value + 1);
  const auto rows = store_.inspect(table_);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].row.sequence, kept_row.sequence);
  EXPECT_EQ(rows[1].row.id, settled_later->id());
  EXPECT_EQ(rows[1].state, Inspected::State::pending);
  EXPECT_EQ(store_.outbox_admin().stats(table_).value().pending, 2U);
  for (const auto& shard : store_.ownership().census(scopes[0]).value().shards) {
    EXPECT_TRUE(shard.owner.empty()) << "the take-over is lost too";
  }
  EXPECT_TRUE(write(kept).value().front().duplicate);
  const auto again = write(lost).value().front();
  EXPECT_FALSE(again.duplicate);
  EXPECT_EQ(again.sequence, lost_row.sequence) << "the counter went back as well";

  ASSERT_TRUE(store_.fail_over()) << "the checkpoint can be used again";
  EXPECT_EQ(store_.inspect(table_).size(), 2U);
}

TEST_F(MemoryStoreTest, FailOverAbortsOpenTransactions) {
  const auto sent = message();
  Verdicts verdicts;
  auto owned = store_.begin().value();
  owned->observe(std::make_unique<Witness>(verdicts));
  (void)owned->outbox().insert(table_, std::span(&sent, 1)).value();
  auto connection = store_.connect();
  connection.begin().value();
  store_.checkpoint();
  ASSERT_TRUE(store_.fail_over());

  EXPECT_EQ(owned->outbox().insert(table_, std::span(&sent, 1)).error().code,
            Code::storage_unavailable);
  EXPECT_EQ(connection.put("t", "k", "v").error().code, Code::storage_unavailable);
  EXPECT_EQ(owned->commit().error().code, Code::storage_in_doubt);
  EXPECT_EQ(verdicts, (Verdicts{.abandoned = 1}));
  EXPECT_TRUE(connection.rollback().ok());
  EXPECT_TRUE(store_.inspect(table_).empty());
  EXPECT_TRUE(read().value().horizon.value().in_progress.empty());
  EXPECT_FALSE(write(sent).value().front().duplicate) << "what was open holds no id";
}

TEST_F(MemoryStoreTest, TablesMadeAfterTheCheckpointAreEmptyAfterAFailOver) {
  store_.checkpoint();
  const auto late = TableName::parse("late").value();
  store_.outbox().prepare(late).value();
  const auto sent = message();
  (void)store_
      .transaction(
          [&](OwnedTransaction& tx) { return tx.outbox().insert(late, std::span(&sent, 1)); })
      .value();
  ASSERT_TRUE(store_.fail_over());
  EXPECT_EQ(store_.outbox_admin().stats(late).value().pending, 0U);
}

TEST_F(MemoryStoreTest, CommitBetweenTwoWaitsOfAThreadIsNotLost) {
  store_.outbox().wait(table_, seconds(0));
  (void)write(message()).value();
  store_.outbox().wait(table_, hours(1));
  (void)write(message()).value();
  store_.outbox().wait(table_, hours(1));
}

TEST_F(MemoryStoreTest, WaitLastsWhileNothingHappens) {
  (void)write(message()).value();
  store_.outbox().wait(table_, hours(1));
  const auto timeout = std::chrono::milliseconds(5);
  const auto start = system_clock().boot_now();
  store_.outbox().wait(table_, timeout);
  EXPECT_GE(system_clock().boot_now() - start, timeout) << "the commit was heard before";
}

TEST_F(MemoryStoreTest, OneWaiterDoesNotTakeAwayTheOthersWake) {
  (void)write(message()).value();
  store_.outbox().wait(table_, hours(1));
  std::thread other([&] { store_.outbox().wait(table_, hours(1)); });
  other.join();
}

TEST_F(MemoryStoreTest, FailOverEndsWaits) {
  store_.checkpoint();
  store_.outbox().wait(table_, seconds(0));
  std::thread waiter([&] { store_.outbox().wait(table_, hours(1)); });
  ASSERT_TRUE(store_.fail_over());
  waiter.join();
}

TEST(MemoryStoreWithoutNotify, OnlyWakeEndsAWait) {
  testing::FakeClock clock;
  const auto random = seeded_random(3);
  UlidSource ids(clock, *random);
  MemoryStore store({.notifies = false, .clock = &clock});
  const auto table = TableName::parse("orders").value();
  store.outbox().prepare(table).value();
  EXPECT_FALSE(store.outbox().capabilities().notifies);
  const auto sent = std::make_shared<const Message>(
      Message::build({.topic = "a.b.c.v1", .payload = json("{}")}, MessageRules{}, ids, clock)
          .value());

  std::atomic<bool> woken{false};
  std::atomic<bool> returned_early{false};
  std::thread waiter([&] {
    store.outbox().wait(table, hours(1));
    returned_early = !woken;
  });
  (void)store
      .transaction(
          [&](OwnedTransaction& tx) { return tx.outbox().insert(table, std::span(&sent, 1)); })
      .value();
  woken = true;
  store.outbox().wake(table);
  waiter.join();
  EXPECT_FALSE(returned_early);
}

TEST_F(MemoryStoreTest, WritersReadersAndSettlersMeetEveryMessageOnce) {
  const auto worker = ids_.next<WorkerId>();
  const std::vector<spi::Scope> scopes{"outbox:orders"};
  (void)store_.ownership().join(worker, hours(1), scopes, 16).value();
  std::vector<spi::Fence> fences;
  for (const auto& shard : store_.ownership().take(scopes[0], worker, 16).value()) {
    fences.push_back({shard.shard, shard.epoch});
  }
  constexpr std::size_t writers = 2;
  constexpr std::size_t each = 500;
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < writers; ++w) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < each; ++i) (void)write(message()).value();
    });
  }
  std::size_t done = 0;
  while (done < writers * each) {
    const auto reply = read().value();
    std::vector<spi::Settlement> items;
    for (const auto& row : reply.rows) {
      items.push_back({.sequence = row.sequence, .shard = row.shard, .id = row.id});
    }
    const auto settled =
        store_.outbox().settle({table_, {"outbox:orders", worker, fences}, items, false}).value();
    for (const auto& part : settled.parts) done += part.rows;
    if (items.empty()) store_.outbox().wait(table_, seconds(10));
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(done, writers * each);
  EXPECT_EQ(store_.outbox_admin().stats(table_).value().pending, 0U);
}

}  // namespace
}  // namespace sagabox::memory
