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
  /// The owner before did not finish what it had in flight, which may have killed it.
  bool unclean = false;
};

/// Stands as the owner of a shard that was released unclean. Never has a lease.
inline WorkerId unclean_owner() { return WorkerId::parse("unclean").value(); }

struct ShardOwner {
  Shard shard{};
  WorkerId owner;  ///< empty: nobody
  Epoch epoch{};
  /// Of the owner; not above zero: it has run out, and whoever asks first takes the shard.
  Duration lease_left{};
};

struct Census {
  std::vector<WorkerId> live;      ///< members of the scope whose lease runs, ascending
  std::vector<ShardOwner> shards;  ///< all of the scope, ascending
  Timeline timeline{};
};

struct LeaseReply {
  bool live = false;  ///< false: the lease had run out; join again under a new id
  Timeline timeline{};
};

/// Workers, leases and shard owners. All times are judged by the database's clock. Calls block,
/// each for a limited time that the store sets; safe from any thread.
class OwnershipStore {
 public:
  virtual ~OwnershipStore() = default;

  /// A new worker that wants a part of these scopes. A scope is created with `shards` shards when
  /// first named; another count later is an error. The same id again adds the scopes and renews
  /// the lease, so that a join in doubt may be repeated, and a withdrawal taken back.
  virtual Result<LeaseReply> join(const WorkerId& worker, Duration ttl,
                                  std::span<const Scope> scopes, std::uint16_t shards) = 0;
  virtual Result<LeaseReply> renew(const WorkerId& worker, Duration ttl) = 0;
  virtual Result<Census> census(const Scope& scope) = 0;
  /// Up to `shards_max` shards that nobody holds or whose owner's lease has run out; epoch + 1.
  /// Nothing for a worker without a running lease.
  virtual Result<std::vector<OwnedShard>> take(const Scope& scope, const WorkerId& worker,
                                               std::uint16_t shards_max) = 0;
  /// Gives back what is still held at that epoch. The next taker finds it as clean or unclean as
  /// it is given here.
  virtual Status release(const Scope& scope, const WorkerId& worker,
                         std::span<const OwnedShard> shards) = 0;
  /// Wants no share of these scopes any more and is not counted in their census; keeps its lease
  /// and what it holds.
  virtual Status withdraw(const WorkerId& worker, std::span<const Scope> scopes) = 0;
  /// Ends the lease. Shards not released before count as unclean.
  virtual Status leave(const WorkerId& worker) = 0;
};

}  // namespace sagabox::spi
