#pragma once

#include "outbox/tracker.hpp"
#include "simulation/settings.hpp"

#include <sagabox/spi/outbox_store.hpp>
#include <sagabox/spi/ownership_store.hpp>

#include <functional>
#include <memory>

namespace sagabox::simulation {

/// Passes everything on.
class ForwardingStore : public spi::OutboxStore {
 public:
  explicit ForwardingStore(spi::OutboxStore& to) : to_(to) {}
  [[nodiscard]] spi::Capabilities capabilities() const override { return to_.capabilities(); }
  Status prepare(const TableName& table) override { return to_.prepare(table); }
  Result<spi::ReadReply> read(const TableName& table, std::span<const spi::Range> ranges,
                              std::size_t bytes_max) override {
    return to_.read(table, ranges, bytes_max);
  }
  Result<spi::ReadReply> read_due(const TableName& table, std::span<const spi::DueRange> ranges,
                                  std::size_t bytes_max) override {
    return to_.read_due(table, ranges, bytes_max);
  }
  Result<spi::RetryingKeysReply> read_retrying_keys(const TableName& table, Shard shard,
                                                    Sequence after,
                                                    std::uint32_t rows_max) override {
    return to_.read_retrying_keys(table, shard, after, rows_max);
  }
  Result<spi::SettleReply> settle(const spi::SettleRequest& request) override {
    return to_.settle(request);
  }
  void wait(const TableName& table, Duration timeout) override { to_.wait(table, timeout); }
  void wake(const TableName& table) override { to_.wake(table); }

 private:
  spi::OutboxStore& to_;
};

/// Who holds what right now.
using Truth = std::function<spi::Census()>;

/// The store as the variant has it: broken, or passed on.
std::unique_ptr<spi::OutboxStore> store_of(Variant variant, spi::OutboxStore& store, Truth truth);

outbox::TrackerFactory tracker_of(Variant variant);

}  // namespace sagabox::simulation
