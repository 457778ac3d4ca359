#include "integration/outbox/world.hpp"

#include <stdexcept>

namespace sagabox::integration {
namespace {

class DeliveryTest : public OutboxWorld {};

TEST_F(DeliveryTest, FirstMessageIsDeliveredAndSettled) {
  auto outbox = running(into_inbox(), defaults());
  const auto written = write(outbox, placed(R"({"id":17})"));
  ASSERT_TRUE(settles_to(1));
  ASSERT_EQ(inbox.size(), 1U);
  EXPECT_EQ(inbox.all()[0].id, written.id.str());
  EXPECT_EQ(inbox.all()[0].payload, R"({"id":17})");
  EXPECT_EQ(inbox.all()[0].attempt, 1U);
  EXPECT_TRUE(eventually([&] { return outbox.snapshot().delivered == 1; }));
}

TEST_F(DeliveryTest, MessageWrittenBeforeTheStartIsDelivered) {
  auto outbox = Outbox::single_process(store, defaults()).value();
  outbox.listen(topic, into_inbox()).value();
  write(outbox, placed());
  write(outbox, placed("{}", "a key"));
  outbox.start().value();
  EXPECT_TRUE(settles_to(2));
}

TEST_F(DeliveryTest, DelayedMessageThatIsDueAtTheStartGoesAfterTheEarlierOneOfItsKey) {
  constexpr int keys = 200;
  auto outbox = Outbox::single_process(store, defaults()).value();
  outbox.listen(topic, into_inbox()).value();
  const auto due = system_clock().wall_now() + milliseconds(20);
  for (int number = 0; number < keys; ++number) {
    write(outbox, placed("1", "k" + std::to_string(number)));
    auto delayed = placed("2", "k" + std::to_string(number));
    delayed.not_before = due;
    write(outbox, std::move(delayed));
  }
  ASSERT_TRUE(eventually([&] { return system_clock().wall_now() > due; }));
  outbox.start().value();
  ASSERT_TRUE(settles_to(2 * keys));
  for (int number = 0; number < keys; ++number) {
    EXPECT_EQ(inbox.payloads_of_key("k" + std::to_string(number)),
              (std::vector<std::string>{"1", "2"}));
  }
}

TEST_F(DeliveryTest, RolledBackIsNeverDelivered) {
  auto outbox = running(into_inbox(), defaults());
  for (const std::string key : {"", "a"}) {
    auto tx = store.begin().value();
    ASSERT_TRUE(outbox.write(*tx, placed("1", key)).ok());
    ASSERT_TRUE(tx->rollback().ok());
    write(outbox, placed("2", key));
  }
  ASSERT_TRUE(settles_to(2));
  for (const auto& received : inbox.all()) EXPECT_EQ(received.payload, "2");
}

TEST_F(DeliveryTest, BatchIsDeliveredWhole) {
  auto outbox = running(into_inbox(), defaults());
  std::vector<NewMessage> batch;
  for (int number = 0; number < 500; ++number) batch.push_back(placed(std::to_string(number)));
  const auto written = store.transaction(
      [&](OwnedTransaction& tx) { return outbox.write_all(tx, std::move(batch)); });
  EXPECT_EQ(written.value().size(), 500U);
  ASSERT_TRUE(settles_to(500));
  EXPECT_EQ(inbox.size(), 500U);
  EXPECT_EQ(inbox.times_by_id().size(), 500U);
}

TEST_F(DeliveryTest, DuplicateIdIsDeliveredOnce) {
  auto outbox = running(into_inbox(), defaults());
  auto draft = placed();
  draft.id = "order-17";
  const auto first = write(outbox, draft);
  const auto second = write(outbox, draft);
  EXPECT_TRUE(second.duplicate);
  EXPECT_EQ(second.sequence, first.sequence);
  ASSERT_TRUE(settles_to(1));
  EXPECT_TRUE(write(outbox, draft).duplicate) << "while it is retained";
  write(outbox, placed());
  ASSERT_TRUE(settles_to(2));
  EXPECT_EQ(inbox.size(), 2U);
}

TEST_F(DeliveryTest, RetentionOfZeroLeavesNothingBehind) {
  auto options = defaults();
  options.retention = Duration{};
  auto outbox = running(into_inbox(), options);
  write(outbox, placed());
  ASSERT_TRUE(eventually([&] { return inbox.size() == 1 && stats().pending == 0; }));
  EXPECT_TRUE(rows().empty());
}

TEST_F(DeliveryTest, DelayedMessageComesAtItsTimeAndDoesNotHoldUpItsKey) {
  auto outbox = running(into_inbox(), defaults());
  auto later = placed("1", "a");
  const auto due = system_clock().wall_now() + milliseconds(300);
  later.not_before = due;
  WallTime came{};
  write(outbox, later);
  write(outbox, placed("2", "a"));
  ASSERT_TRUE(eventually([&] {
    came = system_clock().wall_now();
    return inbox.size() == 2;
  }));
  EXPECT_EQ(inbox.payloads_of_key("a"), (std::vector<std::string>{"2", "1"}));
  EXPECT_GE(came, due);
}

TEST_F(DeliveryTest, HandlerSeesEverythingOfItsMessage) {
  auto draft = placed(R"({"id":17})", "order 17");
  draft.tenant = "acme";
  draft.aggregate_type = "Order";
  draft.aggregate_id = "17";
  draft.headers = {{"region", "eu"}};
  draft.trace = {.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                 .tracestate = "vendor=x",
                 .request_id = "request-1",
                 .correlation_id = "envelope-1"};
  auto outbox = Outbox::single_process(store, defaults()).value();
  std::mutex mutex;
  std::vector<std::string> wrong;
  std::atomic<bool> called{false};
  Written written;
  outbox
      .listen("Order", topic,
              [&](const Delivery& d) {
                const std::lock_guard lock(mutex);
                const auto expect = [&](bool right, const char* what) {
                  if (!right) wrong.emplace_back(what);
                };
                expect(d.table().str() == "orders", "table");
                expect(d.tenant() == "acme", "tenant");
                expect(d.topic() == topic, "topic");
                expect(d.key() == "order 17", "key");
                expect(d.id() == written.id, "id");
                expect(d.sequence() == written.sequence, "sequence");
                expect(d.shard() == written.shard, "shard");
                expect(d.attempt() == 1, "attempt");
                expect(d.epoch().value >= 1, "epoch");
                expect(d.trace() == draft.trace, "trace");
                expect(d.headers() == draft.headers, "headers");
                expect(d.payload().json() == R"({"id":17})", "payload");
                expect(d.message().aggregate_type() == "Order", "aggregate type");
                expect(d.message().aggregate_id() == "17", "aggregate id");
                expect(d.message().content_type() == "application/json", "content type");
                expect(!d.stop_token().stop_requested(), "stop token");
                expect(d.deadline() > system_clock().boot_now(), "deadline");
                called.store(true);
                return done();
              })
      .value();
  {
    const std::lock_guard lock(mutex);
    written = write(outbox, draft);
    outbox.start().value();
  }
  ASSERT_TRUE(eventually([&] { return called.load(); }));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(wrong, std::vector<std::string>{});
}

TEST_F(DeliveryTest, BytesArriveAsTheyWereWritten) {
  std::string sent;
  for (int value = 0; value < 256; ++value) sent.push_back(static_cast<char>(value));
  auto outbox = running(into_inbox(), defaults());
  write(outbox, {.topic = topic, .payload = bytes(sent)});
  ASSERT_TRUE(settles_to(1));
  EXPECT_EQ(inbox.all()[0].payload, sent);
}

TEST_F(DeliveryTest, KeyIsDeliveredInOrderAndOneAtATime) {
  auto options = defaults();
  options.cold_capacity = 50;
  std::map<std::string, std::atomic<int>> at_once;
  for (const auto* key : {"a", "b", "c"}) at_once[key] = 0;
  std::atomic<bool> together{false};
  auto outbox = running(
      [&](const Delivery& d) {
        if (at_once.at(d.key()).fetch_add(1) > 0) together.store(true);
        inbox.add(d);
        std::this_thread::yield();
        at_once.at(d.key()).fetch_sub(1);
        return done();
      },
      options);
  for (int number = 100; number < 400; ++number) {
    for (const std::string key : {"a", "b", "c"}) {
      write(outbox, placed(std::to_string(number), key));
    }
  }
  ASSERT_TRUE(settles_to(900));
  EXPECT_FALSE(together.load());
  for (const std::string key : {"a", "b", "c"}) {
    const auto order = inbox.payloads_of_key(key);
    EXPECT_EQ(order.size(), 300U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  }
}

TEST_F(DeliveryTest, PrioritiesAreAllDelivered) {
  auto outbox = running(into_inbox(), defaults());
  for (const auto priority : {Priority::high, Priority::normal, Priority::low}) {
    auto draft = placed();
    draft.priority = priority;
    for (int number = 0; number < 50; ++number) write(outbox, draft);
  }
  EXPECT_TRUE(settles_to(150));
}

TEST_F(DeliveryTest, ManyWritersAtOnceLoseAndRepeatNothing) {
  auto options = defaults();
  options.hot_capacity = 16;
  options.cold_capacity = 64;
  auto outbox = running(into_inbox(), options);
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      for (int number = 0; number < 250; ++number) {
        write(outbox, placed("{}", number % 3 == 0 ? "key " + std::to_string(writer) : ""));
      }
    });
  }
  for (auto& writer : writers) writer.join();
  ASSERT_TRUE(settles_to(1000));
  EXPECT_EQ(inbox.size(), 1000U);
  EXPECT_EQ(inbox.times_by_id().size(), 1000U);
  EXPECT_TRUE(eventually([&] {
    const auto now = outbox.snapshot();
    return now.hot_depth == 0 && now.cold_depth == 0 && now.queued_bytes == 0 && now.running == 0 &&
           now.unsettled == 0 && now.delivered == 1000;
  })) << "everything taken is given back";
}

