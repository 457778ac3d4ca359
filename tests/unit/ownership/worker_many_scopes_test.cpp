#include "unit/ownership/worker_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sagabox::ownership::testing {
namespace {

/// Refuses every call that is about one scope. Leases and members are not affected.
class RefusingStore final : public spi::OwnershipStore {
 public:
  explicit RefusingStore(spi::OwnershipStore& to) : to_(to) {}

  Result<spi::LeaseReply> join(const WorkerId& worker, Duration ttl,
                               std::span<const spi::Scope> scopes, std::uint16_t shards) override {
    return to_.join(worker, ttl, scopes, shards);
  }
  Result<spi::LeaseReply> renew(const WorkerId& worker, Duration ttl) override {
    return to_.renew(worker, ttl);
  }
  Result<std::vector<spi::Census>> census(std::span<const spi::Scope> scopes) override {
    ++calls;
    if (std::ranges::find(scopes, refused) != scopes.end()) return refusal();
    return to_.census(scopes);
  }
  Result<std::vector<std::vector<spi::OwnedShard>>> take(
      const WorkerId& worker, std::span<const spi::ShardsWanted> wanted) override {
    ++calls;
    if (std::ranges::find(wanted, refused, &spi::ShardsWanted::scope) != wanted.end()) {
      return refusal();
    }
    return to_.take(worker, wanted);
  }
  Status release(const WorkerId& worker, std::span<const spi::ScopeShards> given) override {
    ++calls;
    if (std::ranges::find(given, refused, &spi::ScopeShards::scope) != given.end()) {
      return refusal();
    }
    return to_.release(worker, given);
  }
  Status withdraw(const WorkerId& worker, std::span<const spi::Scope> scopes) override {
    return to_.withdraw(worker, scopes);
  }
  Status leave(const WorkerId& worker) override { return to_.leave(worker); }

  spi::Scope refused;
  int calls = 0;

 private:
  static Error refusal() { return {Code::storage_unavailable, "a row of this scope is locked"}; }
  spi::OwnershipStore& to_;
};

class WorkerWithManyScopes : public WorkerFixture {
 protected:
  static constexpr std::size_t scope_count = 192;
  static std::string name(std::size_t number) { return "outbox:table" + std::to_string(number); }

  std::vector<ScopeOptions> scopes() {
    std::vector<ScopeOptions> scopes;
    for (std::size_t i = 0; i < scope_count; ++i) {
      holders.push_back(std::make_unique<RecordingHolder>());
      scopes.push_back({.scope = name(i), .shards = 2, .holder = holders.back().get()});
    }
    return scopes;
  }
  [[nodiscard]] std::size_t holding() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        holders, [](const auto& holder) { return holder->holds.size() == 2; }));
  }

  std::vector<std::unique_ptr<RecordingHolder>> holders;
  RefusingStore refusing{store};
};

TEST_F(WorkerWithManyScopes, CallsOfTheStoreDoNotGrowWithThem) {
  auto a = make(scopes());
  pass({a.get()}, Duration::zero());
  EXPECT_EQ(holding(), scope_count);
  EXPECT_EQ(calls[Operation::join], 1);
  EXPECT_EQ(calls[Operation::census], 1);
  EXPECT_EQ(calls[Operation::take], 1);
  calls.clear();
  pass({a.get()}, seconds(60));
  EXPECT_LE(calls[Operation::census], 60);
  EXPECT_EQ(calls[Operation::take], 0);
  a->begin_stop();
  pass({a.get()}, Duration::zero());
  EXPECT_TRUE(a->stopped());
  EXPECT_EQ(calls[Operation::release], 1);
  EXPECT_EQ(holding(), 0U);
}

TEST_F(WorkerWithManyScopes, ThoseThatCameOneByOneAreCountedTogetherToo) {
  auto a = make(std::vector<ScopeOptions>{});
  for (auto& scope : scopes()) {
    a->add(std::move(scope));
    pass({a.get()}, milliseconds(50));
  }
  EXPECT_EQ(holding(), scope_count);
  pass({a.get()}, seconds(2));
  calls.clear();
  pass({a.get()}, seconds(60));
  EXPECT_LE(calls[Operation::census], 2 * 60);
  EXPECT_GE(calls[Operation::census], 59);
}

TEST_F(WorkerWithManyScopes, TwoWorkersShareEachEvenly) {
  auto a = make(scopes());
  pass({a.get()}, seconds(1));
  const auto of_a = holders.size();
  auto b = make(scopes());
  pass({a.get(), b.get()}, seconds(5));
  for (std::size_t i = 0; i < holders.size(); ++i) {
    EXPECT_EQ(holders[i]->holds.size(), 1U) << name(i % of_a);
    for (const auto& shard : holders[i]->acquisitions) EXPECT_FALSE(shard.unclean);
  }
}

TEST_F(WorkerWithManyScopes, OneThatTheStoreRefusesDoesNotHoldUpTheOthers) {
  refusing.refused = name(77);
  Worker a(WorkerParts{.store = refusing, .ids = ids, .clock = clock, .log = log}, scopes(),
           WorkerOptions{});
  const auto id = a.id();
  pass({&a}, seconds(10));
  EXPECT_EQ(holding(), scope_count - 1) << "all but the refused one";
  EXPECT_EQ(a.id(), id);
  refusing.calls = 0;
  pass({&a}, seconds(60));
  EXPECT_LE(refusing.calls, 60 + 65) << "the refused one alone, at a measured pace";
  refusing.refused.clear();
  pass({&a}, seconds(5));
  EXPECT_EQ(holding(), scope_count);
  refusing.calls = 0;
  pass({&a}, seconds(60));
  EXPECT_LE(refusing.calls, 60) << "together again";
}

TEST_F(WorkerWithManyScopes, ReleaseThatTheStoreRefusesDoesNotHoldUpTheOthers) {
  Worker a(WorkerParts{.store = refusing, .ids = ids, .clock = clock, .log = log}, scopes(),
           WorkerOptions{});
  pass({&a}, seconds(1));
  refusing.refused = name(0);
  for (std::size_t i = 0; i + 1 < scope_count; ++i) a.remove(name(i));
  pass({&a}, seconds(8));
  EXPECT_TRUE(a.has(name(0)));
  for (std::size_t i = 1; i + 1 < scope_count; ++i) {
    EXPECT_FALSE(a.has(name(i))) << name(i);
    EXPECT_TRUE(store.census(name(i))->shards.at(0).owner.empty()) << name(i);
  }
  EXPECT_EQ(holders.back()->holds.size(), 2U);
}

}  // namespace
}  // namespace sagabox::ownership::testing
