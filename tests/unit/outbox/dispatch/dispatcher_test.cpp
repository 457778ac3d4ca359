#include "outbox/dispatch/dispatcher.hpp"

#include "unit/outbox/relay_world.hpp"

#include <atomic>
#include <thread>

namespace sagabox::outbox {
namespace {

class DispatcherTest : public RelayWorld {
 protected:
  DispatcherTest() : RelayWorld({.shards = 16}) {}
};

TEST_F(DispatcherTest, EveryRunningHandlerHearsTheStopWhileDeadlinesAreWatched) {
  constexpr int rounds = 20'000;
  write(rounds);
  auto& dispatcher = relay.dispatcher();
  auto& runner = dispatcher.runner(0);
  std::atomic<bool> over{false};
  std::thread watching([&] {
    while (!over) {
      dispatcher.check_deadlines(now());
      (void)dispatcher.under_way(Shard{0}, Sequence{1});
    }
  });
  int heard = 0;
  for (int round = 0; round < rounds; ++round) {
    while (dispatcher.take(runner, now()) == Dispatcher::Took::nothing) read();
    dispatcher.tell_all_to_stop();
    if (runner.delivery().stop_token().stop_requested()) ++heard;
    dispatcher.complete(runner, done(), now());
    settle();
  }
  over = true;
  watching.join();
  EXPECT_EQ(heard, rounds);
}

TEST_F(DispatcherTest, TellsWhoHasAMessageInHandAndSinceWhen) {
  write(1);
  const auto record =
      store.outbox_admin().list({.table = table, .state = MessageState::pending}).value().rows[0];
  const auto view = [&] { return relay.owner_view(record).value(); };
  read();
  ASSERT_TRUE(view().in_hand);
  EXPECT_EQ(view().in_hand->with, OwnerView::With::owner) << "queued";

  auto& runner = relay.dispatcher().runner(0);
  ASSERT_EQ(relay.dispatcher().take(runner, now()), Dispatcher::Took::handler);
  const auto pass = [&](std::chrono::seconds time) {
    for (; time > std::chrono::seconds(0); time -= std::chrono::seconds(1)) {
      clock.advance(std::chrono::seconds(1));
      keep_shards();
    }
  };
  pass(std::chrono::seconds(12));
  EXPECT_EQ(view().in_hand->with, OwnerView::With::handler);
  EXPECT_EQ(view().in_hand->since, Duration(std::chrono::seconds(12)));
  for (int passed = 0; passed < 3; ++passed) pass(std::chrono::seconds(10));
  ASSERT_EQ(relay.dispatcher().check_deadlines(now()), 1U);
  EXPECT_EQ(view().in_hand->with, OwnerView::With::late_handler);
  EXPECT_TRUE(runner.timed_out()) << "a look changes nothing";

  relay.dispatcher().complete(runner, done(), now());
  EXPECT_EQ(view().in_hand->with, OwnerView::With::owner) << "its result is to be stored";
  pass(std::chrono::seconds(1));
  settle();
  EXPECT_FALSE(view().in_hand);
}

}  // namespace
}  // namespace sagabox::outbox
