#include "integration/postgres/plans.hpp"

namespace sagabox::integration {
namespace {

class PostgresPlans : public PlansWorld {
 protected:
  PostgresPlans() : PlansWorld(100'000) {}
};

TEST_F(PostgresPlans, HotStatementsWalkTheirIndexOnAFullTable) {
  fill();
  look_at_every_plan();
  database->sql("VACUUM ANALYZE " + outbox_table());
  look_at_every_plan();
}

TEST_F(PostgresPlans, CompetingStatementsWalkTheirIndexOnAFullTable) {
  fill();
  look_at_competing_plans();
  database->sql("VACUUM ANALYZE " + outbox_table());
  look_at_competing_plans();
}

TEST_F(PostgresPlans, TableThatFilledAfterTheFirstReadsIsReadByItsIndex) {
  for (int i = 0; i < 10; ++i) {
    (void)connection->run(outbox->read, read_params(), Effect::none).value();
    (void)connection->run(outbox->delete_done, delete_params(), Effect::commits).value();
  }
  database->sql("ANALYZE " + outbox_table());
  fill();
  look_at_every_plan();
  // A plan kept from the empty table would show in the statistics of the scans.
  const auto scans = [&] {
    database->sql("SELECT pg_stat_force_next_flush()");
    return std::stoll(
        database->sql("SELECT seq_tup_read FROM pg_stat_user_tables WHERE schemaname = '" +
                      database->schema() + "' AND relname = 'orders_outbox'")[0]);
  };
  const auto before = scans();
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(connection->run(outbox->read, read_params(), Effect::none).value().size(), 500);
  }
  (void)connection->run({"", "SELECT pg_stat_force_next_flush()"}, {}, Effect::none);
  EXPECT_EQ(scans(), before);
}

}  // namespace
}  // namespace sagabox::integration