TEST_F(DeliveryTest, MessageOfAnotherProcessIsReadWhenTheStoreTellsNotAtTheNextPoll) {
  auto options = defaults();
  options.poll_interval = std::chrono::hours(1);
  auto outbox = running(into_inbox(), options);
  auto elsewhere = Outbox::writer_only(store, defaults()).value();
  for (int number = 0; number < 3; ++number) {
    write(elsewhere, placed());
    ASSERT_TRUE(settles_to(static_cast<std::uint64_t>(number) + 1)) << number;
  }
}

TEST_F(DeliveryTest, BacklogOfOneKeyIsReadOnAsItIsDeliveredNotPollByPoll) {
  auto options = defaults();
  options.poll_interval = std::chrono::hours(1);
  options.cold_capacity = 64;
  auto producer = Outbox::writer_only(store, defaults()).value();
  for (int number = 0; number < 500; ++number) write(producer, placed("{}", "a"));
  auto outbox = running(into_inbox(), options);
  EXPECT_TRUE(settles_to(500));
}

TEST_F(DeliveryTest, LateCommitIsFoundAndItsKeyStaysInOrder) {
  auto options = defaults();
  auto outbox = running(into_inbox(), options);
  auto slow = store.begin().value();
  ASSERT_TRUE(outbox.write(*slow, placed("1", "a")).ok());
  for (int number = 0; number < 50; ++number) write(outbox, placed("0", "b"));
  ASSERT_TRUE(eventually([&] { return stats().done == 50; }));
  ASSERT_TRUE(slow->commit().ok());
  write(outbox, placed("2", "a"));
  ASSERT_TRUE(settles_to(52));
  EXPECT_EQ(inbox.payloads_of_key("a"), (std::vector<std::string>{"1", "2"}));
}

