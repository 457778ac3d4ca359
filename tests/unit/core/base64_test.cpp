#include "core/base64.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace sagabox {
namespace {

std::string base64(std::string_view bytes) {
  std::string text;
  append_base64(bytes, text);
  return text;
}

TEST(Base64, KnownAnswers) {
  // RFC 4648, section 10
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, WhatIsNotBase64IsNotRead) {
  for (const auto* text : {"Z", "Zg=", "Zg", "====", "Z===", "Zm9v\n", " Zm9", "Zm=v", "Zm9-"}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
}

RC_GTEST_PROP(Base64, ComesBack, (const std::string& bytes)) {
  RC_ASSERT(from_base64(base64(bytes)) == bytes);
}

}  // namespace
}  // namespace sagabox
