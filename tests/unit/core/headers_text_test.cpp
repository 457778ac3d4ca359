#include "core/headers_text.hpp"

#include <gtest/gtest.h>

namespace sagabox {
namespace {

TEST(HeadersText, ComesBackInOrder) {
  const Headers headers{{"x-b", "2"}, {"x-a", "1; \"quoted\" \\ ü"}, {"empty", ""}};
  const auto text = headers_text(headers);
  EXPECT_EQ(headers_from_text(text).value(), headers);
  EXPECT_EQ(headers_text({}), "{}");
  EXPECT_TRUE(headers_from_text("{}").value().empty());
}

TEST(HeadersText, AnythingButAnObjectOfStringsIsRefused) {
  for (const auto* text : {"", "[1]", "{\"a\":1}", "{\"a\":{}}", "null", "{", "{} {}"}) {
    const auto refused = headers_from_text(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().code, Code::schema_validation_failed);
  }
}

}  // namespace
}  // namespace sagabox
