#include "unit/ownership/worker_fixture.hpp"

#include <gtest/gtest.h>

namespace sagabox::ownership::testing {
namespace {

inline constexpr auto other_name = "outbox:bills";

/// Scopes that come and go, pause and hang while others go on.
class WorkerScopes : public WorkerFixture {
 protected:
  std::unique_ptr<Worker> with_both() {
    auto worker = make(holder_a);
    pass({worker.get()}, Duration::zero());
    worker->add({.scope = other_name, .shards = 4, .holder = &holder_b});
    pass({worker.get()}, seconds(1));
    EXPECT_EQ(holder_a.holds.size(), 8U);
    EXPECT_EQ(holder_b.holds.size(), 4U);
    return worker;
  }
  std::vector<WorkerId> members_of_other() { return store.census(other_name)->live; }
};

TEST_F(WorkerScopes, ScopeIsAddedUnderTheSameLease) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  const auto id = a->id();
  a->add({.scope = other_name, .shards = 4, .holder = &holder_b});
  EXPECT_LE(a->next_due(), clock.boot_now()) << "at once";
  pass({a.get()}, Duration::zero());
  EXPECT_EQ(holder_b.holds.size(), 4U);
  EXPECT_EQ(a->id(), id);
  EXPECT_TRUE(holder_a.losses.empty());
  calls.clear();
  pass({a.get()}, seconds(61));
  EXPECT_EQ(calls[Operation::renew], 12) << "one renewal for both";
}

TEST_F(WorkerScopes, NameThatIsKnownIsRefused) {
  auto a = make(holder_a);
  EXPECT_THROW(a->add({.scope = scope_name, .holder = &holder_b}), std::invalid_argument);
  EXPECT_THROW(a->add({.scope = other_name, .shards = 0, .holder = &holder_b}),
               std::invalid_argument);
  EXPECT_THROW(a->add({.scope = other_name}), std::invalid_argument);
}

TEST_F(WorkerScopes, RemovedScopeGoesToOthersAndTheLeaseStays) {
  auto a = with_both();
  const auto id = a->id();
  a->remove(other_name);
  EXPECT_FALSE(a->quiet(other_name));
  pass({a.get()}, Duration::zero());
  EXPECT_FALSE(a->has(other_name));
  EXPECT_TRUE(a->quiet(other_name));
  EXPECT_TRUE(holder_b.holds.empty());
  EXPECT_TRUE(members_of_other().empty());
  EXPECT_EQ(calls[Operation::leave], 0);
  pass({a.get()}, seconds(30));
  EXPECT_EQ(a->id(), id);
  EXPECT_TRUE(holder_a.losses.empty());
  a->add({.scope = other_name, .shards = 4, .holder = &holder_b});
  pass({a.get()}, seconds(1));
  EXPECT_EQ(holder_b.holds.size(), 4U);
}

TEST_F(WorkerScopes, LastScopeThatIsRemovedEndsTheLease) {
  auto a = make(holder_a);
  pass({a.get()}, Duration::zero());
  a->remove(scope_name);
  pass({a.get()}, Duration::zero());
  EXPECT_FALSE(a->has(scope_name));
  EXPECT_TRUE(a->away());
  EXPECT_FALSE(a->live(clock.boot_now()));
  EXPECT_EQ(calls[Operation::leave], 1);
  EXPECT_EQ(a->next_due(), BootTime::max());
  a->add({.scope = scope_name, .shards = 8, .holder = &holder_a});
  pass({a.get()}, Duration::zero());
  EXPECT_EQ(holder_a.holds.size(), 8U);
}

TEST_F(WorkerScopes, WorkerWithoutScopesAsksNothing) {
  auto a = make(std::vector<ScopeOptions>{});
  pass({a.get()}, seconds(30));
  EXPECT_TRUE(a->away());
  EXPECT_TRUE(calls.empty());
}

TEST_F(WorkerScopes, RemovalWaitsForTheBusyUntilItIsAbandoned) {
  auto a = with_both();
  auto b = make({{.scope = other_name, .shards = 4, .holder = &holder_c}});
  holder_b.busy = {Shard{1}};
  a->remove(other_name);
  pass({a.get(), b.get()}, seconds(20));
  EXPECT_TRUE(a->has(other_name));
  EXPECT_EQ(holder_b.holds.size(), 1U);
  EXPECT_EQ(holder_c.holds.size(), 3U);
  a->abandon(other_name);
  pass({a.get(), b.get()}, milliseconds(1100));
  EXPECT_FALSE(a->has(other_name));
  EXPECT_TRUE(holder_b.holds.empty());
  ASSERT_EQ(holder_c.holds.size(), 4U);
  EXPECT_TRUE(holder_c.acquisitions.back().unclean);
  EXPECT_EQ(holder_a.holds.size(), 8U);
}

TEST_F(WorkerScopes, WithdrawalThatFailsIsRepeated) {
  auto a = with_both();
  faults[Operation::withdraw] = {Fault::refused, Fault::lost_before, Fault::lost_after};
  a->remove(other_name);
  pass({a.get()}, seconds(3));
  EXPECT_FALSE(a->has(other_name));
  EXPECT_EQ(calls[Operation::withdraw], 4);
  EXPECT_TRUE(members_of_other().empty());
}

TEST_F(WorkerScopes, ScopesThatAreRemovedTogetherAreWithdrawnInOneCall) {
  auto a = with_both();
  a->add({.scope = "purge:orders", .shards = 1, .holder = &holder_c});
  pass({a.get()}, seconds(1));
  a->remove(other_name);
  a->remove("purge:orders");
  pass({a.get()}, seconds(1));
  EXPECT_FALSE(a->has(other_name));
  EXPECT_FALSE(a->has("purge:orders"));
  EXPECT_EQ(calls[Operation::withdraw], 1);
  EXPECT_EQ(holder_a.holds.size(), 8U);
}

TEST_F(WorkerScopes, PausedScopeLeavesTheOthersAlone) {
  auto a = with_both();
  const auto id = a->id();
  a->pause(other_name);
  pass({a.get()}, seconds(1));
  EXPECT_TRUE(a->paused(other_name));
  EXPECT_FALSE(a->paused(scope_name));
  EXPECT_TRUE(members_of_other().empty());
  EXPECT_TRUE(holder_b.holds.empty());
  EXPECT_EQ(holder_a.holds.size(), 8U);
  a->resume(other_name);
  EXPECT_FALSE(a->paused(other_name));
  pass({a.get()}, seconds(1));
  EXPECT_EQ(holder_b.holds.size(), 4U);
  EXPECT_EQ(a->id(), id);
}

TEST_F(WorkerScopes, HangingScopeLosesItsShardsAtOnceAndNoOther) {
  auto a = with_both();
  const auto id = a->id();
  auto b = make({{.scope = other_name, .shards = 4, .holder = &holder_c}});
  holder_b.busy = {Shard{0}, Shard{1}, Shard{2}, Shard{3}};
  a->set_hanging(other_name, true);
  pass({a.get(), b.get()}, milliseconds(1100));
  EXPECT_TRUE(holder_b.holds.empty()) << "busy or not";
  ASSERT_EQ(holder_c.holds.size(), 4U) << "long before the lease ends";
  EXPECT_TRUE(holder_c.acquisitions.front().unclean);
  EXPECT_EQ(members_of_other(), std::vector{b->id()});
  EXPECT_EQ(holder_a.holds.size(), 8U);
  pass({a.get(), b.get()}, seconds(30));
  EXPECT_EQ(a->id(), id);
  EXPECT_TRUE(holder_a.losses.empty());
  holder_b.busy.clear();
  a->set_hanging(other_name, false);
  pass({a.get(), b.get()}, seconds(10));
  EXPECT_EQ(holder_b.holds.size(), 2U) << "an even share again";
}

TEST_F(WorkerScopes, ScopeThatTheStoreRefusesDoesNotKeepTheOthersOut) {
  const auto stranger = WorkerId::parse("zz-stranger").value();
  ASSERT_TRUE(store.join(stranger, seconds(1), std::vector<spi::Scope>{other_name}, 4).ok());
  auto a = make({{.scope = other_name, .shards = 8, .holder = &holder_b},
                 {.scope = scope_name, .shards = 8, .holder = &holder_a},
                 {.scope = "purge:orders", .shards = 1, .holder = &holder_c}});
  pass({a.get()}, seconds(10));
  EXPECT_EQ(holder_a.holds.size(), 8U);
  EXPECT_EQ(holder_c.holds.size(), 1U);
  EXPECT_TRUE(holder_b.holds.empty());
  EXPECT_LE(calls[Operation::join], 20) << "at a measured pace";
}

TEST_F(WorkerScopes, ScopeThatDoesNotCountUsIsJoinedAgainAndTheOthersAreKept) {
  auto a = with_both();
  const auto id = a->id();
  const std::vector<spi::Scope> other{other_name};
  store.withdraw(id, other).value();
  pass({a.get()}, seconds(3));
  EXPECT_EQ(a->id(), id);
  EXPECT_EQ(members_of_other(), std::vector{id});
  EXPECT_EQ(holder_b.holds.size(), 4U);
  EXPECT_TRUE(holder_a.losses.empty());
}

TEST_F(WorkerScopes, AnotherLeaseHoldsFromTheNextStepOn) {
  auto a = make(holder_a);
  pass({a.get()}, milliseconds(100));
  a->set_lease(seconds(3));
  calls.clear();
  pass({a.get()}, Duration::zero());
  EXPECT_EQ(calls[Operation::renew], 1) << "others hear of it at once";
  pass({a.get()}, seconds(30));
  EXPECT_GE(calls[Operation::renew], 28);
  EXPECT_EQ(holder_a.holds.size(), 8U);
}

}  // namespace
}  // namespace sagabox::ownership::testing
