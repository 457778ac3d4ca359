#include "integration/postgres/world.hpp"

#include <deque>

namespace sagabox::integration {
namespace {

using PostgresRuntime = PostgresWorld;

TEST_F(PostgresRuntime, ManyTablesCostOneLeaseAndTheConnectionsOfOne) {
  constexpr std::size_t tables = 16;
  const auto options = database->options();
  // The store's pools; leases, their owners and the wake-up have a connection each.
  const auto connections_max = options.writers_max + options.relay_connections_max + 3;
  const auto connections = [&] {
    return std::stoul(
        database->sql("SELECT count(*) FROM pg_stat_activity WHERE pid <> "
                      "pg_backend_pid() AND datname = current_database() AND "
                      "backend_type = 'client backend'")[0]);
  };
  const auto before = connections();
  std::deque<Outbox> outboxes;
  for (std::size_t number = 0; number < tables; ++number) {
    auto of_table = defaults();
    of_table.table = "table" + std::to_string(number);
    of_table.workers = 1;
    outboxes.push_back(started(*store, into_inbox(), of_table));
  }
  for (auto& outbox : outboxes) {
    ASSERT_TRUE(eventually([&] { return outbox.snapshot().shards_owned == shard_count; }));
    write(outbox, placed());
  }
  EXPECT_TRUE(eventually([&] { return inbox.size() == tables; }));
  EXPECT_EQ(database->sql("SELECT count(*) FROM " + database->schema() + ".worker")[0], "1");
  EXPECT_LE(connections() - before, connections_max);

  outboxes.clear();
  EXPECT_EQ(database->sql("SELECT count(*) FROM " + database->schema() +
                          ".worker WHERE lease_until > clock_timestamp()")[0],
            "0");
  EXPECT_EQ(database->sql("SELECT count(*) FROM " + database->schema() +
                          ".shard_owner WHERE owner IS NOT NULL")[0],
            "0")
      << "all have been released";
}

}  // namespace
}  // namespace sagabox::integration
