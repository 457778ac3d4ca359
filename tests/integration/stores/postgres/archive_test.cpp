#include "stores/postgres/outbox/archive.hpp"

#include "integration/stores/postgres/world.hpp"

#include <algorithm>

namespace sagabox::postgres {
namespace {

using sagabox::testing::run_sql;
using std::chrono::hours;

constexpr auto day = hours(24);

class PostgresArchive : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open_store();
    // At noon, so that what belongs to one day is written on it, and long ago: nothing is expected
    // to have ended in the future.
    database_->sql(
        "UPDATE sagabox_test.shift SET by = date_trunc('day', true_clock_timestamp() AT TIME ZONE "
        "'UTC') AT TIME ZONE 'UTC' + interval '12 hours' - interval '20 days' - "
        "true_clock_timestamp() WHERE name = '" +
        database_->schema() + "'");
    (void)purge(day * 7);
  }
  Result<std::vector<Written>> write(const std::shared_ptr<const Message>& one) {
    return store_->transaction(
        [&](OwnedTransaction& tx) { return tx.outbox().insert(table_, std::span(&one, 1)); });
  }
  /// Written and delivered now.
  std::shared_ptr<const Message> deliver(std::string id = {}) {
    const auto one = message(std::move(id));
    const auto row = write(one).value().front();
    const auto worker = ids_.next<WorkerId>();
    auto& ownership = store_->ownership();
    EXPECT_TRUE(ownership.join(worker, std::chrono::seconds(30), scopes_, 16).value().live);
    const auto taken = ownership.take(scopes_[0], worker, 16).value();
    std::vector<spi::Fence> fences;
    for (const auto& shard : taken) fences.push_back({shard.shard, shard.epoch});
    const std::vector<spi::Settlement> items{
        {.sequence = row.sequence, .shard = row.shard, .id = row.id}};
    (void)store_->outbox()
        .settle({.table = table_, .fencing = {"outbox:orders", worker, fences}, .items = items})
        .value();
    ownership.release(scopes_[0], worker, taken).value();
    ownership.leave(worker).value();
    return one;
  }
  spi::PurgeReply purge(Duration older_than, std::string actor = {}) {
    return store_->outbox_admin()
        .purge({.table = table_, .older_than = older_than, .actor = std::move(actor)})
        .value();
  }
  bool is_day(const std::string& when) {
    return database_
               ->sql("SELECT to_regclass('" + in_schema("orders_a") + "' || to_char((" + when +
                     ") AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NOT NULL")
               .at(0) == "t";
  }
  std::string now() { return database_->sql("SELECT clock_timestamp()").at(0); }
  static std::string at(const std::string& time) { return "'" + time + "'::timestamptz"; }
  bool is_there(const MessageId& id) {
    return store_->outbox_admin().find({.table = table_, .id = id}).value().has_value();
  }

  std::unique_ptr<Store> store_;
  const std::vector<spi::Scope> scopes_{"outbox:orders"};
};

TEST_F(PostgresArchive, DayThatIsOldAsAWholeIsDropped) {
  const auto first_day = now();
  const auto old = deliver();
  (void)deliver();
  database_->advance_time(day * 3);
  const auto second_day = now();
  const auto young = deliver();
  database_->advance_time(day * 5);

  const auto reply = purge(day * 7);

  EXPECT_EQ(reply.rows, 2U);
  EXPECT_FALSE(reply.more);
  EXPECT_FALSE(is_day(at(first_day)));
  EXPECT_TRUE(is_day(at(second_day)));
  EXPECT_FALSE(is_there(old->id()));
  EXPECT_TRUE(is_there(young->id()));
  EXPECT_EQ(purge(day * 7).rows, 0U);
}

TEST_F(PostgresArchive, DayThatIsOldInPartLosesOnlyItsOldRows) {
  const auto begun = now();
  const auto old = deliver();
  database_->advance_time(hours(6));
  const auto young = deliver();
  database_->advance_time(day * 7 - hours(3));
  EXPECT_EQ(purge(day * 7).rows, 1U);
  EXPECT_TRUE(is_day(at(begun)));
  EXPECT_FALSE(is_there(old->id()));
  EXPECT_TRUE(is_there(young->id()));
}

