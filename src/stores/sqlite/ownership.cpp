#include "stores/sqlite/ownership.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sagabox::sqlite {
namespace {

/// The assumed lease of an owner in another process: its lock shows that it is alive, but not for
/// how long.
constexpr Duration lease_elsewhere = std::chrono::seconds(15);
/// How many departed ids are kept, so that none of them becomes live again.
constexpr std::size_t departed_max = 256;

WorkerId worker_id(std::string_view text) {
  auto id = WorkerId::parse(text);
  return id.ok() ? *id : WorkerId{};
}

Error another_count(const spi::Scope& scope, std::size_t has, std::uint16_t shards) {
  return {Code::config_invalid, "scope " + scope + " has " + std::to_string(has) + " shards, not " +
                                    std::to_string(shards) +
                                    "; join with the count it was made with"};
}

}  // namespace

Ownership::Ownership(sql::Sections& sections, Context& context, OwnerLocks locks)
    : context_(context),
      locks_(std::move(locks)),
      places_(sections.take("places")),
      make_place_(sections.take("place_make")),
      take_place_(sections.take("place_take")),
      release_place_(sections.take("place_release")) {}

Result<std::vector<Ownership::Place>> Ownership::places_of(sql::Session& session,
                                                           const spi::Scope& scope) const {
  auto rows = session.run(places_, {scope});
  if (!rows.ok()) return rows.error();
  std::vector<Place> places;
  for (const auto row : *rows) {
    places.push_back({.number = row.integer(0),
                      .shard = Shard{static_cast<std::uint16_t>(row.integer(1))},
                      .owner = worker_id(row.text(2)),
                      .epoch = Epoch{row.natural(3)}});
  }
  return places;
}

Status Ownership::check_places(std::span<const spi::Scope> scopes, std::uint16_t shards,
                               bool& complete) {
  auto reader = context_.sessions.reader();
  if (!reader.ok()) return reader.error();
  complete = true;
  for (const auto& scope : scopes) {
    auto places = places_of(**reader, scope);
    if (!places.ok()) return places.error();
    if (places->empty()) {
      complete = false;
    } else if (places->size() != shards) {
      return another_count(scope, places->size(), shards);
    }
  }
  return {};
}

Status Ownership::make_places(std::span<const spi::Scope> scopes, std::uint16_t shards) {
  bool complete = false;
  // Looks first: a standby that joins existing scopes need not write.
  if (auto checked = check_places(scopes, shards, complete); !checked.ok()) return checked;
  if (complete) return {};
  auto made = sql::in_transaction(context_.sessions, [&](sql::Session& session) -> Status {
    for (const auto& scope : scopes) {
      auto places = places_of(session, scope);
      if (!places.ok()) return places.error();
      if (!places->empty()) continue;
      for (std::uint16_t shard = 0; shard < shards; ++shard) {
        auto done = session.run(make_place_, {scope, shard});
        if (!done.ok()) return done.error();
      }
    }
    return {};
  });
  if (!made.ok()) return made;
  return check_places(scopes, shards, complete);
}

Result<spi::LeaseReply> Ownership::join(const WorkerId& worker, Duration ttl,
                                        std::span<const spi::Scope> scopes, std::uint16_t shards) {
  if (auto made = make_places(scopes, shards); !made.ok()) return made.error();
  const std::lock_guard lock(mutex_);
  forget_departed();
  if (leases_.contains(worker) && live(worker) == nullptr) return spi::LeaseReply{false};
  auto& lease = leases_[worker];
  lease.until = context_.clock.boot_now() + ttl;
  lease.scopes.insert(scopes.begin(), scopes.end());
  return spi::LeaseReply{true};
}

Result<spi::LeaseReply> Ownership::renew(const WorkerId& worker, Duration ttl) {
  const std::lock_guard lock(mutex_);
  unlock_expired();
  if (live(worker) == nullptr) return spi::LeaseReply{false};
  leases_[worker].until = context_.clock.boot_now() + ttl;
  return spi::LeaseReply{true};
}

Result<spi::Census> Ownership::census(const spi::Scope& scope) {
  auto reader = context_.sessions.reader();
  if (!reader.ok()) return reader.error();
  auto places = places_of(**reader, scope);
  if (!places.ok()) return places.error();
  const std::lock_guard lock(mutex_);
  unlock_expired();
  spi::Census census;
  for (const auto& [id, lease] : leases_) {
    if (live(id) != nullptr && lease.scopes.contains(scope)) census.live.push_back(id);
  }
  for (const auto& place : *places) {
    census.shards.push_back({place.shard, place.owner, place.epoch, lease_left(place)});
  }
  return census;
}

