#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/explanation.hpp>
#include <sagabox/held_up.hpp>
#include <sagabox/idempotency_record.hpp>
#include <sagabox/log.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/owner_view.hpp>
#include <sagabox/records.hpp>
#include <sagabox/refused_result.hpp>
#include <sagabox/store.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sagabox {

struct AdminOptions {
  /// The actor that the audit log records: 1 to 128 characters.
  std::string actor{};
  /// If set, every query and act is limited to this tenant, and an act that would affect other
  /// tenants is refused with AUTH.DENIED.
  std::optional<std::string> tenant{};

  /// How long inboxes keep keys. A replay preview warns of messages that ended longer ago.
  Duration inbox_window = spi::inbox_window_default;

  /// Asked by `explain`: `Router::held_up` of the delivering process; empty for topics with a
  /// listener.
  AskHeldUp held_up{};
  /// Asked by `explain`: `Outbox::refused` of the delivering process.
  AskRefused refused{};
  /// Asked by `explain`: `Outbox::owner_view` of the delivering process.
  AskOwnerView owner_view{};

  /// These outlive the Admin.
  Metrics* metrics = &no_metrics();
  Audit* audit = &no_audit();  ///< gets every act, in addition to the log in the store
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
};

/// Which messages to list, oldest first.
struct ListQuery {
  MessageState state = MessageState::dead;
  MessageFilter filter{};
  std::uint32_t rows_max = 100;  ///< 1 to 1000
  std::string cursor{};          ///< `next` of the previous page; empty: from the start
  bool with_history = false;
};

struct MessagePage {
  std::vector<MessageRecord> rows;  ///< without payloads
  std::string next;                 ///< the cursor of the next page; empty after the last page
};

/// A tenant's key whose head failed: its later messages wait.
struct BlockedKey {
  std::string key{};
  MessageRecord head{};      ///< with its tenant, attempts, code, error and due time
  std::uint64_t behind = 0;  ///< pending messages that wait for it, counted up to `behind_max`
  bool more_behind = false;
  static constexpr std::uint32_t behind_max = 100;
};

struct BlockedKeyPage {
  std::vector<BlockedKey> keys;
  std::string next;  ///< as in MessagePage
};

/// The result of an act for one message that was named.
struct Moved {
  MessageId id;
  std::optional<MessageState> was{};  ///< nullopt: not found, or `unclear`
  bool moved = false;
  bool unclear = false;  ///< several tenants have this id and none was given: `text` lists them
  /// "is pending again", "is not there", or why it was not moved: "is pending: only dead,
  /// quarantined or done messages can be replayed".
  std::string text{};
};

/// Messages to replay in the background; the process that delivers the table does it.
struct ReplayOrder {
  MessageState from = MessageState::dead;  ///< dead, quarantined or done
  MessageFilter filter{};      ///< for done messages a sequence or time range is required
  std::uint32_t rate_max = 0;  ///< messages a second; 0: no limit
  /// Consumers that use an inbox (`once`, `inbox_key`) handle them again, even if they have handled
  /// them before.
  bool as_new = false;
};

struct ReplayPreview {
  std::uint64_t matched = 0;
  /// Messages that ended longer ago than inboxes keep keys: consumers no longer detect these as
  /// repetitions.
  std::uint64_t older_than_window = 0;
  std::vector<MessageRecord> first{};
  /// Warnings to read before the replay is started, one sentence each.
  std::vector<std::string> notes{};
};

struct PurgeOrder {
  MessageState state = MessageState::done;
  /// Age since it ended; pending: since it was written. Required: 0 matches every age.
  std::optional<Duration> older_than{};
  bool dry_run = false;        ///< only counts
  bool force_pending = false;  ///< required to purge pending messages: they are lost, not delivered
  std::uint32_t batch_rows = 500;
};

struct Purged {
  std::uint64_t rows = 0;
  bool stopped = false;  ///< by the caller, before the end
};

/// Which idempotency keys to list, by tenant, consumer and key.
struct IdempotencyQuery {
  std::optional<std::string> tenant{};
  std::optional<std::string> consumer{};
  std::optional<IdempotencyState> state{};
  std::uint32_t rows_max = 100;  ///< 1 to 1000
  std::string cursor{};          ///< as in ListQuery
};

