#include <sagabox/open.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace sagabox {
namespace {

TEST(OpenTransportTest, EveryTransportOfThisBuildIsFoundByItsUrl) {
  for (const auto& begin : transport_schemes()) {
    const auto url = begin.ends_with("//") ? begin + "127.0.0.1:1" : begin;
    const auto opened = open_transport(url);
    EXPECT_TRUE(opened.ok()) << url << ": " << (opened.ok() ? "" : opened.error().text());
  }
}

TEST(OpenTransportTest, AnUnknownOneIsRefusedWithThoseThereAre) {
  const auto opened = open_transport("pigeon://user:secret@loft");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::config_invalid);
  EXPECT_EQ(opened.error().message.find("there is no transport for \"pigeon:\"; this build has "),
            0U);
  EXPECT_EQ(opened.error().message.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace sagabox
