#include "integration/stores/postgres/world.hpp"
#include "stores/postgres/outbox/outbox_store.hpp"
#include "stores/postgres/sql_files.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <span>

namespace sagabox::postgres {
namespace {

using sagabox::testing::run_sql;
using std::chrono::seconds;

/// Whom a read waits for: see docs/decisions/018-whom-reads-wait-for.md.
class PostgresReads : public PostgresTest, public ::testing::WithParamInterface<ClaimMode> {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open_store();
    roles_.emplace(store_->claim_roles(GetParam()).value());
    roles_->outbox.prepare(table_).value();
    ASSERT_TRUE(roles_->ownership.join(worker_, seconds(60), scopes_, 16).value().live);
    taken_ = roles_->ownership.take(scopes_[0], worker_, 16).value();
    ASSERT_FALSE(taken_.empty());
    other_ = database_->connect();
  }
  /// What the other one does in a transaction that stays open; the number of that.
  TransactionId open(const std::string& act) {
    run_sql(other_.get(), "BEGIN");
    run_sql(other_.get(), act);
    return {std::stoull(run_sql(other_.get(), "SELECT pg_current_xact_id()").at(0))};
  }
  bool waits_for(TransactionId id) {
    const spi::Range range{taken_[0].shard, spi::Lane{1}, Sequence{0}, 10};
    const auto reply = roles_->outbox.read(table_, std::span(&range, 1), 1'000'000).value();
    const auto& waited = reply.horizon.value().in_progress;
    return std::ranges::find(waited, id) != waited.end() || id >= reply.horizon->next;
  }

