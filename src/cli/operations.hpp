#pragma once

#include "admin/doctor.hpp"
#include "admin/owners.hpp"
#include "cli/hub_operations.hpp"
#include "cli/saga_operations.hpp"

#include <sagabox/admin.hpp>
#include <sagabox/router.hpp>
#include <sagabox/spi/doctor_store.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::cli {

using Owners = admin::TableOwners;

/// The tenant, for naming the message by its id; nullopt if the message cannot be decoded.
inline Admin::Whose tenant_of(const MessageRecord& record) {
  return record.tenant.empty() ? Admin::Whose() : Admin::Whose(record.tenant);
}

/// The operations of the verbs on a store, or on a daemon. Calls block.
class Operations {
 public:
  virtual ~Operations() = default;
  /// "postgres://db/orders", without credentials.
  [[nodiscard]] virtual std::string name() const = 0;

  virtual Result<std::vector<TableName>> tables() = 0;
  virtual Result<spi::TableStats> stats(const TableName& table) = 0;
  /// The time of the clock of the table's database.
  virtual Result<WallTime> now(const TableName& table) = 0;
  /// See `spi::DoctorStore`.
  virtual Result<Sequence> last_sequence(const TableName& table) = 0;
  virtual Result<Owners> owners(const TableName& table) = 0;
  virtual Result<MessagePage> list(const TableName& table, const ListQuery& query) = 0;
  virtual Result<std::uint64_t> count(const TableName& table, MessageState state,
                                      const MessageFilter& filter) = 0;
  /// With an id, `tenant` says whose message is meant, and `state` and `sequences` which of the
  /// rows that have the id; see `Admin`.
  virtual Result<std::optional<MessageRecord>> inspect(const TableName& table, const MessageId& id,
                                                       Admin::PayloadToo payload,
                                                       const Admin::Whose& tenant,
                                                       std::optional<MessageState> state) = 0;
  virtual Result<Explanation> explain(const TableName& table, const MessageId& id,
                                      const Admin::Whose& tenant) = 0;
  virtual Result<BlockedKeyPage> blocked_keys(const TableName& table, std::uint32_t keys_max) = 0;
  virtual Result<std::vector<spi::Stray>> strays(const TableName& table) = 0;
  /// Results that the store refuses. Empty if a store is asked directly: only the process that
  /// delivers knows them.
  virtual Result<admin::RefusedFacts> refused(const TableName& table) = 0;
  /// Topics without a route; none where only a store is asked, either.
  virtual Result<admin::UnroutedFacts> unrouted(const TableName& table) = 0;
  virtual Result<std::vector<Pause>> pauses(const TableName& table) = 0;
  /// The state of the targets of routes; nullopt unless a daemon is asked.
  virtual Result<std::optional<std::vector<DestinationState>>> destinations() = 0;
  /// Findings about the database itself.
  virtual Result<std::vector<spi::Finding>> findings() = 0;
  /// Returns false if `findings` say why nothing else can be asked.
  virtual Result<bool> is_current() = 0;

  /// Without a tenant: "default", or the one that the caller is bound to.
  virtual Result<Written> enqueue(const TableName& table, NewMessage message) = 0;
  /// `as_new` is for a replay.
  virtual Result<std::vector<Moved>> move(const TableName& table, spi::Move move,
                                          std::span<const MessageId> ids, const std::string& note,
                                          const Admin::Whose& tenant,
                                          std::span<const Sequence> sequences, bool as_new) = 0;
  virtual Result<bool> set_pause(const TableName& table, const std::string& topic, bool paused,
                                 const std::string& note) = 0;
  virtual Result<Purged> purge(const TableName& table, const PurgeOrder& order,
                               const Admin::Progress& progress) = 0;

  virtual Result<ReplayPreview> preview_replay(const TableName& table,
                                               const ReplayOrder& order) = 0;
  virtual Result<ReplayJob> start_replay(const TableName& table, const ReplayOrder& order) = 0;
  virtual Result<std::vector<ReplayJob>> jobs(const TableName& table) = 0;
  virtual Result<ReplayJob> job(const TableName& table, ReplayJobId id) = 0;
  /// Stops a job, or lets it run again.
  virtual Result<ReplayJob> change_job(const TableName& table, ReplayJobId id,
                                       ReplayJob::State to) = 0;

  virtual Result<IdempotencyPage> idempotency(const IdempotencyQuery& query) = 0;
  virtual Result<std::optional<IdempotencyRecord>> idempotency_record(
      const IdempotencyKey& key) = 0;
  /// Returns false if it does not exist.
  virtual Result<bool> forget_idempotency(const IdempotencyKey& key, const std::string& note) = 0;
  /// Deletes expired keys; returns their number.
  virtual Result<std::uint64_t> purge_idempotency() = 0;

  /// Valid as long as this object. Throws Failure if the store has no sagas.
  virtual SagaOperations& sagas() = 0;
  /// The same; throws Failure if the store has no delivery hub.
  virtual HubOperations& hub() = 0;

  virtual Result<AuditReport> verify_audit(const std::optional<AuditHead>& anchor) = 0;
  virtual Result<std::uint64_t> export_audit(const Admin::LineSink& sink, std::uint64_t after) = 0;
};

}  // namespace sagabox::cli
