#pragma once

#include "flow/pace.hpp"
#include "runtime/single_shard.hpp"

#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/spi/control_store.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sagabox::outbox {

struct ReplayerOptions {
  std::uint32_t rows_max = 500;  ///< of a batch
  /// How often the jobs are read from the store.
  Duration look_interval = std::chrono::seconds(1);
  /// A batch that fails this often in a row, while the store can be reached, fails its job.
  std::uint32_t attempts_max = 5;
};

/// One call of the store.
struct ReplayPlan {
  struct Look {};
  struct Advance {
    ReplayJobId job{};
    std::uint32_t rows_max = 0;
  };
  struct Fail {
    ReplayJobId job{};
    std::string error{};
  };
  runtime::SingleShard::Tenure tenure;
  std::variant<Look, Advance, Fail> call;
};
using ReplayAnswer =
    std::variant<Result<std::vector<ReplayJob>>, Result<spi::JobAdvanceReply>, Result<ReplayJob>>;

/// Runs the stored replay jobs of a table while this process owns their scope. The progress of a
/// job is stored with every batch, so a new owner continues from there. `plan`, `perform`, `apply`
/// and `next` must be called by one thread.
class Replayer {
 public:
  struct Parts {
    spi::ControlStore& store;
    const TableName& table;
    Metrics& metrics;
    Logger& log;
    std::function<bool(BootTime)> live;  ///< whether the worker's lease is valid
    /// Notifies the worker that a batch found another owner or epoch of the scope.
    std::function<void(Epoch)> fence_broken;
  };
  Replayer(Parts parts, ReplayerOptions options = {});

  [[nodiscard]] static spi::Scope scope_of(const TableName& table) {
    return "replay:" + table.str();
  }
  /// The holder of `scope_of`, which has one shard.
  ownership::Holder& holder() noexcept { return shard_; }

  /// After every plan, call `apply` before the next one.
  [[nodiscard]] std::optional<ReplayPlan> plan(BootTime now);
  /// One call of the store.
  [[nodiscard]] ReplayAnswer perform(const ReplayPlan& plan) const;
  void apply(const ReplayPlan& plan, ReplayAnswer answer, BootTime now);
  /// When to call `plan` again; within a second while the scope is not owned.
  [[nodiscard]] BootTime next(BootTime now) const;

  /// Call it after a job was created or changed, to read the jobs soon. Safe from any thread.
  void wake() noexcept { woken_.store(true, std::memory_order_release); }

 private:
  struct Running {
    ReplayJob job;
    flow::Pace pace;
    BootTime retry_at = BootTime::min();
    std::uint32_t errors = 0;    // in a row
    std::uint32_t failures = 0;  // of these, those not explained by an unreachable store
    bool in_question = false;    // the last batch failed; the next read of jobs decides why
    std::string error{};
  };
  using Jobs = std::map<ReplayJobId, Running>;

  [[nodiscard]] std::optional<decltype(ReplayPlan::call)> choose(BootTime now);
  [[nodiscard]] bool look_due(BootTime now) const;
  [[nodiscard]] BootTime due(const Running& running, BootTime now) const;

  void looked(const Result<std::vector<ReplayJob>>& answer, BootTime now);
  void seen(const ReplayJob& job, BootTime now);
  void advanced(const ReplayPlan& plan, const ReplayPlan::Advance& advance,
                const Result<spi::JobAdvanceReply>& answer, BootTime now);
  void ended_as_failed(const ReplayPlan::Fail& fail, const Result<ReplayJob>& answer, BootTime now);
  void batch_failed(Running& running, const Error& error, BootTime now);
  void back_off(Running& running, BootTime now);
  void ended(Jobs::iterator at, const ReplayJob& job);
  void forget();

  Parts parts_;
  spi::Scope scope_;
  ReplayerOptions options_;
  runtime::SingleShard shard_;
  Counter& replayed_;
  Counter& replays_;
  std::atomic<bool> woken_{false};

  std::optional<runtime::SingleShard::Tenure> tenure_;  // the tenure of these jobs
  Jobs jobs_;
  ReplayJobId turn_{};  // the job of the last batch
  BootTime look_at_ = BootTime::min();
  std::uint32_t looks_failed_ = 0;  // in a row
};

}  // namespace sagabox::outbox