struct IdempotencyPage {
  std::vector<IdempotencyRecord> rows;
  std::string next;  ///< as in MessagePage
};

struct AuditReport {
  std::uint64_t entries = 0;  ///< checked: all entries of the log
  AuditHead head{};           ///< store it elsewhere and give it as the anchor of the next check
  std::uint64_t problems_found = 0;
  std::vector<std::string> problems{};  ///< the first `problems_max` of them
  static constexpr std::size_t problems_max = 100;
};

/// Queries and acts for operators, shared by the command line, REST and the console. Every act is
/// written to the audit log of the store in the same transaction. Errors say what to do next; after
/// STORAGE.IN_DOUBT check the state before acting again. Calls block; safe from any thread. The
/// store outlives it.
///
/// Ids are unique within a tenant only. Where messages are named by id, `tenant` selects the
/// tenant; without it, an id that several tenants have is refused.
class Admin {
 public:
  static constexpr std::uint32_t page_rows_max = 1000;
  static constexpr std::size_t ids_max = 1000;
  static constexpr std::size_t actor_length_max = 128;
  static constexpr std::size_t note_length_max = 500;

  /// CONFIG.INVALID names the option that is wrong.
  static Result<Admin> open(Store& store, AdminOptions options);

  // Queries.

  Result<spi::TableStats> stats(const TableName& table) const;
  Result<MessagePage> list(const TableName& table, const ListQuery& query) const;
  Result<std::uint64_t> count(const TableName& table, MessageState state,
                              const MessageFilter& filter) const;
  enum class PayloadToo : std::uint8_t { no, yes };
  using Whose = std::optional<std::string>;
  /// With its history. nullopt if it does not exist or belongs to another tenant. Several rows may
  /// have the same id: with `state`, only a row in that state is returned; without it, the pending
  /// one, else the dead or quarantined one, else the delivered one.
  Result<std::optional<MessageRecord>> inspect(const TableName& table, const MessageId& id,
                                               PayloadToo payload = PayloadToo::no,
                                               const Whose& tenant = {},
                                               std::optional<MessageState> state = {}) const;
  /// Why it has not been delivered.
  Result<Explanation> explain(const TableName& table, const MessageId& id,
                              const Whose& tenant = {}) const;
  Result<BlockedKeyPage> blocked_keys(const TableName& table, std::uint32_t keys_max = 100,
                                      const std::string& cursor = {}) const;
  /// The live relays, and every shard with its owner, epoch and lease. AUTH.DENIED if this Admin is
  /// bound to a tenant.
  Result<spi::Census> owners(const TableName& table) const;
  /// Pending messages that no read of a relay would return.
  Result<std::vector<spi::Stray>> strays(const TableName& table,
                                         std::uint32_t rows_max = 100) const;

  // Acts on named messages. `sequences` selects the row of each id, in the order of `ids`: pass the
  // sequences of the rows that were listed, since several rows may have the same id. If it is
  // empty, a row is chosen as `inspect` does.

  /// Makes them pending again under a new sequence, attempts 0, due now. A message is left
  /// unchanged if another one of its tenant and id is pending. `as_new`: see ReplayOrder.
  Result<std::vector<Moved>> replay(const TableName& table, std::span<const MessageId> ids,
                                    const Whose& tenant = {},
                                    std::span<const Sequence> sequences = {}, bool as_new = false);
  /// They are not retried until they are released. The note says why and is required.
  Result<std::vector<Moved>> quarantine(const TableName& table, std::span<const MessageId> ids,
                                        const std::string& note, const Whose& tenant = {},
                                        std::span<const Sequence> sequences = {});
  Result<std::vector<Moved>> release(const TableName& table, std::span<const MessageId> ids,
                                     const Whose& tenant = {},
                                     std::span<const Sequence> sequences = {});

  // Replay jobs.

