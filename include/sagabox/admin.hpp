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
  /// Who acts, as the audit log will say: 1 to 128 characters.
  std::string actor{};
  /// Bound to it: every query and act is limited to this tenant, and what would touch others is
  /// refused with AUTH.DENIED.
  std::optional<std::string> tenant{};

  /// How long inboxes keep keys: replays of what ended longer ago are warned of.
  Duration inbox_window = spi::inbox_window_default;

  /// Asked by `explain`: `Router::held_up` of who delivers; nothing of topics that listeners take.
  AskHeldUp held_up{};
  /// Asked by `explain`: `Outbox::refused` of who delivers.
  AskRefused refused{};
  /// Asked by `explain`: `Outbox::owner_view` of who delivers.
  AskOwnerView owner_view{};

  /// These outlive the Admin.
  Metrics* metrics = &no_metrics();
  Audit* audit = &no_audit();  ///< told of every act, besides the log in the store
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
};

/// Which messages to list, oldest first.
struct ListQuery {
  MessageState state = MessageState::dead;
  MessageFilter filter{};
  std::uint32_t rows_max = 100;  ///< 1 to 1000
  std::string cursor{};          ///< `next` of the page before; empty: from the start
  bool with_history = false;
};

struct MessagePage {
  std::vector<MessageRecord> rows;  ///< without payloads
  std::string next;                 ///< the cursor of the next page; empty: there is none
};

/// A tenant's key whose head failed: its later messages wait.
struct BlockedKey {
  std::string key{};
  MessageRecord head{};      ///< with its tenant, attempts, code, error and when it is due
  std::uint64_t behind = 0;  ///< pending messages that wait for it, counted up to `behind_max`
  bool more_behind = false;
  static constexpr std::uint32_t behind_max = 100;
};

struct BlockedKeyPage {
  std::vector<BlockedKey> keys;
  std::string next;  ///< as in MessagePage
};

/// What became of one message that was named.
struct Moved {
  MessageId id;
  std::optional<MessageState> was{};  ///< nothing: it is not there, or not clear
  bool moved = false;
  bool unclear = false;  ///< several tenants have this id, none was named: `text` names them
  /// "is pending again", "is not there", or why not: "is pending: only dead, quarantined or done
  /// messages can be replayed".
  std::string text{};
};

/// Messages to replay in the background, by whoever delivers the table.
struct ReplayOrder {
  MessageState from = MessageState::dead;  ///< dead, quarantined or done
  MessageFilter filter{};                  ///< of done messages it needs a sequence or time range
  std::uint32_t rate_max = 0;              ///< messages a second; 0: as fast as it goes
  /// Consumers that ask an inbox (`once`, `inbox_key`) handle them again, whatever they have
  /// handled before.
  bool as_new = false;
};

struct ReplayPreview {
  std::uint64_t matched = 0;
  /// Ended longer ago than inboxes keep keys: consumers no longer know what they have handled.
  std::uint64_t older_than_window = 0;
  std::vector<MessageRecord> first{};
  /// What to know before it is started, a sentence each.
  std::vector<std::string> notes{};
};

struct PurgeOrder {
  MessageState state = MessageState::done;
  /// Since it ended; pending: since it was written. Must be given: 0 is everything.
  std::optional<Duration> older_than{};
  bool dry_run = false;        ///< only counts
  bool force_pending = false;  ///< pending messages are lost, not delivered
  std::uint32_t batch_rows = 500;
};

struct Purged {
  std::uint64_t rows = 0;
  bool stopped = false;  ///< by the caller, before its end
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
  std::uint64_t entries = 0;  ///< looked at: all that are there
  AuditHead head{};           ///< keep it elsewhere: an anchor for the next time
  std::uint64_t problems_found = 0;
  std::vector<std::string> problems{};  ///< the first `problems_max` of them
  static constexpr std::size_t problems_max = 100;
};

/// What an operator sees and does, once for the command line, REST and the console. Every act goes
/// to the audit log of the store in the same transaction. Errors say what to do next; after
/// STORAGE.IN_DOUBT look before acting again. Calls block; safe from any thread. The store
/// outlives it.
///
/// Ids are unique for a tenant only. Where messages are named by id, `tenant` says whose are meant;
/// without it, an id that several tenants have is refused and never guessed.
class Admin {
 public:
  static constexpr std::uint32_t page_rows_max = 1000;
  static constexpr std::size_t ids_max = 1000;
  static constexpr std::size_t actor_length_max = 128;
  static constexpr std::size_t note_length_max = 500;

  /// CONFIG.INVALID names the option that is wrong.
  static Result<Admin> open(Store& store, AdminOptions options);

  // Looking.

  Result<spi::TableStats> stats(const TableName& table) const;
  Result<MessagePage> list(const TableName& table, const ListQuery& query) const;
  Result<std::uint64_t> count(const TableName& table, MessageState state,
                              const MessageFilter& filter) const;
  enum class PayloadToo : std::uint8_t { no, yes };
  using Whose = std::optional<std::string>;
  /// With its history. Nothing when it is not there or belongs to another tenant. An id may be that
  /// of several rows: with `state`, only one of that state is looked for; without it, the pending
  /// one is returned, else the dead or quarantined one, else the delivered one.
  Result<std::optional<MessageRecord>> inspect(const TableName& table, const MessageId& id,
                                               PayloadToo payload = PayloadToo::no,
                                               const Whose& tenant = {},
                                               std::optional<MessageState> state = {}) const;
  /// Why it has not been delivered.
  Result<Explanation> explain(const TableName& table, const MessageId& id,
                              const Whose& tenant = {}) const;
  Result<BlockedKeyPage> blocked_keys(const TableName& table, std::uint32_t keys_max = 100,
                                      const std::string& cursor = {}) const;
  /// Who delivers: the live relays, and every shard with its owner, epoch and lease. AUTH.DENIED
  /// for those who are bound to a tenant.
  Result<spi::Census> owners(const TableName& table) const;
  /// Pending messages that no relay would ever read.
  Result<std::vector<spi::Stray>> strays(const TableName& table,
                                         std::uint32_t rows_max = 100) const;

