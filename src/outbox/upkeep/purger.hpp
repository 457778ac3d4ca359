#pragma once

#include "runtime/single_shard.hpp"

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/outbox_admin_store.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

namespace sagabox::outbox {

struct PurgerOptions {
  /// Each: how long messages of that state are kept. Nothing: for ever.
  std::optional<Duration> done = std::chrono::hours(24 * 7);
  std::optional<Duration> dead{};
  /// Only for tables whose pending rows somebody else reads and nobody settles.
  std::optional<Duration> pending{};
  std::uint32_t rows_max = 500;
  Duration interval = std::chrono::hours(1);
  std::uint32_t strays_max = 100;  ///< reported in a round
  /// A step that fails so often in a row waits for the next round.
  std::uint32_t attempts_max = 5;
};

/// One call of the store.
struct PurgePlan {
  struct Strays {};
  struct Purge {
    MessageState state = MessageState::done;
    Duration older_than{};
  };
  using Call = std::variant<Strays, Purge>;
  runtime::SingleShard::Tenure tenure;
  Call call;
};
using PurgeAnswer = std::variant<Result<std::vector<spi::Stray>>, Result<spi::PurgeReply>>;

/// Round by round deletes what has been kept long enough, in small batches, and looks for pending
/// rows that no reader would find. Works while this process owns its scope and does nothing
/// otherwise. No error of the store ends it. `plan`, `perform`, `apply` and `next` belong to one
/// thread.
class Purger {
 public:
  struct Parts {
    spi::OutboxAdminStore& store;
    const TableName& table;
    Metrics& metrics;
    Logger& log;
    std::function<bool(BootTime)> live;  ///< whether the worker's lease runs
  };
  Purger(Parts parts, PurgerOptions options);

  [[nodiscard]] static spi::Scope scope_of(const TableName& table) {
    return "purge:" + table.str();
  }
  /// Of `scope_of`, which has one shard.
  ownership::Holder& holder() noexcept { return shard_; }

  /// Every plan wants its `apply` before the next.
  [[nodiscard]] std::optional<PurgePlan> plan(BootTime now);
  /// One call of the store.
  [[nodiscard]] PurgeAnswer perform(const PurgePlan& plan) const;
  void apply(const PurgePlan& plan, PurgeAnswer answer, BootTime now);
  /// When to call `plan` again; within a second while the scope is not ours.
  [[nodiscard]] BootTime next(BootTime now) const;

 private:
  struct Step {
    PurgePlan::Call call;
    std::uint32_t failures = 0;
  };

  void begin_round();
  void end_round(BootTime now);
  void forget();
  void report(const std::vector<spi::Stray>& strays);
  /// True when there is nothing more to purge in this step.
  bool purged(MessageState state, const spi::PurgeReply& reply);
  void failed(const Error& error, BootTime now);

  Parts parts_;
  PurgerOptions options_;
  runtime::SingleShard shard_;
  Gauge& strays_;

  std::optional<runtime::SingleShard::Tenure> tenure_;  // whose round this is
  std::deque<Step> steps_;                              // left of the round
  bool in_round_ = false;
  BootTime resume_at_ = BootTime::min();
  std::uint32_t failures_ = 0;  // in a row
  std::array<std::uint64_t, message_state_count> purged_{};
  std::uint32_t given_up_ = 0;
};

}  // namespace sagabox::outbox
