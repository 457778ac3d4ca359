#pragma once

#include <sagabox/admin.hpp>
#include <sagabox/hub.hpp>
#include <sagabox/hub_record.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox {

namespace delivery {
class SecretBox;
}

/// A request to an endpoint that is not a delivery.
struct EndpointProbe {
  enum class Kind : std::uint8_t {
    challenge,  ///< the endpoint must return the challenge to show that it accepts events
    ping,       ///< signed like an event
  };
  Kind kind = Kind::ping;
  SubscriptionRecord subscription{};
  std::vector<spi::SealedSecret> secrets{};  ///< the present signing secrets, newest first
};

/// The endpoint's answer.
struct ProbeReport {
  bool passed = false;
  int status = 0;        ///< HTTP status; 0: no answer
  std::string error{};   ///< why it did not pass
  std::string answer{};  ///< the first 1,024 bytes of its body; untrusted
  Duration took{};
};

/// Sends a probe and waits for the answer. Returns an error if it could not be sent.
using ProbeEndpoint = std::function<Result<ProbeReport>(const EndpointProbe& probe)>;

struct HubAdminOptions {
  AdminOptions admin{};
  /// `hub.secret_key`: seals the secrets of endpoints. Empty: subscriptions of HTTP endpoints
  /// cannot be created here.
  std::string secret_key{};
  /// The advice that errors give if the key is missing.
  std::string secret_key_cure = "set hub.secret_key";
  /// Empty: this process cannot reach endpoints, so nothing is verified or pinged here.
  ProbeEndpoint probe{};
  /// Checks whether a target can be sent to. Empty: every scheme is accepted.
  std::function<Status(std::string_view target)> check_target{};
  /// Checks whether an event may be published: the catalogue of event types. Empty: every event
  /// may.
  std::function<Status(const HubEvent& event)> check_event{};
  /// Returns the state of an endpoint if this process knows it: `Hub::endpoint`. Empty: never
  /// known.
  std::function<std::optional<EndpointState>(const SubscriptionId& id)> endpoint{};
  /// `hub.subscriptions_max`: the most subscriptions of a tenant, not counting disabled ones.
  /// Concurrent requests may exceed it slightly.
  std::uint32_t subscriptions_max = 10'000;
  /// Called after a subscription or its secrets were written: `Hub::subscriptions_changed`.
  std::function<void()> changed{};
  /// Must be cryptographically secure; null: the operating system's generator.
  Random* random = nullptr;
};

// Events.

/// An event as its publisher gives it.
struct EventOrder {
  std::optional<std::string>
      tenant{};  ///< nullopt: the tenant that the caller is bound to, or "default"
  std::string type{};
  std::string key{};
  std::string source{};
  std::string external_id{};  ///< the same id of a source and tenant is the same event
  Payload payload{};
  std::string content_type{};
  Headers headers{};
  std::optional<WallTime> occurred_at{};
  TraceContext trace{};
  /// Never chosen by the event's publisher; nullopt: a new one.
  std::optional<EventId> id{};
};

/// An event as operators see it.
struct EventView {
  EventId id;
  std::string tenant{};
  std::string type{};
  std::string key{};
  std::string source{};
  std::string external_id{};
  Sequence sequence{};
  WallTime published_at{};
  std::optional<WallTime> occurred_at{};
  std::string content_type{};
  std::string correlation_id{};
  Digest digest{};
  std::size_t payload_bytes = 0;
  Headers headers{};                 ///< with the payload
  std::optional<Payload> payload{};  ///< nullopt: not requested
};

struct EventQuery {
  spi::EventFilter filter{};
  std::uint32_t rows_max = 100;  ///< 1 to 1000
  std::string cursor{};          ///< `next` of the previous page; empty: from the start
};

struct EventPage {
  std::vector<EventView> rows;  ///< newest first, without payloads
  std::string next;             ///< the cursor of the next page; empty after the last page
};

// Subscriptions.

