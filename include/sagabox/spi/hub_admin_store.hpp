#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/hub_record.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::spi {

struct EventFilter {
  std::optional<std::string> tenant{};
  std::optional<std::string> type{};
  std::optional<std::string> key{};
  std::optional<std::string> source{};
  std::optional<std::string> external_id{};
  std::optional<WallTime> from{};
  std::optional<WallTime> to{};  ///< exclusive
};

struct EventList {
  EventFilter filter{};
  std::optional<Sequence> before{};  ///< the last sequence of the previous page
  std::uint32_t rows_max = 100;
};

struct DeliveryFilter {
  std::optional<std::string> tenant{};
  std::optional<SubscriptionId> subscription{};
  std::optional<EventId> event{};
  std::optional<DeliveryState> state{};
  std::optional<std::string> type{};
  std::optional<Code> code{};
  std::optional<WallTime> from{};  ///< of `created_at`
  std::optional<WallTime> to{};    ///< exclusive
};

struct DeliveryList {
  DeliveryFilter filter{};
  std::optional<WallTime> ended_from{};
  std::optional<WallTime> ended_to{};  ///< exclusive
  /// Whether it was requeued: a later generation of it exists.
  std::optional<bool> requeued{};
  std::optional<Sequence> before{};  ///< the last sequence of the previous page
  std::uint32_t rows_max = 100;
};

struct DeliveryCountRequest {
  std::optional<std::string> tenant{};
  std::optional<SubscriptionId> subscription{};
  std::uint64_t rows_max = 10'000;  ///< counted at most, of each subscription and state
};

struct DeliveryCount {
  SubscriptionId subscription;
  DeliveryState state = DeliveryState::pending;
  std::uint64_t deliveries = 0;
  std::optional<WallTime> oldest{};  ///< `created_at`, of those that were counted
  bool more = false;                 ///< there are more than were counted
};

/// Figures of all deliveries of a store.
struct HubStats {
  struct State {
    std::uint64_t deliveries = 0;
    /// There are at least as many as were to be counted: `deliveries` is what the database
    /// estimates, or as many as were counted where it has no estimate.
    bool estimated = false;
  };
  std::array<State, delivery_state_count> states{};  ///< those that completed are not counted
  /// When the oldest that has not ended was made. Of more than were to be counted, the oldest of
  /// those that are first in line of their subscription.
  std::optional<WallTime> oldest{};
};

/// Published events that have no deliveries yet.
struct UnroutedEvents {
  std::uint64_t events = 0;  ///< at most as many as were to be counted
  std::optional<WallTime> oldest{};
};

/// The results of the attempts of one subscription in a period.
struct EndpointHealth {
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::optional<Duration> p50{};  ///< of attempts that got an answer
  std::optional<Duration> p95{};
  std::optional<WallTime> last_completed_at{};
  std::optional<WallTime> last_failed_at{};
  std::string last_error{};
  /// There are more attempts than were to be looked at: all of this is about those since then.
  std::optional<WallTime> sampled_from{};
};

/// The result of requeueing one dead delivery.
struct Requeued {
  enum class Outcome : std::uint8_t {
    made,        ///< `made` is a new delivery
    repeated,    ///< `made` existed already
    not_dead,    ///< no dead delivery has this id
    not_newest,  ///< a later generation of it exists: requeue that one
  };
  DeliveryId from;
  Outcome outcome = Outcome::made;
  DeliveryId made{};
};

struct HubPurge {
  Duration older_than{};
  std::uint32_t rows_max = 1000;
};

struct HubPurged {
  std::uint64_t jobs = 0;
  std::uint64_t deliveries = 0;
  std::uint64_t events = 0;
  std::uint64_t dead = 0;
  std::uint64_t secrets = 0;  ///< that expired
  bool more = false;          ///< it has not come to the end yet; the next call goes on from there
};

/// The database operations for operators. Lists are ordered from newest to oldest.
class HubAdminStore {
 public:
  virtual ~HubAdminStore() = default;

  /// Without their payloads: `HubEvent::payload_bytes` is set.
  virtual Result<std::vector<HubEvent>> events(const EventList& request) = 0;
  virtual Result<std::optional<HubEvent>> event(const EventId& id) = 0;
  /// Deliveries of a tenant are found by its subscriptions, which exist as long as their
  /// deliveries.
  virtual Result<std::vector<DeliveryRecord>> deliveries(const DeliveryList& request) = 0;
  virtual Result<std::optional<DeliveryRecord>> delivery(const DeliveryId& id) = 0;
  /// Every attempt, ordered by number.
  virtual Result<std::vector<JobRecord>> attempts(const DeliveryId& id) = 0;
  /// nullopt if the delivery is not dead. The event has no message if it was removed before the
  /// delivery became dead.
  virtual Result<std::optional<DeadDelivery>> dead(const DeliveryId& id) = 0;
  /// By subscription and state; those that completed are left out.
  virtual Result<std::vector<DeliveryCount>> count(const DeliveryCountRequest& request) = 0;
  /// At most so many of each state are counted.
  virtual Result<HubStats> stats(std::uint64_t rows_max) = 0;
  virtual Result<UnroutedEvents> unrouted(std::uint64_t rows_max) = 0;
  /// Of the newest attempts, so many.
  virtual Result<EndpointHealth> health(const SubscriptionId& id, Duration since,
                                        std::uint32_t rows_max) = 0;
  /// When the first attempt that was sent failed after which none succeeded, looking back so far.
  /// Null: there is none since the last success. Errs towards later, never earlier.
  virtual Result<std::optional<WallTime>> failing_since(const SubscriptionId& id,
                                                        Duration within) = 0;

  /// Creates the next generation of dead deliveries, with counters at 0 and last in their keys; the
  /// dead deliveries are not changed. A repeated call returns the deliveries made before. `tenant`:
  /// deliveries of other tenants are `not_dead`. Returns one result for each id, in order. `audit`
  /// is empty or has one event for each id; the events of new deliveries are written in the same
  /// transaction.
  virtual Result<std::vector<Requeued>> requeue(std::span<const DeliveryId> ids,
                                                const std::optional<std::string>& tenant,
                                                std::span<const AuditEvent> audit) = 0;

  /// Removes secrets that have expired, and what ended longer ago, the oldest first: jobs of
  /// deliveries that completed, such
  /// deliveries that have no job any more, events that are routed and have no delivery any more.
  /// A requeued delivery stays as long as the dead one it was made from. Each table for itself;
  /// `rows_max` of each.
  virtual Result<HubPurged> purge(const HubPurge& request) = 0;
  /// Removes dead deliveries of that age with their jobs and snapshots, which no other call
  /// removes. Those whose next generation is open stay. Removes `rows_max` deliveries at most.
  virtual Result<HubPurged> purge_dead(const HubPurge& request) = 0;
};

}  // namespace sagabox::spi