  // Messages that are named. `sequences` says which row each id stands for, in the order of `ids`:
  // give those of the rows that were listed, since an id may be that of several. If it is empty, a
  // row is chosen as `inspect` does.

  /// They are pending again under a new sequence, attempts 0, due now. One whose tenant and id are
  /// pending already stays as it is. `as_new`: see ReplayOrder.
  Result<std::vector<Moved>> replay(const TableName& table, std::span<const MessageId> ids,
                                    const Whose& tenant = {},
                                    std::span<const Sequence> sequences = {}, bool as_new = false);
  /// No automatic retry until they are released. The note says why and is needed.
  Result<std::vector<Moved>> quarantine(const TableName& table, std::span<const MessageId> ids,
                                        const std::string& note, const Whose& tenant = {},
                                        std::span<const Sequence> sequences = {});
  Result<std::vector<Moved>> release(const TableName& table, std::span<const MessageId> ids,
                                     const Whose& tenant = {},
                                     std::span<const Sequence> sequences = {});

  // Replays of many.

  /// Changes nothing.
  Result<ReplayPreview> preview_replay(const TableName& table, const ReplayOrder& order,
                                       std::uint32_t rows_max = 10) const;
  Result<ReplayJob> start_replay(const TableName& table, const ReplayOrder& order);
  Result<std::vector<ReplayJob>> jobs(const TableName& table) const;
  Result<ReplayJob> job(const TableName& table, ReplayJobId id) const;
  Result<ReplayJob> stop_replay(const TableName& table, ReplayJobId id);
  Result<ReplayJob> resume_replay(const TableName& table, ReplayJobId id);

  // The whole table.

  /// Nothing is delivered until it is resumed. False: it was paused already.
  Result<bool> pause_table(const TableName& table, const std::string& note = {});
  Result<bool> pause_topic(const TableName& table, const std::string& topic,
                           const std::string& note = {});
  /// False: it was not paused.
  Result<bool> resume_table(const TableName& table);
  Result<bool> resume_topic(const TableName& table, const std::string& topic);
  /// Without who it was and why for those who are bound to a tenant.
  Result<std::vector<Pause>> pauses(const TableName& table) const;

  /// Told how many are gone so far, after each batch; false stops.
  using Progress = std::function<bool(std::uint64_t rows)>;
  /// Deletes in batches, each its own transaction. An error says how many had gone before it.
  Result<Purged> purge(const TableName& table, const PurgeOrder& order,
                       const Progress& progress = {});

  // Idempotency keys. TX.INVALID_STATE where the store keeps none.

  Result<IdempotencyPage> idempotency(const IdempotencyQuery& query) const;
  /// Nothing when it is not there or belongs to another tenant.
  Result<std::optional<IdempotencyRecord>> idempotency_record(const IdempotencyKey& key) const;
  /// Forgets this key, whatever its state: the same request is done again. False: it is not there.
  Result<bool> forget_idempotency(const IdempotencyKey& key, const std::string& note = {});
  /// Deletes those whose time is over, in batches.
  Result<std::uint64_t> purge_idempotency();

  // The audit log.

  /// Checks every entry from the first. Finds edits, removals, another order and a cut tail; with
  /// an anchor, the `head` of an earlier report that was kept elsewhere, also a log that was
  /// written anew up to there, or cut before it.
  Result<AuditReport> verify_audit(const std::optional<AuditHead>& anchor = {}) const;
  /// JSON, a line a call, without its end; false stops. Bound to a tenant: only its own entries.
  using LineSink = std::function<bool(std::string_view line)>;
  /// Returns the number of lines. `after`: only entries with a higher number.
  Result<std::uint64_t> export_audit(const LineSink& sink, std::uint64_t after = 0) const;

 private:
  Admin(Store& store, AdminOptions options) : store_(&store), options_(std::move(options)) {}

  struct MoveOrder;
  using Records = std::unordered_map<MessageId, MessageRecord>;
  /// As they are before the move; for the audit only.
  Records records_of(const MoveOrder& order) const;
  Result<std::vector<Moved>> move(const MoveOrder& order);
  Result<ReplayJob> change_job(const TableName& table, ReplayJobId id, ReplayJob::State to);
  Result<bool> set_pause(const spi::PauseRequest& request);
  /// Limited to the tenant that this is bound to; error when the filter makes no sense.
  Result<MessageFilter> checked(const MessageFilter& filter) const;
  Result<ReplayOrder> checked(const ReplayOrder& order) const;
  /// How many of them ended longer ago than inboxes keep keys.
  Result<std::uint64_t> older_than_window(const TableName& table, const ReplayOrder& order) const;
  /// The tenant whose messages are meant; AUTH.DENIED when bound to another.
  Result<Whose> limited(const Whose& tenant) const;
  Result<spi::IdempotencyStore*> idempotency_store() const;
  /// AUTH.DENIED when bound to a tenant: `act` would touch others.
  Status everybodys(std::string_view act) const;
  void tell(const AuditEvent& event) const noexcept;

  Store* store_;
  AdminOptions options_;
};

}  // namespace sagabox
