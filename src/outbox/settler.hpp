#pragma once

#include "observe/error_figures.hpp"
#include "outbox/shards.hpp"

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/outbox_store.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace sagabox::outbox {

/// One batch of results on its way to the store, shard by shard.
struct SettlePlan {
  WorkerId owner;
  std::vector<spi::Fence> fences;
  std::vector<std::size_t> ends;  ///< where the items of each fence end
  std::vector<spi::Settlement> items;
  std::vector<Settling> about;  ///< what else is known of each item; its settlement is in `items`
  bool suspect = false;         ///< part of a batch that was refused
};

struct SettlerOptions {
  std::uint32_t rows_max = 1000;
  Duration delay_max = std::chrono::milliseconds(2);
  bool retain_done = true;
};

/// Writes results back in batches, by count or after a few milliseconds, in the order they came in
/// a shard. What the store could not take, or may have taken, is sent again: results are absolute.
/// A batch that it refuses for good is split until the row that is to blame stands alone: that one
/// is held back and tried again now and then, the others are not.
/// `plan`, `perform` and `apply` belong to one thread.
class Settler {
 public:
  struct Parts {
    spi::OutboxStore& store;
    const TableName& table;
    Shards& shards;
    Metrics& metrics;
    Logger& log;
    /// An attempt of a message that goes cautiously has been written.
    std::function<void(Shard, Sequence, std::uint32_t tenure)> attempt_written;
  };
  Settler(Parts parts, SettlerOptions options);

  [[nodiscard]] std::optional<SettlePlan> plan(BootTime now);
  /// One call of the store.
  [[nodiscard]] Result<spi::SettleReply> perform(const SettlePlan& plan);
  void apply(SettlePlan plan, Result<spi::SettleReply> reply, BootTime now);
  /// `plan` has nothing to do before this unless more results come in.
  [[nodiscard]] BootTime next(BootTime now) const;

  /// From now on nothing waits for company.
  void begin_stop() noexcept { stopping_.store(true); }

  [[nodiscard]] std::uint64_t delivered() const { return delivered_.load(); }
  [[nodiscard]] std::uint64_t retried() const { return retried_.load(); }
  [[nodiscard]] std::uint64_t dead() const { return dead_.load(); }

 private:
  [[nodiscard]] SettlePlan collect();
  [[nodiscard]] SettlePlan still_ours(SettlePlan plan);
  [[nodiscard]] std::optional<SettlePlan> next_again(BootTime now);
  [[nodiscard]] std::optional<SettlePlan> next_held_back(BootTime now);
  void failed(SettlePlan plan, const Error& error, BootTime now);
  void hold_back(SettlePlan plan, const Error& error, BootTime now);
  void let_go(const SettlePlan& plan);
  void settled(const SettlePlan& plan, std::size_t part, const spi::SettleReply::Part& reply);
  void count(const Settling& settling, const spi::Settlement& item);

  struct Figures {
    Figures(Metrics& metrics, std::string_view table);
    Counter& batches;
    Counter& batches_failed;
    Counter& missed;
    Histogram& rows;
    ErrorFigures errors;
  };

  Parts parts_;
  SettlerOptions options_;
  Figures figures_;
  std::deque<SettlePlan> again_;  // to be sent again before anything else
  BootTime retry_at_{};
  struct HeldBack {
    SettlePlan plan;  // of one row
    BootTime retry_at;
  };
  std::vector<HeldBack> held_back_;
  std::uint32_t failures_ = 0;
  std::size_t first_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> delivered_{0};
  std::atomic<std::uint64_t> retried_{0};
  std::atomic<std::uint64_t> dead_{0};
};

}  // namespace sagabox::outbox