/// A subscription to create.
struct SubscriptionOrder {
  std::optional<std::string> tenant{};  ///< as in EventOrder
  std::string name{};
  std::vector<std::string> types{};
  std::string target{};    ///< must be an HTTP endpoint if the caller is bound to a tenant
  std::string settings{};  ///< JSON, see docs/hub.md; empty: all defaults
  /// False: it is active at once, without a check of its endpoint. Not allowed for callers bound to
  /// a tenant.
  bool verify = true;
  /// A repeated request with the same id returns the same subscription; nullopt: a new one.
  std::optional<SubscriptionId> id{};
};

/// Changes to a subscription. Fields that are not set stay unchanged.
struct SubscriptionChange {
  SubscriptionId id{};
  std::optional<std::string> name{};
  std::optional<std::vector<std::string>> types{};
  /// A new HTTP endpoint of an active or paused subscription is verified in this call; if that
  /// fails, nothing is changed (TX.INVALID_STATE).
  std::optional<std::string> target{};
  std::optional<std::string> settings{};
  bool verify = true;
  /// The expected present version, else STORAGE.CONFLICT; nullopt: any version.
  std::optional<std::uint64_t> version{};
};

/// Describes one secret of a subscription; never contains the secret itself.
struct SecretView {
  std::uint32_t number = 0;
  WallTime created_at{};
  std::optional<WallTime> expires_at{};  ///< nullopt: it is the present one
};

/// A subscription as operators see it.
struct SubscriptionView {
  /// Parameters of the target and values of headers are *** unless the payload was requested.
  SubscriptionRecord record{};
  std::string problem{};              ///< why its deliveries wait although it is active
  std::vector<SecretView> secrets{};  ///< empty in a list
};

struct SubscriptionQuery {
  spi::SubscriptionFilter filter{};
  std::uint32_t rows_max = 100;  ///< 1 to 1000
  std::string cursor{};          ///< as in EventQuery
};

struct SubscriptionPage {
  std::vector<SubscriptionView> rows;  ///< by id
  std::string next;                    ///< as in EventPage
};

/// A new secret, `whsec_…`. It is returned only once; the store keeps it sealed.
struct NewSecret {
  std::uint32_t number = 0;
  std::string secret{};
  /// Earlier secrets also sign until this time. nullopt: there are none.
  std::optional<WallTime> overlap_until{};
};

/// The result of sealing all secrets by another key.
struct ResealReport {
  std::uint64_t secrets = 0;   ///< that sign
  std::uint64_t current = 0;   ///< of them, sealed by the first key already
  std::uint64_t resealed = 0;  ///< now, or those that would be
  /// Secrets that none of the keys opens. Rotate the secrets of these subscriptions.
  std::uint64_t unreadable = 0;
  std::vector<SubscriptionId> unreadable_first{};  ///< a few of their subscriptions

  /// False if secrets were changed meanwhile or cannot be opened: another key is still needed.
  [[nodiscard]] bool complete() const noexcept { return current + resealed == secrets; }
};

struct CreatedSubscription {
  SubscriptionView subscription{};
  std::optional<NewSecret> secret{};  ///< nullopt: it existed already, or its target needs none
  bool duplicate = false;             ///< it existed already
};

/// An act of an operator on a subscription as a whole.
enum class SubscriptionAct : std::uint8_t {
  pause,
  resume,
  disable,
  enable,  ///< an HTTP endpoint has to be verified again
};
inline constexpr std::size_t subscription_act_count = 4;
/// "pause", "resume", "disable", "enable".
std::string_view subscription_act_name(SubscriptionAct act) noexcept;

/// The result of a verification.
struct Verified {
  SubscriptionView subscription{};
  std::optional<ProbeReport> report{};  ///< nullopt: no probe was needed
};