  std::unique_ptr<Store> store_;
  std::optional<ClaimRoles> roles_;
  const std::vector<spi::Scope> scopes_{"outbox:orders"};
  WorkerId worker_ = ids_.next<WorkerId>();
  std::vector<spi::OwnedShard> taken_;
  sagabox::testing::PgConnection other_;
};

TEST_P(PostgresReads, WaitForWhoeverMayStillBringAMessage) {
  EXPECT_TRUE(waits_for(open("CREATE TEMPORARY TABLE business (n integer)")));
}

TEST_P(PostgresReads, DoNotWaitForASettleOfAnotherProcess) {
  EXPECT_FALSE(waits_for(open("SELECT FROM " + in_schema("shard_owner") +
                              " WHERE scope = 'outbox:orders' AND shard = 3 FOR NO KEY UPDATE")));
}

TEST_P(PostgresReads, DoNotWaitForAShardThatChangesHands) {
  EXPECT_FALSE(waits_for(open("UPDATE " + in_schema("shard_owner") +
                              " SET owner = NULL WHERE scope = 'outbox:orders' AND shard = 3")));
}

/// A replay writes messages in the transaction in which it holds a shard of its own.
TEST_P(PostgresReads, WaitForWhoHoldsAShardOfSomethingElse) {
  const std::vector<spi::Scope> others{"replay:orders", "outbox:bills"};
  ASSERT_TRUE(roles_->ownership.join(ids_.next<WorkerId>(), seconds(60), others, 16).value().live);
  for (const auto& other : others) {
    EXPECT_TRUE(waits_for(open("SELECT FROM " + in_schema("shard_owner") + " WHERE scope = '" +
                               other + "' FOR NO KEY UPDATE")))
        << other;
    run_sql(other_.get(), "ROLLBACK");
  }
}

/// Two that shared a lock would leave a number in its row that is no transaction's.
TEST_P(PostgresReads, SettlesHoldTheirShardsAlone) {
  const auto shard = taken_[0];
  (void)open("SELECT FROM " + in_schema("shard_owner") +
             " WHERE scope = 'outbox:orders' FOR SHARE");
  const spi::Fence fence{shard.shard, shard.epoch};
  const spi::Settlement done{
      .sequence = Sequence{1}, .shard = shard.shard, .id = ids_.next<MessageId>()};
  std::optional<Result<spi::SettleReply>> reply;
  std::thread settling([&] {
    reply.emplace(roles_->outbox.settle(
        {table_, {scopes_.front(), worker_, {&fence, 1}}, std::span(&done, 1), false}));
  });
  until_blocked("FOR NO KEY UPDATE");
  run_sql(other_.get(), "COMMIT");
  settling.join();
  ASSERT_TRUE(reply->ok()) << reply->error().text();
  EXPECT_TRUE((*reply)->parts.at(0).held);
}

/// Reads that find much ask for it in parts, and decode one while the server reads the next.
class PostgresReadParts : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (!IsSkipped()) store_ = open_store();
  }
  /// In one transaction; rows of all shards.
  void write(std::size_t count, const std::string& payload = "{}") {
    std::vector<std::shared_ptr<const Message>> messages;
    for (std::size_t i = 0; i < count; ++i) {
      // Some payloads are too large to come along.
      const bool large = i % 100 == 99;
      messages.push_back(std::make_shared<const Message>(
          Message::build({.topic = "orders.order.placed.v1",
                          .payload = json(large ? '"' + std::string(3'000, 'x') + '"' : payload)},
                         MessageRules{}, ids_, author_clock_)
              .value()));
    }
    const auto written = store_->transaction(
        [&](OwnedTransaction& tx) { return tx.outbox().insert(table_, messages); });
    ASSERT_TRUE(written.ok());
  }
  static std::vector<spi::Range> everything(std::uint32_t rows_max) {
    std::vector<spi::Range> ranges;
    for (std::uint16_t shard = 0; shard < 16; ++shard) {
      ranges.push_back({Shard{shard}, spi::Lane{1}, Sequence{0}, rows_max});
    }
    return ranges;
  }
  spi::ReadReply read(Store& store, std::uint32_t rows_max, std::size_t bytes_max) {
    return store.outbox().read(table_, everything(rows_max), bytes_max).value();
  }

  std::unique_ptr<Store> store_;
};

TEST_F(PostgresReadParts, BringWhatOneStatementBrings) {
  write(4'000);
  constexpr std::size_t plenty = 4 << 20;
  ASSERT_EQ(read(*store_, 1'000, plenty).rows.size(), 4'000U);
  for (const std::size_t bytes_max : {plenty, std::size_t{300'000}, std::size_t{1}}) {
    for (const std::uint32_t rows_max : {1'000U, 200U}) {
      (void)read(*store_, 1'000, plenty);
      const auto in_parts = read(*store_, rows_max, bytes_max);
      const auto at_once = read(*open_store(), rows_max, bytes_max);
      ASSERT_EQ(in_parts.rows.size(), at_once.rows.size()) << rows_max << " " << bytes_max;
      for (std::size_t at = 0; at < at_once.rows.size(); ++at) {
        ASSERT_EQ(in_parts.rows[at].sequence, at_once.rows[at].sequence);
        ASSERT_EQ(in_parts.rows[at].shard, at_once.rows[at].shard);
        ASSERT_TRUE(std::ranges::equal(in_parts.rows[at].message->payload().bytes(),
                                       at_once.rows[at].message->payload().bytes()));
      }
      ASSERT_EQ(in_parts.parts.size(), at_once.parts.size());
      for (std::size_t at = 0; at < at_once.parts.size(); ++at) {
        EXPECT_EQ(in_parts.parts[at].rows, at_once.parts[at].rows);
        EXPECT_EQ(in_parts.parts[at].exhausted, at_once.parts[at].exhausted);
      }
    }
  }
}

/// The horizon is that of the first part: what a later one saw beyond it would hide what is
/// missing.
TEST_F(PostgresReadParts, SeeOneSnapshot) {
  write(2'000);
  constexpr std::size_t plenty = 64 << 20;
  (void)read(*store_, 1'000, plenty);
  std::atomic<bool> ends{false};
  const std::jthread writing([&] {
    for (int transactions = 0; transactions < 300 && !ends.load(); ++transactions) write(64);
    ends.store(true);
  });
  std::set<std::size_t> sizes;
  while (!ends.load() && sizes.size() < 20) {
    sizes.insert(read(*store_, 5'000, plenty).rows.size());
    EXPECT_EQ((*sizes.rbegin() - 2'000) % 64, 0U) << "part of a transaction";
  }
  ends.store(true);
  EXPECT_GE(sizes.size(), 3U) << "nobody wrote meanwhile";
}

/// A change that rewrites the table would leave it empty for a snapshot that is older.
TEST_F(PostgresReadParts, WaitForAChangeOfTheTableAndSeeItsRows) {
  write(4'000);
  (void)read(*store_, 1'000, 4 << 20);
  const auto other = database_->connect();
  run_sql(other.get(), "BEGIN");
  run_sql(other.get(), "ALTER TABLE " + in_schema("orders_outbox") +
                           " ADD COLUMN extra float8 DEFAULT random()");
  std::optional<spi::ReadReply> reply;
  {
    const std::jthread reading([&] { reply.emplace(read(*store_, 1'000, 4 << 20)); });
    until_blocked("LOCK TABLE");
    run_sql(other.get(), "COMMIT");
  }
  EXPECT_EQ(reply->rows.size(), 4'000U);
}

/// A statement that fails in the middle leaves nothing behind that others would stumble over.
TEST_F(PostgresReadParts, FailWholeAndAreFineAgain) {
  write(4'000);
  (void)read(*store_, 1'000, 4 << 20);
  database_->sql("ALTER TABLE " + in_schema("orders_outbox") + " RENAME TO elsewhere");
  EXPECT_FALSE(store_->outbox().read(table_, everything(1'000), 4 << 20).ok());
  database_->sql("ALTER TABLE " + in_schema("elsewhere") + " RENAME TO orders_outbox");
  EXPECT_EQ(read(*store_, 1'000, 4 << 20).rows.size(), 4'000U);
}

/// What the store does with the one connection that it is given.
class PostgresReadPlans : public PostgresReadParts {
 protected:
  void SetUp() override {
    PostgresReadParts::SetUp();
    if (IsSkipped()) return;
    const auto names = Names::parse(database_->schema()).value();
    auto sections = sql::Sections::parse(sql_files, names.schema()).value();
    context_.emplace(names, settings(), Options{.relay_connections_max = 1}, sections);
    chain_.emplace(sections, "audit_head");
    wake_.emplace(sections, *context_);
    outbox_.emplace(sections, *context_, *chain_, *wake_);
  }
  void read_all(bool works = true) {
    EXPECT_EQ(outbox_->read(table_, everything(1'000), 4 << 20).ok(), works);
    const spi::DueRange due{Shard{3}, WallTime{}, Sequence{0}, 10};
    EXPECT_EQ(outbox_->read_due(table_, std::span(&due, 1), 1'000'000).ok(), works);
  }
  std::string asked(const std::string& sql) {
    const auto connection = context_->relay.take().value();
    return std::string(connection->run({"", sql}, {}, Effect::none).value().text(0, 0));
  }
  std::string plans(const std::string& of = "^sagabox sql read(_due)? ") {
    return asked(
        "SELECT string_agg(split_part(name, ' ', 3) || ': ' || (generic_plans > 1) || ' ' || "
        "custom_plans, ', ' ORDER BY name) FROM pg_prepared_statements WHERE name ~ '" +
        of + "'");
  }
  static inline const std::string as_before =
      "cpu_index_tuple_cost=0.005 cpu_operator_cost=0.0025 enable_bitmapscan=on "
      "enable_indexonlyscan=on enable_indexscan=on enable_mergejoin=on enable_nestloop=on "
      "enable_seqscan=on enable_sort=on plan_cache_mode=force_custom_plan random_page_cost=4";
  std::string session() {
    return asked(
        "SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings WHERE name "
        "~ '^(plan_cache_mode|random_page_cost|cpu_(index_tuple|operator)_cost|enable_"
        "(seqscan|bitmapscan|indexscan|indexonlyscan|sort|nestloop|mergejoin))$'");
  }

  std::optional<Context> context_;
  std::optional<sql::AuditChain> chain_;
  std::optional<Wake> wake_;
  std::optional<PostgresOutbox> outbox_;
};

TEST_F(PostgresReadPlans, AreKeptAndTheSessionIsAsBefore) {
  const std::string kept = "read: true 0, read_due: true 0";
  ASSERT_EQ(session(), as_before);
  for (int i = 0; i < 3; ++i) read_all();
  EXPECT_EQ(plans(), kept);
  EXPECT_EQ(session(), as_before);
  // In parts.
  write(4'000);
  for (int i = 0; i < 3; ++i) read_all();
  EXPECT_EQ(plans(), kept);
  EXPECT_EQ(session(), as_before);

  database_->sql("ALTER TABLE " + in_schema("orders_outbox") + " RENAME TO elsewhere");
  read_all(false);
  EXPECT_EQ(session(), as_before);
  database_->sql("ALTER TABLE " + in_schema("elsewhere") + " RENAME TO orders_outbox");
  read_all();
}

/// Whatever is settled: one row or many, kept or deleted, failed or dead.
TEST_F(PostgresReadPlans, OfSettlesAreKeptAndTheSessionIsAsBefore) {
  const auto me = WorkerId::parse("me").value();
  const std::vector<spi::Scope> scopes{"outbox:orders"};
  (void)store_->ownership().join(me, std::chrono::hours(1), scopes, 16).value();
  const auto owned = store_->ownership().take(scopes[0], me, 16).value();
  std::vector<spi::Fence> fences;
  for (const auto& shard : owned) fences.push_back({shard.shard, shard.epoch});
  const auto settle = [&](std::size_t rows, spi::Verdict verdict, bool retain) {
    write(rows);
    const auto page = read(*store_, 1'000, 4 << 20);
    std::vector<spi::Settlement> items;
    for (const auto& row : page.rows) {
      items.push_back({.sequence = row.sequence,
                       .shard = row.shard,
                       .id = row.id,
                       .verdict = verdict,
                       .attempts = 1,
                       .delay = std::chrono::hours(1),
                       .lane = spi::Lane{1}});
    }
    ASSERT_EQ(items.size(), rows);
    const auto reply = outbox_->settle({.table = table_,
                                        .fencing = {"outbox:orders", me, fences},
                                        .items = items,
                                        .retain_done = retain});
    ASSERT_TRUE(reply.ok()) << reply.error().text();
    std::size_t settled = 0;
    for (const auto& part : reply->parts) settled += part.rows;
    EXPECT_EQ(settled, rows);
    EXPECT_EQ(session(), as_before);
  };
  for (int i = 0; i < 3; ++i) {
    for (const bool retain : {false, true}) {
      settle(1, spi::Verdict::done, retain);
      settle(2'000, spi::Verdict::done, retain);
    }
    settle(3, spi::Verdict::retry, true);
    settle(3, spi::Verdict::dead, true);
    settle(3, spi::Verdict::park, true);
  }
  EXPECT_EQ(plans("^sagabox sql settle_(delete|archive|retry|bury|hold)"),
            "settle_archive: true 0, settle_archive_dense: true 0, settle_bury: true 0, "
            "settle_delete: true 0, settle_delete_dense: true 0, settle_hold: true 0, "
            "settle_retry: true 0");
  // What comes after them is planned as usual.
  EXPECT_EQ(asked("SELECT coalesce(string_agg(name, ', '), '') FROM pg_prepared_statements WHERE "
                  "generic_plans > 0 AND parameter_types <> '{}' AND name !~ '^sagabox sql "
                  "(read|settle_(delete|archive|retry|bury|hold))'"),
            "");
}

INSTANTIATE_TEST_SUITE_P(Modes, PostgresReads,
                         ::testing::Values(ClaimMode::sharded, ClaimMode::competing),
                         [](const auto& mode) {
                           return mode.param == ClaimMode::sharded ? "Sharded" : "Competing";
                         });

}  // namespace
}  // namespace sagabox::postgres
