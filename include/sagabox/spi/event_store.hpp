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

/// Events of one snapshot, and what has changed about subscriptions in it or in a later one: what
/// was active before an event was published is in both.
struct RoutingReply {
  FeedReply<HubEvent> events;
  /// Subscriptions with a `change` above the one asked for, ascending.
  std::vector<SubscriptionRecord> changed;
};

/// Up to where the events of a shard are routed: each up to this one has its deliveries, and none
/// can be committed there any more.
struct RoutingPosition {
  Shard shard{};
  Sequence position{};
};

/// What the router needs of a database. It reads events as a feed whose rows stay. Calls block,
/// each for a time that the store limits; safe from any thread. Times are the database's.
class EventStore {
 public:
  virtual ~EventStore() = default;
  [[nodiscard]] virtual Capabilities capabilities() const = 0;
  /// Makes the tables, or brings them up to date.
  virtual Status prepare() = 0;

  /// At least one event is returned if there is any, else as many as fit into `bytes_max`.
  virtual Result<RoutingReply> read(std::span<const FeedRange> ranges, std::size_t bytes_max,
                                    std::uint64_t subscriptions_after) = 0;
  /// One a shard that was asked for, in their order; 0 where nothing is stored.
  virtual Result<std::vector<RoutingPosition>> positions(std::span<const Shard> shards) = 0;
  /// Never back. Every shard has a fence. One verdict a fence; where one does not hold, nothing is
  /// moved.
  virtual Result<std::vector<bool>> move(const Fencing& fencing,
                                         std::span<const RoutingPosition> positions) = 0;

  /// Returns when an event may have been committed, on `wake`, or after `timeout`.
  virtual void wait(Duration timeout) = 0;
  virtual void wake() = 0;
};

}  // namespace sagabox::spi
