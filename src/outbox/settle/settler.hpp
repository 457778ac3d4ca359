#pragma once

#include "observe/error_metrics.hpp"
#include "outbox/read/shards.hpp"
#include "outbox/settle/refused_rows.hpp"
#include "outbox/settle/settle_plan.hpp"

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/outbox_store.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace sagabox::outbox {

struct SettlerOptions {
  std::uint32_t rows_max = 1000;
  Duration delay_max = std::chrono::milliseconds(2);
  bool retain_done = true;
  std::size_t refused_rows_max = RefusedRows::rows_max_default;  ///< see `RefusedRows`
};

/// Stores results in batches, by count or after a few milliseconds, in order within each shard. A
/// batch that fails because the store cannot be reached is sent again: results are absolute. A
/// batch that the store refuses is split until the row at fault is alone. That row is quarantined
/// with a note instead, and held back if the store refuses this too; see `RefusedRows`. Parts of
/// failed batches and fresh batches take turns, so that the results of other rows are stored even
/// if many rows are refused. `plan`, `perform` and `apply` must be called by one thread.
class Settler {
 public:
  struct Parts {
    spi::OutboxStore& store;
    const TableName& table;
    Shards& shards;
    Metrics& metrics;
    Logger& log;
    /// The attempt of a cautious message was stored.
    std::function<void(Shard, Sequence, std::uint32_t tenure)> attempt_written;
    /// The attempt was refused; `park` is the settlement to use for the message instead.
    std::function<void(const spi::Settlement& park, std::uint32_t tenure)> attempt_refused;
  };
  Settler(Parts parts, SettlerOptions options);

  [[nodiscard]] std::optional<SettlePlan> plan(BootTime now);
  /// One call of the store.
  [[nodiscard]] Result<spi::SettleReply> perform(const SettlePlan& plan);
  void apply(SettlePlan plan, Result<spi::SettleReply> reply, BootTime now);
  /// The earliest time of the next batch, unless more results are added.
  [[nodiscard]] BootTime next(BootTime now) const;

  /// From now on results are not delayed to fill a batch.
  void begin_stop() noexcept { stopping_.store(true); }

  /// Why no result can be stored, from the first of the failures in a row until a batch is stored;
  /// nullopt: results are stored, or nothing is to be stored. Thread-safe.
  struct Failing {
    Code code{};
    BootTime since{};
  };
  [[nodiscard]] std::optional<Failing> failing() const;

  /// Rows whose result the store refuses. Thread-safe.
  [[nodiscard]] const RefusedRows& refused() const noexcept { return refused_; }

  [[nodiscard]] std::uint64_t delivered() const { return delivered_.load(); }
  [[nodiscard]] std::uint64_t retried() const { return retried_.load(); }
  [[nodiscard]] std::uint64_t dead() const { return dead_.load(); }

 private:
  [[nodiscard]] std::optional<SettlePlan> fresh(BootTime now);
  [[nodiscard]] SettlePlan collect();
  /// When a fresh batch is due; BootTime::max() if nothing waits.
  [[nodiscard]] BootTime fresh_at(BootTime now) const;
  [[nodiscard]] SettlePlan still_ours(SettlePlan plan);
  [[nodiscard]] std::optional<SettlePlan> next_again();
  [[nodiscard]] std::optional<SettlePlan> next_park();
  [[nodiscard]] std::optional<SettlePlan> next_held_back(BootTime now);
  /// Drops held back rows of shards that are not owned any more, or are being handed over.
  void drop_refused();
  /// Drops attempts to be stored that newer results of the same rows replace.
  void drop_superseded(const SettlePlan& fresh);

  void failed(SettlePlan plan, const Error& error, BootTime now);
  void store_fails(Code code, BootTime now);
  void store_answers();
  void split(SettlePlan plan, const Error& error);
  /// The store refuses a single row, or fails with it repeatedly.
  void alone(SettlePlan plan, const Error& error, BootTime now, bool for_good);
  /// `refused`: permanently.
  void keep_refused(RefusedRows::Row row, const Error& error, BootTime now, bool refused);
  void log_forgotten(const MessageId& id, Sequence sequence, const Error& error);
  void attempt_failed(const RefusedRows::Row& row, const Error& error);
  void settled(const SettlePlan& plan, std::size_t part, const spi::SettleReply::Part& reply,
               BootTime now);
  void row_settled(ShardState& state, const spi::Settlement& item, std::uint32_t tenure,
                   BootTime now);
  void parked(const spi::Settlement& item);
  void count(const Settling& settling, const spi::Settlement& item);

  struct Instruments {
    Instruments(Metrics& metrics, std::string_view table);
    Counter& batches;
    Counter& batches_failed;
    Counter& missed;
    Counter& refused_parked;
    Histogram& rows;
    ErrorMetrics errors;
  };

  Parts parts_;
  SettlerOptions options_;
  Instruments instruments_;
  std::deque<SettlePlan> again_;  // batches that failed, and parts of them
  std::vector<RefusedRows::Row> to_park_;
  RefusedRows refused_;
  bool fresh_next_ = false;      // the next batch is a fresh one, not one of the above
  BootTime retry_at_{};          // nothing is sent before
  BootTime held_back_at_{};      // no held back row is tried before
  std::uint32_t failures_ = 0;   // in a row, for reasons that the rows may not have caused
  std::uint64_t successes_ = 0;  // batches that were stored
  std::size_t first_ = 0;
  mutable std::mutex failing_mutex_;
  std::optional<Failing> failing_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> delivered_{0};
  std::atomic<std::uint64_t> retried_{0};
  std::atomic<std::uint64_t> dead_{0};
};

}  // namespace sagabox::outbox
