#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/feed.hpp>
#include <sagabox/spi/fencing.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sagabox::spi {

/// Events of one snapshot, and changed subscriptions of the same snapshot or a later one. So a
/// subscription that was active before an event was published is never missing.
struct RoutingReply {
  FeedReply<HubEvent> events;
  /// Subscriptions with a `change` above the requested one, ascending.
  std::vector<SubscriptionRecord> changed;
};

/// The position up to which the events of a shard are routed: all events up to it have their
/// deliveries, and no further event can be committed below it.
struct RoutingPosition {
  Shard shard{};
  Sequence position{};
};

/// The database operations of the router. It reads events as a feed whose rows are not deleted.
/// Calls block for a time that the store limits; safe from any thread. All times are of the
/// database's clock.
class EventStore {
 public:
  virtual ~EventStore() = default;
  [[nodiscard]] virtual Capabilities capabilities() const = 0;
  /// Creates the tables, or updates them.
  virtual Status prepare() = 0;

  /// Returns as many events as fit into `bytes_max`, but at least one if there is any.
  virtual Result<RoutingReply> read(std::span<const FeedRange> ranges, std::size_t bytes_max,
                                    std::uint64_t subscriptions_after) = 0;
  /// Returns one position for each given shard, in the same order; 0 if none is stored.
  virtual Result<std::vector<RoutingPosition>> positions(std::span<const Shard> shards) = 0;
  /// Stores positions; a position never decreases. Every shard needs a fence. Returns one verdict
  /// for each fence; if one does not hold, nothing is stored.
  virtual Result<std::vector<bool>> move(const Fencing& fencing,
                                         std::span<const RoutingPosition> positions) = 0;

  /// Returns when an event may have been committed, on `wake`, or after `timeout`.
  virtual void wait(Duration timeout) = 0;
  virtual void wake() = 0;
};

}  // namespace sagabox::spi
