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

/// A request to an endpoint that is no delivery.
struct EndpointProbe {
  enum class Kind : std::uint8_t {
    challenge,  ///< the endpoint has to answer what it was sent: it wants events
    ping,       ///< signed as every event
  };
  Kind kind = Kind::ping;
  SubscriptionRecord subscription{};
  std::vector<spi::SealedSecret> secrets{};  ///< those that sign now, the newest first
};

/// How the endpoint answered.
struct ProbeReport {
  bool passed = false;
  int status = 0;        ///< HTTP's; 0: no answer
  std::string error{};   ///< why it did not pass
  std::string answer{};  ///< the first 1,024 bytes of its body; untrusted
  Duration took{};
};

/// Sends a probe and waits for the answer. An error: it could not be sent.
using ProbeEndpoint = std::function<Result<ProbeReport>(const EndpointProbe& probe)>;

struct HubAdminOptions {
  AdminOptions admin{};
  /// `hub.secret_key`: seals the secrets of endpoints. Empty: subscriptions of HTTP endpoints
  /// cannot be made here.
  std::string secret_key{};
  /// What to do where that is missing, for errors.
  std::string secret_key_cure = "set hub.secret_key";
  /// Empty: this process cannot reach endpoints, so nothing is verified or pinged here.
  ProbeEndpoint probe{};
  /// Whether something can be sent there. Empty: any scheme is taken.
  std::function<Status(std::string_view target)> check_target{};
  /// Whether an event may be published: the catalogue of event types. Empty: every event may.
  std::function<Status(const HubEvent& event)> check_event{};
  /// How an endpoint is doing, if this process knows: `Hub::endpoint`. Empty: it never does.
  std::function<std::optional<EndpointState>(const SubscriptionId& id)> endpoint{};
  /// `hub.subscriptions_max`: of a tenant, those that are disabled aside. Requests that come at
  /// once may make a few more.
  std::uint32_t subscriptions_max = 10'000;
  /// Told after a subscription or its secrets were written: `Hub::subscriptions_changed`.
  std::function<void()> changed{};
  /// Fit for keys; null: the operating system's.
  Random* random = nullptr;
};

// Events.

/// An event as its author tells it.
struct EventOrder {
  std::optional<std::string> tenant{};  ///< null: the one that the caller is bound to, or "default"
  std::string type{};
  std::string key{};
  std::string source{};
  std::string external_id{};  ///< told again by the same source and tenant: the same event
  Payload payload{};
  std::string content_type{};
  Headers headers{};
  std::optional<WallTime> occurred_at{};
  TraceContext trace{};
  /// Never chosen by the event's author; null: a new one.
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
  std::optional<Payload> payload{};  ///< null: it was not asked for
};

struct EventQuery {
  spi::EventFilter filter{};
  std::uint32_t rows_max = 100;  ///< 1 to 1000
  std::string cursor{};          ///< `next` of the page before; empty: from the start
};

struct EventPage {
  std::vector<EventView> rows;  ///< the newest first, without payloads
  std::string next;             ///< the cursor of the next page; empty: there is none
};

// Subscriptions.

/// A subscription that is to be made.
struct SubscriptionOrder {
  std::optional<std::string> tenant{};  ///< as in EventOrder
  std::string name{};
  std::vector<std::string> types{};
  std::string target{};    ///< for callers bound to a tenant an HTTP endpoint
  std::string settings{};  ///< JSON, see docs/hub.md; empty: all as it is by default
  /// False: it is active at once, whatever its endpoint says. Not for callers bound to a tenant.
  bool verify = true;
  /// The same again is the same subscription; null: a new one.
  std::optional<SubscriptionId> id{};
};

/// What is left out stays as it is.
struct SubscriptionChange {
  SubscriptionId id{};
  std::optional<std::string> name{};
  std::optional<std::vector<std::string>> types{};
  /// Another HTTP endpoint of an active or paused subscription proves itself in this call, or
  /// nothing is changed (TX.INVALID_STATE).
  std::optional<std::string> target{};
  std::optional<std::string> settings{};
  bool verify = true;
  /// STORAGE.CONFLICT unless it is the present one; null: whatever it is.
  std::optional<std::uint64_t> version{};
};

/// One secret of a subscription; never the secret itself.
struct SecretView {
  std::uint32_t number = 0;
  WallTime created_at{};
  std::optional<WallTime> expires_at{};  ///< null: it is the present one
};

