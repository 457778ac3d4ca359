#include "flow/key_filter.hpp"

#include <sagabox/message.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <unordered_set>

namespace sagabox::flow {
namespace {

std::uint64_t hash(std::uint64_t number) { return stable_hash("key " + std::to_string(number)); }

TEST(KeyFilter, IsEmptyAndTakesNothingBeforeTheFirstKey) {
  const KeyFilter filter;
  EXPECT_FALSE(filter.contains(0));
  EXPECT_FALSE(filter.contains(hash(1)));
  EXPECT_TRUE(filter.empty());
  EXPECT_EQ(filter.bytes(), 0U);
}

TEST(KeyFilter, IsExactWhileItMayGrow) {
  KeyFilter filter;
  constexpr std::uint64_t keys = 20'000;
  for (std::uint64_t number = 0; number < keys; ++number) filter.add(hash(number), 1 << 20);
  EXPECT_TRUE(filter.exact());
  EXPECT_EQ(filter.size(), keys);
  filter.add(hash(7), 1 << 20);
  EXPECT_EQ(filter.size(), keys) << "a repeat";
  std::uint64_t false_hits = 0;
  for (std::uint64_t number = 0; number < keys; ++number) {
    EXPECT_TRUE(filter.contains(hash(number)));
    false_hits += filter.contains(hash(keys + number)) ? 1 : 0;
  }
  EXPECT_LE(false_hits, 3U) << "one in 200,000";
}

TEST(KeyFilter, AtItsBoundItForgetsNothingAndHitsFalselyNowAndThen) {
  constexpr std::size_t bytes = std::size_t{128} << 10U;
  constexpr std::uint64_t keys = 125'000;  // a million in a megabyte
  KeyFilter filter;
  for (std::uint64_t number = 0; number < keys; ++number) filter.add(hash(number), bytes);
  EXPECT_FALSE(filter.exact());
  EXPECT_LE(filter.bytes(), bytes);
  std::uint64_t false_hits = 0;
  for (std::uint64_t number = 0; number < keys; ++number) {
    ASSERT_TRUE(filter.contains(hash(number)));
    false_hits += filter.contains(hash(keys + number)) ? 1 : 0;
  }
  EXPECT_LT(false_hits, keys / 25) << "2.5 % are expected of 8 bits a key";
}

TEST(KeyFilter, CountsNoRepeatsAtItsBoundEither) {
  constexpr std::uint64_t keys = 100'000;
  KeyFilter filter;
  for (int time = 0; time < 3; ++time) {
    for (std::uint64_t number = 0; number < keys; ++number) {
      filter.add(hash(number), std::size_t{128} << 10U);
    }
  }
  EXPECT_FALSE(filter.exact());
  EXPECT_LE(filter.size(), keys);
  EXPECT_GT(filter.size(), keys * 98 / 100);
}

RC_GTEST_PROP(KeyFilterProperty, WhatWasAddedIsThere, ()) {
  KeyFilter filter;
  std::unordered_set<std::uint64_t> added;
  const auto bytes_max = *rc::gen::inRange<std::size_t>(0, 2'000);
  for (const auto key : *rc::gen::container<std::vector<std::uint64_t>>(
           *rc::gen::inRange<std::size_t>(0, 600), rc::gen::arbitrary<std::uint64_t>())) {
    filter.add(key, bytes_max);
    added.insert(key);
  }
  for (const auto key : added) RC_ASSERT(filter.contains(key));
  RC_ASSERT(filter.bytes() <= std::max(bytes_max, KeyFilter::bytes_min));
}

}  // namespace
}  // namespace sagabox::flow
