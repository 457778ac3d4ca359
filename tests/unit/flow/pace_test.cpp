#include "flow/pace.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <utility>
#include <vector>

namespace sagabox::flow {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const BootTime start{std::chrono::hours(1)};
constexpr std::uint32_t any_rows = 500;

TEST(Pace, WithoutARateEverythingGoesAtOnce) {
  Pace pace(0, start);
  EXPECT_EQ(pace.allowed(start, any_rows), any_rows);
  pace.spend(any_rows);
  EXPECT_EQ(pace.allowed(start, any_rows), any_rows);
  EXPECT_EQ(pace.allowed_at(start, any_rows), start);
}

TEST(Pace, BeginsWithNothingAndWaitsForAChunk) {
  Pace pace(100, start);
  EXPECT_EQ(pace.allowed(start, any_rows), 0U);
  EXPECT_EQ(pace.allowed_at(start, any_rows), start + milliseconds(100));
  EXPECT_EQ(pace.allowed(start + milliseconds(99), any_rows), 0U);
  EXPECT_EQ(pace.allowed(start + milliseconds(100), any_rows), 10U);
}

TEST(Pace, OneASecondIsOneASecond) {
  Pace pace(1, start);
  EXPECT_EQ(pace.allowed(start + milliseconds(999), any_rows), 0U);
  EXPECT_EQ(pace.allowed(start + seconds(1), any_rows), 1U);
  pace.spend(1);
  EXPECT_EQ(pace.allowed_at(start + seconds(1), any_rows), start + seconds(2));
}

TEST(Pace, IdleTimeIsNotSavedUp) {
  Pace pace(1000, start);
  EXPECT_EQ(pace.allowed(start + seconds(3600), 10'000), 200U);
}

TEST(Pace, WhatWasNotNeededMayBeSpentAgain) {
  Pace pace(100, start);
  ASSERT_EQ(pace.allowed(start + milliseconds(100), any_rows), 10U);
  pace.spend(10);
  pace.refund(10);
  EXPECT_EQ(pace.allowed(start + milliseconds(100), any_rows), 10U);
  pace.refund(1000);
  EXPECT_EQ(pace.allowed(start + milliseconds(100), any_rows), 20U) << "up to the burst";
}

TEST(Pace, TheHighestRateDoesNotOverflow) {
  Pace pace(std::numeric_limits<std::uint32_t>::max(), start);
  EXPECT_EQ(pace.allowed(start + seconds(1'000'000), any_rows), any_rows);
}

/// Looks at any times, takes what it gets: no window of time sees more than rate × t + burst.
RC_GTEST_PROP(Pace, NoWindowSeesMoreThanTheRateAndABurst, ()) {
  const auto rate = *rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(1, 50),
                                    rc::gen::inRange<std::uint32_t>(50, 20'000));
  Pace pace(rate, start);
  std::vector<std::pair<BootTime, std::uint32_t>> spent;
  BootTime now = start;
  for (const auto gap : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 700))) {
    now += milliseconds(gap);
    const auto rows = pace.allowed(now, any_rows);
    pace.spend(rows);
    spent.emplace_back(now, rows);
  }
  for (std::size_t from = 0; from < spent.size(); ++from) {
    std::uint64_t rows = 0;
    for (std::size_t to = from; to < spent.size(); ++to) {
      rows += spent[to].second;
      const std::chrono::duration<double> window = spent[to].first - spent[from].first;
      RC_ASSERT(static_cast<double>(rows) <= rate * window.count() + pace.burst() + 1e-6);
    }
  }
}

/// Who comes whenever `allowed_at` says so gets the whole rate.
RC_GTEST_PROP(Pace, TheRateIsReached, ()) {
  const auto rate = *rc::gen::inRange<std::uint32_t>(1, 20'000);
  Pace pace(rate, start);
  std::uint64_t rows = 0;
  BootTime now = start;
  for (; now <= start + seconds(20); now = pace.allowed_at(now, any_rows)) {
    const auto allowed = pace.allowed(now, any_rows);
    pace.spend(allowed);
    rows += allowed;
  }
  RC_ASSERT(rows + any_rows >= std::uint64_t{rate} * 20);
  RC_ASSERT(rows <= std::uint64_t{rate} * 20 + pace.burst());
}

}  // namespace
}  // namespace sagabox::flow
