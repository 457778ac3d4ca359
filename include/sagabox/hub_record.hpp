#pragma once

#include <sagabox/error.hpp>
#include <sagabox/id.hpp>
#include <sagabox/message.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the delivery hub stores: events, subscriptions, deliveries, jobs, dead letters. No
/// transaction spans two of these tables; each row says enough for the next role to go on.
namespace sagabox {

using EventId = Id<struct EventTag>;
using SubscriptionId = Id<struct SubscriptionTag>;
using DeliveryId = Id<struct DeliveryTag>;
using LeaseToken = Id<struct LeaseTokenTag>;

/// Something that happened, told once and never changed. The message's topic is the event's type;
/// its tenant, key, payload, headers and trace are the event's.
struct HubEvent {
  /// Unique over all tenants: drawn by whoever takes the event in, never chosen by its author. The
  /// message that a store returns has the same id.
  EventId id;
  std::shared_ptr<const Message> message;
  std::string source{};  ///< who tells it; part of what `external_id` is unique in
  /// The teller's own id: told again by the same source and tenant, it is the same event. Empty:
  /// `id` alone tells events apart.
  std::string external_id{};
  /// Known once it is stored.
  Sequence sequence{};
  Shard shard{};  ///< by tenant and key
  WallTime published_at{};
  /// Null: the message has its payload. In a list it has none, and this is its size.
  std::optional<std::size_t> payload_bytes{};
};

/// What a published event became.
struct Published {
  EventId id;  ///< of a repetition, the first one's
  bool duplicate = false;
};

enum class SubscriptionState : std::uint8_t {
  unverified,  ///< its endpoint has not proved itself yet: it matches nothing
  active,
  paused,    ///< matches, and its deliveries wait
  disabled,  ///< matches nothing; open deliveries die
};
inline constexpr std::size_t subscription_state_count = 4;

/// "unverified", "active", "paused", "disabled".
std::string_view subscription_state_name(SubscriptionState state) noexcept;
std::optional<SubscriptionState> subscription_state_from_name(std::string_view name) noexcept;

/// Who is told of which events, and where. It routes only: decides nothing about attempts.
struct SubscriptionRecord {
  SubscriptionId id;
  std::string tenant{};
  std::string name{};  ///< for people
  SubscriptionState state = SubscriptionState::unverified;
  std::vector<std::string> types{};  ///< patterns of event types: `orders.*.placed.v1`
  std::string target{};              ///< where to, scheme and all
  /// JSON: filter, retries, limits, order, headers, signature (src/delivery/subscription.hpp).
  std::string settings{};
  std::string reason{};  ///< why it is in this state, where somebody or something said so
  /// Events published before are not matched. Null: never active.
  std::optional<WallTime> active_since{};
  /// Rises by one with each write: 1 for a new one.
  std::uint64_t version = 0;
  /// Drawn from one counter under a lock: rises in the order of commits, over all subscriptions.
  std::uint64_t change = 0;
  WallTime created_at{};
  WallTime changed_at{};
};

enum class DeliveryState : std::uint8_t {
  pending,      ///< goes out at `next_attempt_at`
  waiting,      ///< an earlier delivery of its key goes first
  in_progress,  ///< attempt `attempt` is under way, or is about to be
  completed,
  dead,  ///< for ever; a requeue makes another one
};
inline constexpr std::size_t delivery_state_count = 5;

/// "pending", "waiting", "in_progress", "completed", "dead".
std::string_view delivery_state_name(DeliveryState state) noexcept;
std::optional<DeliveryState> delivery_state_from_name(std::string_view name) noexcept;
constexpr bool has_ended(DeliveryState state) noexcept { return state >= DeliveryState::completed; }

/// One event on its way to one subscription. Only the owner of its shard changes it.
struct DeliveryRecord {
  DeliveryId id;  ///< `delivery_id_of` event, subscription and generation
  EventId event;
  SubscriptionId subscription;
  std::uint32_t generation = 0;  ///< 0 by the router; a requeue makes the next
  std::string tenant{};
  std::string type{};  ///< of the event
  std::string key{};   ///< of the event, where the subscription keeps the order of keys; else empty
  Shard shard{};       ///< by the subscription
  Sequence sequence{};  ///< drawn when it was inserted: the order of its key
  DeliveryState state = DeliveryState::pending;
  std::uint32_t attempt = 0;   ///< how many were begun
  std::uint32_t failures = 0;  ///< how many of them count against the retry schedule
  WallTime next_attempt_at{};
  WallTime created_at{};
  std::optional<WallTime> ended_at{};
  std::string correlation_id{};
  /// Of the last attempt that failed.
  std::optional<Code> code{};
  std::string error{};
  int status = 0;  ///< HTTP's; 0: none
};

/// The same for the same three, so that whoever makes it meets the one that is there.
DeliveryId delivery_id_of(const EventId& event, const SubscriptionId& subscription,
                          std::uint32_t generation);

enum class HubJobState : std::uint8_t { pending, leased, completed, failed };
inline constexpr std::size_t hub_job_state_count = 4;

/// "pending", "leased", "completed", "failed".
std::string_view hub_job_state_name(HubJobState state) noexcept;
std::optional<HubJobState> hub_job_state_from_name(std::string_view name) noexcept;
constexpr bool is_active(HubJobState state) noexcept { return state <= HubJobState::leased; }

/// How an attempt ended. Kept with the job: it is the attempt's evidence.
struct JobResult {
  bool completed = false;
  std::optional<Code> code{};             ///< of what failed
  std::string error{};                    ///< bounded; no payload, no secret
  int status = 0;                         ///< HTTP's; 0: no answer
  std::string answer{};                   ///< the first 1,024 bytes of its body; untrusted
  std::optional<Duration> retry_after{};  ///< what the endpoint asked for
  Duration took{};
};
inline constexpr std::size_t job_answer_bytes_max = 1024;
/// A job whose lease has run out so often fails with TX.LEASE_LOST.
inline constexpr std::uint32_t job_resets_max = 3;

/// One attempt of one delivery. The orchestrator makes it, a worker does it and writes its result.
struct JobRecord {
  DeliveryId delivery;
  std::uint32_t attempt = 0;  ///< with `delivery`: unique
  Shard shard{};              ///< the delivery's
  SubscriptionId subscription;
  HubJobState state = HubJobState::pending;
  WallTime attempt_at{};     ///< when it was made
  std::uint32_t resets = 0;  ///< leases of it that ran out
  std::string worker{};
  std::optional<WallTime> lease_until{};
  std::optional<WallTime> ended_at{};
  JobResult result{};
};

/// A delivery that died, with what it would have brought, so that it can be looked at and sent
/// again whatever became of the event.
struct DeadDelivery {
  DeliveryRecord delivery;  ///< `ended_at`: when it died
  HubEvent event;
};

}  // namespace sagabox
