#include "stores/postgres/outbox/vacuum.hpp"

#include "integration/outbox/world.hpp"
#include "integration/stores/postgres/world.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace sagabox::postgres {
namespace {

using sagabox::testing::FakeClock;
using sagabox::testing::run_sql;
using std::chrono::hours;
using std::chrono::milliseconds;

constexpr Vacuum::Limits soon{.rows_min = 100, .interval_min = milliseconds(10)};

/// One that failed is tried again after a minute.
void until(const std::function<bool()>& condition) {
  ASSERT_TRUE(integration::eventually(condition, std::chrono::minutes(5)));
}

/// Vacuums that are not autovacuum's.
class PostgresVacuum : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open_store({.vacuum_after = 20});
    names_ = Names::parse(database_->schema()).value();
  }
  int vacuums(const std::string& table) {
    return std::stoi(
        database_->sql("SELECT pg_stat_get_vacuum_count('" + in_schema(table) + "'::regclass)")
            .at(0));
  }
  void await_vacuum(const std::string& table, int count = 1) {
    until([&] { return vacuums(table) >= count; });
  }
  std::vector<Written> write(std::size_t count) {
    std::vector<std::shared_ptr<const Message>> messages;
    for (std::size_t i = 0; i < count; ++i) messages.push_back(message());
    return store_
        ->transaction([&](OwnedTransaction& tx) { return tx.outbox().insert(table_, messages); })
        .value();
  }

  /// Of so many rows, all but the last ones. What a session did counts when it is closed.
  void fill_and_delete(const std::string& table, int rows, int gone) {
    const auto name = in_schema(table);
    const auto session = database_->connect();
    run_sql(session.get(), "ALTER TABLE " + name + " SET (autovacuum_enabled = off)");
    run_sql(session.get(),
            "INSERT INTO " + name +
                " (topic, payload) SELECT 'a.b.c.v1', '{}' FROM generate_series(1, " +
                std::to_string(rows) + ")");
    run_sql(session.get(), "DELETE FROM " + name + " WHERE seq <= " + std::to_string(gone));
  }
  /// As the server counts them, some time later.
  void await_live(const std::string& table, int rows) {
    const auto query = "SELECT pg_stat_get_live_tuples('" + in_schema(table) + "'::regclass)";
    // Of either there are none until they are counted.
    until(
        [&] { return database_->sql(query).at(0) == std::to_string(rows) && dead(table) != "0"; });
  }
  [[nodiscard]] std::string dead(const std::string& table) {
    return database_->sql("SELECT pg_stat_get_dead_tuples('" + in_schema(table) + "'::regclass)")
        .at(0);
  }
  void await_dead(const std::string& table, int rows) {
    until([&] { return dead(table) == std::to_string(rows); });
  }

  [[nodiscard]] bool running() {
    return database_
               ->sql("SELECT count(*) FROM pg_stat_progress_vacuum WHERE relid = '" +
                     in_schema("orders_outbox") + "'::regclass")
               .at(0) == "1";
  }
  /// A quarter of a minute for 2,000 rows.
  [[nodiscard]] ConnectSettings slow() const {
    auto slow = settings();
    slow.url += " options='-c vacuum_cost_delay=100 -c vacuum_cost_limit=1'";
    return slow;
  }

  std::unique_ptr<Store> store_;
  std::optional<Names> names_;
};

TEST_F(PostgresVacuum, RunsWheneverEnoughRowsHaveLeft) {
  const auto quiet = TableName::parse("quiet").value();
  store_->outbox().prepare(quiet).value();
  Vacuum vacuum(*names_, settings(), soon);
  vacuum.left(quiet, 99);
  vacuum.left(table_, 99);
  vacuum.left(table_, 1);
  await_vacuum("orders_outbox");
  await_vacuum("orders_claim");
  until([&] {
    vacuum.left(table_, 100);
    return vacuums("orders_outbox") >= 2;
  });
  EXPECT_EQ(vacuums("quiet_outbox"), 0);
}

TEST_F(PostgresVacuum, WaitsForItsTimeAndIsLeftOutAfterAnothers) {
  const auto billing = TableName::parse("billing").value();
  const auto wakes = TableName::parse("wakes").value();
  for (const auto& outbox : {billing, wakes}) store_->outbox().prepare(outbox).value();
  FakeClock clock;
  auto with_clock = settings();
  with_clock.clock = &clock;
  Vacuum vacuum(*names_, with_clock, {.rows_min = 1, .interval_min = hours(1)});
  vacuum.left(table_, 1);
  clock.advance(milliseconds(1));  // the next one's turn comes later
  vacuum.left(billing, 1);
  database_->sql("VACUUM " + in_schema("orders_outbox"));
  clock.advance(hours(1));
  vacuum.left(wakes, 1);
  await_vacuum("billing_outbox");
  EXPECT_EQ(vacuums("orders_outbox"), 1) << "by hand";
  EXPECT_EQ(vacuums("wakes_outbox"), 0) << "in an hour";
}

