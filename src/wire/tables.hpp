#pragma once

#include "admin/owners.hpp"
#include "wire/fields.hpp"
#include "wire/put.hpp"

#include <sagabox/admin.hpp>
#include <sagabox/outbox.hpp>
#include <sagabox/spi/outbox_admin_store.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

/// Tables as JSON, written and read here.
namespace sagabox::wire {

/// The work for a table of the process that is asked.
struct TableWork {
  OutboxSnapshot snapshot{};
  std::vector<RefusedResult> refused{};   ///< the first of `snapshot.refused`
  std::vector<UnroutedTopic> unrouted{};  ///< the first of `snapshot.unrouted_topics`
};

void put_members(JsonOut& json, const TableWork& work);

/// A table as shown by a daemon. Callers bound to a tenant get only the names and the time.
struct TableState {
  std::string table{};
  std::string store{};
  WallTime now{};
  std::optional<spi::TableStats> stats{};
  std::optional<Sequence> last_sequence{};
  std::optional<TableWork> here{};
};
void put_members(JsonOut& json, const TableState& table);
void put_members(JsonOut& json, std::span<const TableState> tables);
TableState read_table(Fields& fields);

void put_members(JsonOut& json, const spi::TableStats& stats);
void put_members(JsonOut& json, const RefusedResult& refused);
void put_members(JsonOut& json, const UnroutedTopic& topic);

void put_members(JsonOut& json, const spi::ShardOwner& shard);
void put_members(JsonOut& json, const admin::TableOwners& owners);
admin::TableOwners read_owners(Fields& fields);

void put_members(JsonOut& json, const spi::Stray& stray);
void put_members(JsonOut& json, std::span<const spi::Stray> strays);
std::vector<spi::Stray> read_strays(Fields& fields);

void put_members(JsonOut& json, const Pause& pause);
void put_members(JsonOut& json, std::span<const Pause> pauses);
std::vector<Pause> read_pauses(Fields& fields);

/// The effect of a pause or of its end.
struct PauseChange {
  TableName table;
  std::optional<std::string> topic{};  ///< missing: the whole table
  bool paused = false;
  bool changed = false;  ///< false: there was no change
};
void put_members(JsonOut& json, const PauseChange& change);
bool read_changed(Fields& fields);

void put_members(JsonOut& json, const TableName& table, const PurgeOrder& order,
                 const Purged& purged);
Purged read_purged(Fields& fields);

void put_members(JsonOut& json, const TableName& table, MessageState state, std::uint64_t count);
std::uint64_t read_count(Fields& fields);

}  // namespace sagabox::wire