TEST_F(PostgresArchive, IdsAreRememberedAsLongAsTheirDay) {
  const auto old = deliver("my-order-1");
  database_->advance_time(day * 4);
  const auto young = deliver("my-order-2");
  database_->advance_time(day * 4);
  EXPECT_TRUE(write(old).value().front().duplicate);
  EXPECT_EQ(purge(day * 7).rows, 1U);
  EXPECT_TRUE(write(young).value().front().duplicate);
  EXPECT_FALSE(write(old).value().front().duplicate) << "it is forgotten";
}

TEST_F(PostgresArchive, YesterdayStaysHoweverShortTheRetention) {
  database_->advance_time(day);
  (void)purge(hours(1));
  const auto days =
      "SELECT array_agg(inhrelid ORDER BY inhrelid)::text FROM pg_inherits WHERE "
      "inhparent = '" +
      in_schema("orders_archive") + "'::regclass";
  const auto before = database_->sql(days);
  (void)purge(hours(1));
  EXPECT_EQ(database_->sql(days), before) << "nothing is dropped and made again every hour";
  EXPECT_TRUE(is_day("clock_timestamp() - interval '1 day'"));
  EXPECT_FALSE(is_day("clock_timestamp() - interval '2 days'"));
}

TEST_F(PostgresArchive, ReaderIsNotWaitedForAndRowsAreDeletedInstead) {
  const auto begun = now();
  (void)deliver();
  database_->advance_time(day * 9);
  auto reader = database_->connect();
  run_sql(reader.get(), "BEGIN; SELECT count(*) FROM " + in_schema("orders_archive"));
  EXPECT_EQ(purge(day * 7).rows, 1U) << "one by one";
  EXPECT_TRUE(is_day(at(begun)));
  EXPECT_EQ(count("orders_archive"), "0");
  run_sql(reader.get(), "COMMIT");
  EXPECT_EQ(purge(day * 7).rows, 0U);
  EXPECT_FALSE(is_day(at(begun))) << "dropped, empty as it is";
}

TEST_F(PostgresArchive, UserWhoMayNotDropDeletes) {
  const auto begun = now();
  (void)deliver();
  database_->advance_time(day * 9);
  const std::string role = database_->schema() + "_role";
  database_->sql("CREATE ROLE " + role + " LOGIN; GRANT USAGE ON SCHEMA " + database_->schema() +
                 " TO " + role + "; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " +
                 database_->schema() + " TO " + role +
                 "; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA " + database_->schema() + " TO " +
                 role);
  store_ = open(database_->url() + " user=" + role, database_->options()).value();
  EXPECT_EQ(purge(day * 7).rows, 1U);
  EXPECT_TRUE(is_day(at(begun)));
  store_.reset();
  database_->sql("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(PostgresArchive, OperatorsPurgeIsAuditedRowByRow) {
  const auto begun = now();
  const auto old = deliver();
  database_->advance_time(day * 9);
  EXPECT_EQ(purge(day * 7, "ann").rows, 1U);
  const auto log = store_->audit().read(0, 100).value();
  EXPECT_EQ(
      std::ranges::count_if(
          log, [&](const AuditEntry& entry) { return entry.event.message_id == old->id().view(); }),
      1);
  EXPECT_TRUE(is_day(at(begun)));
}

TEST_F(PostgresArchive, BigDayIsCountedByEstimate) {
  const auto begun = now();
  (void)deliver();
  database_->sql("INSERT INTO " + in_schema("orders_archive") +
                 " (seq, id, shard, ended_at, attempts, replays, written_at, tenant, topic, "
                 "aggregate_type, priority, payload, is_json, content_type, occurred_at) SELECT "
                 "1000 + n, 'x' || n, 0, ended_at, 1, 0, written_at, tenant, topic, "
                 "aggregate_type, priority, payload, is_json, content_type, occurred_at FROM " +
                 in_schema("orders_archive") + ", generate_series(1, 29999) n; ANALYZE " +
                 in_schema("orders_archive"));
  database_->advance_time(day * 9);
  EXPECT_NEAR(static_cast<double>(purge(day * 7).rows), 30'000, 1'000);
  EXPECT_FALSE(is_day(at(begun)));
}

}  // namespace
}  // namespace sagabox::postgres