TEST_F(PostgresVacuum, IsNotWorthItWhileABacklogIsThere) {
  const auto backlog = TableName::parse("backlog").value();
  store_->outbox().prepare(backlog).value();
  fill_and_delete("backlog_outbox", 300, 250);
  fill_and_delete("orders_outbox", 300, 290);
  await_live("backlog_outbox", 50);
  await_live("orders_outbox", 10);
  Vacuum vacuum(*names_, settings(), soon);
  vacuum.left(backlog, 250);
  vacuum.left(table_, 290);
  await_vacuum("orders_outbox");
  EXPECT_EQ(vacuums("backlog_outbox"), 0);
}

TEST_F(PostgresVacuum, LeavesTablesOfOthersAloneWithoutAWord) {
  const auto strange = TableName::parse("strange").value();
  store_->outbox().prepare(strange).value();
  const std::string role = database_->schema() + "_role";
  database_->sql("CREATE ROLE " + role + " LOGIN; GRANT USAGE ON SCHEMA " + database_->schema() +
                 " TO " + role + "; ALTER TABLE " + in_schema("orders_outbox") + " OWNER TO " +
                 role + "; ALTER TABLE " + in_schema("orders_claim") + " OWNER TO " + role);
  {
    auto as_role = settings();
    as_role.url += " user=" + role;
    Vacuum vacuum(*names_, as_role, soon);
    vacuum.left(strange, 100);
    vacuum.left(table_, 100);
    await_vacuum("orders_outbox");
    await_vacuum("orders_claim");
  }
  EXPECT_EQ(vacuums("strange_outbox"), 0);
  EXPECT_EQ(database_
                ->sql("SELECT pg_read_file('server.log') ~ "
                      "'(skipping|vacuum) \"strange_'")
                .at(0),
            "f");
  database_->sql("REASSIGN OWNED BY " + role + " TO postgres; DROP OWNED BY " + role +
                 "; DROP ROLE " + role);
}

TEST_F(PostgresVacuum, IsNotWaitedForAndEndedByTheServer) {
  fill_and_delete("orders_outbox", 2000, 2000);
  await_live("orders_outbox", 0);
  {
    Vacuum vacuum(*names_, slow(), soon);
    vacuum.left(table_, 100);
    until([&] { return running(); });
    EXPECT_EQ(database_
                  ->sql("SELECT count(*) FROM " + in_schema("horizon_holders()") +
                        " WHERE holder IN (SELECT pid::text FROM pg_stat_progress_vacuum)")
                  .at(0),
              "0")
        << "it keeps nobody from vacuuming";
  }
  until([&] { return !running(); });
  EXPECT_EQ(vacuums("orders_outbox"), 0) << "it came to its end";
}

TEST_F(PostgresVacuum, MakesWayForWhoeverChangesTheTable) {
  fill_and_delete("orders_outbox", 2000, 2000);
  await_live("orders_outbox", 0);
  Vacuum vacuum(*names_, slow(), soon);
  vacuum.left(table_, 100);
  until([&] { return running(); });
  database_->sql("ALTER TABLE " + in_schema("orders_outbox") + " SET (fillfactor = 90)");
  EXPECT_EQ(vacuums("orders_outbox"), 0) << "it was waited for";
}

TEST_F(PostgresVacuum, KeepsUpWithAFlowThatLeavesManyPending) {
  // As many go as come, and one of five is always pending: too many, were they a backlog.
  const auto empty = TableName::parse("empty").value();
  const auto wakes = TableName::parse("wakes").value();
  const auto wakes_again = TableName::parse("wakes_again").value();
  for (const auto& outbox : {empty, wakes, wakes_again}) store_->outbox().prepare(outbox).value();
  FakeClock clock;
  auto with_clock = settings();
  with_clock.clock = &clock;
  Vacuum vacuum(*names_, with_clock, {.rows_min = 1, .interval_min = hours(1)});
  const auto in_an_hour = [&](const TableName& waker) {
    clock.advance(hours(1));
    vacuum.left(waker, 1);
  };
  fill_and_delete("orders_outbox", 500, 400);
  await_live("orders_outbox", 100);
  vacuum.left(table_, 1);
  clock.advance(milliseconds(1));
  vacuum.left(empty, 1);
  in_an_hour(wakes);
  await_vacuum("empty_outbox");
  EXPECT_EQ(vacuums("orders_outbox"), 0) << "nobody knows yet that they keep coming";

  fill_and_delete("orders_outbox", 500, 900);
  await_dead("orders_outbox", 900);
  vacuum.left(table_, 1);
  in_an_hour(wakes_again);
  await_vacuum("orders_outbox");
}

TEST_F(PostgresVacuum, OfAStoreCountsWhatIsSettled) {
  const WorkerId worker = ids_.next<WorkerId>();
  const std::vector<spi::Scope> scopes{"outbox:orders"};
  ASSERT_TRUE(store_->ownership().join(worker, hours(1), scopes, 16).value().live);
  std::vector<spi::Fence> fences;
  for (const auto& owned : store_->ownership().take(scopes[0], worker, 16).value()) {
    fences.push_back({owned.shard, owned.epoch});
  }
  until([&] {
    std::vector<spi::Settlement> items;
    for (const auto& row : write(20)) {
      items.push_back({.sequence = row.sequence, .shard = row.shard, .id = row.id, .attempts = 1});
    }
    store_->outbox().settle({table_, {scopes.front(), worker, fences}, items, false}).value();
    return vacuums("orders_outbox") > 0;
  });
}

}  // namespace
}  // namespace sagabox::postgres
