#pragma once

#include "delivery/decide.hpp"
#include "delivery/orchestrator/end_batch.hpp"
#include "delivery/orchestrator/hub_metrics.hpp"
#include "delivery/orchestrator/line.hpp"
#include "delivery/orchestrator/options.hpp"
#include "delivery/orchestrator/steps.hpp"
#include "delivery/store_retry.hpp"
#include "delivery/subscription_book.hpp"
#include "observe/error_metrics.hpp"
#include "ownership/worker.hpp"
#include "runtime/findings.hpp"

#include <sagabox/hub.hpp>
#include <sagabox/log.hpp>
#include <sagabox/spi/audit_store.hpp>
#include <sagabox/spi/delivery_store.hpp>
#include <sagabox/spi/hub_admin_store.hpp>
#include <sagabox/spi/job_store.hpp>
#include <sagabox/time.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sagabox::delivery {

/// `decide`, or what a test puts in its place.
using Decider = std::function<DeliveryDecision(const DeliveryRecord&, const DeliveryEvent&,
                                               const Endpoint&, WallTime, Random&)>;

/// What an orchestrator works with; all of it outlives it.
struct OrchestratorParts {
  spi::DeliveryStore& store;
  spi::HubAdminStore& health;        ///< `failing_since` only
  spi::AuditStore* audit = nullptr;  ///< null: deaths are not in the audit log
  const Clock& clock;
  Random& random;
  Metrics& metrics = no_metrics();
  Logger& log = no_log();
  /// There may be something to do for `plan_start`, or `plan_end`. Called with a lock held.
  std::function<void()> wake_starter = [] {};
  std::function<void()> wake_ender = [] {};
  /// Jobs were made. Called with a lock held, too.
  std::function<void()> made_jobs = [] {};
  /// Commits were lost: what was read of the store may not be there. Called with a lock held.
  std::function<void()> timeline_changed = [] {};
  Decider decide = &delivery::decide;
};

struct OrchestratorSnapshot {
  std::uint32_t shards_owned = 0;
  std::uint64_t subscriptions = 0;   ///< with deliveries in memory or before
  std::uint64_t ready = 0;           ///< read, and waiting for their turn
  std::uint64_t in_progress = 0;     ///< attempts
  std::uint64_t endpoints_down = 0;  ///< whose breaker is open
  std::uint64_t findings = 0;
  std::uint64_t completed = 0;  ///< since the start of this process, as all below
  std::uint64_t failed = 0;     ///< attempts
  std::uint64_t dead = 0;
  std::uint64_t disabled = 0;  ///< subscriptions
};

/// Decides on the deliveries whose shards are ours, the only one to change them. It begins those
/// that are due and may go, makes a job for each attempt, and applies the results of jobs that have
/// ended. What may not go stays in the table: memory holds what is in progress, and one page of
/// each subscription that may go.
///
/// Two sequences of steps, for a thread each: starting attempts, and ending them. A step is plan →
/// one call of the store → apply. Has no thread; what is not a step is safe from any thread.
class Orchestrator final : public ownership::Holder {
 public:
  static constexpr std::string_view scope = "hub:deliveries";
  /// A timer of a subscription rings at most so often.
  static constexpr Duration timer_step = std::chrono::milliseconds(1);

  Orchestrator(OrchestratorParts parts, OrchestratorOptions options, std::uint16_t shards);

  /// Whose lease counts; before the first step.
  void attach(ownership::Worker& worker) noexcept { worker_.store(&worker); }

  /// nullopt: there is nothing to do before `next_start`.
  [[nodiscard]] std::optional<StartStep> plan_start(BootTime now);
  [[nodiscard]] StartAnswer perform(const StartStep& step) const;
  void apply(const StartStep& step, StartAnswer answer, BootTime now);
  [[nodiscard]] BootTime next_start(BootTime now) const;

  /// nullopt: there is nothing to do before `next_end`.
  [[nodiscard]] std::optional<EndStep> plan_end(BootTime now);
  [[nodiscard]] EndAnswer perform(const EndStep& step) const;
  void apply(const EndStep& step, EndAnswer answer, BootTime now);
  [[nodiscard]] BootTime next_end(BootTime now) const;

  /// Deliveries that a router of this process has just added: they go without being read.
  void added(std::span<const DeliveryRecord> deliveries);
  /// Jobs that a worker of this process has just ended.
  void ended(std::span<const spi::FinishedJob> jobs);
  /// Another process may have added deliveries or ended jobs.
  void notified();
  /// Subscriptions may have changed.
  void subscriptions_changed();

  void acquired(const spi::OwnedShard& shard, const WorkerId& owner, Timeline timeline) override;
  void drain(Shard shard) override;
  [[nodiscard]] bool idle(Shard shard) const override;
  void lost(Shard shard) override;

