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
    while (!over) dispatcher.check_deadlines(now());
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

}  // namespace
}  // namespace sagabox::outbox
