#include "core/process_name.hpp"
#include "integration/outbox/world.hpp"
#include "runtime/periodic_threads.hpp"
#include "support/forwarding.hpp"

#include <array>
#include <atomic>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

namespace sagabox::integration {
namespace {

/// As a store whose reads of one table do not come back while it is told so.
class HangingStore final : public Store {
 public:
  explicit HangingStore(Store& to) : to_(to), outbox_(to.outbox()) {}
  ~HangingStore() override { outbox_.hangs = false; }
  void hang_orders(bool on) noexcept { outbox_.hangs = on; }

  spi::OutboxStore& outbox() override { return outbox_; }
  spi::OutboxAdminStore& outbox_admin() override { return to_.outbox_admin(); }
  spi::ControlStore& control() override { return to_.control(); }
  spi::OwnershipStore& ownership() override { return to_.ownership(); }
  spi::AuditStore& audit() override { return to_.audit(); }
  Result<std::unique_ptr<OwnedTransaction>> begin() override { return to_.begin(); }
  [[nodiscard]] std::string name() const override { return to_.name(); }

 private:
  struct Reads final : testing::ForwardingStore {
    using ForwardingStore::ForwardingStore;
    Result<spi::ReadReply> read(const TableName& table, std::span<const spi::Range> ranges,
                                std::size_t bytes_max) override {
      while (hangs && table.str() == "orders") std::this_thread::sleep_for(milliseconds(1));
      return ForwardingStore::read(table, ranges, bytes_max);
    }
    std::atomic<bool> hangs{false};
  };
  Store& to_;
  Reads outbox_;
};

std::size_t threads_of_this_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    constexpr std::string_view name = "Threads:";
    if (line.starts_with(name)) return std::stoul(line.substr(name.size()));
  }
  return 0;
}

class RuntimeTest : public OutboxWorld {
 protected:
  static OutboxOptions of(const std::string& table) {
    auto options = defaults();
    options.table = table;
    return options;
  }
  Outbox started(Store& on, OutboxOptions options) {
    auto outbox = Outbox::several_processes(on, std::move(options)).value();
    outbox.listen(topic, into_inbox()).value();
    outbox.start().value();
    EXPECT_TRUE(eventually([&] { return outbox.snapshot().shards_owned == 16; }));
    return outbox;
  }
  Outbox started(const std::string& table) { return started(store, of(table)); }
  [[nodiscard]] spi::Census census(const std::string& table) {
    return store.ownership().census("outbox:" + table).value();
  }
  /// Who delivers the table, if it is one worker.
  [[nodiscard]] WorkerId worker(const std::string& table) {
    const auto live = census(table).live;
    return live.size() == 1 ? live.front() : WorkerId{};
  }
  [[nodiscard]] std::vector<std::uint64_t> epochs(const std::string& table) {
    std::vector<std::uint64_t> epochs;
    for (const auto& shard : census(table).shards) epochs.push_back(shard.epoch.value);
    return epochs;
  }
  [[nodiscard]] bool delivers(Outbox& outbox) {
    const auto before = inbox.size();
    write(outbox, placed());
    return eventually([&] { return inbox.size() > before; });
  }
};

TEST_F(RuntimeTest, OwnersAreShownByTheirHostAndProcess) {
  const auto orders = started("orders");
  EXPECT_TRUE(worker("orders").view().starts_with(own_process_name(25) + "-"))
      << worker("orders").view();
}

TEST_F(RuntimeTest, TablesOfAStoreShareOneWorker) {
  auto orders = started("orders");
  auto billing = started("billing");
  EXPECT_FALSE(worker("orders").empty());
  EXPECT_EQ(worker("orders"), worker("billing"));
  for (const std::string scope : {"purge:orders", "replay:billing"}) {
    EXPECT_TRUE(eventually([&] {
      return store.ownership().census(scope).value().shards.at(0).owner == worker("orders");
    })) << scope;
  }
  EXPECT_TRUE(delivers(orders));
  EXPECT_TRUE(delivers(billing));
}

