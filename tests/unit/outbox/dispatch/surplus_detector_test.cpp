#include "outbox/dispatch/surplus_detector.hpp"

#include <gtest/gtest.h>

namespace sagabox::outbox {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// Handles a window of messages, each in `each`, while others take `others`.
bool one_too_many(Duration each, std::uint64_t others) {
  SurplusDetector surplus_detector;
  BootTime now{};
  surplus_detector.begin(now, 1000);
  bool said = false;
  for (std::uint32_t handled = 1; handled <= SurplusDetector::window; ++handled) {
    now += each;
    said = surplus_detector.one_too_many(now, [&] { return 1000 + handled + others; });
    EXPECT_TRUE(!said || handled == SurplusDetector::window) << "judged before the window was full";
  }
  return said;
}

TEST(SurplusDetector, BriefMessagesThatOthersTakeTooNeedOneThreadLess) {
  EXPECT_TRUE(one_too_many(nanoseconds(500), SurplusDetector::window));
}

TEST(SurplusDetector, NobodyStepsAsideWhenTheOthersAreStuck) {
  EXPECT_FALSE(one_too_many(nanoseconds(500), 0));
  EXPECT_FALSE(one_too_many(nanoseconds(500), 3)) << "they have only begun";
}

TEST(SurplusDetector, HandlersThatTakeTimeKeepEveryThread) {
  EXPECT_FALSE(one_too_many(SurplusDetector::brief, 10 * SurplusDetector::window));
  EXPECT_FALSE(one_too_many(microseconds(50), 10 * SurplusDetector::window));
}

TEST(SurplusDetector, TimeWithoutWorkIsNobodysHandling) {
  SurplusDetector surplus_detector;
  BootTime now{};
  surplus_detector.begin(now, 0);
  bool said = false;
  for (std::uint32_t handled = 1; handled <= SurplusDetector::window; ++handled) {
    now += microseconds(100);
    surplus_detector.rested(microseconds(100));
    now += nanoseconds(500);
    said = surplus_detector.one_too_many(now, [&] { return 2 * handled; });
  }
  EXPECT_TRUE(said);
}

TEST(SurplusDetector, EveryWindowIsJudgedByItself) {
  SurplusDetector surplus_detector;
  BootTime now{};
  std::uint64_t taken = 0;
  surplus_detector.begin(now, taken);
  const auto window = [&](Duration each) {
    bool said = false;
    for (std::uint32_t handled = 0; handled < SurplusDetector::window; ++handled) {
      now += each;
      taken += 2;
      said = surplus_detector.one_too_many(now, [&] { return taken; });
    }
    return said;
  };
  EXPECT_FALSE(window(microseconds(100)));
  EXPECT_TRUE(window(nanoseconds(500))) << "the slow ones before do not count";
}

}  // namespace
}  // namespace sagabox::outbox