struct SubscriptionHealth {
  SubscriptionId id;
  std::string name{};
  SubscriptionState state = SubscriptionState::active;
  std::string reason{};
  Duration since{};  ///< the period in which attempts are counted
  spi::EndpointHealth attempts{};
  std::uint64_t open = 0;  ///< deliveries: pending, waiting or in progress
  std::uint64_t dead = 0;
  std::optional<WallTime> oldest_open{};
  bool more_open = false;  ///< there are more than were counted
  bool more_dead = false;

  /// The share of successful attempts; nullopt if there were none.
  [[nodiscard]] std::optional<double> success_rate() const noexcept;
};

// Deliveries.

struct DeliveryQuery {
  spi::DeliveryFilter filter{};
  std::optional<WallTime> ended_from{};
  std::optional<WallTime> ended_to{};  ///< exclusive
  /// Whether it was requeued: a later generation of it exists.
  std::optional<bool> requeued{};
  std::uint32_t rows_max = 100;  ///< 1 to 1000
  std::string cursor{};          ///< as in EventQuery
};

struct DeliveryPage {
  std::vector<DeliveryRecord> rows;  ///< newest first
  std::string next;                  ///< as in EventPage
};

/// One delivery with its attempts.
struct DeliveryView {
  DeliveryRecord delivery{};
  std::string subscription_name{};
  std::string target{};  ///< masked
  /// Ordered by number. Answers are left out unless the payload was requested.
  std::vector<JobRecord> attempts{};
  std::optional<EventView> event{};  ///< nullopt: it was removed
  WallTime seen_at{};                ///< when it was read
};

/// The reason why a delivery has not arrived, or why nothing is sent for a subscription.
enum class DeliveryWhy : std::uint8_t {
  completed,
  dead,
  requeued,        ///< dead, and a later generation exists
  nothing_open,    ///< of a subscription: no delivery waits
  attempts_fail,   ///< of a subscription: the last attempt did not succeed
  paused,          ///< its subscription is paused
  disabled,        ///< its subscription is disabled: the delivery will become dead
  unverified,      ///< its endpoint is not verified
  unreadable,      ///< a newer version wrote its subscription
  no_owner,        ///< no orchestrator owns its shard
  endpoint_down,   ///< its endpoint is down and only probed
  over_limit,      ///< its subscription has as many requests under way as allowed
  earlier_of_key,  ///< waits for earlier deliveries of its key
  retry_due,       ///< an attempt failed, and it waits for the next one
  no_worker,       ///< its attempt is ready, and no worker has leased it
  sending,         ///< a worker makes the attempt
  result_waits,    ///< the attempt has ended, and its owner has not read the result yet
  with_owner,      ///< nothing delays it
};
inline constexpr std::size_t delivery_why_count = 18;
/// The name used in JSON: "earlier_of_key".
std::string_view delivery_why_name(DeliveryWhy why) noexcept;
std::optional<DeliveryWhy> delivery_why_from_name(std::string_view name) noexcept;

struct DeliveryReason {
  DeliveryWhy why = DeliveryWhy::with_owner;
  std::string text{};
};

struct DeliveryExplanation {
  std::string state{};  ///< "pending, orders.order.placed.v1 to shop (attempt 3), made 4m08s ago"
  std::vector<DeliveryReason> reasons{};  ///< never empty; the reason to resolve first comes first
  std::string owner{};                    ///< "hub-a, lease 11s left, epoch 42", or "nobody"
  std::string next{};                     ///< what an operator can do; empty if no action is needed

  /// Text for a terminal, one item per line, without a newline at the end. Never contains a
  /// payload.
  [[nodiscard]] std::string text() const;
};

/// Dead deliveries to send again.
struct RequeueOrder {
  std::optional<std::string> tenant{};
  std::optional<SubscriptionId> subscription{};
  std::optional<std::string> type{};
  std::optional<Code> code{};
  std::optional<WallTime> failed_from{};
  std::optional<WallTime> failed_to{};  ///< exclusive
  bool dry_run = false;                 ///< only counts
};

