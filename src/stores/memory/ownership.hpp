#pragma once

#include <sagabox/spi/ownership_store.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace sagabox::memory {

/// Workers, leases and shard owners of one database. Not thread-safe; `now` is the database's
/// clock.
class Ownership {
 public:
  /// Returns false if this id's lease has run out before; the worker then starts again under a new
  /// id.
  Result<bool> join(const WorkerId& worker, WallTime lease_until,
                    std::span<const spi::Scope> scopes, std::uint16_t shards, WallTime now);
  bool renew(const WorkerId& worker, WallTime lease_until, WallTime now);
  [[nodiscard]] spi::Census census(const spi::Scope& scope, WallTime now) const;
  std::vector<spi::OwnedShard> take(const spi::Scope& scope, const WorkerId& worker,
                                    std::uint16_t shards_max, WallTime now);
  void release(const spi::Scope& scope, const WorkerId& worker,
               std::span<const spi::OwnedShard> shards);
  void withdraw(const WorkerId& worker, std::span<const spi::Scope> scopes);
  void leave(const WorkerId& worker);

  /// The owners of a scope's shards by number, for fences; empty for an unknown scope. Valid until
  /// the next change.
  [[nodiscard]] std::span<const spi::ShardOwner> owners(std::string_view scope) const;

 private:
  struct Worker {
    WallTime lease_until{};
    std::set<spi::Scope, std::less<>> scopes;
  };

  [[nodiscard]] const Worker* live(const WorkerId& worker, WallTime now) const;
  [[nodiscard]] bool owns_any(const WorkerId& worker) const;
  /// Drops departed ids that own nothing.
  void forget_departed(WallTime now);

  std::map<WorkerId, Worker> workers_;
  std::map<spi::Scope, std::vector<spi::ShardOwner>, std::less<>> scopes_;
};

}  // namespace sagabox::memory