Result<std::vector<spi::OwnedShard>> Ownership::apply_changes(sql::Session& session,
                                                              const spi::Scope& scope,
                                                              const WorkerId& worker,
                                                              std::uint16_t shards_max,
                                                              std::vector<std::int64_t>& locked) {
  std::vector<spi::OwnedShard> taken;
  auto places = places_of(session, scope);
  if (!places.ok()) return places.error();
  const std::lock_guard lock(mutex_);
  unlock_expired();
  const Lease* taker = live(worker);
  if (taker == nullptr || !taker->scopes.contains(scope)) return taken;
  for (const auto& place : *places) {
    if (taken.size() == shards_max) break;
    if (lease_left(place) > Duration{}) continue;
    auto ours = locks_.try_lock(place.number);
    if (!ours.ok()) return ours.error();
    // The owner is just releasing it, or another process was faster.
    if (!*ours) continue;
    locked.push_back(place.number);
    auto done = session.run(take_place_, {place.number, worker.view()});
    if (!done.ok()) return done.error();
    taken.push_back({place.shard, Epoch{place.epoch.value + 1}, !place.owner.empty()});
  }
  return taken;
}

Result<std::vector<spi::OwnedShard>> Ownership::take(const spi::Scope& scope,
                                                     const WorkerId& worker,
                                                     std::uint16_t shards_max) {
  std::vector<std::int64_t> locked;
  auto taken = sql::in_transaction(context_.sessions, [&](sql::Session& session) {
    return apply_changes(session, scope, worker, shards_max, locked);
  });
  const std::lock_guard lock(mutex_);
  for (const auto number : locked) {
    if (taken.ok()) {
      held_.insert_or_assign(number, worker);
    } else if (!held_.contains(number)) {
      locks_.unlock(number);
    }
  }
  return taken;
}

Status Ownership::release(const spi::Scope& scope, const WorkerId& worker,
                          std::span<const spi::OwnedShard> shards) {
  const auto unclean = spi::unclean_owner().str();
  std::vector<std::int64_t> given;
  auto done = sql::in_transaction(context_.sessions, [&](sql::Session& session) -> Status {
    for (const auto& shard : shards) {
      auto released = session.run(release_place_, {scope, shard.shard.value, worker.view(),
                                                   shard.epoch.value, shard.unclean, unclean});
      if (!released.ok()) return released.error();
      if (!released->empty()) given.push_back(released->front().integer(0));
    }
    return {};
  });
  if (!done.ok()) return done;
  const std::lock_guard lock(mutex_);
  for (const auto number : given) {
    const auto held = held_.find(number);
    if (held == held_.end() || held->second != worker) continue;
    locks_.unlock(number);
    held_.erase(held);
  }
  return {};
}

Status Ownership::withdraw(const WorkerId& worker, std::span<const spi::Scope> scopes) {
  const std::lock_guard lock(mutex_);
  if (const auto known = leases_.find(worker); known != leases_.end()) {
    for (const auto& scope : scopes) known->second.scopes.erase(scope);
  }
  return {};
}

Status Ownership::leave(const WorkerId& worker) {
  const std::lock_guard lock(mutex_);
  if (const auto known = leases_.find(worker); known != leases_.end()) {
    known->second.until = BootTime::min();
  }
  unlock_expired();
  return {};
}

const Ownership::Lease* Ownership::live(const WorkerId& worker) const {
  const auto known = leases_.find(worker);
  if (known == leases_.end() || known->second.until <= context_.clock.boot_now()) return nullptr;
  return &known->second;
}

void Ownership::forget_departed() {
  if (leases_.size() <= departed_max) return;
  std::erase_if(leases_, [&](const auto& lease) { return live(lease.first) == nullptr; });
}

void Ownership::unlock_expired() {
  std::erase_if(held_, [&](const auto& held) {
    if (live(held.second) != nullptr) return false;
    locks_.unlock(held.first);
    return true;
  });
}

Duration Ownership::lease_left(const Place& place) const {
  if (place.owner.empty()) return {};
  if (const Lease* lease = live(place.owner)) return lease->until - context_.clock.boot_now();
  return locks_.is_held_elsewhere(place.number) ? lease_elsewhere : Duration{};
}

}  // namespace sagabox::sqlite
