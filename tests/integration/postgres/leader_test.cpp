#include "integration/postgres/world.hpp"
#include "support/forwarding.hpp"

#include <sagabox/testing/recording.hpp>

#include <atomic>

namespace sagabox::integration {
namespace {

/// As a store whose reads or settles do not come back, from when it is told until it is told
/// otherwise.
class HangingStore final : public Store {
 public:
  explicit HangingStore(Store& to) : to_(to), outbox_(to.claim_roles(ClaimMode::leader)->outbox) {}
  ~HangingStore() override { outbox_.reads_hang = outbox_.settles_hang = false; }
  void hang_reads(bool on) noexcept { outbox_.reads_hang = on; }
  void hang_settles(bool on) noexcept { outbox_.settles_hang = on; }

  spi::OutboxStore& outbox() override { return outbox_; }
  spi::OutboxAdminStore& outbox_admin() override { return to_.outbox_admin(); }
  spi::ControlStore& control() override { return to_.control(); }
  spi::OwnershipStore& ownership() override { return to_.ownership(); }
  spi::AuditStore& audit() override { return to_.audit(); }
  std::optional<ClaimRoles> claim_roles(ClaimMode mode) override {
    return ClaimRoles{outbox_, to_.claim_roles(mode)->ownership};
  }
  Result<std::unique_ptr<OwnedTransaction>> begin() override { return to_.begin(); }
  [[nodiscard]] std::string name() const override { return to_.name(); }

 private:
  struct Outbox final : testing::ForwardingStore {
    using ForwardingStore::ForwardingStore;
    Result<spi::ReadReply> read(const TableName& table, std::span<const spi::Range> ranges,
                                std::size_t bytes_max) override {
      while (reads_hang) std::this_thread::sleep_for(milliseconds(1));
      return ForwardingStore::read(table, ranges, bytes_max);
    }
    Result<spi::SettleReply> settle(const spi::SettleRequest& request) override {
      while (settles_hang) std::this_thread::sleep_for(milliseconds(1));
      return ForwardingStore::settle(request);
    }
    std::atomic<bool> reads_hang{false};
    std::atomic<bool> settles_hang{false};
  };
  Store& to_;
  Outbox outbox_;
};

class PostgresLeader : public PostgresWorld {
 protected:
  void SetUp() override {
    PostgresWorld::SetUp();
    if (IsSkipped()) return;
    other_store = open();
    store->outbox().prepare(table).value();
  }
  static OutboxOptions leading() {
    auto options = defaults();
    options.claim = ClaimMode::leader;
    return options;
  }
  spi::OwnershipStore& owners(Store& on) { return on.claim_roles(ClaimMode::leader)->ownership; }
  /// A leader without a relay: it does what the test says, and nothing else.
  std::vector<spi::OwnedShard> lead(Store& on, const WorkerId& worker, Duration ttl) {
    EXPECT_TRUE(owners(on).join(worker, ttl, orders_scopes, shard_count).value().live);
    return owners(on).take(orders_scopes[0], worker, shard_count).value();
  }
  std::string leader() {
    return database->sql("SELECT coalesce(max(owner), '') FROM " + database->schema() +
                         ".shard_owner WHERE scope = 'outbox:orders'")[0];
  }
  std::string sessions_of(const std::string& worker) {
    return database->sql(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sagabox leader " + worker +
        "'")[0];
  }
  void end_session_of(const std::string& worker) {
    EXPECT_EQ(database->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                            "application_name = 'sagabox leader " +
                            worker + "'"),
              std::vector<std::string>{"t"});
    EXPECT_TRUE(eventually([&] { return sessions_of(worker) == "0"; }));
  }
  Listener into_other() {
    return [this](const Delivery& d) {
      other.add(d);
      return done();
    };
  }

