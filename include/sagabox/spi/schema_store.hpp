#pragma once

#include <sagabox/id.hpp>
#include <sagabox/message.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::spi {

/// The engines. Each has its own tables, which can be created without those of the others.
inline constexpr std::string_view outbox_engine = "outbox";
inline constexpr std::string_view idempotency_engine = "idempotency";
inline constexpr std::string_view inbox_engine = "inbox";
inline constexpr std::string_view saga_engine = "saga";
inline constexpr std::string_view hub_engine = "hub";
inline constexpr std::array schema_engines{outbox_engine, idempotency_engine, inbox_engine,
                                           saga_engine, hub_engine};

/// One numbered step of the schema of an engine.
struct SchemaStep {
  std::string engine{};
  int number = 0;
  std::string name{};
  std::string outbox{};                  ///< empty: the tables that all outboxes share
  std::optional<WallTime> applied_at{};  ///< nullopt: not applied
  std::uint16_t shards = 0;              ///< of the outbox; 0: no outbox, or a store without shards
  /// It was applied with other SQL than this version's. Also false if no checksum was recorded.
  bool checksum_differs = false;
};

struct SchemaUp {
  std::string engine = "outbox";
  std::optional<TableName> outbox{};  ///< also created if it does not exist
};

struct SchemaDown {
  std::string engine = "outbox";
  /// The last step that stays; 0 removes everything. Required: nothing is removed by default.
  std::optional<int> to{};
  /// Also drops messages that are pending, dead or quarantined.
  bool force = false;
};

struct ReshardRequest {
  TableName outbox;
  std::uint16_t shards = 0;
  /// Allowed while relays run. They lose their shards at once; messages that they have read are
  /// delivered again, possibly out of the order of their keys.
  bool force = false;
  bool dry_run = false;  ///< changes nothing
};

/// The roles of database users for processes of the delivery hub; a user gets only the rights of
/// its role.
inline constexpr std::array<std::string_view, 6> hub_roles{"ingest", "router",   "orchestrator",
                                                           "worker", "operator", "admin"};

struct HubGrants {
  std::string role{};
  std::string user{};  ///< empty: "sagabox_" and the role
};

struct ReshardReport {
  std::uint16_t shards_before = 0;
  std::uint16_t shards = 0;
  /// Messages that get a new shard; a large number is an estimate of the database.
  std::uint64_t pending = 0;
  Duration blocked{};              ///< estimated time for which writes are blocked
  std::vector<WorkerId> relays{};  ///< those with a valid lease
  bool changed = false;
};

/// Creates, updates and removes the tables of a database; it may be empty. Each call opens its own
/// connection and is one transaction. Calls block. Every call is safe to repeat and to run in
/// several processes at once.
class SchemaStore {
 public:
  virtual ~SchemaStore() = default;
  /// Every step that this version knows, applied or not, of the installed engines, or of all
  /// engines if none is installed. For each step, the shared part comes first, then each outbox.
  /// Changes nothing, and creates no file.
  virtual Result<std::vector<SchemaStep>> status() = 0;
  /// Updates one engine's tables, and every outbox. No-op if they are up to date.
  virtual Status up(const SchemaUp& request) = 0;
  /// Removes steps of one engine. CONFIG.INVALID without `to`. TX.INVALID_STATE, and nothing is
  /// changed, if undelivered messages would be lost, or if a step to be removed was applied by a
  /// newer version.
  virtual Status down(const SchemaDown& request) = 0;
  /// Changes the number of shards of an outbox. TX.INVALID_STATE while relays run, unless forced. A
  /// process that still runs with the old number gets no messages, and an error that says so, until
  /// it is restarted with the new number. CONFIG.INVALID for stores whose outboxes have one shard.
  virtual Result<ReshardReport> reshard(const ReshardRequest& request) = 0;
  /// Returns the statements that grant a database user the rights of this hub role. Does not
  /// connect. CONFIG.INVALID for an unknown role, and for databases without users.
  virtual Result<std::string> hub_grants(const HubGrants& request) = 0;
};

}  // namespace sagabox::spi
