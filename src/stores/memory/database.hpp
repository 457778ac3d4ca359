#pragma once

#include "core/commit_signal.hpp"
#include "stores/memory/audit_log.hpp"
#include "stores/memory/controls.hpp"
#include "stores/memory/hub.hpp"
#include "stores/memory/idempotency.hpp"
#include "stores/memory/inbox.hpp"
#include "stores/memory/ownership.hpp"
#include "stores/memory/sagas.hpp"
#include "stores/memory/table.hpp"

#include <sagabox/stores/memory.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::memory {

using BusinessRows =
    std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>>;

/// One transaction in progress. The database's lock guards every member except `id`.
struct OpenTransaction {
  struct Insert {
    Table* table = nullptr;
    CommitSignal* signal = nullptr;
    Drawn drawn;
  };

  TransactionId id{};
  std::vector<Insert> inserts;
  BusinessRows puts;
  InboxRows inbox;
  std::vector<SagaCommand> commands;  // ascending by sequence
  std::vector<HubEvent> events;       // ascending by sequence
  bool aborted = false;               ///< by a fail-over
};

/// The state that a fail-over can restore.
struct CommittedState {
  std::map<std::string, std::unique_ptr<Table>, std::less<>> tables;
  Ownership ownership;
  std::map<std::string, TableControls, std::less<>> controls;
  AuditLog audit;
  IdempotencyRecords idempotency;
  InboxRows inbox;
  SagaRows sagas;
  HubRows hub;
  BusinessRows business;
  TransactionId next_transaction{1};
  std::uint64_t next_command = 1;

  [[nodiscard]] CommittedState copy() const;
};

