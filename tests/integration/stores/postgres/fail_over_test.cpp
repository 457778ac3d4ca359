#include "integration/stores/postgres/world.hpp"

#include <filesystem>

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
  const sagabox::testing::PgConnection operator_connection(PQconnectdb(replica.url().c_str()));
  sagabox::testing::run_sql(operator_connection.get(), "SELECT pg_promote()");
  EXPECT_NE(timeline(replica), before);
  EXPECT_EQ(timeline(primary), before);
  PostgresServer::stop(replica.folder);
}

}  // namespace
}  // namespace sagabox::postgres
