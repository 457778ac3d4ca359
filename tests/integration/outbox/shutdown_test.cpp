#include "integration/outbox/world.hpp"

#include <atomic>
#include <thread>

namespace sagabox::integration {
namespace {

class ShutdownTest : public OutboxWorld {
 protected:
  Outbox opened(OutboxOptions options) {
    auto outbox = Outbox::single_process(store, std::move(options)).value();
    outbox.listen(topic, into_inbox()).value();
    return outbox;
  }
};

TEST_F(ShutdownTest, StopSettlesWhatRanAndAnotherTakesOverAtOnceAndCleanly) {
  auto first = running(into_inbox(), defaults());
  write(first, placed("1"));
  ASSERT_TRUE(eventually([&] { return inbox.size() == 1; }));
  EXPECT_TRUE(first.stop().ok());
  EXPECT_EQ(stats().done, 1U) << "settled before the shards were given back";
  EXPECT_EQ(first.snapshot().shards_owned, 0U);
  write(first, placed("2"));
  auto second = running(into_inbox(), watched());
  ASSERT_TRUE(settles_to(2));
  EXPECT_EQ(inbox.size(), 2U);
  EXPECT_EQ(metrics.counter_value("ownership_taken_total",
                                  {{"scope", "outbox:orders"}, {"unclean", "false"}}),
            16);
  EXPECT_EQ(metrics.counter_value("ownership_taken_total",
                                  {{"scope", "outbox:orders"}, {"unclean", "true"}}),
            0);
}

TEST_F(ShutdownTest, StopWithABacklogReleasesWhatDoesNotRunAndSpendsNoAttempt) {
  auto options = defaults();
  options.workers = 1;
  std::atomic<bool> finished{false};
  auto first = running(
      [&](const Delivery& d) {
        inbox.add(d);
        barrier.wait();
        finished.store(true);
        return done();
      },
      options);
  for (int number = 0; number < 50; ++number) {
    write(first, placed(std::to_string(number), number % 2 == 0 ? "a" : ""));
  }
  ASSERT_TRUE(eventually([&] { return barrier.arrived() == 1; }));
  std::thread stopper([&] { EXPECT_TRUE(first.stop().ok()); });
  ASSERT_TRUE(eventually([&] { return first.snapshot().shards_owned == 1; }))
      << "only the shard with the running handler is still held";
  barrier.open();
  stopper.join();
  EXPECT_TRUE(finished.load());
  EXPECT_EQ(inbox.size(), 1U) << "nothing new was begun";
  EXPECT_EQ(stats().done, 1U);
  for (const auto& row : rows()) {
    const bool pending = row.state == memory::Inspected::State::pending;
    EXPECT_EQ(row.row.attempts, pending ? 0U : 1U);
  }
  auto second = running(into_inbox(), defaults());
  ASSERT_TRUE(settles_to(50));
  EXPECT_EQ(inbox.size(), 50U);
}

TEST_F(ShutdownTest, HandlerThatRunsPastTheLimitIsATimeoutAndItsMessageIsDeliveredAgain) {
  auto options = defaults();
  options.drain_timeout = milliseconds(50);
  auto first = running(
      [&](const Delivery& d) {
        inbox.add(d);
        barrier.wait();
        return done();
      },
      options);
  write(first, placed("1"));
  ASSERT_TRUE(eventually([&] { return barrier.arrived() == 1; }));
  const auto stopped = first.stop();
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(
      stopped.error().text(),
      "TX.TIMEOUT: 1 handlers or sends still run after the drain limit; their messages will be "
      "delivered again by whoever owns their shards next");
  {
    auto second = running(into_inbox(), watched());
    ASSERT_TRUE(settles_to(1));
    EXPECT_EQ(inbox.size(), 2U);
    EXPECT_EQ(inbox.all()[1].attempt, 1U);
    EXPECT_GT(inbox.all()[1].epoch, inbox.all()[0].epoch) << "the fence for the late one";
    EXPECT_GE(metrics.counter_value("ownership_taken_total",
                                    {{"scope", "outbox:orders"}, {"unclean", "true"}}),
              1);
  }
  barrier.open();
}

TEST_F(ShutdownTest, HandlerThatHeedsItsTokenEndsWithTheDrainLimit) {
  auto options = defaults();
  options.drain_timeout = milliseconds(50);
  std::atomic<bool> began{false};
  auto outbox = running(
      [&](const Delivery& d) {
        began = true;
        while (!d.stop_token().stop_requested()) std::this_thread::yield();
        return retry("told to stop");
      },
      options);
  write(outbox, placed("1"));
  ASSERT_TRUE(eventually([&] { return began.load(); }));
  (void)outbox.stop();
  ASSERT_TRUE(eventually([&] { return outbox.snapshot().running == 0; }));
}

TEST_F(ShutdownTest, DestructorStopsAndWaitsForHandlers) {
  auto options = defaults();
  options.drain_timeout = Duration{};
  std::atomic<bool> returned{false};
  {
    auto outbox = running(
        [&](const Delivery& d) {
          inbox.add(d);
          barrier.wait();
          returned.store(true);
          return done();
        },
        options);
    write(outbox, placed());
    ASSERT_TRUE(eventually([&] { return barrier.arrived() == 1; }));
    barrier.open();
  }
  EXPECT_TRUE(returned.load());
}

TEST_F(ShutdownTest, StartAfterStopIsRefused) {
  auto outbox = opened(defaults());
  outbox.start().value();
  EXPECT_TRUE(outbox.stop().ok());
  EXPECT_TRUE(outbox.stop().ok()) << "twice is nothing";
  EXPECT_EQ(outbox.start().error().text(),
            "TX.INVALID_STATE: start() came after stop(); open a new outbox instead");
}

TEST_F(ShutdownTest, SecondStartIsRefused) {
  auto outbox = opened(defaults());
  outbox.start().value();
  EXPECT_EQ(outbox.start().error().text(),
            "TX.INVALID_STATE: start() was called before; it is running");
}

TEST_F(ShutdownTest, ListenAfterStartIsRefused) {
  auto outbox = opened(defaults());
  outbox.start().value();
  EXPECT_EQ(outbox.listen("another.topic.is.v1", into_inbox()).error().text(),
            "TX.INVALID_STATE: listen() came after start(); register listeners first");
}

TEST_F(ShutdownTest, SecondListenerForATopicIsRefused) {
  auto outbox = opened(defaults());
  EXPECT_EQ(outbox.listen(topic, into_inbox()).error().code, Code::tx_invalid_state);
  EXPECT_TRUE(outbox.listen("Order", topic, into_inbox()).ok()) << "another aggregate type";
}

TEST_F(ShutdownTest, WritingGoesOnAfterStopForWhoeverDeliversNext) {
  auto outbox = opened(defaults());
  outbox.start().value();
  outbox.stop().value();
  EXPECT_FALSE(write(outbox, placed()).duplicate);
  EXPECT_EQ(stats().pending, 1U);
}

TEST_F(ShutdownTest, MovedOutboxGoesOnWhereItWas) {
  auto outbox = running(into_inbox(), defaults());
  Outbox moved = std::move(outbox);
  write(moved, placed());
  ASSERT_TRUE(settles_to(1));
  auto other = Outbox::writer_only(store, defaults()).value();
  moved = std::move(other);
  write(moved, placed());
  EXPECT_EQ(stats().pending, 1U) << "the one that delivered was stopped";
}

TEST_F(ShutdownTest, StopWhileTheStoreIsAwayComesToAnEnd) {
  auto options = defaults();
  options.drain_timeout = milliseconds(50);
  auto outbox = running(into_inbox(), options);
  store.set_faults([](memory::Operation) { return memory::Fault::refused; });
  (void)outbox.stop();
  store.set_faults({});
  SUCCEED();
}

}  // namespace
}  // namespace sagabox::integration
