#include "crash/world.hpp"

namespace sagabox::crash {
namespace {

/// Relays that break a promise: the checker must find it, or it proves nothing.
class PostgresBroken : public CrashTest {
 protected:
  void expect_problem(const std::string& text) {
    const auto found = ground->problems();
    EXPECT_NE(found.find(text), std::string::npos) << found;
  }
};

TEST_F(PostgresBroken, HandlerThatAnswersBeforeItHasDoneItsWorkLosesMessages) {
  auto relay = ground->relay({{"broken", "answers_early"}});
  ground->write(100);
  ASSERT_TRUE(ground->drained());
  relay.kill();
  expect_problem("was not delivered");
}

TEST_F(PostgresBroken, RelayThatDoesNotKnowKeysOvertakes) {
  auto relay = ground->relay({{"broken", "without_order"}});
  ASSERT_TRUE(eventually([&] { return ground->shards_held() == 16; }));
  EXPECT_TRUE(eventually([&] {
    ground->write(200, "key-1");
    return ground->drained() && !ground->problems().empty();
  }));
  expect_problem("overtook");
}

}  // namespace
}  // namespace sagabox::crash
