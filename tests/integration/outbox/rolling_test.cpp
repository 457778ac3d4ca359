#include "integration/outbox/world.hpp"

namespace sagabox::integration {
namespace {

constexpr const char* new_topic = "orders.order.gifted.v1";

/// A new version of a service knows a topic that the old one, which still runs, does not.
class RollingDeploy : public OutboxWorld {
 protected:
  static OutboxOptions sharing() {
    auto options = defaults();
    options.lease = seconds(5);
    return options;
  }
  Outbox old_version(OutboxOptions options = sharing()) {
    auto outbox = Outbox::several_processes(store, std::move(options)).value();
    outbox.listen(topic, into_inbox()).value();
    outbox.start().value();
    return outbox;
  }
  Outbox new_version() {
    auto outbox = Outbox::several_processes(store, sharing()).value();
    outbox.listen(topic, into_inbox()).value();
    outbox
        .listen(new_topic,
                [this](const Delivery& d) {
                  gifts.add(d);
                  return done();
                })
        .value();
    outbox.start().value();
    return outbox;
  }
  static NewMessage gifted(std::string payload, std::string key) {
    return {.topic = new_topic, .key = std::move(key), .payload = json(std::move(payload))};
  }

  Inbox gifts;
};

TEST_F(RollingDeploy, WhatTheOldVersionDoesNotKnowIsDeliveredByTheNewOne) {
  auto before = old_version(watched(sharing()));
  ASSERT_TRUE(eventually([&] { return before.snapshot().shards_owned == 16; }));
  constexpr int keys = 8;
  for (int number = 0; number < 5 * keys; ++number) {
    write(before, gifted(std::to_string(number), "k" + std::to_string(number % keys)));
  }
  write(before, gifted("100", ""));
  for (int number = 0; number < 20; ++number) write(before, placed("{}", "other"));
  ASSERT_TRUE(eventually([&] { return inbox.size() == 20; })) << "others go on";
  ASSERT_TRUE(eventually([&] { return before.unrouted().size() == 1; }));
  EXPECT_EQ(before.unrouted()[0].topic, new_topic);
  EXPECT_TRUE(eventually(
      [&] { return metrics.gauge_value("outbox_unrouted_topics", {{"table", "orders"}}) == 1; }));
  EXPECT_EQ(log.count("topic has no listener and no route here; its messages wait"), 1U);

  auto after = new_version();
  ASSERT_TRUE(eventually([&] { return after.snapshot().shards_owned == 8; }));
  before.stop().value();
  ASSERT_TRUE(settles_to(5 * keys + 21));
  EXPECT_EQ(gifts.size(), 5U * keys + 1);
  for (const auto& received : gifts.all()) EXPECT_EQ(received.attempt, 1U);
  for (int key = 0; key < keys; ++key) {
    const auto payloads = gifts.payloads_of_key("k" + std::to_string(key));
    ASSERT_EQ(payloads.size(), 5U);
    for (int place = 0; place < 5; ++place) {
      EXPECT_EQ(payloads[static_cast<std::size_t>(place)], std::to_string(place * keys + key));
    }
  }
}

}  // namespace
}  // namespace sagabox::integration
