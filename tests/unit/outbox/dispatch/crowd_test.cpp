#include "outbox/dispatch/crowd.hpp"

#include <gtest/gtest.h>

namespace sagabox::outbox {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// Handles a window of messages, each in `each`, while others take `others`.
bool one_too_many(Duration each, std::uint64_t others) {
  Crowd crowd;
  BootTime now{};
  crowd.begin(now, 1000);
  bool said = false;
  for (std::uint32_t handled = 1; handled <= Crowd::window; ++handled) {
    now += each;
    said = crowd.one_too_many(now, [&] { return 1000 + handled + others; });
    EXPECT_TRUE(!said || handled == Crowd::window) << "judged before the window was full";
  }
  return said;
}

TEST(Crowd, BriefMessagesThatOthersTakeTooNeedOneThreadLess) {
  EXPECT_TRUE(one_too_many(nanoseconds(500), Crowd::window));
}

TEST(Crowd, NobodyStepsAsideWhenTheOthersAreStuck) {
  EXPECT_FALSE(one_too_many(nanoseconds(500), 0));
  EXPECT_FALSE(one_too_many(nanoseconds(500), 3)) << "they have only begun";
}

TEST(Crowd, HandlersThatTakeTimeKeepEveryThread) {
  EXPECT_FALSE(one_too_many(Crowd::brief, 10 * Crowd::window));
  EXPECT_FALSE(one_too_many(microseconds(50), 10 * Crowd::window));
}

TEST(Crowd, TimeWithoutWorkIsNobodysHandling) {
  Crowd crowd;
  BootTime now{};
  crowd.begin(now, 0);
  bool said = false;
  for (std::uint32_t handled = 1; handled <= Crowd::window; ++handled) {
    now += microseconds(100);
    crowd.rested(microseconds(100));
    now += nanoseconds(500);
    said = crowd.one_too_many(now, [&] { return 2 * handled; });
  }
  EXPECT_TRUE(said);
}

TEST(Crowd, EveryWindowIsJudgedByItself) {
  Crowd crowd;
  BootTime now{};
  std::uint64_t taken = 0;
  crowd.begin(now, taken);
  const auto window = [&](Duration each) {
    bool said = false;
    for (std::uint32_t handled = 0; handled < Crowd::window; ++handled) {
      now += each;
      taken += 2;
      said = crowd.one_too_many(now, [&] { return taken; });
    }
    return said;
  };
  EXPECT_FALSE(window(microseconds(100)));
  EXPECT_TRUE(window(nanoseconds(500))) << "the slow ones before do not count";
}

}  // namespace
}  // namespace sagabox::outbox
