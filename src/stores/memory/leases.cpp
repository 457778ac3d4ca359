#include "stores/memory/database.hpp"

#include <algorithm>
#include <chrono>

namespace sagabox::memory {

WallTime Database::after(Duration ttl) const {
  return now() + std::chrono::duration_cast<WallTime::duration>(ttl);
}

Result<spi::LeaseReply> Database::join(const WorkerId& worker, Duration ttl,
                                       std::span<const spi::Scope> scopes, std::uint16_t shards) {
  return faulty(Operation::join, [&]() -> Result<spi::LeaseReply> {
    const std::lock_guard lock(mutex_);
    auto live = state_.ownership.join(worker, after(ttl), scopes, shards, now());
    if (!live.ok()) return live.error();
    return spi::LeaseReply{*live, timeline_};
  });
}

Result<spi::LeaseReply> Database::renew(const WorkerId& worker, Duration ttl) {
  return faulty(Operation::renew, [&]() -> Result<spi::LeaseReply> {
    const std::lock_guard lock(mutex_);
    return spi::LeaseReply{state_.ownership.renew(worker, after(ttl), now()), timeline_};
  });
}

Result<spi::Census> Database::census(const spi::Scope& scope) {
  return faulty(Operation::census, [&]() -> Result<spi::Census> {
    const std::lock_guard lock(mutex_);
    auto census = state_.ownership.census(scope, now());
    census.timeline = timeline_;
    return census;
  });
}

Result<std::vector<spi::OwnedShard>> Database::take(const spi::Scope& scope, const WorkerId& worker,
                                                    std::uint16_t shards_max) {
  return faulty(Operation::take, [&]() -> Result<std::vector<spi::OwnedShard>> {
    const std::lock_guard lock(mutex_);
    return state_.ownership.take(scope, worker, shards_max, now());
  });
}

Status Database::release(const spi::Scope& scope, const WorkerId& worker,
                         std::span<const spi::OwnedShard> shards) {
  return faulty(Operation::release, [&]() -> Status {
    const std::lock_guard lock(mutex_);
    state_.ownership.release(scope, worker, shards);
    return {};
  });
}

Status Database::withdraw(const WorkerId& worker, std::span<const spi::Scope> scopes) {
  return faulty(Operation::withdraw, [&]() -> Status {
    const std::lock_guard lock(mutex_);
    state_.ownership.withdraw(worker, scopes);
    return {};
  });
}

Status Database::leave(const WorkerId& worker) {
  return faulty(Operation::leave, [&]() -> Status {
    const std::lock_guard lock(mutex_);
    state_.ownership.leave(worker);
    return {};
  });
}

}  // namespace sagabox::memory
