#include "ownership/worker_id.hpp"

#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sagabox::ownership {
namespace {

TEST(NewWorkerId, SaysWhoItIsAndIsAnotherEachTime) {
  sagabox::testing::FakeClock clock;
  UlidSource ids(clock, system_random());
  std::set<std::string> seen;
  for (int count = 0; count < 1'000; ++count) {
    const auto id = new_worker_id(ids, "relay-a:4711");
    EXPECT_TRUE(id.view().starts_with("relay-a:4711-")) << id.view();
    seen.insert(id.str());
  }
  EXPECT_EQ(seen.size(), 1'000U) << "within one millisecond";
}

TEST(NewWorkerId, IsAULIDWithoutAName) {
  UlidSource ids(system_clock(), system_random());
  EXPECT_EQ(new_worker_id(ids, "").view().size(), 26U);
}

TEST(NewWorkerId, TheLongestNameFits) {
  UlidSource ids(system_clock(), system_random());
  const std::string name(worker_name_max, 'h');
  EXPECT_EQ(new_worker_id(ids, name).view().size(), WorkerId::length_max);
}

TEST(NewWorkerId, AProcessThatComesBackWithTheSameRandomNumbersHasAnotherId) {
  sagabox::testing::FakeClock clock;
  const auto drawn = [&] {
    const auto random = seeded_random(7);
    UlidSource ids(clock, *random);
    return new_worker_id(ids, "relay-0:1");
  };
  const auto before = drawn();
  clock.advance(std::chrono::milliseconds(1));
  EXPECT_NE(drawn(), before);
}

}  // namespace
}  // namespace sagabox::ownership
