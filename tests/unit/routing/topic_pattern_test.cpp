#include "routing/topic_pattern.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace sagabox::routing {
namespace {

TopicPattern pattern(std::string_view text) { return TopicPattern::parse(text).value(); }

TEST(TopicPatternTest, StarStandsForOnePartAndTwoForTheRest) {
  struct Case {
    const char* pattern;
    const char* topic;
    bool fits;
  };
  for (const auto& [text, topic, fits] : std::initializer_list<Case>{
           {"orders.order.placed.v1", "orders.order.placed.v1", true},
           {"orders.order.placed.v1", "orders.order.placed.v2", false},
           {"orders.order.placed", "orders.order.placed.v1", false},
           {"orders.order.placed.v1", "orders.order.placed", false},
           {"orders.*.placed.v1", "orders.order.placed.v1", true},
           {"orders.*.placed.v1", "orders.a.b.placed.v1", false},
           {"*", "orders", true},
           {"*", "orders.order", false},
           {"orders.**", "orders.order.placed.v1", true},
           {"orders.**", "orders", false},
           {"**", "anything.at.all", true},
           {"orders.*.**", "orders.order.placed", true},
           {"orders.*.**", "orders.order", false},
       }) {
    EXPECT_EQ(pattern(text).fits(topic), fits) << text << " and " << topic;
  }
}

TEST(TopicPatternTest, WhatItCannotMeanIsRefusedWithTheRule) {
  for (const auto* text : {"", "a..b", ".a", "a.", "a.b*", "**.a", "a.**.b"}) {
    const auto parsed = TopicPattern::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, Code::config_invalid);
  }
}

std::vector<std::string> some_parts(std::size_t least, std::string third) {
  const auto count = *rc::gen::inRange<std::size_t>(least, 5);
  return *rc::gen::container<std::vector<std::string>>(
      count, rc::gen::element<std::string>("a", "b", std::move(third)));
}

std::string some_pattern() {
  const auto parts = some_parts(0, "*");
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ".") + part;
  const bool open = *rc::gen::arbitrary<bool>() || text.empty();
  return open ? text + (text.empty() ? "**" : ".**") : text;
}

RC_GTEST_PROP(TopicPatternTest, CoversMeansThatAllItsTopicsFit, ()) {
  const auto wide = pattern(some_pattern());
  const auto narrow = pattern(some_pattern());
  const auto parts = some_parts(1, "c");
  std::string topic;
  for (const auto& part : parts) topic += (topic.empty() ? "" : ".") + part;
  if (wide.covers(narrow) && narrow.fits(topic)) RC_ASSERT(wide.fits(topic));
}

TEST(TopicPatternTest, CoversWhatItSays) {
  EXPECT_TRUE(pattern("**").covers(pattern("a.b")));
  EXPECT_TRUE(pattern("a.*").covers(pattern("a.b")));
  EXPECT_TRUE(pattern("a.**").covers(pattern("a.*.**")));
  EXPECT_FALSE(pattern("a.*").covers(pattern("a.**")));
  EXPECT_FALSE(pattern("a.*.**").covers(pattern("a.**")));
  EXPECT_FALSE(pattern("a.b").covers(pattern("a.*")));
}

}  // namespace
}  // namespace sagabox::routing
