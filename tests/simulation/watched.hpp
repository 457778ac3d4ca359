#pragma once

#include "simulation/process.hpp"

#include <unordered_map>

namespace sagabox::simulation {

/// Sees what a process asks of the store, and what the store really did.
class Process::Watched final : public ForwardingStore {
 public:
  Watched(World& world, std::uint64_t process, spi::OutboxStore& to)
      : ForwardingStore(to), world_(world), process_(process) {}

  Result<spi::ReadReply> read(const TableName& table, std::span<const spi::Range> ranges,
                              std::size_t bytes_max) override;
  Result<spi::ReadReply> read_due(const TableName& table, std::span<const spi::DueRange> ranges,
                                  std::size_t bytes_max) override;
  Result<spi::RetryingKeysReply> read_retrying_keys(const TableName& table, Shard shard,
                                                    Sequence after,
                                                    std::uint32_t rows_max) override;
  /// No stale epoch changes a row.
  Result<spi::SettleReply> settle(const spi::SettleRequest& request) override;

 private:
  struct Touched {
    std::uint64_t settled = 0;
    std::uint32_t attempts = 0;
    bool there = false;
    friend bool operator==(const Touched&, const Touched&) = default;
  };
  using Rows = std::unordered_map<Sequence, Touched>;
  [[nodiscard]] Rows rows_of(const spi::SettleRequest& request, const std::vector<bool>& stale);
  /// Whether the store refuses a row of this settle for good.
  [[nodiscard]] bool refuses(const spi::SettleRequest& request);
  Result<spi::SettleReply> settle_whole(const spi::SettleRequest& request);
  /// As a store does that settles some shards in a transaction of their own: it may fail when
  /// others are done.
  Result<spi::SettleReply> settle_in_part(const spi::SettleRequest& request);

  World& world_;
  std::uint64_t process_;
};

/// Stands between the worker and the relay.
class Process::Seat final : public ownership::Holder {
 public:
  Seat(World& world, std::uint64_t process, outbox::Relay& relay)
      : world_(world), process_(process), relay_(relay) {}

  void acquired(const spi::OwnedShard& shard, const WorkerId& owner, Timeline timeline) override;
  void drain(Shard shard) override;
  [[nodiscard]] bool idle(Shard shard) const override { return relay_.idle(shard); }
  void lost(Shard shard) override;

  [[nodiscard]] Timeline timeline_of(Shard shard) const;

 private:
  World& world_;
  std::uint64_t process_;
  outbox::Relay& relay_;
  std::unordered_map<Shard, Timeline> timelines_;
  std::unordered_map<Shard, bool> draining_;
};

}  // namespace sagabox::simulation
