#include "integration/outbox/world.hpp"

#include <sagabox/admin.hpp>
#include <sagabox/once.hpp>

#include <atomic>
#include <vector>

namespace sagabox::integration {
namespace {

/// A listener that declares the store it works on.
class OnceInOutboxTest : public OutboxWorld {
 protected:
  static OutboxOptions quick() {
    auto options = defaults();
    options.control_interval = milliseconds(5);
    return options;
  }
  Outbox handling(StoreListener listener) {
    auto outbox = Outbox::single_process(store, watched(quick())).value();
    outbox.listen(topic, std::move(listener)).value();
    outbox.start().value();
    return outbox;
  }
  TransactionHandler counting() {
    return [this](const Delivery&, OwnedTransaction&) {
      ++handled;
      return done();
    };
  }
  bool is_done_after(const MessageId& id, std::uint32_t replays) {
    return eventually([&] {
      const auto record = admin.inspect(table, id).value();
      return record->state == MessageState::done && record->replays == replays;
    });
  }

  TableName table = TableName::parse("orders").value();
  Admin admin = Admin::open(store, {.actor = "ann"}).value();
  std::atomic<int> handled{0};
};

TEST_F(OnceInOutboxTest, ReplayOfWhatWasHandledIsSkippedUnlessItIsReplayedAsNew) {
  auto outbox = handling({.store = store, .handle = counting()});
  const auto id = write(outbox, placed()).id;
  ASSERT_TRUE(is_done_after(id, 0));
  admin.replay(table, std::vector{id}).value();
  ASSERT_TRUE(is_done_after(id, 1));
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(metrics.counter_value("idempotency_hits_total",
                                  {{"consumer", "orders:orders.order.placed.v1"}}),
            1)
      << "by the outbox's metrics, under the listener's own name";

  ReplayOrder order{.from = MessageState::done, .filter = {.first = Sequence{0}}, .as_new = true};
  const auto job = admin.start_replay(table, order).value();
  EXPECT_TRUE(job.as_new);
  ASSERT_TRUE(is_done_after(id, 2));
  EXPECT_EQ(handled, 2);
  admin.replay(table, std::vector{id}).value();
  ASSERT_TRUE(is_done_after(id, 3));
  EXPECT_EQ(handled, 2) << "handled as new before";
  admin.replay(table, std::vector{id}, {}, {}, true).value();
  ASSERT_TRUE(is_done_after(id, 4));
  EXPECT_EQ(handled, 3);
}

TEST_F(OnceInOutboxTest, OptedOutItIsHandledEveryTime) {
  auto outbox = handling({.store = store, .handle = counting(), .once = false});
  const auto id = write(outbox, placed()).id;
  ASSERT_TRUE(is_done_after(id, 0));
  admin.replay(table, std::vector{id}).value();
  ASSERT_TRUE(is_done_after(id, 1));
  EXPECT_EQ(handled, 2);
}

}  // namespace
}  // namespace sagabox::integration
