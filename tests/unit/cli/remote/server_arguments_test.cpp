#include "cli/remote/server_arguments.hpp"

#include <gtest/gtest.h>

namespace sagabox::cli {
namespace {

TEST(ServerArguments, AUrlIsHttpAndNothingElse) {
  EXPECT_EQ(parse_server("http://127.0.0.1:8700").value(), "http://127.0.0.1:8700");
  EXPECT_EQ(parse_server("https://ops.example.com/sagabox/").value(),
            "https://ops.example.com/sagabox");
  EXPECT_EQ(parse_server("127.0.0.1:8700").error().message,
            "server \"127.0.0.1:8700\": write it as http://127.0.0.1:8700 or https://host/path");
  for (const auto* wrong : {"", "http://", "https:///", "ftp://host", "http://a b", "http://a\n",
                            "http://host?x=1", "http://host#x"}) {
    EXPECT_FALSE(parse_server(wrong).ok()) << wrong;
  }
}

TEST(ServerArguments, AUrlWithASecretIsRefusedAndNotShown) {
  const auto refused = parse_server("https://ann:sesame@host");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message.find("sesame"), std::string::npos);
  EXPECT_NE(refused.error().message.find("--key-file"), std::string::npos);
}

TEST(ServerArguments, AKeyIsOneWord) {
  EXPECT_EQ(parse_key(" sbx_ab12CD34_x\r\n").value(), "sbx_ab12CD34_x");
  for (const auto* wrong : {"", "\n", "secret", "sbx_a b", "sbx_a\nsbx_b", "sbx_\x01"}) {
    const auto refused = parse_key(wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().message.find("secret"), std::string::npos);
  }
}

TEST(ServerArguments, APlainUrlHidesAKeyOnThisMachineOnly) {
  for (const auto* hidden : {"https://host", "http://127.0.0.1:8700", "http://localhost",
                             "http://localhost:1/x", "http://[::1]:8700"}) {
    EXPECT_FALSE(is_readable_by_others(hidden)) << hidden;
  }
  EXPECT_TRUE(is_readable_by_others("http://host:8700"));
  EXPECT_TRUE(is_readable_by_others("http://localhost.example.com"));
}

TEST(ServerArguments, WhatWasTypedComesBeforeAVariable) {
  const Said none;
  const Said typed{"a", ""};
  const Said typed_over{"a", "b"};
  const Said variable{"b", "b"};
  EXPECT_FALSE(chooses_server(none, none).value());
  EXPECT_FALSE(chooses_server(typed, none).value());
  EXPECT_TRUE(chooses_server(none, variable).value());
  EXPECT_TRUE(chooses_server(variable, typed).value());
  EXPECT_FALSE(chooses_server(typed_over, variable).value());
  EXPECT_FALSE(chooses_server(typed, typed).ok());
  EXPECT_FALSE(chooses_server(variable, variable).ok());
}

}  // namespace
}  // namespace sagabox::cli
