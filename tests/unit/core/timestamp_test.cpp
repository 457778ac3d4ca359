#include "core/timestamp.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace sagabox {
namespace {

using namespace std::chrono_literals;
constexpr WallTime new_year{std::chrono::seconds(1'767'225'600)};

TEST(Timestamp, ReadsRfc3339) {
  EXPECT_EQ(time_from_text("2026-01-01T00:00:00Z"), new_year);
  EXPECT_EQ(time_from_text("2026-01-01t02:00:00.5+02:00"), new_year + 500ms);
  EXPECT_EQ(time_from_text("2025-12-31 23:30:00.123456789-00:30"), new_year + 123456us);
  EXPECT_EQ(time_from_text("2024-02-29T00:00:00Z"), WallTime{1'709'164'800s});
}

TEST(Timestamp, RefusesWhatIsNone) {
  for (const auto* text :
       {"", "2026", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00Z",
        "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zx",
        "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+0200", "+026-01-01T00:00:00Z",
        "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"}) {
    EXPECT_FALSE(time_from_text(text)) << text;
  }
}

RC_GTEST_PROP(Timestamp, WhatIsWrittenIsReadBack, ()) {
  const auto micros =
      *rc::gen::inRange<std::int64_t>(-62'167'219'200'000'000, 253'402'300'799'999'999);
  const WallTime time{std::chrono::microseconds(micros)};
  RC_ASSERT(time_from_text(timestamp_text(time)) == time);
}

}  // namespace
}  // namespace sagabox