/// The state behind a MemoryStore, and all its queries. One lock for everything, held briefly.
/// Thread-safe.
class Database final : public spi::OutboxStore,
                       public spi::OutboxAdminStore,
                       public spi::ControlStore,
                       public spi::OwnershipStore,
                       public spi::AuditStore {
 public:
  explicit Database(Options options);

  [[nodiscard]] spi::Capabilities capabilities() const override;
  Status prepare(const TableName& table) override;
  Result<spi::ReadReply> read(const TableName& table, std::span<const spi::Range> ranges,
                              std::size_t bytes_max) override;
  Result<spi::ReadReply> read_due(const TableName& table, std::span<const spi::DueRange> ranges,
                                  std::size_t bytes_max) override;
  Result<spi::RetryingKeysReply> read_retrying_keys(const TableName& table, Shard shard,
                                                    Sequence after,
                                                    std::uint32_t rows_max) override;
  Result<spi::SettleReply> settle(const spi::SettleRequest& request) override;
  /// See `CommitSignal`; commits notify only with `Options::notifies`.
  void wait(const TableName& table, Duration timeout) override;
  void wake(const TableName& table) override;

  Result<spi::TableStats> stats(const TableName& table) override;
  Result<spi::ListReply> list(const spi::ListRequest& request) override;
  Result<std::optional<MessageRecord>> find(const spi::FindRequest& request) override;
  Result<std::uint64_t> count(const TableName& table, MessageState state,
                              const MessageFilter& filter) override;
  Result<spi::MoveReply> move(const spi::MoveRequest& request) override;
  Result<spi::PurgeReply> purge(const spi::PurgeRequest& request) override;
  Result<std::vector<spi::Stray>> strays(const TableName& table, std::uint32_t rows_max) override;

  Result<spi::Controls> controls(const TableName& table) override;
  Result<bool> set_pause(const spi::PauseRequest& request) override;
  Result<ReplayJob> create_job(const spi::NewReplayJob& request) override;
  Result<std::vector<ReplayJob>> jobs(const TableName& table) override;
  Result<ReplayJob> change_job(const spi::JobChange& change) override;
  Result<spi::JobAdvanceReply> advance_job(const spi::JobAdvance& request) override;

  Result<AuditHead> append(std::span<const AuditEvent> events) override;
  Result<std::vector<AuditEntry>> read(std::uint64_t after, std::uint32_t rows_max) override;
  Result<AuditHead> head() override;

  Result<spi::LeaseReply> join(const WorkerId& worker, Duration ttl,
                               std::span<const spi::Scope> scopes, std::uint16_t shards) override;
  Result<spi::LeaseReply> renew(const WorkerId& worker, Duration ttl) override;
  Result<spi::Census> census(const spi::Scope& scope) override;
  Result<std::vector<spi::OwnedShard>> take(const spi::Scope& scope, const WorkerId& worker,
                                            std::uint16_t shards_max) override;
  Status release(const spi::Scope& scope, const WorkerId& worker,
                 std::span<const spi::OwnedShard> shards) override;
  Status withdraw(const WorkerId& worker, std::span<const spi::Scope> scopes) override;
  Status leave(const WorkerId& worker) override;

  Idempotency& idempotency() noexcept { return idempotency_; }
  MemoryInbox& inbox() noexcept { return inbox_; }
  Sagas& sagas() noexcept { return sagas_; }
  HubEvents& hub_events() noexcept { return hub_events_; }
  HubSubscriptions& hub_subscriptions() noexcept { return hub_subscriptions_; }
  HubDeliveries& hub_deliveries() noexcept { return hub_deliveries_; }
  HubJobs& hub_jobs() noexcept { return hub_jobs_; }
  HubAdmin& hub_admin() noexcept { return hub_admin_; }

  /// Assigns the transaction's id: reads can see it from now on.
  std::shared_ptr<OpenTransaction> begin_transaction();
  /// Returns false if a fail-over had aborted it.
  bool commit(const std::shared_ptr<OpenTransaction>& transaction);
  void roll_back(const std::shared_ptr<OpenTransaction>& transaction);
  Result<std::vector<Written>> insert(OpenTransaction& transaction, const TableName& table,
                                      std::span<const std::shared_ptr<const Message>> messages);
  Status put(OpenTransaction& transaction, std::string_view table, std::string key,
             std::string value);
  /// With null, returns the committed value.
  Result<std::optional<std::string>> get(const OpenTransaction* transaction, std::string_view table,
                                         std::string_view key) const;
  [[nodiscard]] std::uint64_t count(std::string_view table) const;

  void set_faults(FaultPlan faults);
  /// The fault of the next call; the plan is called without a lock.
  [[nodiscard]] Fault fault(Operation operation) const;
  /// Runs `work()` with the fault, if any, before or after it.
  template <class Work>
  auto faulty(Operation operation, Work&& work) -> decltype(work()) {
    const Fault wrong = fault(operation);
    if (wrong == Fault::refused) return refused(operation);
    if (wrong == Fault::lost_before) return lost(operation);
    auto result = work();
    if (wrong == Fault::lost_after) return lost(operation);
    return result;
  }
  static Error refused(Operation operation);
  static Error lost(Operation operation);

  Status corrupt(const TableName& table, Sequence sequence);
  void remove_audit(std::uint64_t first, std::uint64_t last);
  Status misplace(const TableName& table, Sequence sequence);
  void begin_requeue();
  void checkpoint();
  bool fail_over();
  [[nodiscard]] std::vector<Inspected> inspect(const TableName& table) const;

 private:
  friend class Idempotency;
  friend class MemoryInbox;
  friend class Sagas;
  friend class HubEvents;
  friend class HubSubscriptions;
  friend class HubDeliveries;
  friend class HubJobs;
  friend class HubAdmin;

  [[nodiscard]] Table* find(const TableName& table) const;
  static Error no_table(const TableName& table);
  CommitSignal& signal(std::string_view table);
  /// With `LateCommits::none`: an error if another transaction has drawn sequences, because none
  /// may overtake it.
  [[nodiscard]] std::optional<Error> other_writer(const OpenTransaction* me) const;
  void audit_death(const TableName& table, const Slot& row, WallTime at);
  spi::MoveReply::Item move_one(Table& rows, const spi::MoveRequest& request, std::size_t item,
                                TransactionId writer, WallTime at);
  [[nodiscard]] bool runs_replays(const spi::JobAdvance& request) const;
  /// The next batch of a running job; returns its size.
  Result<std::uint32_t> replay_next(Table& rows, ReplayJob& job, std::uint32_t rows_max);
  /// The transactions that a read cannot see; nullopt if transactions are not visible.
  [[nodiscard]] std::optional<spi::Horizon> horizon() const;
  void ring_commands(const OpenTransaction& transaction);
  /// Rings if processes notify each other of commits.
  void notify_if_told(std::string_view signal_name);
  /// Whether each fence holds.
  [[nodiscard]] std::vector<bool> held(const spi::Fencing& fencing) const;
  /// Removes it from the transactions in progress.
  void end(const std::shared_ptr<OpenTransaction>& transaction);
  [[nodiscard]] WallTime now() const { return options_.clock->wall_now(); }
  [[nodiscard]] WallTime after(Duration ttl) const;

  const Options options_;
  Idempotency idempotency_;
  MemoryInbox inbox_;
  Sagas sagas_;
  HubEvents hub_events_{*this};
  HubSubscriptions hub_subscriptions_{*this};
  HubDeliveries hub_deliveries_{*this};
  HubJobs hub_jobs_{*this};
  HubAdmin hub_admin_{*this};

  mutable std::mutex faults_mutex_;
  std::shared_ptr<const FaultPlan> faults_;
  std::atomic<bool> has_faults_{false};

  mutable std::mutex mutex_;
  CommittedState state_;
  std::optional<CommittedState> checkpoint_;
  Timeline timeline_{1};
  std::vector<std::shared_ptr<OpenTransaction>> open_;  // ascending by id
  const OpenTransaction* writer_ = nullptr;             // LateCommits::none: the only writer

  std::mutex signals_mutex_;
  std::map<std::string, std::unique_ptr<CommitSignal>, std::less<>> signals_;  // never removed
};

}  // namespace sagabox::memory
