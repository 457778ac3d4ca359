#include "outbox/upkeep/pauses.hpp"

#include "unit/outbox/shard_world.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace sagabox::outbox {
namespace {

using testing::message;
using testing::TopicGate;

bool goes(const Pauses& pauses, std::string topic) {
  const auto gated = pauses.class_of(*message({.topic = Topic(std::move(topic))}));
  return !gated || !pauses.closed(*gated);
}

TEST(Pauses, NothingGoesBeforeTheFirstLook) {
  Pauses pauses;
  EXPECT_TRUE(pauses.whole_table());
  EXPECT_TRUE(pauses.set({})) << "messages may go that could not";
  EXPECT_FALSE(pauses.whole_table());
  EXPECT_FALSE(pauses.set({})) << "nothing new";
}

TEST(Pauses, TopicWaitsAndOthersGo) {
  Pauses pauses;
  const std::array paused{Pause{.topic = "a"}, Pause{.topic = "b"}};
  pauses.set(paused);
  EXPECT_FALSE(pauses.whole_table());
  EXPECT_FALSE(goes(pauses, "a"));
  EXPECT_FALSE(goes(pauses, "b"));
  EXPECT_TRUE(goes(pauses, "c"));
  EXPECT_FALSE(pauses.set(paused)) << "nothing new";
  EXPECT_TRUE(pauses.set(std::span(paused).first(1))) << "b may go again";
  EXPECT_FALSE(goes(pauses, "a"));
  EXPECT_TRUE(goes(pauses, "b"));
  EXPECT_FALSE(pauses.set(paused)) << "b stops, nothing may go that could not";
}

TEST(Pauses, WholeTableAndATopicAreApart) {
  Pauses pauses;
  pauses.set({});
  const std::array both{Pause{}, Pause{.topic = "a"}};
  EXPECT_FALSE(pauses.set(both));
  EXPECT_TRUE(pauses.whole_table());
  EXPECT_TRUE(pauses.set(std::span(both).last(1)));
  EXPECT_FALSE(pauses.whole_table());
  EXPECT_FALSE(goes(pauses, "a"));
}

TEST(Pauses, WhatLiesBeneathStillKeepsBack) {
  TopicGate beneath;
  beneath.close("down");
  Pauses pauses(&beneath);
  const std::array paused{Pause{.topic = "a"}};
  pauses.set(paused);
  EXPECT_FALSE(goes(pauses, "down"));
  EXPECT_FALSE(goes(pauses, "a"));
  EXPECT_TRUE(goes(pauses, "c"));
  pauses.set({});
  EXPECT_TRUE(goes(pauses, "a"));
  EXPECT_FALSE(goes(pauses, "down"));
}

}  // namespace
}  // namespace sagabox::outbox
