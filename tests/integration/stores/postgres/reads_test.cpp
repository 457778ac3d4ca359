#include "integration/stores/postgres/world.hpp"

#include <algorithm>
#include <optional>
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
    reply.emplace(
        roles_->outbox.settle({table_, worker_, std::span(&fence, 1), std::span(&done, 1), false}));
  });
  until_blocked("FOR NO KEY UPDATE");
  run_sql(other_.get(), "COMMIT");
  settling.join();
  ASSERT_TRUE(reply->ok()) << reply->error().text();
  EXPECT_TRUE((*reply)->parts.at(0).held);
}

INSTANTIATE_TEST_SUITE_P(Modes, PostgresReads,
                         ::testing::Values(ClaimMode::sharded, ClaimMode::competing),
                         [](const auto& mode) {
                           return mode.param == ClaimMode::sharded ? "Sharded" : "Competing";
                         });

}  // namespace
}  // namespace sagabox::postgres