TEST_F(RuntimeTest, TableThatStopsLeavesTheLeaseToTheOthers) {
  std::optional<Outbox> orders = started("orders");
  auto billing = started("billing");
  const auto owner = worker("billing");
  const auto before = epochs("billing");
  orders->stop().value();
  EXPECT_TRUE(census("orders").live.empty());
  for (const auto& shard : census("orders").shards) EXPECT_TRUE(shard.owner.empty());
  orders.reset();
  EXPECT_EQ(worker("billing"), owner);
  EXPECT_EQ(epochs("billing"), before);
  EXPECT_TRUE(delivers(billing));

  auto again = started("orders");
  EXPECT_EQ(worker("orders"), owner) << "and comes back under it";
  billing.stop().value();
  EXPECT_TRUE(delivers(again));
  again.stop().value();
  EXPECT_FALSE(store.ownership().renew(owner, seconds(1)).value().live)
      << "with the last table the lease is left";
}

TEST_F(RuntimeTest, HungReadsOfOneTableCostTheOthersNothing) {
  HangingStore hanging(store);
  auto options = of("orders");
  options.lease = seconds(2);
  auto orders = started(hanging, options);
  options.table = "billing";
  auto billing = started(hanging, options);
  const auto owner = worker("billing");
  const auto before = epochs("billing");
  hanging.hang_orders(true);
  ASSERT_TRUE(eventually([&] {
    const auto now = census("orders");
    return now.live.empty() && std::ranges::all_of(now.shards, [](const auto& shard) {
             return shard.owner.empty() || shard.owner == spi::unclean_owner();
           });
  })) << "another process may deliver it";
  EXPECT_EQ(worker("billing"), owner);
  EXPECT_EQ(epochs("billing"), before);
  EXPECT_TRUE(delivers(billing));

  hanging.hang_orders(false);
  EXPECT_TRUE(eventually([&] { return orders.snapshot().shards_owned == 16; }));
  EXPECT_TRUE(delivers(orders));
  EXPECT_EQ(epochs("billing"), before);
}

TEST_F(RuntimeTest, PausedTableLeavesTheOthersAlone) {
  auto orders = started("orders");
  auto billing = started("billing");
  const auto owner = worker("billing");
  const auto before = epochs("billing");
  orders.pause().value();
  EXPECT_TRUE(eventually([&] { return orders.snapshot().paused; }));
  EXPECT_FALSE(billing.snapshot().paused);
  EXPECT_TRUE(delivers(billing));
  EXPECT_EQ(worker("billing"), owner);
  EXPECT_EQ(epochs("billing"), before);
  orders.resume().value();
  EXPECT_TRUE(eventually([&] { return orders.snapshot().shards_owned == 16; }));
  EXPECT_TRUE(delivers(orders));
}

TEST_F(RuntimeTest, ShortestLeaseOfTheTablesCounts) {
  const auto left = [&] { return census("orders").shards.at(0).lease_left; };
  auto orders = started("orders");
  EXPECT_GT(left(), seconds(5)) << "30 s at first";
  auto options = of("billing");
  options.lease = seconds(5);
  auto billing = started(store, options);
  EXPECT_TRUE(eventually([&] { return left() <= seconds(5); }));
  billing.stop().value();
  EXPECT_TRUE(eventually([&] { return left() > seconds(5); }));
}

TEST_F(RuntimeTest, TablesGivenOtherMetricsHaveAWorkerOfTheirOwn) {
  auto orders = started("orders");
  auto billing = started(store, watched(of("billing")));
  EXPECT_FALSE(worker("billing").empty());
  EXPECT_NE(worker("orders"), worker("billing"));
}

TEST_F(RuntimeTest, ManyTablesCostOneLeaseAndAFewThreadsBesideTheirOwn) {
  constexpr std::size_t tables = 64;
  constexpr std::size_t own_threads = 4;  // reads, settles, watches, one handler
  const auto before = threads_of_this_process();
  std::deque<Outbox> outboxes;
  for (std::size_t number = 0; number < tables; ++number) {
    auto options = of("table" + std::to_string(number));
    options.workers = 1;
    outboxes.push_back(started(store, options));
  }
  const auto owner = worker("table0");
  EXPECT_FALSE(owner.empty());
  for (std::size_t number = 0; number < tables; ++number) {
    EXPECT_EQ(worker("table" + std::to_string(number)), owner);
  }
  EXPECT_LE(threads_of_this_process() - before,
            tables * own_threads + 1 + runtime::PeriodicThreads::threads_max);
  for (auto& outbox : outboxes) EXPECT_TRUE(delivers(outbox));
}

}  // namespace
}  // namespace sagabox::integration
