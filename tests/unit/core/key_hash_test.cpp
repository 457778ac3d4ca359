#include "core/key_hash.hpp"

#include <gtest/gtest.h>

namespace sagabox {
namespace {

TEST(KeyHash, IsTheSameInEveryVersion) {
  EXPECT_EQ(key_hash("", ""), 0xaf63bd4c8601b7dfU);
  EXPECT_EQ(key_hash("default", "customer-7"), 0x8a766a762df0b243U);
  EXPECT_EQ(key_hash("acme", "customer-7"), 0x4624e2b90163915dU);
}

TEST(KeyHash, SameKeyOfAnotherTenantIsAnotherKey) {
  EXPECT_NE(key_hash("acme", "customer-7"), key_hash("other", "customer-7"));
  EXPECT_NE(key_hash("acme", "customer-7"), key_hash("acme", "customer-8"));
}

TEST(KeyHash, TenantEndsWhereTheKeyBegins) {
  EXPECT_NE(key_hash("a", "bc"), key_hash("ab", "c"));
  EXPECT_NE(key_hash("", "abc"), key_hash("abc", ""));
}

}  // namespace
}  // namespace sagabox