  [[nodiscard]] OrchestratorSnapshot snapshot() const;
  [[nodiscard]] std::vector<runtime::Finding<DeliveryId>> findings(std::size_t rows_max) const;
  [[nodiscard]] bool owns(Shard shard) const;
  /// Why attempts of this subscription wait: its breaker is open. False for others' subscriptions.
  [[nodiscard]] bool is_down(const SubscriptionId& subscription) const;
  /// How its endpoint is doing. Null for others' subscriptions, and those without deliveries so
  /// far.
  [[nodiscard]] std::optional<EndpointState> endpoint(const SubscriptionId& subscription) const;
  /// Subscriptions of our shards that were disabled by an owner of deliveries since the last call:
  /// what is to be told about, once more after a take-over.
  [[nodiscard]] std::vector<SubscriptionRecord> take_disabled();

 private:
  // Of one call each.
  static constexpr std::uint32_t scan_rows_max = 1000;
  static constexpr std::uint32_t open_rows_max = 1000;
  static constexpr std::uint32_t due_pages_max = 32;
  static constexpr std::uint32_t stray_rows_max = 1000;
  static constexpr std::size_t named_max = 1000;
  static constexpr std::uint32_t ended_rows_max = 1000;
  static constexpr std::uint32_t doomed_rows_max = 500;

  struct Owned {
    bool ours = false;
    bool draining = false;
    Epoch epoch{};
    WorkerId owner{};
    std::uint32_t tenure = 0;
    /// The pass over deliveries in progress; `scanned`: one has come to its end.
    bool scanning = false;
    bool scanned = false;
    DeliveryId scan_after{};
    BootTime scan_at{};
    BootTime scan_began{};
    /// The pass over open subscriptions.
    SubscriptionId open_after{};
    BootTime open_at{};
    BootTime ended_at{};
    std::uint32_t ended_rows = ended_rows_max;  ///< of the next read of ended jobs
    /// The pass over waiting deliveries.
    spi::WaitingPage strays_after{};
    BootTime strays_at{};
  };
  using Attempts = std::unordered_map<DeliveryId, Attempt>;
  using Lines = std::unordered_map<SubscriptionId, Line>;

  // Starting: what is due.
  [[nodiscard]] std::optional<StartStep> plan_read(BootTime now);
  [[nodiscard]] std::optional<StartStep> plan_due();
  [[nodiscard]] std::optional<StartStep> plan_shards(BootTime now);
  [[nodiscard]] std::optional<StartStep> plan_named(BootTime now);
  void apply_one(const ReadSubscriptions& step, StartAnswer& answer, BootTime now);
  void apply_one(const ReadNamed& step, StartAnswer& answer, BootTime now);
  void apply_one(const ScanInProgress& step, StartAnswer& answer, BootTime now);
  void apply_one(const FindMissingJobs& step, StartAnswer& answer, BootTime now);
  void apply_one(const ScanOpen& step, StartAnswer& answer, BootTime now);
  void apply_one(const ReadDue& step, StartAnswer& answer, BootTime now);
  void apply_one(const ReleaseStrays& step, StartAnswer& answer, BootTime now);
  void adopt(DeliveryRecord delivery, BootTime now);
  void end_scan(Shard shard, BootTime now);
  void take_page(Line& line, const spi::PendingPage& page, std::span<DeliveryRecord> rows);
  void take_due(Line& line, DeliveryRecord delivery);

  // Starting: attempts.
  [[nodiscard]] std::optional<StartStep> plan_begin(BootTime now);
  [[nodiscard]] std::optional<StartStep> plan_jobs();
  void begin_turn(Line& line, BeginAttempts& step, BootTime now);
  void apply_one(const BeginAttempts& step, StartAnswer& answer, BootTime now);
  void apply_one(const MakeJobs& step, StartAnswer& answer, BootTime now);
  void begin_failed(const BeginAttempts& step, const Error& error, BootTime now);
  void start_failed(const Error& error, std::string_view what, BootTime now);
  void drop(const DeliveryId& id);

  // Ending.
  [[nodiscard]] std::optional<EndStep> plan_ending(BootTime now);
  [[nodiscard]] std::optional<EndStep> plan_ended(BootTime now);
  [[nodiscard]] std::optional<EndStep> plan_doomed();
  [[nodiscard]] std::optional<EndStep> plan_question() const;
  [[nodiscard]] std::optional<EndStep> plan_audit(const EndBatch& batch) const;
  [[nodiscard]] EndStep plan_disable(const Ending& cause) const;
  [[nodiscard]] EndStep plan_change(EndBatch& batch);
  [[nodiscard]] std::optional<EndStep> plan_stage();
  [[nodiscard]] std::optional<EndStep> plan_seen(bool any);
  void next_batch();
  [[nodiscard]] bool asks_health(Line& line, const spi::EndedJob& job);
  [[nodiscard]] static std::optional<WallTime> failing_since(const Line& line);
  void take_result(const spi::EndedJob& job, EndBatch& batch);
  void decide_end(Line& line, Attempt& attempt, const spi::EndedJob& job, EndBatch& batch);
  void unpark(BootTime now);
  void keep_ours(EndBatch& batch);
  void apply_one(const ReadEnded& step, EndAnswer& answer, BootTime now);
  void apply_one(const ReadDoomed& step, EndAnswer& answer, BootTime now);
  void apply_one(const ReadFailing& step, EndAnswer& answer, BootTime now);
  void apply_one(const DisableSubscription& step, EndAnswer& answer, BootTime now);
  void apply_one(const Bury& step, EndAnswer& answer, BootTime now);
  void apply_one(const ChangeDeliveries& step, EndAnswer& answer, BootTime now);
  void apply_one(const MarkSeen& step, EndAnswer& answer, BootTime now);
  void apply_one(const AppendAudit& step, EndAnswer& answer, BootTime now);
  void changed(const Ending& item, bool unsent, BootTime now);
  void superseded(const Ending& item, bool unsent, BootTime now);
  void forget_ended(const Ending& item, bool unsent);
  void show_end(const Ending& item);
  void batch_failed(const Error& error, std::string_view what, BootTime now);
  void end_failed(const Error& error, std::string_view what, BootTime now);
  void see(const spi::AttemptOf& job);

