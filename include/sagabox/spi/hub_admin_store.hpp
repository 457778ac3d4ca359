#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/hub_record.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

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

struct DeliveryCount {
  SubscriptionId subscription;
  DeliveryState state = DeliveryState::pending;
  std::uint64_t deliveries = 0;
  std::optional<WallTime> oldest{};  ///< `created_at`
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
  bool more = false;  ///< rows are left; the next call continues from there
};

/// The database operations for operators. Lists are ordered from newest to oldest.
class HubAdminStore {
 public:
  virtual ~HubAdminStore() = default;

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
  /// Counts by subscription and state. Completed deliveries are not counted, as there may be very
  /// many.
  virtual Result<std::vector<DeliveryCount>> count(const std::optional<std::string>& tenant) = 0;
  virtual Result<EndpointHealth> health(const SubscriptionId& id, Duration since) = 0;

  /// Creates the next generation of dead deliveries, with counters at 0 and last in their keys; the
  /// dead deliveries are not changed. A repeated call returns the deliveries made before. `tenant`:
  /// deliveries of other tenants are `not_dead`. Returns one result for each id, in order. `audit`
  /// is empty or has one event for each id; the events of new deliveries are written in the same
  /// transaction.
  virtual Result<std::vector<Requeued>> requeue(std::span<const DeliveryId> ids,
                                                const std::optional<std::string>& tenant,
                                                std::span<const AuditEvent> audit) = 0;

  /// Removes old rows, oldest first: jobs of completed deliveries, completed deliveries without
  /// jobs, and routed events without deliveries. A requeued delivery stays as long as the dead one
  /// it was made from. Each table is purged separately, with `rows_max` rows each.
  virtual Result<HubPurged> purge(const HubPurge& request) = 0;
  /// Removes dead deliveries of that age with their jobs and snapshots, which no other call
  /// removes. Those whose next generation is open stay. Removes `rows_max` deliveries at most.
  virtual Result<HubPurged> purge_dead(const HubPurge& request) = 0;
};

}  // namespace sagabox::spi
