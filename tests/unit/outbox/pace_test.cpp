#include "outbox/pace.hpp"

#include <gtest/gtest.h>

namespace sagabox::outbox {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// Handles a window of messages, each in `each`, while others take `others`.
bool one_too_many(Duration each, std::uint64_t others) {
  Pace pace;
  BootTime now{};
  pace.begin(now, 1000);
  bool said = false;
  for (std::uint32_t handled = 1; handled <= Pace::window; ++handled) {
    now += each;
    said = pace.one_too_many(now, [&] { return 1000 + handled + others; });
    EXPECT_TRUE(!said || handled == Pace::window) << "judged before the window was full";
  }
  return said;
}

TEST(Pace, BriefMessagesThatOthersTakeTooNeedOneThreadLess) {
  EXPECT_TRUE(one_too_many(nanoseconds(500), Pace::window));
}

TEST(Pace, NobodyStepsAsideWhenTheOthersAreStuck) {
  EXPECT_FALSE(one_too_many(nanoseconds(500), 0));
  EXPECT_FALSE(one_too_many(nanoseconds(500), 3)) << "they have only begun";
}

TEST(Pace, HandlersThatTakeTimeKeepEveryThread) {
  EXPECT_FALSE(one_too_many(Pace::brief, 10 * Pace::window));
  EXPECT_FALSE(one_too_many(microseconds(50), 10 * Pace::window));
}

TEST(Pace, EveryWindowIsJudgedByItself) {
  Pace pace;
  BootTime now{};
  std::uint64_t taken = 0;
  pace.begin(now, taken);
  const auto window = [&](Duration each) {
    bool said = false;
    for (std::uint32_t handled = 0; handled < Pace::window; ++handled) {
      now += each;
      taken += 2;
      said = pace.one_too_many(now, [&] { return taken; });
    }
    return said;
  };
  EXPECT_FALSE(window(microseconds(100)));
  EXPECT_TRUE(window(nanoseconds(500))) << "the slow ones before do not count";
}

}  // namespace
}  // namespace sagabox::outbox
