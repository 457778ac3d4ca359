#include "integration/stores/postgres/world.hpp"

namespace sagabox::postgres {
namespace {

using sagabox::testing::PostgresServer;

TEST(PostgresFailOver, ReplicaIsRefusedAndPromotionIsAnotherTimeline) {
  const auto& primary = PostgresServer::shared();
  if (!primary.problem.empty()) GTEST_SKIP() << primary.problem;
  const auto replica = primary.start_replica();
  ASSERT_EQ(replica.problem, "");

  const auto refused = open(replica.url());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::storage_unavailable);
  EXPECT_NE(refused.error().message.find("replica"), std::string::npos) << refused.error().message;

  const auto timeline = [](const PostgresServer& server) {
    return Connection::open({.url = server.url()}).value()->timeline();
  };
  const auto before = timeline(primary);
  ASSERT_TRUE(replica.promote());
  EXPECT_NE(timeline(replica), before);
  EXPECT_EQ(timeline(primary), before);
  PostgresServer::stop(replica.folder);
}

}  // namespace
}  // namespace sagabox::postgres
