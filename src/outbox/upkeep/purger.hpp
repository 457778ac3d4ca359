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
  /// How long messages of each state are kept; nullopt: for ever.
  std::optional<Duration> done = std::chrono::hours(24 * 7);
  std::optional<Duration> dead{};
  /// Only for tables whose pending rows an external reader takes, without settling them.
  std::optional<Duration> pending{};
  std::uint32_t rows_max = 500;
  Duration interval = std::chrono::hours(1);
  std::uint32_t strays_max = 100;  ///< the most strays reported in a round
  /// A step that fails this often in a row waits for the next round.
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

/// In each round deletes messages after their retention, in small batches, and searches for pending
/// rows that no read would return. Works only while this process owns its scope. Errors of the
/// store do not end it. `plan`, `perform`, `apply` and `next` must be called by one thread.
class Purger {
 public:
  struct Parts {
    spi::OutboxAdminStore& store;
    const TableName& table;
    Metrics& metrics;
    Logger& log;
    std::function<bool(BootTime)> live;  ///< whether the worker's lease is valid
  };
  Purger(Parts parts, PurgerOptions options);

  [[nodiscard]] static spi::Scope scope_of(const TableName& table) {
    return "purge:" + table.str();
  }
  /// The holder of `scope_of`, which has one shard.
  ownership::Holder& holder() noexcept { return shard_; }

  /// After every plan, call `apply` before the next one.
  [[nodiscard]] std::optional<PurgePlan> plan(BootTime now);
  /// One call of the store.
  [[nodiscard]] PurgeAnswer perform(const PurgePlan& plan) const;
  void apply(const PurgePlan& plan, PurgeAnswer answer, BootTime now);
  /// When to call `plan` again; within a second while the scope is not owned.
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
  /// Returns true if there is nothing more to purge in this step.
  bool purged(MessageState state, const spi::PurgeReply& reply);
  void failed(const Error& error, BootTime now);

  Parts parts_;
  PurgerOptions options_;
  runtime::SingleShard shard_;
  Gauge& strays_;

  std::optional<runtime::SingleShard::Tenure> tenure_;  // the tenure of this round
  std::deque<Step> steps_;                              // remaining steps of the round
  bool in_round_ = false;
  BootTime resume_at_ = BootTime::min();
  std::uint32_t failures_ = 0;  // in a row
  std::array<std::uint64_t, message_state_count> purged_{};
  std::uint32_t given_up_ = 0;
};

}  // namespace sagabox::outbox
