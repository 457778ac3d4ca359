#include "integration/postgres/world.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <optional>
#include <set>

namespace sagabox::integration {
namespace {

class PostgresCompeting : public PostgresWorld {
 protected:
  void SetUp() override {
    PostgresWorld::SetUp();
    if (IsSkipped()) return;
    other_store = open();
    roles(*store).outbox.prepare(table).value();
  }
  static OutboxOptions competing() {
    auto options = defaults();
    options.claim = ClaimMode::competing;
    return options;
  }
  static ClaimRoles roles(Store& on) { return on.claim_roles(ClaimMode::competing).value(); }
  std::string claims() {
    return database->sql("SELECT count(*) FROM " + database->schema() + ".orders_claim")[0];
  }
  Listener into_other() {
    return [this](const Delivery& d) {
      other.add(d);
      return done();
    };
  }
  bool share_evenly(const Outbox& first, const Outbox& second) {
    return eventually(
        [&] { return first.snapshot().shards_owned == 8 && second.snapshot().shards_owned == 8; });
  }

  std::unique_ptr<Store> other_store;
  Inbox other;
  Barrier barrier;
};

TEST_F(PostgresCompeting, WhatAStuckRelayHasNotClaimedIsDeliveredByTheOther) {
  auto options = competing();
  options.cold_capacity = 8;
  auto stuck = started(
      *store,
      [this](const Delivery& d) {
        barrier.wait();
        inbox.add(d);
        return done();
      },
      options);
  auto quick = started(*other_store, into_other(), competing());
  ASSERT_TRUE(share_evenly(stuck, quick));
  constexpr std::size_t count = 400;
  std::vector<NewMessage> messages;
  for (std::size_t i = 0; i < count; ++i) messages.push_back(placed());
  (void)store
      ->transaction([&](OwnedTransaction& tx) { return quick.write_all(tx, std::move(messages)); })
      .value();

  // Half of them were written to the shards of the one that is stuck.
  const auto held = options.cold_capacity + options.workers;
  EXPECT_TRUE(eventually([&] { return other.size() + held >= count; })) << other.size();

  barrier.open();
  ASSERT_TRUE(settles_to(count));
  auto times = inbox.times_by_id();
  for (const auto& [id, seen] : other.times_by_id()) times[id] += seen;
  EXPECT_EQ(times.size(), count);
  for (const auto& [id, seen] : times) EXPECT_EQ(seen, 1U) << id;
  EXPECT_EQ(claims(), "0");
}

TEST_F(PostgresCompeting, AsManyAreClaimedAtOnceAsTheStoreSays) {
  constexpr std::size_t count = 320;
  auto options = competing();
  options.sequences = true;
  auto writer = Outbox::writer_only(*store, options).value();
  const auto written = store
                           ->transaction([&](OwnedTransaction& tx) {
                             return writer.write_all(tx, std::vector<NewMessage>(count, placed()));
                           })
                           .value();
  const auto own = static_cast<std::size_t>(
      std::ranges::count(written, Shard{0}, [](const Written& row) { return row.shard; }));
  auto few = database->options();
  few.claim_rows_max = 5;
  const auto claiming = postgres::open(database->url(), few).value();
  const std::array ranges{spi::Range{Shard{0}, spi::Lane{1}, {}, 1000, true}};
  const auto read = roles(*claiming).outbox.read(table, ranges, std::size_t{1} << 30U).value();
  EXPECT_EQ(read.rows.size(), own + 5) << "some of the other shards have more";
}

TEST_F(PostgresCompeting, KeysGoInOrderAndOneAtATimeThoughHandlersFail) {
  std::mutex mutex;
  std::map<std::string, int> at_once;
  std::atomic<bool> together{false};
  std::atomic<std::uint32_t> calls{0};
  const Listener listener = [&](const Delivery& d) -> Outcome {
    if (!d.key().empty()) {
      const std::lock_guard lock(mutex);
      if (++at_once[d.key()] > 1) together.store(true);
    }
    const bool fails = calls.fetch_add(1) % 7 == 3;
    if (!fails) inbox.add(d);
    std::this_thread::yield();
    if (!d.key().empty()) {
      const std::lock_guard lock(mutex);
      --at_once[d.key()];
    }
    if (fails) return retry("not now");
    return done();
  };
  auto options = competing();
  options.retry.attempts_max = 1000;
  auto first = started(*store, listener, options);
  auto second = started(*other_store, listener, options);
  ASSERT_TRUE(share_evenly(first, second));
  for (int batch = 0; batch < 25; ++batch) {
    std::vector<NewMessage> messages;
    for (int key = 0; key < 40; ++key) {
      messages.push_back(placed(std::to_string(1000 + batch), "key " + std::to_string(key)));
    }
    for (int n = 0; n < 20; ++n) messages.push_back(placed());
    auto& writer = batch % 2 == 0 ? first : second;
    (void)store
        ->transaction(
            [&](OwnedTransaction& tx) { return writer.write_all(tx, std::move(messages)); })
        .value();
  }
  ASSERT_TRUE(settles_to(25 * 60));
  EXPECT_FALSE(together.load());
  EXPECT_EQ(inbox.size(), 25U * 60U) << "each succeeded once";
  for (int key = 0; key < 40; ++key) {
    const auto payloads = inbox.payloads_of_key("key " + std::to_string(key));
    EXPECT_EQ(payloads.size(), 25U);
    EXPECT_TRUE(std::ranges::is_sorted(payloads)) << key;
  }
  EXPECT_EQ(claims(), "0");
}

TEST_F(PostgresCompeting, ClaimsOfADeadRelayAreRedeliveredAndItsSettlesRefused) {
  auto told = defaults();
  told.sequences = true;
  auto producer = Outbox::writer_only(*store, told).value();
  std::vector<Written> written;
  for (int i = 0; i < 64; ++i) written.push_back(write(producer, placed()));
  const auto dead = WorkerId::parse("dead").value();
  (void)roles(*store).ownership.join(dead, seconds(2), orders_scopes, shard_count).value();
  const auto shards = roles(*store).ownership.take(orders_scopes[0], dead, shard_count).value();
  ASSERT_EQ(shards.size(), shard_count);
  // All of them into one shard, whatever shard they were written to.
  const spi::Range range{Shard{3}, spi::Lane{1}, {}, 1000, true};
  std::vector<spi::Row> claimed;
  while (claimed.size() < written.size()) {
    claimed =
        roles(*store).outbox.read(table, std::span(&range, 1), std::size_t{1} << 30).value().rows;
  }
  EXPECT_EQ(claims(), "64");

  auto relay = started(*other_store, into_other(), competing());

  ASSERT_TRUE(settles_to(64));
  EXPECT_EQ(other.times_by_id().size(), 64U);
  EXPECT_EQ(claims(), "0");
  const spi::Fence fence{Shard{3}, shards[3].epoch};
  const spi::Settlement item{.sequence = written[0].sequence,
                             .shard = Shard{3},
                             .id = written[0].id,
                             .verdict = spi::Verdict::retry,
                             .attempts = 1};
  const auto stale = roles(*store).outbox.settle({.table = table,
                                                  .fencing = {"outbox:orders", dead, {&fence, 1}},
                                                  .items = std::span(&item, 1)});
  EXPECT_FALSE(stale->parts.at(0).held);
}

TEST_F(PostgresCompeting, MessageThatKillsEveryRelayDiesInTheEnd) {
  auto told = defaults();
  told.sequences = true;
  auto producer = Outbox::writer_only(*store, told).value();
  const auto killer = write(producer, placed());
  // Claimed by one relay after the other; each is gone without a word.
  for (int life = 0; life < 3; ++life) {
    const auto dead = WorkerId::parse("dead" + std::to_string(life)).value();
    (void)roles(*store).ownership.join(dead, seconds(60), orders_scopes, shard_count).value();
    const auto taken = roles(*store).ownership.take(orders_scopes[0], dead, shard_count).value();
    ASSERT_EQ(taken.size(), shard_count);
    EXPECT_EQ(taken[0].unclean, life > 0) << "the next one goes cautiously";
    const spi::Range range{killer.shard, spi::Lane{1}, {}, 10};
    const auto reply = roles(*store).outbox.read(table, std::span(&range, 1), 1 << 20).value();
    ASSERT_EQ(reply.rows.size(), 1U);
    EXPECT_EQ(reply.rows[0].attempts, static_cast<std::uint32_t>(life));
    const spi::Fence fence{killer.shard, taken[killer.shard.value].epoch};
    const spi::Settlement attempt{.sequence = killer.sequence,
                                  .shard = killer.shard,
                                  .id = killer.id,
                                  .verdict = spi::Verdict::attempt,
                                  .attempts = static_cast<std::uint32_t>(life + 1)};
    EXPECT_EQ(roles(*store)
                  .outbox
                  .settle({.table = table,
                           .fencing = {"outbox:orders", dead, {&fence, 1}},
                           .items = std::span(&attempt, 1)})
                  ->parts.at(0)
                  .rows,
              1U);
    database->advance_time(seconds(61));
  }
  auto options = competing();
  options.retry.attempts_max = 3;
  auto relay = started(*other_store, into_other(), options);
  ASSERT_TRUE(eventually([&] { return stats().dead == 1; }));
  EXPECT_EQ(other.size(), 0U);
  EXPECT_EQ(claims(), "0");
}

TEST_F(PostgresCompeting, LateCommitOfALowerSequenceIsDeliveredAndOthersDoNotWait) {
  auto first = started(*store, into_inbox(), competing());
  auto second = started(*other_store, into_inbox(), competing());
  auto late = store->begin().value();
  (void)first.write(*late, placed("\"late\"")).value();
  for (int i = 0; i < 100; ++i) write(first, placed("\"early\""));
  ASSERT_TRUE(eventually([&] { return inbox.size() == 100; })) << "nobody waits for the late one";
  late->commit().value();
  ASSERT_TRUE(settles_to(101));
  EXPECT_EQ(inbox.size(), 101U);
  EXPECT_EQ(inbox.all().back().payload, "\"late\"");
}

TEST_F(PostgresCompeting, RelayThatStopsLeavesWhatItClaimedToTheOther) {
  auto options = competing();
  options.drain_timeout = seconds(30);
  std::optional<Outbox> first = started(
      *store,
      [this](const Delivery& d) {
        barrier.wait();
        inbox.add(d);
        return done();
      },
      options);
  ASSERT_TRUE(eventually([&] { return first->snapshot().shards_owned == shard_count; }));
  for (int i = 0; i < 100; ++i) write(*first, placed());
  ASSERT_TRUE(eventually([&] { return barrier.arrived() == options.workers; }));
  auto second = started(*other_store, into_other(), competing());
  std::thread stopping([&] { EXPECT_TRUE(first->stop().ok()); });
  barrier.open();
  stopping.join();
  ASSERT_TRUE(settles_to(100));
  EXPECT_EQ(inbox.size() + other.size(), 100U) << "nothing is repeated";
}

TEST_F(PostgresCompeting, PausedTopicIsKeptAndComesWhenItGoesOn) {
  auto first = started(*store, into_inbox(), competing());
  auto second = started(*other_store, into_inbox(), competing());
  store->control()
      .set_pause({.table = table, .topic = topic, .paused = true, .actor = "ann", .note = ""})
      .value();
  // Pending alone would not tell: what was delivered may wait for its settle.
  std::size_t written = 0;
  ASSERT_TRUE(eventually([&] {
    write(first, placed("1"));
    return ++written > inbox.size() + 20;
  }));
  store->control()
      .set_pause({.table = table, .topic = topic, .paused = false, .actor = "ann", .note = ""})
      .value();
  ASSERT_TRUE(eventually([&] { return stats().pending == 0; }));
  EXPECT_EQ(inbox.size(), written);
}

TEST_F(PostgresCompeting, StoreWithoutClaimsSaysSo) {
  memory::MemoryStore memory;
  const auto refused = Outbox::several_processes(memory, competing());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  EXPECT_NE(refused.error().message.find("competing"), std::string::npos);
  EXPECT_FALSE(Outbox::single_process(*store, competing()).ok());
}

}  // namespace
}  // namespace sagabox::integration
