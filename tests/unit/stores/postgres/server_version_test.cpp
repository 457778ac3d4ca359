#include "stores/postgres/driver/connection.hpp"

#include <gtest/gtest.h>

namespace sagabox::postgres {
namespace {

TEST(ServerVersion, FromThirteenOn) {
  EXPECT_TRUE(check_server_version(130000).ok());
  EXPECT_TRUE(check_server_version(150004).ok());
}

TEST(ServerVersion, OlderOneIsRefusedByName) {
  for (const int version : {120022, 90624, 0}) {
    const auto refused = check_server_version(version);
    ASSERT_FALSE(refused.ok()) << version;
    EXPECT_EQ(refused.error().code, Code::config_invalid);
  }
  EXPECT_NE(check_server_version(120022).error().message.find("PostgreSQL 12;"), std::string::npos);
}

}  // namespace
}  // namespace sagabox::postgres