  // Lines.
  Line& line_for(const SubscriptionId& id, Shard shard, BootTime now);
  [[nodiscard]] Line* find_line(const SubscriptionId& id);
  void update_line(Line& line, BootTime now);
  /// What is next for this subscription: a turn, a read, its end, or a timer.
  void consider(Line& line, BootTime now);
  /// How many deliveries of one subscription are read ahead: fewer while there are many.
  [[nodiscard]] std::uint32_t page_rows() const;
  void set_timer(Line& line, BootTime at);
  void fire_timers(BootTime now);
  void clear_ready(Line& line);
  void look_at(Line& line, WallTime due, BootTime now);

  // Shards.
  void forget_shard(Shard shard);
  void fences_broken(const Fences& fences, const std::vector<bool>& held);
  [[nodiscard]] bool add_fence(Fences& fences, Shard shard) const;
  [[nodiscard]] Tenure tenure_of(Shard shard) const { return {shard, owned(shard).tenure}; }
  [[nodiscard]] const Owned& owned(Shard shard) const { return shards_[shard.value]; }
  [[nodiscard]] bool works_on(Shard shard) const {
    return owned(shard).ours && !owned(shard).draining;
  }
  [[nodiscard]] bool is_ours(const Tenure& tenure) const {
    return owned(tenure.shard).ours && owned(tenure.shard).tenure == tenure.number;
  }
  [[nodiscard]] bool live(BootTime now) const {
    const auto* const worker = worker_.load(std::memory_order_acquire);
    return worker != nullptr && worker->live(now);
  }
  void found_something(bool did);
  void show_gauges(BootTime now);
  void log_about(LogLevel level, std::string_view what, const DeliveryRecord& delivery) const;

  const OrchestratorParts parts_;
  const OrchestratorOptions options_;
  HubMetrics figures_;
  ErrorMetrics errors_;
  std::atomic<ownership::Worker*> worker_{nullptr};

  mutable std::mutex mutex_;  // of all below
  std::vector<Owned> shards_;
  Timeline timeline_{};
  SubscriptionBook book_;
  Lines lines_;
  Attempts attempts_;
  std::uint32_t under_way_ = 0;  ///< of them, not ready
  OrchestratorSnapshot totals_;
  runtime::Findings<DeliveryId> findings_;
  std::vector<SubscriptionRecord> disabled_;
  std::set<std::pair<BootTime, SubscriptionId>> timers_;
  BootTime gauges_at_{};

  // Starting.
  BootTime subscriptions_at_{};
  BootTime reread_at_{};
  BootTime reread_missing_at_{};
  bool subscriptions_missing_ = false;
  std::deque<SubscriptionId> looks_;
  std::deque<SubscriptionId> turns_;
  std::deque<BeginAttempts> begin_again_;
  std::deque<JobRecord> jobs_;  ///< to be made
  std::vector<JobRecord> jobs_to_check_;
  /// Ended while a scan is read: it shows them in progress.
  std::unordered_set<DeliveryId> ended_meanwhile_;
  std::map<DeliveryId, BootTime> parked_begins_;
  bool scan_out_ = false;  ///< a page of the scan is being read
  std::uint32_t job_rows_max_;
  std::uint32_t writes_in_a_row_ = 0;
  std::size_t shard_turn_ = 0;
  bool shards_next_ = false;
  StoreRetry start_retry_;
  Duration notified_interval_;
  BootTime notified_last_{};
  bool hinted_ = false;

  // Ending.
  std::deque<spi::EndedJob> results_;
  std::set<spi::AttemptOf> known_results_;  ///< in `results_`, in a batch, or not marked as seen
  std::deque<EndBatch> batches_;
  std::vector<std::pair<BootTime, EndBatch>> parked_batches_;
  std::vector<spi::AttemptOf> unseen_;
  std::deque<ReadFailing> questions_;
  std::vector<spi::EndedJob> deferred_;  ///< until the answer is there
  std::deque<SubscriptionId> doomed_;
  std::size_t ended_turn_ = 0;
  std::uint32_t end_turn_ = 0;
  StoreRetry end_retry_;
};

}  // namespace sagabox::delivery
