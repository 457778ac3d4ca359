#include "core/slab.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sagabox {
namespace {

TEST(SlabTest, TheNumberOfOneThatHasGoneFindsNothingThoughItsPlaceIsTaken) {
  Slab<std::string> slab;
  const auto first = slab.add("a");
  ASSERT_NE(slab.find(first), nullptr);
  slab.remove(first);
  EXPECT_EQ(slab.find(first), nullptr);
  const auto second = slab.add("b");
  EXPECT_NE(first, second);
  EXPECT_EQ(slab.find(first), nullptr);
  EXPECT_EQ(*slab.find(second), "b");
  EXPECT_EQ(slab.find(12345), nullptr);
}

TEST(SlabTest, EachIsVisitedUnderItsNumber) {
  Slab<int> slab;
  const auto one = slab.add(1);
  const auto two = slab.add(2);
  const auto three = slab.add(3);
  slab.remove(two);
  int sum = 0;
  slab.for_each([&](std::uint64_t number, int value) {
    EXPECT_TRUE(number == one || number == three);
    sum += value;
  });
  EXPECT_EQ(sum, 4);
}

}  // namespace
}  // namespace sagabox
