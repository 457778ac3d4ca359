#include "crash/world.hpp"

namespace sagabox::crash {
namespace {

using testing::PgConnection;
using testing::run_sql;

/// Transactions that have drawn low sequences and end late, or never.
class PostgresLate : public CrashTest {
 protected:
  static constexpr int others = 500;

  void SetUp() override {
    CrashTest::SetUp();
    if (IsSkipped()) return;
    relay = std::make_unique<Process>(ground->relay());
    ASSERT_TRUE(eventually([&] { return ground->shards_held() == 16; }));
  }
  /// Writes in several transactions, with keys and without.
  void others_write() {
    const auto connection = ground->connect();
    for (int at = 0; at < 10; ++at) {
      ground->write(connection.get(), others / 20);
      ground->write(connection.get(), others / 20, "other-" + std::to_string(at));
    }
    written += others;
  }
  [[nodiscard]] bool all_delivered() {
    return eventually([&] { return ground->delivered() == written; });
  }
  PgConnection begin(int count, const std::string& key) {
    auto connection = ground->connect();
    run_sql(connection.get(), "BEGIN");
    ground->write(connection.get(), count, key);
    return connection;
  }
  void end_well() {
    EXPECT_TRUE(ground->drained());
    EXPECT_EQ(relay->stop(), 0);
    EXPECT_EQ(ground->problems(), "");
    EXPECT_EQ(ground->delivered(), written);
    // On a slow machine the pass over everything may come round and find some first.
    if (std::chrono::steady_clock::now() - begun > seconds(20)) return;
    EXPECT_EQ(ground->notes().figures["outbox_safety_rows_total"], 0)
        << "found because their transactions ended";
  }

  const std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  std::unique_ptr<Process> relay;
  std::size_t written = 0;
};

TEST_F(PostgresLate, LowerSequencesAreFoundWhenTheirTransactionsEndAndNobodyWaitsForThem) {
  auto first = begin(3, "late");
  auto second = begin(2, {});
  auto undone = begin(2, {});
  others_write();
  ASSERT_TRUE(all_delivered()) << "while they are open";
  run_sql(second.get(), "COMMIT");
  written += 2;
  ASSERT_TRUE(all_delivered());
  others_write();
  ASSERT_TRUE(all_delivered());
  run_sql(undone.get(), "ROLLBACK");
  run_sql(first.get(), "COMMIT");
  written += 3;
  ASSERT_TRUE(all_delivered());
  end_well();
}

TEST_F(PostgresLate, TransactionsThatHaveWrittenNothingYetAreNoExcuse) {
  // It has its number before others have theirs, and draws its sequence when they have been read.
  auto early = ground->connect();
  run_sql(early.get(), "BEGIN; SELECT pg_current_xact_id()");
  others_write();
  ASSERT_TRUE(all_delivered());
  ground->write(early.get(), 2, "late");
  others_write();
  ASSERT_TRUE(all_delivered());
  run_sql(early.get(), "COMMIT");
  written += 2;
  ASSERT_TRUE(all_delivered());
  end_well();
}

TEST_F(PostgresLate, PreparedTransactionIsFoundWhenItEndsAndAForgottenOneBlocksNobody) {
  const auto prepare = [&](const std::string& name, const std::string& key) {
    auto connection = begin(2, key);
    run_sql(connection.get(), "PREPARE TRANSACTION '" + ground->schema() + name + "'");
  };
  prepare("kept", "prepared");
  prepare("undone", {});
  prepare("forgotten", {});
  others_write();
  ASSERT_TRUE(all_delivered());
  // Another relay never sees them begin.
  relay->kill();
  ground->sql("UPDATE " + ground->in_schema("worker") + " SET lease_until = '-infinity'");
  relay = std::make_unique<Process>(ground->relay());
  others_write();
  ASSERT_TRUE(all_delivered());
  ground->sql("COMMIT PREPARED '" + ground->schema() + "kept'");
  ground->sql("ROLLBACK PREPARED '" + ground->schema() + "undone'");
  written += 2;
  ASSERT_TRUE(all_delivered());
  end_well();
  ground->sql("ROLLBACK PREPARED '" + ground->schema() + "forgotten'");
}

}  // namespace
}  // namespace sagabox::crash