struct RequeueReport {
  std::uint64_t matched = 0;
  std::uint64_t requeued = 0;  ///< by this call
  /// Those requeued before: a later generation exists. Counted up to `HubAdmin::requeue_rows_max`.
  std::uint64_t already = 0;
  std::vector<DeliveryRecord> first{};  ///< the oldest ones that were not requeued before
};

/// Queries and acts for operators and customers of the delivery hub, shared by the command line and
/// REST. Every act is written to the audit log of the store in the same transaction. If bound to a
/// tenant, it neither shows nor changes anything of other tenants. Calls block; safe from any
/// thread. The store outlives it.
class HubAdmin {
 public:
  static constexpr std::uint32_t rows_max = Admin::page_rows_max;
  static constexpr std::size_t ids_max = Admin::ids_max;
  static constexpr std::size_t events_max = 1000;  ///< of one call
  static constexpr std::size_t requeue_rows_max = 10'000;
  static constexpr Duration overlap_default = std::chrono::hours(24);
  static constexpr Duration overlap_max = std::chrono::hours(24 * 30);
  static constexpr Duration health_since_default = std::chrono::hours(24);
  static constexpr Duration health_since_max = std::chrono::hours(24 * 90);
  /// Attempts that `health` looks at, the newest; and deliveries that are counted of each state.
  static constexpr std::uint32_t health_rows_max = 10'000;
  /// Of each subscription and state, by `count`.
  static constexpr std::uint64_t count_rows_max = 10'000;

  /// CONFIG.INVALID names the option that is wrong; TX.INVALID_STATE if the store has no hub.
  static Result<HubAdmin> open(Store& store, HubAdminOptions options);

  /// Publishes all in one transaction, or none. TX.IDEMPOTENT_MISMATCH: an event with the same id
  /// exists with another payload or type.
  Result<std::vector<Published>> publish(std::span<const EventOrder> orders);
  Result<EventPage> events(const EventQuery& query) const;
  /// nullopt if it does not exist or belongs to another tenant; the same holds for all queries
  /// below.
  Result<std::optional<EventView>> event(const EventId& id,
                                         Admin::PayloadToo payload = Admin::PayloadToo::no) const;

  Result<CreatedSubscription> create(const SubscriptionOrder& order);
  Result<SubscriptionPage> subscriptions(const SubscriptionQuery& query) const;
  Result<std::optional<SubscriptionView>> subscription(
      const SubscriptionId& id, Admin::PayloadToo payload = Admin::PayloadToo::no) const;
  /// REQUEST.NOT_FOUND if it does not exist; the same holds for all acts.
  Result<SubscriptionView> change(const SubscriptionChange& change);
  /// No-op if it is in that state already. TX.INVALID_STATE if the change is not allowed.
  Result<SubscriptionView> act(const SubscriptionId& id, SubscriptionAct act,
                               const std::string& note = {});
  enum class Proof : std::uint8_t {
    challenge,
    none,  ///< the caller vouches for the endpoint; not for callers bound to a tenant
  };
  /// Sends the endpoint a challenge, and makes the subscription active if it passes. The report
  /// contains the endpoint's answer only if payloads are requested; the same holds for `ping`.
  Result<Verified> verify(const SubscriptionId& id, Proof proof = Proof::challenge,
                          Admin::PayloadToo payload = Admin::PayloadToo::no);
  Result<ProbeReport> ping(const SubscriptionId& id,
                           Admin::PayloadToo payload = Admin::PayloadToo::no);
  Result<NewSecret> rotate_secret(const SubscriptionId& id, Duration overlap = overlap_default);
  /// Seals every secret that signs, and is not sealed by the first key, by it, so that the other
  /// keys can go. May be stopped and said again. Not for callers bound to a tenant.
  /// TX.INVALID_STATE: there is no key. `progress` is told after each page.
  Result<ResealReport> reseal(bool dry_run,
                              const std::function<void(const ResealReport&)>& progress = {});
  Result<std::optional<SubscriptionHealth>> health(const SubscriptionId& id,
                                                   Duration since = health_since_default) const;

