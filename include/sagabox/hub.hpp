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

/// The delivery hub: events come in, subscriptions say who is told of which, and every delivery of
/// an event to a subscription ends visibly.
///
///     auto hub = Hub::create(store, {.secret_key = key, .transports = {{"http", http}}}).value();
///     hub.start().value();
///     store.transaction([&](Transaction& tx) {
///       insert_order(tx, order);
///       return hub.publish(tx, {.message = {.topic = "shop.order.placed.v1", .key = order.id,
///                                           .payload = json(order)}});
///     });
///
/// docs/hub.md says what subscriptions, deliveries and attempts are.
namespace sagabox {

/// What a process does for the hub.
enum class HubRole : std::uint8_t {
  router,        ///< makes deliveries of events
  orchestrator,  ///< decides on deliveries, and removes what ended long ago
  worker,        ///< sends
  cleaner,       ///< frees what workers have lost
};
inline constexpr std::size_t hub_role_count = 4;

/// "router", "orchestrator", "worker", "cleaner".
std::string_view hub_role_name(HubRole role) noexcept;
std::optional<HubRole> hub_role_from_name(std::string_view name) noexcept;

struct HubOptions {
  /// Others run elsewhere, on the same store. Empty: this process only publishes.
  std::set<HubRole> roles{HubRole::router, HubRole::orchestrator, HubRole::worker,
                          HubRole::cleaner};
  /// Requests that a worker has in hand at most: leased, under way, or to be written.
  std::uint32_t requests_max = 1024;
  /// Of these for one subscription, however fast its endpoint answers: so many are held up when it
  /// hangs from one moment to the next.
  std::uint32_t requests_of_one_max = 64;
  /// Deliveries that an orchestrator has in progress at most.
  std::uint32_t in_progress_max = 8192;
  /// `ID:BASE64` of 32 random bytes, several separated by space: the secrets of endpoints are
  /// sealed with the first. Empty: subscriptions with secrets get nothing from this process.
  std::string secret_key{};
  /// By scheme; "http" serves http:// and https://.
  std::map<std::string, std::shared_ptr<spi::Transport>, std::less<>> transports{};
  BreakerOptions breaker{};  ///< of each endpoint
  std::string name = "hub";  ///< of this process's leases of jobs, for people

  /// What ended longer ago is removed: completed deliveries with their jobs, and their events. 0:
  /// nothing is.
  Duration retention = std::chrono::hours(24 * 30);
  /// The same for the dead. 0: they are kept for ever.
  Duration dead_retention{};
  Duration poll_interval = std::chrono::milliseconds(100);
  Duration lease = std::chrono::seconds(15);
  /// No request takes longer, whatever `timeout` its subscription asks for.
  Duration request_timeout_max = std::chrono::minutes(2);
  /// After which the jobs of a worker that is gone are done by another: at least
  /// `request_timeout_max` and `job_lease_margin`. 0: as long as the longest `timeout` that a
  /// subscription asks for, and half a minute.
  Duration job_lease{};
  /// Time to write the result of a request.
  static constexpr Duration job_lease_margin = std::chrono::seconds(10);
  /// Whoever stops waits so long for requests that are under way.
  Duration drain_timeout = std::chrono::seconds(20);

  /// Checked by `publish`, and by the router for what came in by SQL: that is delivered as it is,
  /// with a warning.
  EventTypes event_types{};

  SpanSink* spans = nullptr;      ///< outlives the hub; null: attempts have no spans
  double trace_sample_ratio = 1;  ///< of the events that were published without a trace

  /// These outlive the hub, as do the transports' servers.
  Metrics* metrics = &no_metrics();
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
  Random* random = &system_random();

  /// Names the setting that is wrong and what would be right.
  [[nodiscard]] Status check() const;
};

/// Something that happened, to be told to whoever has subscribed to it.
struct NewEvent {
  NewMessage message;  ///< the topic is the event's type
  std::string source{};
  /// The same of a tenant and source is the same event, however often it is published.
  std::string external_id{};
};

/// What the hub does in this process.
struct HubSnapshot {
  std::uint32_t routing_shards = 0;   ///< owned, of events
  std::uint32_t delivery_shards = 0;  ///< owned, of deliveries
  std::uint64_t in_progress = 0;      ///< attempts of owned deliveries
  std::uint64_t ready = 0;            ///< deliveries that are read and wait for their turn
  std::uint64_t endpoints_down = 0;   ///< whose deliveries wait while they are probed
  std::uint64_t requests = 0;         ///< in the hands of the worker
  std::uint64_t findings = 0;
  bool stands_by = false;        ///< another process has the hub, where only one can
  std::uint64_t routed = 0;      ///< events, since the start of this process, as all below
  std::uint64_t unfit = 0;       ///< of them, that do not fit the catalogue of event types
  std::uint64_t deliveries = 0;  ///< made
  std::uint64_t refused = 0;     ///< that the store does not take; the audit log has them
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  ///< attempts
  std::uint64_t dead = 0;
};

/// The endpoint of a subscription, as the owner of its deliveries sees it.
struct EndpointState {
  std::optional<WallTime> down_since{};  ///< null: it is not down
  std::uint32_t under_way = 0;           ///< requests
  std::uint64_t ready = 0;               ///< deliveries that are read and wait for their turn
};

/// A delivery that does not go on because the store refuses what became of it.
struct HubFinding {
  DeliveryId delivery{};
  Code code = Code::unknown_internal;
  std::string text{};
  WallTime since{};
};

/// Publishes events in your transactions, and runs the roles of the hub that this process has. Any
/// number of processes may; on SQLite one of them works, and the others stand by until it ends.
/// Thread-safe.
class Hub {
 public:
  /// Makes the tables, or brings them up to date. CONFIG.INVALID: the store has no hub.
  static Result<Hub> create(Store& store, HubOptions options = {});
  Hub(Hub&&) noexcept;
  Hub& operator=(Hub&&) noexcept;
  /// Stops.
  ~Hub();

  Status start();
  /// Takes on nothing new, gives its shards to others, and waits for requests under way until
  /// `drain_timeout`. TX.TIMEOUT: some have not ended; their jobs are done again by others.
  Status stop();

  /// The events are told when the transaction commits. All of them, or none:
  /// SCHEMA.VALIDATION_FAILED (also of one that does not fit `event_types`) and
  /// TX.IDEMPOTENT_MISMATCH name one that cannot be published.
  Result<std::vector<Published>> publish(Transaction& tx, std::vector<NewEvent> events);
  Result<Published> publish(Transaction& tx, NewEvent event);
  /// In a transaction of its own.
  Result<Published> publish(NewEvent event);

  /// Subscriptions were written: they are read at once, not at the next poll.
  void subscriptions_changed();

  [[nodiscard]] HubSnapshot snapshot() const;
  [[nodiscard]] std::vector<HubFinding> findings(std::size_t rows_max = 100) const;
  /// Null: this process does not own its deliveries, or there were none so far.
  [[nodiscard]] std::optional<EndpointState> endpoint(const SubscriptionId& subscription) const;

 private:
  struct Parts;
  explicit Hub(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sagabox