/// A subscription as operators see it.
struct SubscriptionView {
  /// Parameters of the target and values of headers are *** unless the payload was asked for.
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

/// A secret that was made just now, `whsec_…`: said once, and kept only sealed.
struct NewSecret {
  std::uint32_t number = 0;
  std::string secret{};
  /// The ones before sign until then, too. Null: there is none.
  std::optional<WallTime> overlap_until{};
};

/// What became of the secrets when they were sealed by another key.
struct ResealReport {
  std::uint64_t secrets = 0;   ///< that sign
  std::uint64_t current = 0;   ///< of them, sealed by the first key already
  std::uint64_t resealed = 0;  ///< now, or those that would be
  /// Of them: opened by none of the keys. Rotate the secrets of these subscriptions.
  std::uint64_t unreadable = 0;
  std::vector<SubscriptionId> unreadable_first{};  ///< a few of their subscriptions
};

struct CreatedSubscription {
  SubscriptionView subscription{};
  std::optional<NewSecret> secret{};  ///< null: it was there already, or its target needs none
  bool duplicate = false;             ///< it was there already
};

/// What operators may do to a subscription as a whole.
enum class SubscriptionAct : std::uint8_t {
  pause,
  resume,
  disable,
  enable,  ///< an HTTP endpoint has to prove itself again
};
inline constexpr std::size_t subscription_act_count = 4;
/// "pause", "resume", "disable", "enable".
std::string_view subscription_act_name(SubscriptionAct act) noexcept;

/// What became of a proof.
struct Verified {
  SubscriptionView subscription{};
  std::optional<ProbeReport> report{};  ///< null: it needed none
};

struct SubscriptionHealth {
  SubscriptionId id;
  std::string name{};
  SubscriptionState state = SubscriptionState::active;
  std::string reason{};
  Duration since{};  ///< how far back the attempts are counted
  spi::EndpointHealth attempts{};
  std::uint64_t open = 0;  ///< deliveries: pending, waiting or in progress
  std::uint64_t dead = 0;
  std::optional<WallTime> oldest_open{};
  bool more_open = false;  ///< there are more than were counted
  bool more_dead = false;

  /// Of the attempts; null: there was none.
  [[nodiscard]] std::optional<double> success_rate() const noexcept;
};

// Deliveries.

struct DeliveryQuery {
  spi::DeliveryFilter filter{};
  std::optional<WallTime> ended_from{};
  std::optional<WallTime> ended_to{};  ///< not at this time itself
  /// Whether a later generation of it is there.
  std::optional<bool> requeued{};
  std::uint32_t rows_max = 100;  ///< 1 to 1000
  std::string cursor{};          ///< as in EventQuery
};

struct DeliveryPage {
  std::vector<DeliveryRecord> rows;  ///< the newest first
  std::string next;                  ///< as in EventPage
};

/// One delivery with its attempts.
struct DeliveryView {
  DeliveryRecord delivery{};
  std::string subscription_name{};
  std::string target{};  ///< masked
  /// By number. Answers are left out unless the payload was asked for.
  std::vector<JobRecord> attempts{};
  std::optional<EventView> event{};  ///< null: it is gone
  WallTime seen_at{};                ///< when it was looked at
};

/// Why a delivery has not arrived, or nothing goes out for a subscription.
enum class DeliveryWhy : std::uint8_t {
  completed,
  dead,
  requeued,        ///< dead, and a later generation is there
  nothing_open,    ///< of a subscription: no delivery waits
  attempts_fail,   ///< of a subscription: the last attempt did not succeed
  paused,          ///< its subscription is
  disabled,        ///< its subscription is: it is about to die
  unverified,      ///< its endpoint has not proved itself
  unreadable,      ///< a newer version wrote its subscription
  no_owner,        ///< nobody decides about deliveries
  endpoint_down,   ///< its endpoint is only probed
  over_limit,      ///< its subscription has as many requests under way as it may
  earlier_of_key,  ///< earlier deliveries of its key go first
  retry_due,       ///< failed, and waits for its next attempt
  no_worker,       ///< its attempt is to be made, and no worker has taken it
  sending,         ///< a worker is at it
  result_waits,    ///< the attempt has ended, and its owner has not looked at it yet
  with_owner,      ///< nothing holds it
};
inline constexpr std::size_t delivery_why_count = 18;
/// "earlier_of_key": how JSON spells it.
std::string_view delivery_why_name(DeliveryWhy why) noexcept;
std::optional<DeliveryWhy> delivery_why_from_name(std::string_view name) noexcept;

struct DeliveryReason {
  DeliveryWhy why = DeliveryWhy::with_owner;
  std::string text{};
};

struct DeliveryExplanation {
  std::string state{};  ///< "pending, orders.order.placed.v1 to shop (attempt 3), made 4m08s ago"
  std::vector<DeliveryReason> reasons{};  ///< never empty; what must happen first comes first
  std::string owner{};                    ///< "hub-a, lease 11s left, epoch 42", or "nobody"
  std::string next{};  ///< what an operator can do; empty if it goes on by itself

  /// For a terminal, a line each, without a line's end after the last. Never a payload.
  [[nodiscard]] std::string text() const;
};

/// Dead deliveries that are to be sent again.
struct RequeueOrder {
  std::optional<std::string> tenant{};
  std::optional<SubscriptionId> subscription{};
  std::optional<std::string> type{};
  std::optional<Code> code{};
  std::optional<WallTime> failed_from{};
  std::optional<WallTime> failed_to{};  ///< not at this time itself
  bool dry_run = false;                 ///< only counts
};

struct RequeueReport {
  std::uint64_t matched = 0;
  std::uint64_t requeued = 0;  ///< of them, now
  /// Of them, before: a later generation is there. Counted up to `HubAdmin::requeue_rows_max`.
  std::uint64_t already = 0;
  std::vector<DeliveryRecord> first{};  ///< of those that are not requeued yet, the oldest
};

/// The delivery hub as operators and customers see and steer it, once for the command line and
/// REST. Every act goes to the audit log of the store in the same transaction. Bound to a tenant,
/// it sees and changes nothing of others. Calls block; safe from any thread. The store outlives it.
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