  std::unique_ptr<Store> other_store;
  Inbox other;
};

TEST_F(PostgresLeader, OneDeliversAndTheOtherStandsByUntilItIsStopped) {
  testing::RecordingMetrics first_metrics;
  testing::RecordingMetrics second_metrics;
  auto options = leading();
  options.metrics = &first_metrics;
  auto first = started(*store, into_inbox(), options);
  ASSERT_TRUE(eventually([&] { return first.snapshot().shards_owned == shard_count; }));
  options.metrics = &second_metrics;
  auto second = started(*other_store, into_other(), options);
  const auto leads = [](const testing::RecordingMetrics& metrics) {
    return metrics.gauge_value("relay_leader", {{"table", "orders"}});
  };
  for (int i = 0; i < 100; ++i) write(second, placed("{}", i % 2 == 0 ? "" : "k"));
  ASSERT_TRUE(settles_to(100));
  EXPECT_EQ(inbox.size(), 100U);
  EXPECT_EQ(other.size(), 0U);
  EXPECT_EQ(second.snapshot().shards_owned, 0U);
  EXPECT_EQ(leads(first_metrics), 1);
  EXPECT_EQ(leads(second_metrics), 0);

  first.stop().value();

  ASSERT_TRUE(eventually([&] { return second.snapshot().shards_owned == shard_count; }));
  EXPECT_EQ(leads(first_metrics), 0);
  EXPECT_EQ(leads(second_metrics), 1);
  write(second, placed());
  ASSERT_TRUE(settles_to(101));
  EXPECT_EQ(other.size(), 1U);
}

TEST_F(PostgresLeader, StandByTakesOverWhenTheLeadersConnectionDiesNotWhenItsLeaseEnds) {
  const auto gone = WorkerId::parse("gone").value();
  const auto held = lead(*store, gone, std::chrono::hours(1));
  ASSERT_EQ(held.size(), shard_count);
  auto options = leading();
  options.lease = seconds(3);
  auto stand_by = started(*other_store, into_other(), options);
  const auto written = write(stand_by, placed());
  ASSERT_TRUE(eventually([&] {
    return database->sql("SELECT count(*) FROM " + database->schema() +
                         ".member WHERE scope = 'outbox:orders'")[0] == "2";
  }));
  EXPECT_EQ(stand_by.snapshot().shards_owned, 0U);
  EXPECT_EQ(other.size(), 0U);

  end_session_of("gone");

  ASSERT_TRUE(settles_to(1));
  EXPECT_EQ(other.size(), 1U);
  EXPECT_GT(other.all()[0].epoch, held[written.shard.value].epoch.value);
  EXPECT_FALSE(owners(*store).renew(gone, seconds(60)).value().live) << "it is told";
  const spi::Fence fence{written.shard, held[written.shard.value].epoch};
  const spi::Settlement item{
      .sequence = written.sequence, .shard = written.shard, .id = written.id, .attempts = 1};
  const auto stale = store->outbox().settle({.table = table,
                                             .fencing = {"outbox:orders", gone, {&fence, 1}},
                                             .items = std::span(&item, 1)});
  EXPECT_FALSE(stale->parts.at(0).held);
}

TEST_F(PostgresLeader, SomebodyLeadsAgainAndAgainHoweverOftenItsConnectionIsCut) {
  auto options = leading();
  options.lease = seconds(3);
  auto first = started(*store, into_inbox(), options);
  auto second = started(*other_store, into_inbox(), options);
  int written = 0;
  for (int cut = 0; cut < 5; ++cut) {
    ASSERT_TRUE(eventually([&] { return sessions_of(leader()) == "1"; }));
    for (int i = 0; i < 50; ++i) write(first, placed(std::to_string(1000 + written++), "k"));
    const auto was = leader();
    end_session_of(was);
    ASSERT_TRUE(eventually([&] { return leader() != was; }));
  }
  ASSERT_TRUE(settles_to(static_cast<std::uint64_t>(written)));
  EXPECT_EQ(inbox.times_by_id().size(), static_cast<std::size_t>(written));
  // Repeats of what was under way when the connection was cut may come late; nothing comes early.
  int furthest = 999;
  for (const auto& payload : inbox.payloads_of_key("k")) {
    const int number = std::stoi(payload);
    if (number <= furthest) continue;
    EXPECT_EQ(number, furthest + 1);
    furthest = number;
  }
}

TEST_F(PostgresLeader, HungLeaderWithALiveConnectionLosesWhenItsLeaseEnds) {
  const auto hung = WorkerId::parse("hung").value();
  const auto held = lead(*store, hung, seconds(2));
  ASSERT_EQ(held.size(), shard_count);
  ASSERT_EQ(sessions_of("hung"), "1");
  auto options = leading();
  options.lease = seconds(3);
  auto stand_by = started(*other_store, into_other(), options);
  write(stand_by, placed());
  ASSERT_TRUE(settles_to(1));
  EXPECT_EQ(other.size(), 1U);
  EXPECT_EQ(sessions_of("hung"), "0");
  EXPECT_FALSE(owners(*store).renew(hung, seconds(2)).value().live);
}

TEST_F(PostgresLeader, LeaderWhoseReadsHangGivesUpThoughItsLeaseIsKept) {
  HangingStore hanging(*store);
  auto options = leading();
  options.lease = seconds(2);
  auto first = started(hanging, into_inbox(), options);
  ASSERT_TRUE(eventually([&] { return first.snapshot().shards_owned == shard_count; }));
  const auto hung = leader();
  auto second = started(*other_store, into_other(), options);
  hanging.hang_reads(true);
  write(second, placed());
  EXPECT_TRUE(settles_to(1));
  EXPECT_EQ(other.size(), 1U);
  EXPECT_EQ(inbox.size(), 0U);
  EXPECT_EQ(sessions_of(hung), "0");

  hanging.hang_reads(false);
  second.stop().value();
  EXPECT_TRUE(eventually([&] { return first.snapshot().shards_owned == shard_count; }))
      << "and comes back";
  EXPECT_EQ(leader(), hung) << "under the lease that its other scopes have kept";
}

TEST_F(PostgresLeader, LeaderWhoseSettlesHangGivesUpAndAnotherDeliversAgain) {
  HangingStore hanging(*store);
  auto options = leading();
  options.lease = seconds(2);
  auto first = started(hanging, into_inbox(), options);
  ASSERT_TRUE(eventually([&] { return first.snapshot().shards_owned == shard_count; }));
  auto second = started(*other_store, into_other(), options);
  hanging.hang_settles(true);
  write(second, placed());
  EXPECT_TRUE(settles_to(1));
  EXPECT_EQ(inbox.size(), 1U);
  EXPECT_EQ(other.size(), 1U);
  hanging.hang_settles(false);
}

TEST_F(PostgresLeader, ServerEndsTheSessionOfALeaderThatIsSilentForALease) {
  if (PQserverVersion(database->connect().get()) < 140000) {
    GTEST_SKIP() << "PostgreSQL 14 is the first with idle_session_timeout";
  }
  ASSERT_EQ(lead(*store, WorkerId::parse("silent").value(), milliseconds(300)).size(), shard_count);
  EXPECT_TRUE(eventually([&] { return sessions_of("silent") == "0"; }));
}

TEST_F(PostgresLeader, ExpiredSessionIsPutOutByWhoeverWantsToLead) {
  ASSERT_EQ(lead(*store, WorkerId::parse("late").value(), seconds(60)).size(), shard_count);
  const auto next = WorkerId::parse("next").value();
  EXPECT_TRUE(lead(*other_store, next, std::chrono::hours(1)).empty());
  EXPECT_EQ(sessions_of("late"), "1") << "its lease runs";
  database->advance_time(seconds(61));
  const auto taken = owners(*other_store).take(orders_scopes[0], next, shard_count).value();
  ASSERT_EQ(taken.size(), shard_count);
  EXPECT_TRUE(taken[0].unclean);
  EXPECT_EQ(sessions_of("late"), "0");
}

TEST_F(PostgresLeader, LeaderTakesShardsFromRelaysThatShareThem) {
  const auto sharing = WorkerId::parse("sharing").value();
  (void)store->ownership().join(sharing, std::chrono::hours(1), orders_scopes, shard_count).value();
  const auto shared = store->ownership().take(orders_scopes[0], sharing, 5).value();
  ASSERT_EQ(shared.size(), 5U);
  const auto led = lead(*other_store, WorkerId::parse("leader").value(), seconds(60));
  ASSERT_EQ(led.size(), shard_count);
  for (const auto& shard : shared) {
    EXPECT_GT(led[shard.shard.value].epoch, shard.epoch);
    EXPECT_TRUE(led[shard.shard.value].unclean);
  }
  EXPECT_TRUE(store->ownership().take(orders_scopes[0], sharing, shard_count).value().empty());
}

TEST_F(PostgresLeader, StandByHoldsNoConnectionForTheLock) {
  ASSERT_EQ(lead(*store, WorkerId::parse("first").value(), seconds(60)).size(), shard_count);
  EXPECT_TRUE(lead(*other_store, WorkerId::parse("second").value(), seconds(60)).empty());
  EXPECT_TRUE(eventually([&] { return sessions_of("second") == "0"; }));
}

TEST_F(PostgresLeader, TablesHaveLeadersOfTheirOwn) {
  auto billing = leading();
  billing.table = "billing";
  auto orders = started(*store, into_inbox(), leading());
  auto bills = started(*other_store, into_other(), billing);
  EXPECT_TRUE(eventually([&] {
    return orders.snapshot().shards_owned == shard_count &&
           bills.snapshot().shards_owned == shard_count;
  }));
}

}  // namespace
}  // namespace sagabox::integration
