#pragma once

#include <sagabox/error.hpp>
#include <sagabox/event_types.hpp>
#include <sagabox/hub_record.hpp>
#include <sagabox/limits.hpp>
#include <sagabox/log.hpp>
#include <sagabox/message.hpp>
#include <sagabox/metrics.hpp>
#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/store.hpp>
#include <sagabox/time.hpp>
#include <sagabox/tracing.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The delivery hub: applications publish events, subscriptions select the events that an endpoint
/// receives, and every delivery of an event to a subscription reaches a visible final state.
///
///     auto hub = Hub::create(store, {.secret_key = key, .transports = {{"http", http}}}).value();
///     hub.start().value();
///     store.transaction([&](Transaction& tx) {
///       insert_order(tx, order);
///       return hub.publish(tx, {.message = {.topic = "shop.order.placed.v1", .key = order.id,
///                                           .payload = json(order)}});
///     });
///
/// docs/hub.md describes subscriptions, deliveries and attempts.
namespace sagabox {

/// A part of the hub's work that a process can run.
enum class HubRole : std::uint8_t {
  router,        ///< creates the deliveries of events
  orchestrator,  ///< schedules and ends deliveries, and removes old ones
  worker,        ///< sends
  cleaner,       ///< resets jobs whose lease has expired
};
inline constexpr std::size_t hub_role_count = 4;

/// "router", "orchestrator", "worker", "cleaner".
std::string_view hub_role_name(HubRole role) noexcept;
std::optional<HubRole> hub_role_from_name(std::string_view name) noexcept;

struct HubOptions {
  /// Roles that are not listed must run in other processes on the same store. Empty: this process
  /// only publishes.
  std::set<HubRole> roles{HubRole::router, HubRole::orchestrator, HubRole::worker,
                          HubRole::cleaner};
  /// The most requests that a worker holds: leased, under way, or with a result to be written.
  std::uint32_t requests_max = 1024;
  /// The most of these for one subscription, however fast its endpoint answers: so many requests
  /// are blocked if the endpoint suddenly hangs.
  std::uint32_t requests_of_one_max = 64;
  /// The most deliveries that an orchestrator has in progress.
  std::uint32_t in_progress_max = 8192;
  /// `ID:BASE64` of 32 random bytes, several separated by space: the secrets of endpoints are
  /// sealed with the first. Empty: this process sends nothing to subscriptions with secrets.
  std::string secret_key{};
  /// By scheme; "http" serves http:// and https://.
  std::map<std::string, std::shared_ptr<spi::Transport>, std::less<>> transports{};
  BreakerOptions breaker{};  ///< of each endpoint
  std::string name = "hub";  ///< shown as the owner of this process's job leases

  /// Completed deliveries that ended longer ago are removed with their jobs and events. 0: nothing
  /// is removed.
  Duration retention = std::chrono::hours(24 * 30);
  /// The same for dead deliveries. 0: they are kept for ever.
  Duration dead_retention{};
  Duration poll_interval = std::chrono::milliseconds(100);
  Duration lease = std::chrono::seconds(15);
  /// The longest time of a request, whatever `timeout` its subscription sets.
  Duration request_timeout_max = std::chrono::minutes(2);
  /// Other workers take over the jobs of a failed worker after this time: at least
  /// `request_timeout_max` plus `job_lease_margin`. 0: the longest `timeout` of a subscription plus
  /// 30 s.
  Duration job_lease{};
  /// Time to write the result of a request.
  static constexpr Duration job_lease_margin = std::chrono::seconds(10);
  /// `stop` waits this long for requests that are under way.
  Duration drain_timeout = std::chrono::seconds(20);

  /// Checked by `publish`. The router checks events that were inserted with SQL: those that do not
  /// fit are delivered unchanged, with a warning.
  EventTypes event_types{};

  SpanSink* spans = nullptr;      ///< outlives the hub; null: attempts have no spans
  double trace_sample_ratio = 1;  ///< for events that were published without a trace

  /// These outlive the hub, as do the transports' servers.
  Metrics* metrics = &no_metrics();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
  Random* random = &system_random();

  /// Names the setting that is wrong and what would be right.
  [[nodiscard]] Status check() const;
};

/// An event to be delivered to all matching subscriptions.
struct NewEvent {
  NewMessage message;  ///< the topic is the event's type
  std::string source{};
  /// Publishing the same external id of a tenant and source again does not create a second event.
  std::string external_id{};
};

/// Figures of the hub in this process.
struct HubSnapshot {
  std::uint32_t routing_shards = 0;   ///< owned, of events
  std::uint32_t delivery_shards = 0;  ///< owned, of deliveries
  std::uint64_t in_progress = 0;      ///< attempts of owned deliveries
  std::uint64_t ready = 0;            ///< deliveries that were read and are queued
  std::uint64_t endpoints_down = 0;   ///< their deliveries wait while they are probed
  std::uint64_t requests = 0;         ///< held by the worker
  std::uint64_t findings = 0;
  bool stands_by = false;        ///< another process runs the hub, and the store allows only one
  std::uint64_t routed = 0;      ///< events, since the start of this process, as all below
  std::uint64_t unfit = 0;       ///< routed events that do not fit the catalogue of event types
  std::uint64_t deliveries = 0;  ///< made
  std::uint64_t refused = 0;     ///< that the store does not take; the audit log has them
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  ///< attempts
  std::uint64_t dead = 0;
};

/// The endpoint of a subscription, as the owner of its deliveries sees it.
struct EndpointState {
  std::optional<WallTime> down_since{};  ///< nullopt: it is not down
  std::uint32_t under_way = 0;           ///< requests
  std::uint64_t ready = 0;               ///< deliveries that were read and are queued
};

/// A delivery that is stuck because the store refuses its result.
struct HubFinding {
  DeliveryId delivery{};
  Code code = Code::unknown_internal;
  std::string text{};
  WallTime since{};
};

/// Publishes events in your transactions, and runs the hub roles of this process. Any number of
/// processes may run at the same time; on SQLite one of them works, and the others stand by until
/// it ends. Thread-safe.
class Hub {
 public:
  /// Creates the tables, or updates them. CONFIG.INVALID if the store does not support the hub.
  static Result<Hub> create(Store& store, HubOptions options = {});
  Hub(Hub&&) noexcept;
  Hub& operator=(Hub&&) noexcept;
  /// Calls `stop`.
  ~Hub();

  Status start();
  /// Starts no new work, releases its shards to other processes, and waits up to `drain_timeout`
  /// for requests under way. TX.TIMEOUT: some have not ended; other workers execute their jobs
  /// again.
  Status stop();

  /// The events become visible when the transaction commits. All of them are published, or none:
  /// SCHEMA.VALIDATION_FAILED (also for an event that does not fit `event_types`) and
  /// TX.IDEMPOTENT_MISMATCH name the event that cannot be published.
  Result<std::vector<Published>> publish(Transaction& tx, std::vector<NewEvent> events);
  Result<Published> publish(Transaction& tx, NewEvent event);
  /// In a transaction of its own.
  Result<Published> publish(NewEvent event);

  /// Call it after a subscription was written: subscriptions are read again at once, not at the
  /// next poll.
  void subscriptions_changed();

  [[nodiscard]] HubSnapshot snapshot() const;
  [[nodiscard]] std::vector<HubFinding> findings(std::size_t rows_max = 100) const;
  /// nullopt if this process does not own its deliveries, or if there were none so far.
  [[nodiscard]] std::optional<EndpointState> endpoint(const SubscriptionId& subscription) const;

 private:
  struct Parts;
  explicit Hub(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sagabox
