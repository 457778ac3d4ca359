#include "core/process_name.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace sagabox {
namespace {

TEST(ProcessName, IsTheHostAndTheProcess) {
  EXPECT_EQ(process_name("relay-a", 4711, 25), "relay-a:4711");
  EXPECT_EQ(process_name("relay-a.shop.example.com", 4711, 25), "relay-a:4711");
}

TEST(ProcessName, OfALongHostTheEndIsKept) {
  EXPECT_EQ(process_name("orders-relay-6d5f7c9b8-x2x7q", 1, 25), "s-relay-6d5f7c9b8-x2x7q:1");
  EXPECT_EQ(process_name("orders-relay-6d5f7c9b8-x2x7q", 4194304, 12), "2x7q:4194304");
}

TEST(ProcessName, IsPrintable) { EXPECT_EQ(process_name("a b\n", 7, 25), "a_b_:7"); }

TEST(ProcessName, OurOwnHasOurProcessId) {
  EXPECT_TRUE(own_process_name(25).ends_with(":" + std::to_string(getpid())));
}

}  // namespace
}  // namespace sagabox
