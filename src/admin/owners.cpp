#include "admin/owners.hpp"

#include "outbox/relay.hpp"
#include "outbox/upkeep/purger.hpp"
#include "outbox/upkeep/replayer.hpp"

#include <utility>

namespace sagabox::admin {
namespace {

std::optional<spi::ShardOwner> only_owner(const spi::Census& census) {
  for (const auto& shard : census.shards) {
    if (!shard.owner.empty() && shard.lease_left > Duration::zero()) return shard;
  }
  return std::nullopt;
}

}  // namespace

Result<TableOwners> owners_of(Store& store, const TableName& table) {
  auto relays = store.ownership().census(outbox::Relay::scope_of(table));
  if (!relays.ok()) return relays.error();
  const auto replays = store.ownership().census(outbox::Replayer::scope_of(table));
  if (!replays.ok()) return replays.error();
  const auto purges = store.ownership().census(outbox::Purger::scope_of(table));
  if (!purges.ok()) return purges.error();
  return TableOwners{*std::move(relays), only_owner(*replays), only_owner(*purges)};
}

}  // namespace sagabox::admin
