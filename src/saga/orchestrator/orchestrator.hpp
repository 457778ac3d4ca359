#pragma once

#include "core/scopes.hpp"
#include "feed/reader.hpp"
#include "observe/error_metrics.hpp"
#include "ownership/worker.hpp"
#include "runtime/findings.hpp"
#include "saga/calls/caller.hpp"
#include "saga/orchestrator/entry.hpp"
#include "saga/orchestrator/options.hpp"
#include "saga/orchestrator/saga_metrics.hpp"
#include "saga/orchestrator/write_step.hpp"
#include "saga/plan_book.hpp"

#include <sagabox/log.hpp>
#include <sagabox/spi/saga_store.hpp>
#include <sagabox/time.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace sagabox::saga {

/// `decide`, or what a test puts in its place.
using Decider = std::function<Decision(const Plan&, Instance, const Event&, WallTime, Random&)>;

struct OrchestratorParts {
  spi::SagaStore& store;
  std::string definition;
  const PlanBook& plans;
  Caller& caller;
  std::atomic<std::uint64_t>&
      tickets;      ///< the last one drawn, of all definitions that share `caller`
  UlidSource& ids;  ///< of emitted messages
  const Clock& clock;
  Random& random;
  Metrics& metrics;
  Logger& log;
  std::string reply_secret;  ///< empty: emitted messages carry no reply token
  WallTime::duration reply_ttl{};
  /// What became of a command, once it is stored. Not called with a lock held.
  std::function<void(const SagaCommandResult&)> told;
  /// A batch with messages for these tables was written.
  std::function<void(const TableName&)> wrote_messages;
  /// There may be something to decide and write, or to read: wakes the threads that do.
  std::function<void()> wake_writer;
  std::function<void()> wake_reader;
  Decider decide = &saga::decide;
};

/// One call of the store that reads.
struct ReadStep {
  struct Ids {
    std::vector<SagaId> ids;
  };
  struct Due {
    spi::SagaDueRange range;
    std::uint32_t tenure = 0;
  };
  struct Inbox {
    feed::ReadPlan plan;
  };
  std::variant<Ids, Due, Inbox> what;
};
using ReadAnswer = std::variant<Result<std::vector<SagaRecord>>, Result<spi::SagaInboxReply>>;

struct OrchestratorSnapshot {
  std::uint32_t shards_owned = 0;
  std::uint64_t instances = 0;  ///< in memory
  std::uint64_t calls = 0;      ///< running
  std::uint64_t started = 0;    ///< since the start of this process, as all below
  std::uint64_t completed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t failed = 0;
  std::uint64_t batches = 0;
  std::uint64_t findings = 0;
};

/// Runs the sagas of one definition whose shards are ours: reads their inbox and what is due,
/// decides in memory, writes what many sagas did in one batch, and then makes the calls. One batch
/// is under way at a time; the next one is whatever became ready meanwhile. A saga in a batch is
/// not decided on again before that batch has its answer.
///
/// Has no thread. `plan_read`, its `perform` and `apply` belong to one thread, those of writing to
/// another; everything else is safe from any thread.
class Orchestrator final : public ownership::Holder, public CallResults {
 public:
  Orchestrator(OrchestratorParts parts, OrchestratorOptions options);

  static spi::Scope scope_of(std::string_view definition) { return saga_scope(definition); }
  /// Whose lease counts; before the first step.
  void attach(ownership::Worker& worker) noexcept { worker_.store(&worker); }

  /// nullopt: there is nothing to read before `next_read`, or no room.
  [[nodiscard]] std::optional<ReadStep> plan_read(BootTime now);
  [[nodiscard]] ReadAnswer perform(const ReadStep& step) const;
  void apply(const ReadStep& step, ReadAnswer answer, BootTime now);
  [[nodiscard]] BootTime next_read(BootTime now) const;

  /// Decides on what happened. nullopt: nothing has to be written before `next_write`.
  [[nodiscard]] std::optional<WriteStep> plan_write(BootTime now);
  [[nodiscard]] Result<spi::SagaBatchReply> perform(const WriteStep& step) const;
  void apply(WriteStep step, Result<spi::SagaBatchReply> reply, BootTime now);
  [[nodiscard]] BootTime next_write(BootTime now) const;
  /// Makes the calls that `plan_write` and `apply` have decided on. With the writing thread.
  void make_calls(BootTime now);

  void ended(CallTicket ticket, CallResult result) noexcept override;
  /// Something may have been committed: the inbox is read at once.
  void committed_somewhere();

  void acquired(const spi::OwnedShard& shard, const WorkerId& owner, Timeline timeline) override;
  void drain(Shard shard) override;
  [[nodiscard]] bool idle(Shard shard) const override;
  void lost(Shard shard) override;

  [[nodiscard]] OrchestratorSnapshot snapshot() const;
  [[nodiscard]] std::vector<runtime::Finding<SagaId>> findings(std::size_t rows_max) const;
  [[nodiscard]] bool owns(Shard shard) const;

 private:
  struct Owned {
    bool ours = false;
    bool draining = false;
    bool unclean = false;
    BootTime drain_began{};
    Epoch epoch{};
    WorkerId owner{};
    std::uint32_t tenure = 0;
    /// The pass over what is due: everything up to here has been looked at.
    WallTime due_after{};
    SagaId due_id{};
    BootTime due_at{};
    BootTime full_at{};
  };
  struct Flight {
    SagaId saga{};
    CallKey key{};
    Shard shard{};
    bool idempotent = true;
  };
  struct Ended {
    CallTicket ticket{};
    CallResult result{};
  };
  using Entries = std::unordered_map<SagaId, std::unique_ptr<Entry>>;

