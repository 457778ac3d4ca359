#include "integration/outbox/world.hpp"

#include <optional>

namespace sagabox::integration {
namespace {

class SharingTest : public OutboxWorld {
 protected:
  static OutboxOptions sharing() {
    auto options = defaults();
    options.lease = seconds(5);
    return options;
  }
  Outbox member(Listener listener, OutboxOptions options = sharing()) {
    auto outbox = Outbox::several_processes(store, std::move(options)).value();
    outbox.listen(topic, std::move(listener)).value();
    outbox.start().value();
    return outbox;
  }
};

TEST_F(SharingTest, TwoProcessesShareTheShardsAndDeliverEverythingOnce) {
  Inbox other;
  auto first = member(into_inbox());
  auto second = member([&](const Delivery& d) {
    other.add(d);
    return done();
  });
  ASSERT_TRUE(eventually(
      [&] { return first.snapshot().shards_owned == 8 && second.snapshot().shards_owned == 8; }));
  for (int number = 0; number < 400; ++number) {
    write(number % 2 == 0 ? first : second,
          placed("{}", number % 4 == 0 ? "key " + std::to_string(number) : ""));
  }
  ASSERT_TRUE(settles_to(400));
  EXPECT_EQ(inbox.size() + other.size(), 400U);
  EXPECT_GT(inbox.size(), 0U);
  EXPECT_GT(other.size(), 0U);
  auto times = inbox.times_by_id();
  for (const auto& [id, count] : other.times_by_id()) times[id] += count;
  for (const auto& [id, count] : times) EXPECT_EQ(count, 1U) << id;
}

TEST_F(SharingTest, KeyOrderHoldsAcrossHandOvers) {
  std::mutex mutex;
  std::map<std::string, int> at_once;
  bool together = false;
  const Listener listener = [&](const Delivery& d) {
    {
      const std::lock_guard lock(mutex);
      if (++at_once[d.key()] > 1) together = true;
    }
    inbox.add(d);
    std::this_thread::yield();
    const std::lock_guard lock(mutex);
    --at_once[d.key()];
    return done();
  };
  auto first = member(listener);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> written{0};
  std::thread writer([&] {
    auto producer = Outbox::writer_only(store, defaults()).value();
    for (int number = 1000; number < 3000 && !stop.load(); ++number) {
      for (const std::string key : {"a", "b", "c", "d"}) {
        write(producer, placed(std::to_string(number), key));
        written.fetch_add(1);
      }
      if (number % 16 == 0) std::this_thread::sleep_for(milliseconds(1));
    }
  });
  std::optional<Outbox> second = member(listener);
  EXPECT_TRUE(eventually([&] { return second->snapshot().shards_owned == 8; }));
  EXPECT_TRUE(second->stop().ok());
  second.reset();
  second = member(listener);
  EXPECT_TRUE(eventually([&] { return second->snapshot().shards_owned == 8; }));
  EXPECT_TRUE(first.stop().ok());
  EXPECT_TRUE(eventually([&] { return second->snapshot().shards_owned == 16; }));
  stop.store(true);
  writer.join();
  ASSERT_TRUE(settles_to(written.load()));
  EXPECT_FALSE(together);
  EXPECT_EQ(inbox.size(), written.load()) << "a graceful hand-over repeats nothing";
  for (const std::string key : {"a", "b", "c", "d"}) {
    const auto order = inbox.payloads_of_key(key);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end())) << key;
  }
}

TEST_F(SharingTest, RetryingHeadIsNotOvertakenAfterAHandOver) {
  std::atomic<bool> healed{false};
  auto options = sharing();
  options.retry.attempts_max = 1000;
  const Listener listener = [&](const Delivery& d) -> Outcome {
    if (d.payload().view() == "1" && !healed.load()) return retry("down");
    inbox.add(d);
    return done();
  };
  std::optional<Outbox> first = member(listener, options);
  for (const std::string payload : {"1", "2", "3"}) write(*first, placed(payload, "a"));
  ASSERT_TRUE(eventually([&] { return first->snapshot().blocked_keys == 1; }));
  first->stop().value();
  first.reset();
  auto second = member(listener, options);
  ASSERT_TRUE(eventually([&] { return second.snapshot().blocked_keys == 1; }));
  EXPECT_EQ(inbox.size(), 0U);
  healed.store(true);
  ASSERT_TRUE(settles_to(3));
  EXPECT_EQ(inbox.payloads_of_key("a"), (std::vector<std::string>{"1", "2", "3"}));
}

TEST_F(SharingTest, TablesDoNotMix) {
  auto options = sharing();
  options.table = "billing";
  Inbox billing;
  auto orders = member(into_inbox());
  auto other = member(
      [&](const Delivery& d) {
        billing.add(d);
        return done();
      },
      options);
  for (int number = 0; number < 20; ++number) {
    write(orders, placed("1"));
    write(other, placed("2"));
  }
  ASSERT_TRUE(eventually([&] { return inbox.size() == 20 && billing.size() == 20; }));
  for (const auto& received : inbox.all()) EXPECT_EQ(received.payload, "1");
  for (const auto& received : billing.all()) EXPECT_EQ(received.payload, "2");
}

TEST_F(SharingTest, WriterOnlyLeavesTheDeliveryToOthers) {
  auto writer = Outbox::writer_only(store, defaults()).value();
  write(writer, placed());
  EXPECT_EQ(writer.snapshot().shards_owned, 0U);
  EXPECT_EQ(stats().pending, 1U);
  auto relay = member(into_inbox());
  EXPECT_TRUE(settles_to(1));
}

}  // namespace
}  // namespace sagabox::integration
