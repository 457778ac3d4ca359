#include "transports/settings.hpp"

#include <gtest/gtest.h>

namespace sagabox::transports {
namespace {

TEST(SettingsTest, ReadsNumbersAndFlags) {
  const spi::AddressSettings given{{"maxlen", "10"}, {"exact", "true"}, {"loud", "false"}};
  Settings settings(given);
  EXPECT_EQ(settings.number("maxlen", 1, 100), 10U);
  EXPECT_EQ(settings.number("wait", 1, 100), std::nullopt);
  EXPECT_TRUE(settings.flag("exact", false));
  EXPECT_FALSE(settings.flag("loud", true));
  EXPECT_TRUE(settings.flag("other", true));
  EXPECT_TRUE(settings.check().ok());
}

TEST(SettingsTest, WhatIsWrongIsNamed) {
  for (const auto* value : {"", "0", "101", "-1", "1x", "99999999999999999999999"}) {
    const spi::AddressSettings given{{"maxlen", value}};
    Settings settings(given);
    settings.number("maxlen", 1, 100);
    const auto checked = settings.check();
    ASSERT_FALSE(checked.ok()) << value;
    EXPECT_NE(checked.error().message.find("maxlen"), std::string::npos);
    EXPECT_NE(checked.error().message.find("1 to 100"), std::string::npos);
  }
  const spi::AddressSettings given{{"exact", "yes"}};
  Settings settings(given);
  settings.flag("exact", true);
  EXPECT_NE(settings.check().error().message.find("true or false"), std::string::npos);
}

TEST(SettingsTest, UnknownOnesAreNamedWithThoseThereAre) {
  const spi::AddressSettings given{{"maxlan", "1"}};
  Settings settings(given);
  settings.number("maxlen", 1, 100);
  settings.flag("exact", false);
  const auto message = settings.check().error().message;
  EXPECT_NE(message.find("maxlan"), std::string::npos) << message;
  EXPECT_NE(message.find("maxlen, exact"), std::string::npos) << message;
}

TEST(AfterSchemeTest, GivesWhatStandsBehindIt) {
  EXPECT_EQ(after_scheme("redis:a:b", "redis:", "redis:orders").value(), "a:b");
  for (const auto* text : {"", "redis", "redis:", "kafka:a", "a", "redis:a\n", "redis:\xff"}) {
    const auto rest = after_scheme(text, "redis:", "redis:orders");
    ASSERT_FALSE(rest.ok()) << text;
    EXPECT_NE(rest.error().message.find("redis:orders"), std::string::npos);
  }
}

}  // namespace
}  // namespace sagabox::transports