TEST_F(DeliveryTest, PayloadsLargerThanTheQueuesGetThrough) {
  auto options = defaults();
  options.queue_bytes_max = 2000;
  options.workers = 2;
  auto outbox = running(into_inbox(), options);
  for (int number = 0; number < 40; ++number) {
    write(outbox, placed("\"" + std::string(static_cast<std::size_t>(number) * 100, 'x') + "\"",
                         number % 2 == 0 ? "a" : ""));
  }
  EXPECT_TRUE(settles_to(40));
}

TEST_F(DeliveryTest, FullQueueDoesNotKeepTheReaderBusy) {
  auto reads = std::make_shared<std::atomic<int>>(0);
  store.set_faults([reads](memory::Operation operation) {
    if (operation == memory::Operation::read) reads->fetch_add(1);
    return memory::Fault::none;
  });
  auto options = defaults();
  options.workers = 1;
  options.queue_bytes_max = 2000;
  options.poll_interval = milliseconds(50);
  auto outbox = running(
      [&](const Delivery& d) {
        inbox.add(d);
        barrier.wait();
        return done();
      },
      options);
  auto elsewhere = Outbox::writer_only(store, defaults()).value();
  for (int number = 0; number < 4; ++number) {
    write(elsewhere, placed("\"" + std::string(600, 'x') + "\""));
  }
  ASSERT_TRUE(eventually([&] { return outbox.snapshot().cold_depth == 1; }));
  const auto before = reads->load();
  const auto from = std::chrono::steady_clock::now();
  ASSERT_TRUE(
      eventually([&] { return std::chrono::steady_clock::now() - from > milliseconds(300); }));
  EXPECT_LT(reads->load() - before, 100) << "one message runs, one waits, the next does not fit";
  barrier.open();
  EXPECT_TRUE(settles_to(4));
}

TEST_F(DeliveryTest, EveryWorkerIsThereForSlowHandlersAfterManyBriefOnes) {
  auto producer = Outbox::writer_only(store, defaults()).value();
  const auto write_many = [&](const std::string& payload, int count) {
    store
        .transaction([&](OwnedTransaction& tx) {
          return producer.write_all(
              tx, std::vector<NewMessage>(static_cast<std::size_t>(count), placed(payload)));
        })
        .value();
  };
  for (int batch = 0; batch < 100; ++batch) write_many("{}", 1000);
  auto options = defaults();
  options.spare_workers_max = 0;
  options.dispatch_timeout = std::chrono::hours(1);
  write_many("1", static_cast<int>(options.workers));
  write_many("{}", 1000);
  auto outbox = running(
      [&](const Delivery& d) {
        if (d.payload().view() == "1") barrier.wait();
        return done();
      },
      options);
  EXPECT_TRUE(eventually([&] { return barrier.arrived() == options.workers; }));
  barrier.open();
  EXPECT_TRUE(settles_to(101'000 + options.workers));
}

}  // namespace
}  // namespace sagabox::integration