  // Reading.
  [[nodiscard]] std::optional<ReadStep> plan_ids();
  [[nodiscard]] std::optional<ReadStep> plan_due(BootTime now);
  void apply_ids(const ReadStep::Ids& step, std::vector<SagaRecord>& records);
  void apply_due(const ReadStep::Due& step, std::vector<SagaRecord>& records, BootTime now);
  void apply_inbox(const ReadStep::Inbox& step, spi::SagaInboxReply& reply, BootTime now);
  void arrived(SagaCommand command, const feed::RowPlace& place);
  /// Brings a stored saga into memory. False: it cannot run here.
  bool take_in(Entry& entry, const SagaRecord& record);
  void read_failed(const Error& error, BootTime now);
  /// How many sagas that are due may be read now.
  [[nodiscard]] std::uint32_t room() const;
  /// How many rows of the inbox: they have room of their own, so that acts and replies come in
  /// however many sagas and calls there are.
  [[nodiscard]] std::uint32_t inbox_room() const;

  // Deciding.
  void take_ended();
  void end_call(Entry& entry, CallTicket ticket, const Flight& flight, CallResult result);
  /// Calls that have not begun at their deadline end as unreachable: they are not in doubt.
  void withdraw_late_calls(Entry& entry, WallTime now);
  void fire_timers(WallTime now);
  /// Starts wait while the calls that run are as many as allowed.
  void begin_waiting_starts();
  [[nodiscard]] bool must_wait(const Entry& entry, std::size_t calls) const;
  /// nullopt: nothing of it has to be written.
  [[nodiscard]] std::optional<BatchItem> decide_on(Entry& entry, WallTime now);
  void decide_present(Entry& entry, WallTime now, BatchItem& item);
  void decide_absent(Entry& entry, WallTime now, BatchItem& item);
  void take_decision(Entry& entry, Decision decision, BatchItem& item);
  void refuse(const SagaCommand& command, std::string reason, WallTime now, BatchItem& item) const;
  void finish_item(const Entry& entry, WallTime now, BatchItem& item) const;
  [[nodiscard]] WallTime remember_until(const Instance& instance, const Call& call) const;
  [[nodiscard]] Status emit(const Entry& entry, const Emission& emission, BatchItem& item);

  // Writing.
  [[nodiscard]] std::optional<WriteStep> plan_again();
  [[nodiscard]] WriteStep still_ours(WriteStep step);
  void committed(BatchItem& item);
  void roll_back(BatchItem& item, bool reload);
  void conflicted(BatchItem& item, const std::string& reason);
  void failed(WriteStep step, const Error& error, BootTime now);
  void refused(BatchItem item, const Error& error);
  void park(Entry& entry, Code code, const std::string& text);
  /// Makes it known that a saga does not go on, and why.
  void found(const Entry& entry, Code code, const std::string& text);
  void fence_broken(const spi::Fence& fence);

  // Entries.
  [[nodiscard]] Entry* find(const SagaId& id);
  Entry& entry_for(const SagaId& id, Shard shard);
  void forget_finding(const SagaId& id);
  void mark_ready(Entry& entry);
  void want(Entry& entry);
  void set_timer(Entry& entry, std::optional<WallTime> at);
  /// Keeps it in memory, or does not.
  void settle_down(Entry& entry, WallTime now);
  void remove(Entry& entry);
  /// Commands that wait for the start of their saga.
  [[nodiscard]] static std::uint32_t waiting_of(const Entry& entry);
  void forget_calls(Entry& entry);
  void forget_shard(Shard shard);
  void abandon_call(Entry& entry, const CallKey& key);
  void order_call(Entry& entry, Call call);
  void show_figures(BootTime now);
  [[nodiscard]] bool live(BootTime now) const {
    const auto* const worker = worker_.load(std::memory_order_acquire);
    return worker != nullptr && worker->live(now);
  }
  [[nodiscard]] bool is_ours(Shard shard, std::uint32_t tenure) const {
    const auto& owned = shards_[shard.value];
    return owned.ours && owned.tenure == tenure;
  }

  const OrchestratorParts parts_;
  const OrchestratorOptions options_;
  const spi::Scope scope_;
  SagaMetrics figures_;
  ErrorMetrics errors_;
  std::atomic<ownership::Worker*> worker_{nullptr};

  mutable std::mutex ended_mutex_;  // of ended_
  std::vector<Ended> ended_;

  mutable std::mutex mutex_;  // of all below
  std::vector<Owned> shards_;
  Timeline timeline_{};
  feed::Reader reader_;
  Entries entries_;
  std::deque<SagaId> ready_;
  std::deque<SagaId> waiting_starts_;  ///< `ready`, and not in `ready_`
  std::deque<SagaId> wanted_;
  std::set<std::pair<WallTime, SagaId>> timers_;
  std::unordered_map<CallTicket, Flight> flights_;
  struct Outgoing {
    CallOrder order;
    std::uint32_t tenure = 0;
    WallTime deadline{};
  };
  std::vector<Outgoing> outgoing_;
  std::vector<CallTicket> to_abandon_;
  std::vector<SagaCommandResult> to_tell_;
  std::vector<spi::Fence> lost_;  ///< to be told to the worker
  std::uint32_t reads_out_ = 0;
  std::vector<SagaId> gone_;
  std::uint32_t absent_ = 0;
  BootTime read_retry_at_{};
  std::uint32_t read_failures_ = 0;
  std::size_t due_turn_ = 0;

  std::deque<WriteStep> again_;
  bool fresh_next_ = false;
  BootTime write_retry_at_{};
  std::uint32_t write_failures_ = 0;
  runtime::Findings<SagaId> findings_;
  std::unordered_map<SagaId, Shard> found_in_;  ///< the shards of `findings_`
  BootTime figures_at_{};
  OrchestratorSnapshot totals_;
};

}  // namespace sagabox::saga
