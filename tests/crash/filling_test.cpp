#include "crash/world.hpp"

#include <fstream>
#include <iostream>

namespace sagabox::crash {
namespace {

using testing::run_sql;

class PostgresFilling : public CrashTest {
 protected:
  /// The most memory that the process has had at a time, in kilobytes.
  static std::uint64_t memory_of(const Process& process) {
    std::ifstream in("/proc/" + std::to_string(process.id()) + "/status");
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6));
    }
    return 0;
  }
};

TEST_F(PostgresFilling, IdleRelayWhoseTableFillsDeliversEverythingWithinItsMemory) {
  // Held at once they would take several times the bound.
  constexpr int rows = 300'000;
  constexpr std::uint64_t growth_max_kb = 64 * 1024;
  auto relay = ground->relay();
  ASSERT_TRUE(eventually([&] { return ground->shards_held() == 16; }));
  // What it reads while there is nothing must not decide how it reads later.
  ground->write(20);
  ASSERT_TRUE(ground->drained());
  ground->sql("ANALYZE " + ground->in_schema("orders_outbox"));
  const auto before = memory_of(relay);
  {
    const auto connection = ground->connect();
    run_sql(connection.get(),
            "WITH written AS (INSERT INTO " + ground->in_schema("orders_outbox") +
                " (topic, payload, key) SELECT 'orders.order.placed.v1', "
                "convert_to('\"' || repeat('x', 300) || '\"', 'UTF8'), "
                "CASE WHEN n % 2 = 0 THEN 'k' || n % 5000 END FROM generate_series(1, " +
                std::to_string(rows) + ") AS n RETURNING id, seq, key) INSERT INTO " +
                ground->in_schema("ledger") +
                " SELECT id, seq, coalesce(key, ''), key IS NOT NULL, false FROM written");
  }
  EXPECT_TRUE(eventually(
      [&] {
        return ground->sql("SELECT count(*) FROM (SELECT FROM " +
                           ground->in_schema("orders_outbox") + " LIMIT 1) AS one")[0] == "0";
      },
      std::chrono::minutes(8)));
  const auto grown = memory_of(relay) - before;
  EXPECT_EQ(relay.stop(), 0);
  std::cout << "memory " << before << " kB, " << grown << " kB more at most\n";
  EXPECT_LT(grown, growth_max_kb);
  EXPECT_EQ(ground->problems(), "");
  EXPECT_EQ(ground->delivered(), static_cast<std::size_t>(rows) + 20);
}

}  // namespace
}  // namespace sagabox::crash
