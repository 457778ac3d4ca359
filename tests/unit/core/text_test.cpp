#include "core/text.hpp"

#include <gtest/gtest.h>

namespace sagabox {
namespace {

using namespace std::chrono_literals;

TEST(AgeText, IsAsPeopleSayIt) {
  EXPECT_EQ(age_text(0s), "0s");
  EXPECT_EQ(age_text(-5s), "0s");
  EXPECT_EQ(age_text(999us), "0s");
  EXPECT_EQ(age_text(300ms), "300ms");
  EXPECT_EQ(age_text(999'999us), "999ms");
  EXPECT_EQ(age_text(11s + 900ms), "11s");
  EXPECT_EQ(age_text(59s), "59s");
  EXPECT_EQ(age_text(60s), "1m00s");
  EXPECT_EQ(age_text(4min + 8s), "4m08s");
  EXPECT_EQ(age_text(59min + 59s), "59m59s");
  EXPECT_EQ(age_text(1h + 40min + 59s), "1h40m");
  EXPECT_EQ(age_text(23h + 59min), "23h59m");
  EXPECT_EQ(age_text(76h), "3d04h");
  EXPECT_EQ(age_text(Duration::max()), "106751d23h");
}

TEST(Replaced, EveryPlaceAndNothingElse) {
  EXPECT_EQ(replaced("{a}.{b} {a}", "{a}", "orders"), "orders.{b} orders");
  EXPECT_EQ(replaced("{a}", "{a}", "{a}{a}"), "{a}{a}") << "what was put in is not looked at again";
  EXPECT_EQ(replaced("none", "{a}", "x"), "none");
}

}  // namespace
}  // namespace sagabox
