#include "transports/stream.hpp"

#include <gtest/gtest.h>

namespace sagabox::transports {
namespace {

using namespace std::chrono_literals;

TEST(ConnectByTest, SilentAddressLeavesTimeToTheNext) {
  const BootTime now{10s};
  const auto deadline = now + 6s;
  EXPECT_EQ(connect_by(now, deadline, 3), now + 2s);
  EXPECT_EQ(connect_by(now + 2s, deadline, 2), now + 4s);
  EXPECT_EQ(connect_by(now + 4s, deadline, 1), deadline);
}

TEST(ConnectByTest, WhatOneDidNotUseIsForTheOthers) {
  const BootTime now{10s};
  EXPECT_EQ(connect_by(now, now + 6s, 2), now + 3s);
  EXPECT_EQ(connect_by(now, now + 6s, 1), now + 6s);
}

TEST(ConnectByTest, PastTheDeadlineThereIsNoTime) {
  const BootTime now{10s};
  EXPECT_EQ(connect_by(now, now - 1s, 3), now - 1s);
}

}  // namespace
}  // namespace sagabox::transports