  /// Changes nothing.
  Result<ReplayPreview> preview_replay(const TableName& table, const ReplayOrder& order,
                                       std::uint32_t rows_max = 10) const;
  Result<ReplayJob> start_replay(const TableName& table, const ReplayOrder& order);
  Result<std::vector<ReplayJob>> jobs(const TableName& table) const;
  Result<ReplayJob> job(const TableName& table, ReplayJobId id) const;
  Result<ReplayJob> stop_replay(const TableName& table, ReplayJobId id);
  Result<ReplayJob> resume_replay(const TableName& table, ReplayJobId id);

  // The whole table.

  /// Nothing is delivered until it is resumed. Returns false if it was paused already.
  Result<bool> pause_table(const TableName& table, const std::string& note = {});
  Result<bool> pause_topic(const TableName& table, const std::string& topic,
                           const std::string& note = {});
  /// Returns false if it was not paused.
  Result<bool> resume_table(const TableName& table);
  Result<bool> resume_topic(const TableName& table, const std::string& topic);
  /// Actor and note are left out if this Admin is bound to a tenant.
  Result<std::vector<Pause>> pauses(const TableName& table) const;

  /// Called after each batch with the number of rows deleted so far; return false to stop.
  using Progress = std::function<bool(std::uint64_t rows)>;
  /// Deletes in batches, each in its own transaction. An error says how many rows were deleted
  /// before it.
  Result<Purged> purge(const TableName& table, const PurgeOrder& order,
                       const Progress& progress = {});

  // Idempotency keys. TX.INVALID_STATE if the store does not support them.

  Result<IdempotencyPage> idempotency(const IdempotencyQuery& query) const;
  /// nullopt if it does not exist or belongs to another tenant.
  Result<std::optional<IdempotencyRecord>> idempotency_record(const IdempotencyKey& key) const;
  /// Deletes the record of this key in any state, so the same request is executed again. Returns
  /// false if there is no such key.
  Result<bool> forget_idempotency(const IdempotencyKey& key, const std::string& note = {});
  /// Deletes expired records, in batches.
  Result<std::uint64_t> purge_idempotency();

  // The audit log.

  /// Checks every entry from the first. Detects changed, removed and reordered entries and a
  /// truncated end. An anchor is the `head` of an earlier report that was stored elsewhere: with
  /// it, a log that was rewritten up to there, or truncated before it, is detected too.
  Result<AuditReport> verify_audit(const std::optional<AuditHead>& anchor = {}) const;
  /// Called with one line of JSON, without its newline; return false to stop. If this Admin is
  /// bound to a tenant, only entries of that tenant are exported.
  using LineSink = std::function<bool(std::string_view line)>;
  /// Returns the number of lines. `after`: only entries with a higher number.
  Result<std::uint64_t> export_audit(const LineSink& sink, std::uint64_t after = 0) const;

 private:
  Admin(Store& store, AdminOptions options) : store_(&store), options_(std::move(options)) {}

  struct MoveOrder;
  using Records = std::unordered_map<MessageId, MessageRecord>;
  /// The rows before the move; for the audit only.
  Records records_of(const MoveOrder& order) const;
  Result<std::vector<Moved>> move(const MoveOrder& order);
  Result<ReplayJob> change_job(const TableName& table, ReplayJobId id, ReplayJob::State to);
  Result<bool> set_pause(const spi::PauseRequest& request);
  /// The filter, limited to the tenant that this is bound to; an error if the filter is invalid.
  Result<MessageFilter> checked(const MessageFilter& filter) const;
  Result<ReplayOrder> checked(const ReplayOrder& order) const;
  /// The number of matching messages that ended longer ago than inboxes keep keys.
  Result<std::uint64_t> older_than_window(const TableName& table, const ReplayOrder& order) const;
  /// The tenant to act on; AUTH.DENIED if this is bound to another tenant.
  Result<Whose> limited(const Whose& tenant) const;
  Result<spi::IdempotencyStore*> idempotency_store() const;
  /// AUTH.DENIED if this is bound to a tenant, because `act` would affect other tenants.
  Status everybodys(std::string_view act) const;
  void tell(const AuditEvent& event) const noexcept;

  Store* store_;
  AdminOptions options_;
};

}  // namespace sagabox
