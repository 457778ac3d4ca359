#pragma once

#include <sagabox/store.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A store in memory for tests and simulations. It simulates database failures if configured:
/// transactions commit out of sequence order, replies are lost, a fail-over restores an older
/// state. Its data is lost when the process ends.
namespace sagabox::memory {

enum class Operation : std::uint8_t {
  begin,
  insert,
  commit,
  read,
  read_due,
  read_retrying_keys,
  settle,
  join,
  renew,
  census,
  take,
  release,
  withdraw,
  leave,
  look,  ///< stats, list, find, count, strays, jobs
  move,
  purge,
  controls,
  set_pause,
  create_job,
  change_job,
  advance_job,
  audit,  ///< append, read, head
  idempotency_check,
  idempotency_end,  ///< finish, fail
  idempotency_renew,
  idempotency_look,  ///< list, get
  idempotency_purge,
  inbox,  ///< first_time, barrier, taken, purge
  saga_define,
  saga_append,  ///< in a transaction
  saga_read,    ///< the inbox
  saga_load,    ///< load, load_due, results
  saga_write,
  saga_look,  ///< definitions and all of SagaAdminStore but purge
  saga_purge,
  hub_publish,  ///< in a transaction
  hub_read,     ///< events and positions
  hub_move,     ///< positions
  hub_add,
  hub_look,  ///< all reads of DeliveryStore and SubscriptionStore
  hub_begin,
  hub_change,  ///< change, end_unsent, release_strays
  hub_bury,
  hub_make_jobs,
  hub_seen,
  hub_disable,
  hub_lease,
  hub_finish,
  hub_reset,
  hub_subscribe,  ///< write, add_secret
  hub_inspect,    ///< all reads of HubAdminStore
  hub_requeue,
  hub_purge,
};
inline constexpr std::size_t operation_count = 54;

/// The fault of a call.
enum class Fault : std::uint8_t {
  none,
  refused,      ///< STORAGE.UNAVAILABLE, nothing happened
  lost_before,  ///< STORAGE.IN_DOUBT, nothing happened
  lost_after,   ///< STORAGE.IN_DOUBT, it happened
};

/// Called before every operation, without a lock held; it may sleep to make the call slow.
using FaultPlan = std::function<Fault(Operation)>;

struct Options {
  spi::LateCommits late_commits = spi::LateCommits::visible;
  Duration late_window = std::chrono::seconds(5);
  bool notifies = true;
  std::uint16_t shards = 16;
  const Clock* clock = &system_clock();  ///< the database's clock
  FaultPlan faults{};
};

class Database;  // the state behind a MemoryStore

/// A user's own connection, with business rows: the equivalent of `sqlite3*` or `PGconn*` for the
/// real stores. Not thread-safe.
class Connection {
 public:
  explicit Connection(std::shared_ptr<Database> database);
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  /// Rolls back an open transaction.
  ~Connection();

  Status begin();
  Status commit();
  Status rollback();
  [[nodiscard]] bool in_transaction() const;
  /// The id of the open transaction, as in snapshots.
  [[nodiscard]] std::optional<TransactionId> transaction_id() const;

  /// Writes a business row. Requires an open transaction; the row is visible to others after
  /// commit.
  Status put(std::string_view table, std::string key, std::string value);
  /// Sees this transaction's own writes.
  Result<std::optional<std::string>> get(std::string_view table, std::string_view key) const;

 private:
  friend class Enlisted;
  struct Session;
  std::unique_ptr<Session> session_;
};

/// Writes into the connection's open transaction; never begins, commits or rolls back. Call
/// `committed()` after your COMMIT to use the fast path. Valid for that transaction only, not for a
/// later one of the same connection. The connection outlives it.
class Enlisted final : public Transaction,
                       private OutboxWriter,
                       private Inbox,
                       private SagaInbox,
                       private EventWriter {
 public:
  explicit Enlisted(Connection& connection);
  [[nodiscard]] bool is_open() const override;
  OutboxWriter& outbox() override { return *this; }
  Inbox& inbox() override { return *this; }
  SagaInbox& sagas() override { return *this; }
  EventWriter& events() override { return *this; }

 private:
  Result<std::vector<Written>> insert(
      const TableName& table, std::span<const std::shared_ptr<const Message>> messages) override;
  Result<bool> first_time(const IdempotencyKey& key) override;
  Result<BarrierAnswer> barrier(const BarrierCall& call) override;
  Status append(std::span<const SagaCommand> commands) override;
  Result<std::vector<Published>> publish(std::span<const HubEvent> events) override;

  Connection* connection_;
  std::uint64_t begun_;  // which of the connection's transactions
};

/// TX.NO_TRANSACTION if no transaction is open.
Result<Enlisted> enlist(Connection& connection);

/// A row as an inspector sees it.
struct Inspected {
  enum class State : std::uint8_t { pending, waiting, done, dead, quarantined };
  State state = State::pending;
  spi::Row row;
  Code code = Code::unknown_internal;
  std::string error;
  std::uint64_t settled = 0;  ///< how often a settle changed this row
  std::uint32_t replays = 0;
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(Options options = {});
  ~MemoryStore() override;

  spi::OutboxStore& outbox() override;
  spi::OutboxAdminStore& outbox_admin() override;
  spi::ControlStore& control() override;
  spi::OwnershipStore& ownership() override;
  spi::AuditStore& audit() override;
  spi::IdempotencyStore* idempotency() override;
  spi::InboxStore* inbox() override;
  spi::SagaStore* sagas() override;
  spi::SagaAdminStore* saga_admin() override;
  std::optional<HubRoles> hub() override;
  Result<std::unique_ptr<OwnedTransaction>> begin() override;
  [[nodiscard]] std::string name() const override { return "memory:"; }

  Connection connect();
  /// Business rows committed in `table`.
  [[nodiscard]] std::uint64_t count(std::string_view table) const;

  void set_faults(FaultPlan faults);
  /// Makes this row undecodable, as a faulty foreign writer might.
  Status corrupt(const TableName& table, Sequence sequence);

  /// Removes these entries of the audit log, to simulate tampering.
  void remove_audit(std::uint64_t first, std::uint64_t last);

  /// Changes this pending row so that no read covers it, as a bug or a foreign writer might.
  Status misplace(const TableName& table, Sequence sequence);

  /// Draws a sequence now for the next delivery that is requeued: what a requeue does whose
  /// transaction commits late.
  void begin_requeue();

  /// Remembers the committed state; `fail_over` brings the remembered state back, aborts open
  /// transactions and starts another timeline. False when there is none.
  void checkpoint();
  bool fail_over();

  /// Every row, including retained done rows, ordered by sequence.
  [[nodiscard]] std::vector<Inspected> inspect(const TableName& table) const;

 private:
  std::shared_ptr<Database> database_;
};

}  // namespace sagabox::memory
