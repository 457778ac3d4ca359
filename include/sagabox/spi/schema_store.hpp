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

/// The engines, each with tables of its own, which can be made without those of the others.
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
  std::string outbox{};                  ///< empty: what all outboxes share
  std::optional<WallTime> applied_at{};  ///< nullopt: not applied
  std::uint16_t shards = 0;              ///< of the outbox; 0: none, or the store does not count
  /// It was applied by other SQL than this version's. False too where no checksum was recorded.
  bool checksum_differs = false;
};

struct SchemaUp {
  std::string engine = "outbox";
  std::optional<TableName> outbox{};  ///< made too if it is not there
};

struct SchemaDown {
  std::string engine = "outbox";
  /// The last step that stays; 0 removes everything. Required: nothing is removed by default.
  std::optional<int> to{};
  /// Drops messages that are pending, dead or quarantined too.
  bool force = false;
};

struct ReshardRequest {
  TableName outbox;
  std::uint16_t shards = 0;
  /// Also while relays run. They lose their shards at once; what they have in hand is delivered
  /// again, and its key's order does not hold for it.
  bool force = false;
  bool dry_run = false;  ///< changes nothing
};

/// What a process of the delivery hub may do, for a database user that can do nothing else.
inline constexpr std::array<std::string_view, 6> hub_roles{"ingest", "router",   "orchestrator",
                                                           "worker", "operator", "admin"};

struct HubGrants {
  std::string role{};
  std::string user{};  ///< empty: "sagabox_" and the role
};

struct ReshardReport {
  std::uint16_t shards_before = 0;
  std::uint16_t shards = 0;
  /// Messages that get a shard by the new count; a large number is the database's estimate.
  std::uint64_t pending = 0;
  Duration blocked{};              ///< estimate of how long writes are blocked
  std::vector<WorkerId> relays{};  ///< those with a running lease
  bool changed = false;
};

/// Makes, updates and removes the tables of a database, also where nothing has been made yet.
/// Each call connects for itself and is one transaction. Calls block. Every call is safe to repeat
/// and to run in several processes at once.
class SchemaStore {
 public:
  virtual ~SchemaStore() = default;
  /// Every step that this version knows of the engines that were made, applied or not; of all
  /// engines while nothing was made. Of each step the shared part first, then each outbox. Changes
  /// nothing, and makes no file.
  virtual Result<std::vector<SchemaStep>> status() = 0;
  /// Brings one engine's tables, and every outbox, up to date. No-op when they are.
  virtual Status up(const SchemaUp& request) = 0;
  /// Removes steps of one engine. CONFIG.INVALID without `to`. TX.INVALID_STATE, and nothing is
  /// changed, when undelivered messages would be lost, or when a newer version made a step that
  /// would be removed.
  virtual Status down(const SchemaDown& request) = 0;
  /// Changes how many shards an outbox has. TX.INVALID_STATE while relays run, unless forced. A
  /// process that still runs with the former count gets no messages, and an error that says so,
  /// until it is restarted with the new count. CONFIG.INVALID where an outbox has one shard.
  virtual Result<ReshardReport> reshard(const ReshardRequest& request) = 0;
  /// Statements that give a database user what this role of the hub needs. Does not connect.
  /// CONFIG.INVALID for an unknown role, and where a database has no users.
  virtual Result<std::string> hub_grants(const HubGrants& request) = 0;
};

}  // namespace sagabox::spi
