#include "stores/memory/ownership.hpp"

#include <algorithm>
#include <string>

namespace sagabox::memory {

Result<bool> Ownership::join(const WorkerId& worker, WallTime lease_until,
                             std::span<const spi::Scope> scopes, std::uint16_t shards,
                             WallTime now) {
  for (const auto& scope : scopes) {
    const auto known = scopes_.find(scope);
    if (known != scopes_.end() && known->second.size() != shards) {
      return Error{Code::config_invalid, "scope " + scope + " has " +
                                             std::to_string(known->second.size()) +
                                             " shards, not " + std::to_string(shards) +
                                             "; join with the count it was made with"};
    }
  }
  forget_departed(now);
  if (workers_.contains(worker) && live(worker, now) == nullptr) return false;
  Worker& row = workers_[worker];
  row.lease_until = lease_until;
  for (const auto& scope : scopes) {
    row.scopes.insert(scope);
    auto& owners = scopes_[scope];
    for (auto i = owners.size(); i < shards; ++i) {
      owners.push_back({.shard = Shard{static_cast<std::uint16_t>(i)}, .owner = {}});
    }
  }
  return true;
}

bool Ownership::renew(const WorkerId& worker, WallTime lease_until, WallTime now) {
  if (live(worker, now) == nullptr) return false;
  workers_[worker].lease_until = lease_until;
  return true;
}

spi::Census Ownership::census(const spi::Scope& scope, WallTime now) const {
  spi::Census census;
  for (const auto& [id, worker] : workers_) {
    if (worker.lease_until > now && worker.scopes.contains(scope)) census.live.push_back(id);
  }
  const auto shards = owners(scope);
  census.shards.assign(shards.begin(), shards.end());
  for (auto& shard : census.shards) {
    const Worker* owner = live(shard.owner, now);
    shard.lease_left = owner == nullptr ? Duration{} : owner->lease_until - now;
  }
  return census;
}

std::vector<spi::OwnedShard> Ownership::take(const spi::Scope& scope, const WorkerId& worker,
                                             std::uint16_t shards_max, WallTime now) {
  std::vector<spi::OwnedShard> taken;
  const Worker* taker = live(worker, now);
  if (taker == nullptr || !taker->scopes.contains(scope)) return taken;
  for (auto& shard : scopes_.find(scope)->second) {
    if (taken.size() == shards_max) break;
    if (!shard.owner.empty() && live(shard.owner, now) != nullptr) continue;
    const bool unclean = !shard.owner.empty();
    shard.owner = worker;
    ++shard.epoch.value;
    taken.push_back({shard.shard, shard.epoch, unclean});
  }
  return taken;
}

void Ownership::release(const spi::Scope& scope, const WorkerId& worker,
                        std::span<const spi::OwnedShard> shards) {
  const auto known = scopes_.find(scope);
  if (known == scopes_.end()) return;
  for (const auto& given : shards) {
    if (given.shard.value >= known->second.size()) continue;
    auto& shard = known->second[given.shard.value];
    if (shard.owner != worker || shard.epoch != given.epoch) continue;
    shard.owner = given.unclean ? spi::unclean_owner() : WorkerId{};
  }
}

void Ownership::withdraw(const WorkerId& worker, std::span<const spi::Scope> scopes) {
  if (const auto known = workers_.find(worker); known != workers_.end()) {
    for (const auto& scope : scopes) known->second.scopes.erase(scope);
  }
}

void Ownership::leave(const WorkerId& worker) {
  const auto known = workers_.find(worker);
  // Not `now`: after a clock stepped back, the lease would be valid again.
  if (known != workers_.end()) known->second.lease_until = WallTime::min();
}

std::span<const spi::ShardOwner> Ownership::owners(std::string_view scope) const {
  const auto known = scopes_.find(scope);
  if (known == scopes_.end()) return {};
  return known->second;
}

const Ownership::Worker* Ownership::live(const WorkerId& worker, WallTime now) const {
  const auto known = workers_.find(worker);
  return known != workers_.end() && known->second.lease_until > now ? &known->second : nullptr;
}

bool Ownership::owns_any(const WorkerId& worker) const {
  return std::any_of(scopes_.begin(), scopes_.end(), [&](const auto& scope) {
    return std::any_of(scope.second.begin(), scope.second.end(),
                       [&](const spi::ShardOwner& shard) { return shard.owner == worker; });
  });
}

void Ownership::forget_departed(WallTime now) {
  std::erase_if(workers_, [&](const auto& worker) {
    return worker.second.lease_until <= now && !owns_any(worker.first);
  });
}

}  // namespace sagabox::memory
