#pragma once

#include <sagabox/id.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/fencing.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace sagabox::spi {

struct OwnedShard {
  Shard shard{};
  Epoch epoch{};
  /// The previous owner did not finish its messages in flight, and one of them may have crashed it.
  bool unclean = false;
};

/// The recorded owner of a shard that was released unclean. Never has a lease.
inline WorkerId unclean_owner() { return WorkerId::parse("unclean").value(); }

struct ShardOwner {
  Shard shard{};
  WorkerId owner;  ///< empty: no owner
  Epoch epoch{};
  /// The owner's lease; zero or less: it has expired, and the next `take` gets the shard.
  Duration lease_left{};
};

struct Census {
  std::vector<WorkerId> live;      ///< members of the scope with a valid lease, ascending
  std::vector<ShardOwner> shards;  ///< all shards of the scope, ascending
  Timeline timeline{};
};

struct LeaseReply {
  bool live = false;  ///< false: the lease had expired; join again under a new id
  Timeline timeline{};
};

/// Workers, leases and shard owners. All times are of the database's clock. Calls block for a time
/// that the store limits; safe from any thread.
class OwnershipStore {
 public:
  virtual ~OwnershipStore() = default;

  /// Registers a new worker that requests a share of these scopes. A scope is created with `shards`
  /// shards at its first use; a different count later is an error. A repeated id adds the scopes
  /// and renews the lease, so a join in doubt can be repeated, and a withdrawal can be undone.
  virtual Result<LeaseReply> join(const WorkerId& worker, Duration ttl,
                                  std::span<const Scope> scopes, std::uint16_t shards) = 0;
  virtual Result<LeaseReply> renew(const WorkerId& worker, Duration ttl) = 0;
  virtual Result<Census> census(const Scope& scope) = 0;
  /// Takes up to `shards_max` shards that have no owner or whose owner's lease has expired; epoch +
  /// 1. Empty for a worker without a valid lease.
  virtual Result<std::vector<OwnedShard>> take(const Scope& scope, const WorkerId& worker,
                                               std::uint16_t shards_max) = 0;
  /// Releases the shards that are still held at the given epoch. The next owner gets the value of
  /// `unclean` that is given here.
  virtual Status release(const Scope& scope, const WorkerId& worker,
                         std::span<const OwnedShard> shards) = 0;
  /// The worker no longer requests a share of these scopes and is not counted in their census; it
  /// keeps its lease and its shards.
  virtual Status withdraw(const WorkerId& worker, std::span<const Scope> scopes) = 0;
  /// Ends the lease. Shards that were not released before count as unclean.
  virtual Status leave(const WorkerId& worker) = 0;
};

}  // namespace sagabox::spi
