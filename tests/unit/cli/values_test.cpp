#include "cli/values.hpp"

#include "core/text.hpp"
#include "support/noon.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace sagabox::cli {
namespace {

using namespace std::chrono_literals;
using testing::noon;

TEST(Values, AgesHaveUnitsAndMayBeNothing) {
  EXPECT_EQ(parse_age("0").value(), Duration{});
  EXPECT_EQ(parse_age("90s").value(), 90s);
  EXPECT_EQ(parse_age("1.5h").value(), 90min);
  EXPECT_EQ(parse_age("7d").value(), 168h);
  for (const auto* wrong : {"", "7", "d", "-1s", "7 d", "7w", "36501d", "1e9s", "1.2.3s"}) {
    const auto age = parse_age(wrong);
    ASSERT_FALSE(age.ok()) << wrong;
    EXPECT_NE(age.error().message.find("90s, 2h or 7d"), std::string::npos) << wrong;
  }
}

TEST(Values, TimesAreReadAsRfc3339HasThem) {
  EXPECT_EQ(parse_time("2026-01-01T12:00:00Z").value(), noon);
  EXPECT_EQ(parse_time("2026-01-01 12:00:00Z").value(), noon);
  EXPECT_EQ(parse_time("2026-01-01T13:30:00+01:30").value(), noon);
  EXPECT_EQ(parse_time("2026-01-01T09:00:00-03:00").value(), noon);
  EXPECT_EQ(parse_time("2026-01-01T12:00:00.25Z").value(), noon + 250ms);
  EXPECT_EQ(parse_time("2026-01-01").value(), noon - 12h);
  for (const auto* wrong :
       {"", "2026", "2026-13-01", "2026-02-29", "2026-01-01T", "2026-01-01T12:00",
        "2026-01-01T12:00:00", "2026-01-01T24:00:00Z", "2026-01-01T12:60:00Z",
        "2026-01-01T12:00:00.Z", "2026-01-01T12:00:00+1", "2026-01-01T12:00:00Zx", "-026-01-01",
        "2026-01-01T12:00:00+25:00"}) {
    EXPECT_FALSE(parse_time(wrong).ok()) << wrong;
  }
}

TEST(Values, TimesThatWePrintAreReadBack) {
  EXPECT_TRUE(rc::check("printed and read", [] {
    const auto seconds = *rc::gen::inRange<std::int64_t>(0, 4'000'000'000);
    const auto millis = *rc::gen::inRange<std::int64_t>(0, 1000);
    const WallTime time(std::chrono::seconds(seconds) + std::chrono::milliseconds(millis));
    RC_ASSERT(parse_time(utc_text(time)).value() - time < 1ms);
  }));
}

TEST(Values, WhenIsAPointOrHowLongAgo) {
  EXPECT_EQ(parse_when("2h").value().by(noon), noon - 2h);
  EXPECT_EQ(parse_when("2026-01-01").value().by(noon), noon - 12h);
  EXPECT_FALSE(parse_when("yesterday").ok());
}

TEST(Values, BoundsAreSequencesOrTimes) {
  EXPECT_EQ(parse_bound("8812").value().sequence, Sequence{8812});
  EXPECT_EQ(parse_bound("2h").value().when->by(noon), noon - 2h);
  EXPECT_FALSE(parse_bound("-1").ok());
  EXPECT_FALSE(parse_bound("all").ok());
}

TEST(Values, RatesMayNameTheirUnit) {
  EXPECT_EQ(parse_rate("50/s").value(), 50U);
  EXPECT_EQ(parse_rate("50").value(), 50U);
  for (const auto* wrong : {"", "0", "/s", "50/m", "-5", "1000001", "5.5"}) {
    EXPECT_FALSE(parse_rate(wrong).ok()) << wrong;
  }
}

TEST(Values, CodesAndStatesAreNamedWhenOneIsNotKnown) {
  EXPECT_EQ(parse_code("PROVIDER.REJECTED").value(), Code::provider_rejected);
  EXPECT_NE(parse_code("REJECTED").error().message.find("TX.TIMEOUT, "), std::string::npos);
  EXPECT_EQ(parse_state("quarantined").value(), MessageState::quarantined);
  EXPECT_NE(parse_state("alive").error().message.find("pending, done, dead"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::cli
