#include "integration/outbox/world.hpp"

namespace sagabox::integration {
namespace {

class HotPathTest : public OutboxWorld {
 protected:
  /// So slow a poller that only the hot path, or a wake-up, can be the reason for a delivery.
  OutboxOptions without_polling() {
    auto options = watched();
    options.poll_interval = std::chrono::hours(1);
    return options;
  }
  /// A shard takes reservations once it knows its keys, which comes before its first message.
  Outbox warm(Listener listener, OutboxOptions options) {
    auto outbox = Outbox::single_process(store, std::move(options)).value();
    outbox.listen(topic, std::move(listener)).value();
    outbox.listen("warm.up.done.v1", [](const Delivery&) { return done(); }).value();
    outbox.start().value();
    EXPECT_TRUE(eventually([&] { return outbox.snapshot().shards_owned == 16; }));
    write(outbox, {.topic = "warm.up.done.v1", .key = "a key", .payload = json("{}")});
    EXPECT_TRUE(settles_to(1));
    return outbox;
  }
  double hot() const { return counted("outbox_hot_enqueued_total"); }
  double cold() const { return counted("outbox_cold_enqueued_total"); }
};

TEST_F(HotPathTest, MessageWithoutAKeyGoesStraightToTheHotQueue) {
  auto outbox = warm(into_inbox(), without_polling());
  for (int number = 0; number < 20; ++number) write(outbox, placed());
  ASSERT_TRUE(settles_to(21));
  EXPECT_EQ(inbox.size(), 20U);
  EXPECT_EQ(hot() + cold(), 21);
  EXPECT_GT(hot(), 0) << "a read may be faster now and then, not always";
}

TEST_F(HotPathTest, MessageWithAKeyNeverDoesItsOwnerIsWoken) {
  auto outbox = running(into_inbox(), without_polling());
  for (int number = 0; number < 20; ++number) write(outbox, placed("{}", "a"));
  ASSERT_TRUE(settles_to(20));
  EXPECT_EQ(hot(), 0);
  EXPECT_EQ(cold(), 20);
}

TEST_F(HotPathTest, DelayedMessageSkipsIt) {
  auto outbox = running(into_inbox(), watched());
  auto later = placed();
  later.not_before = system_clock().wall_now() + milliseconds(50);
  write(outbox, later);
  ASSERT_TRUE(settles_to(1));
  EXPECT_EQ(hot(), 0);
}

TEST_F(HotPathTest, FullQueueDropsWarnsCountsAndThePollerDelivers) {
  // Reads fail, so that the hot path is the faster one for sure.
  std::atomic<bool> reads_fail{false};
  auto options = watched();
  options.workers = 1;
  options.hot_capacity = 2;
  auto outbox = warm(
      [&](const Delivery& d) {
        inbox.add(d);
        barrier.wait();
        return done();
      },
      options);
  store.set_faults([&](memory::Operation operation) {
    return reads_fail.load() && operation == memory::Operation::read ? memory::Fault::refused
                                                                     : memory::Fault::none;
  });
  reads_fail.store(true);
  write(outbox, placed());
  ASSERT_TRUE(eventually([&] { return barrier.arrived() == 1; }));
  for (int number = 0; number < 5; ++number) write(outbox, placed());
  EXPECT_EQ(outbox.snapshot().hot_dropped, 3U);
  EXPECT_EQ(counted("outbox_hot_dropped_total"), 3);
  EXPECT_EQ(log.count("hot queue is full; the poller will deliver this message"), 3U);
  reads_fail.store(false);
  barrier.open();
  ASSERT_TRUE(settles_to(7)) << "the write never fails and nothing is lost";
  EXPECT_EQ(inbox.size(), 6U);
  store.set_faults({});
}

TEST_F(HotPathTest, EnlistedTransactionIsFastWhenItsUserSaysCommitted) {
  auto outbox = running(into_inbox(), without_polling());
  auto connection = store.connect();
  ASSERT_TRUE(connection.begin().ok());
  auto tx = memory::enlist(connection).value();
  ASSERT_TRUE(connection.put("orders", "17", "paid").ok());
  ASSERT_TRUE(outbox.write(tx, placed()).ok());
  ASSERT_TRUE(connection.commit().ok());
  tx.committed();
  tx.committed();
  ASSERT_TRUE(settles_to(1));
  EXPECT_EQ(inbox.size(), 1U);
  EXPECT_EQ(store.count("orders"), 1U);
}

TEST_F(HotPathTest, EnlistedTransactionIsDeliveredWithoutAWordFromItsUser) {
  auto outbox = running(into_inbox(), watched());
  auto connection = store.connect();
  ASSERT_TRUE(connection.begin().ok());
  {
    auto tx = memory::enlist(connection).value();
    ASSERT_TRUE(outbox.write(tx, placed()).ok());
    ASSERT_TRUE(connection.commit().ok());
    ASSERT_TRUE(settles_to(1)) << "the read takes the reservation";
    tx.committed();
  }
  EXPECT_EQ(inbox.size(), 1U) << "committed() came too late and is nothing";
  EXPECT_EQ(hot(), 0);
}

TEST_F(HotPathTest, EnlistedTransactionDestroyedWithoutAVerdictCancelsItsReservation) {
  auto outbox = running(into_inbox(), watched());
  auto connection = store.connect();
  ASSERT_TRUE(connection.begin().ok());
  {
    auto tx = memory::enlist(connection).value();
    ASSERT_TRUE(outbox.write(tx, placed()).ok());
  }
  EXPECT_EQ(inbox.size(), 0U);
  ASSERT_TRUE(connection.commit().ok());
  ASSERT_TRUE(settles_to(1));
  EXPECT_EQ(hot(), 0);
}

TEST_F(HotPathTest, RolledBackAfterCommittedWasNeverSaidIsNotDelivered) {
  auto outbox = running(into_inbox(), watched());
  auto connection = store.connect();
  ASSERT_TRUE(connection.begin().ok());
  auto tx = memory::enlist(connection).value();
  ASSERT_TRUE(outbox.write(tx, placed("1")).ok());
  ASSERT_TRUE(connection.rollback().ok());
  tx.rolled_back();
  tx.committed();
  write(outbox, placed("2"));
  ASSERT_TRUE(settles_to(1));
  EXPECT_EQ(inbox.all()[0].payload, "2");
}

TEST_F(HotPathTest, CommitInDoubtIsLeftToTheReader) {
  auto outbox = running(into_inbox(), watched());
  for (const auto fault : {memory::Fault::lost_after, memory::Fault::lost_before}) {
    auto tx = store.begin().value();
    ASSERT_TRUE(outbox.write(*tx, placed(fault == memory::Fault::lost_after ? "1" : "2")).ok());
    store.set_faults([fault](memory::Operation operation) {
      return operation == memory::Operation::commit ? fault : memory::Fault::none;
    });
    EXPECT_EQ(tx->commit().error().code, Code::storage_in_doubt);
    store.set_faults({});
  }
  write(outbox, placed("3"));
  ASSERT_TRUE(settles_to(2));
  for (const auto& received : inbox.all()) EXPECT_NE(received.payload, "2");
}

TEST_F(HotPathTest, VerdictAfterTheOutboxIsGoneIsHarmless) {
  auto connection = store.connect();
  ASSERT_TRUE(connection.begin().ok());
  auto tx = memory::enlist(connection).value();
  {
    auto outbox = running(into_inbox(), watched());
    ASSERT_TRUE(outbox.write(tx, placed()).ok());
  }
  ASSERT_TRUE(connection.commit().ok());
  tx.committed();
  EXPECT_EQ(inbox.size(), 0U);
  auto next = running(into_inbox(), watched());
  EXPECT_TRUE(settles_to(1));
}

}  // namespace
}  // namespace sagabox::integration