  /// CONFIG.INVALID names the option that is wrong; TX.INVALID_STATE: the store has no hub.
  static Result<HubAdmin> open(Store& store, HubAdminOptions options);

  /// All of them in one transaction, or none. TX.IDEMPOTENT_MISMATCH: one is known with another
  /// payload or type.
  Result<std::vector<Published>> publish(std::span<const EventOrder> orders);
  Result<EventPage> events(const EventQuery& query) const;
  /// Null if it is not there or belongs to another tenant; so for all below.
  Result<std::optional<EventView>> event(const EventId& id,
                                         Admin::PayloadToo payload = Admin::PayloadToo::no) const;

  Result<CreatedSubscription> create(const SubscriptionOrder& order);
  Result<SubscriptionPage> subscriptions(const SubscriptionQuery& query) const;
  Result<std::optional<SubscriptionView>> subscription(
      const SubscriptionId& id, Admin::PayloadToo payload = Admin::PayloadToo::no) const;
  /// REQUEST.NOT_FOUND if it is not there; so for all acts.
  Result<SubscriptionView> change(const SubscriptionChange& change);
  /// No-op if it is in that state already. TX.INVALID_STATE if it cannot be brought there.
  Result<SubscriptionView> act(const SubscriptionId& id, SubscriptionAct act,
                               const std::string& note = {});
  enum class Proof : std::uint8_t {
    challenge,
    none,  ///< the caller answers for the endpoint; not for callers bound to a tenant
  };
  /// Asks the endpoint to prove itself, and makes the subscription active if it does. The report
  /// has the endpoint's answer only if payloads are asked for; so for `ping`.
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
  /// Without those that completed; see spi::HubAdminStore.
  Result<std::vector<spi::DeliveryCount>> count() const;
  Result<std::optional<DeliveryView>> delivery(
      const DeliveryId& id, Admin::PayloadToo payload = Admin::PayloadToo::no) const;
  Result<std::optional<DeliveryExplanation>> explain(const DeliveryId& id) const;
  /// Why nothing goes out for a subscription; its attempts of `health_since_default` count.
  Result<std::optional<DeliveryExplanation>> explain(const SubscriptionId& id) const;
  /// The next generation of dead deliveries, in the order given. TX.INVALID_STATE, and nothing is
  /// requeued, if the subscription of one is disabled: the next generation would die at once.
  Result<std::vector<spi::Requeued>> requeue(std::span<const DeliveryId> ids,
                                             const std::string& note = {});
  /// All that match and have no later generation, the oldest first; refused if they are more than
  /// `requeue_rows_max`, or the subscription of one is disabled.
  Result<RequeueReport> requeue_matching(const RequeueOrder& order, const std::string& note = {});

  /// What is wrong with the hub as a whole, for `sagabox doctor`. Not for callers bound to a
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
  /// TX.INVALID_STATE: the tenant has as many as it may have.
  [[nodiscard]] Status check_room(const std::string& tenant) const;
  Result<SubscriptionRecord> write(SubscriptionRecord record, AuditKind kind,
                                   const std::string& detail);
  Result<SubscriptionRecord> activate(const SubscriptionRecord& record, AuditKind kind,
                                      const std::string& detail);
  /// Whether its endpoint, which is not stored yet, proves itself.
  [[nodiscard]] Status proved(const SubscriptionRecord& changed) const;
  Result<NewSecret> add_secret(const SubscriptionRecord& record, Duration overlap, AuditKind kind);
  Result<CreatedSubscription> created_before(const SubscriptionRecord& wanted, bool verify);
  Result<std::vector<SecretView>> secrets_of(const SubscriptionId& id) const;
  Result<ProbeReport> send_probe(EndpointProbe::Kind kind, const SubscriptionRecord& record,
                                 Admin::PayloadToo payload) const;
  /// The newest first; at most a page more than `requeue_rows_max`.
  Result<std::vector<DeliveryRecord>> matching(const RequeueOrder& order, bool requeued) const;
  /// TX.INVALID_STATE names the first of them whose subscription is disabled.
  [[nodiscard]] Status check_enabled(std::span<const DeliveryRecord> dead) const;
  /// `audit`: one event an id.
  Result<std::vector<spi::Requeued>> send_again(std::span<const DeliveryId> ids,
                                                std::span<const AuditEvent> audit);
  Result<std::optional<EventView>> event_of(const DeliveryRecord& delivery,
                                            Admin::PayloadToo payload) const;
  void tell(const AuditEvent& event) const noexcept;
  /// Whoever delivers reads the subscriptions again.
  void wake_deliveries() const;

  Store* store_;
  HubRoles hub_;
  HubAdminOptions options_;
  std::shared_ptr<const delivery::SecretBox> box_;
};

}  // namespace sagabox