  Result<DeliveryPage> deliveries(const DeliveryQuery& query) const;
  /// Completed deliveries are not counted; see spi::HubAdminStore.
  Result<std::vector<spi::DeliveryCount>> count() const;
  Result<std::optional<DeliveryView>> delivery(
      const DeliveryId& id, Admin::PayloadToo payload = Admin::PayloadToo::no) const;
  Result<std::optional<DeliveryExplanation>> explain(const DeliveryId& id) const;
  /// Explains why nothing is sent for a subscription. Its attempts within `health_since_default`
  /// are considered.
  Result<std::optional<DeliveryExplanation>> explain(const SubscriptionId& id) const;
  /// Creates the next generation of dead deliveries, in the order given. TX.INVALID_STATE, and
  /// nothing is requeued, if the subscription of one is disabled: the next generation would become
  /// dead at once.
  Result<std::vector<spi::Requeued>> requeue(std::span<const DeliveryId> ids,
                                             const std::string& note = {});
  /// Requeues all matching deliveries without a later generation, oldest first. Refused if there
  /// are more than `requeue_rows_max`, or if the subscription of one is disabled.
  Result<RequeueReport> requeue_matching(const RequeueOrder& order, const std::string& note = {});

  /// Lists what is wrong with the hub as a whole, for `sagabox doctor`. Not for callers bound to a
  /// tenant.
  Result<std::vector<spi::Finding>> findings() const;

 private:
  HubAdmin(Store& store, HubRoles hub, HubAdminOptions options,
           std::shared_ptr<const delivery::SecretBox> box)
      : store_(&store), hub_(hub), options_(std::move(options)), box_(std::move(box)) {}

  Result<std::optional<SubscriptionRecord>> stored(const SubscriptionId& id) const;
  Result<SubscriptionRecord> existing(const SubscriptionId& id) const;
  Result<std::optional<DeliveryRecord>> stored_delivery(const DeliveryId& id) const;
  Status check(const SubscriptionRecord& record, bool verify) const;
  /// TX.INVALID_STATE if the tenant has the maximum number of subscriptions.
  [[nodiscard]] Status check_room(const std::string& tenant) const;
  Result<SubscriptionRecord> write(SubscriptionRecord record, AuditKind kind,
                                   const std::string& detail);
  Result<SubscriptionRecord> activate(const SubscriptionRecord& record, AuditKind kind,
                                      const std::string& detail);
  /// Verifies the endpoint of a change that is not stored yet.
  [[nodiscard]] Status proved(const SubscriptionRecord& changed) const;
  Result<NewSecret> add_secret(const SubscriptionRecord& record, Duration overlap, AuditKind kind);
  Result<CreatedSubscription> created_before(const SubscriptionRecord& wanted, bool verify);
  Result<std::vector<SecretView>> secrets_of(const SubscriptionId& id) const;
  Result<ProbeReport> send_probe(EndpointProbe::Kind kind, const SubscriptionRecord& record,
                                 Admin::PayloadToo payload) const;
  /// Newest first; at most one page more than `requeue_rows_max`.
  Result<std::vector<DeliveryRecord>> matching(const RequeueOrder& order, bool requeued) const;
  /// TX.INVALID_STATE names the first delivery whose subscription is disabled.
  [[nodiscard]] Status check_enabled(std::span<const DeliveryRecord> dead) const;
  /// `audit`: one event for each id.
  Result<std::vector<spi::Requeued>> send_again(std::span<const DeliveryId> ids,
                                                std::span<const AuditEvent> audit);
  Result<std::optional<EventView>> event_of(const DeliveryRecord& delivery,
                                            Admin::PayloadToo payload) const;
  void tell(const AuditEvent& event) const noexcept;
  /// Makes the delivering processes read the subscriptions again.
  void wake_deliveries() const;

  Store* store_;
  HubRoles hub_;
  HubAdminOptions options_;
  std::shared_ptr<const delivery::SecretBox> box_;
};

}  // namespace sagabox
