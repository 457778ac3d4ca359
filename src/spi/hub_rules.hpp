#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/spi/delivery_store.hpp>
#include <sagabox/spi/event_store.hpp>
#include <sagabox/spi/fencing.hpp>
#include <sagabox/spi/hub_admin_store.hpp>
#include <sagabox/spi/subscription_store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

/// The checks and decisions that all stores of the hub share. Pure.
namespace sagabox::spi {

struct HubBounds {
  static constexpr std::size_t source_length_max = 255;
  static constexpr std::size_t external_id_length_max = 255;
  static constexpr std::size_t name_length_max = 255;
  static constexpr std::size_t target_length_max = 2048;
  static constexpr std::size_t settings_bytes_max = 64UL * 1024;
  static constexpr std::size_t error_bytes_max = 1024;
};

/// An event's shard: by tenant and key, or by its id if it has no key.
Shard event_shard(const HubEvent& event, std::uint16_t shards);
/// A delivery's shard.
Shard delivery_shard(const SubscriptionId& subscription, std::uint16_t shards);

/// Whether this shard is one of those.
bool is_fenced(const Fencing& fencing, Shard shard);

/// Events of the hub itself have this source, and types that begin so.
inline constexpr std::string_view own_source = "hub";
inline constexpr std::string_view own_types = "hub.";
/// SCHEMA.VALIDATION_FAILED for an event that claims to be one of them. Where events come in.
Status check_foreign(const HubEvent& event);

/// SCHEMA.VALIDATION_FAILED for what cannot be stored.
Status check_event(const HubEvent& event);
Status check_subscription(const SubscriptionRecord& record);
/// CONFIG.INVALID for a position in a shard without a fence, and for a shard named twice.
Status check_moves(const Fencing& fencing, std::span<const RoutingPosition> positions);
/// TX.INVALID_STATE for a state that this call does not allow.
Status check_changes(std::span<const DeliveryChange> changes);
Status check_deaths(std::span<const DeliveryChange> changes);

/// TX.IDEMPOTENT_MISMATCH if a repeated event differs from `known`, the stored one.
struct KnownEvent {
  EventId id;
  std::string_view tenant;
  std::string_view source;
  std::string_view external_id;
  std::string_view type;
  Digest digest{};
};
Status check_repeated(const HubEvent& event, const KnownEvent& known);

/// The value of `active_since` after a record with this state replaces `stored` (null: there is
/// none).
std::optional<WallTime> active_since_after(const SubscriptionRecord* stored,
                                           SubscriptionState state, WallTime now);

/// Whether the change is already applied to the stored delivery.
bool is_applied(const DeliveryRecord& stored, const DeliveryChange& change);
/// The delivery after the change.
DeliveryRecord changed(DeliveryRecord stored, const DeliveryChange& change, WallTime now);
/// The next generation of a dead delivery.
DeliveryRecord next_generation(const DeliveryRecord& dead, WallTime now);
/// The result of a requeue. `stored` and `next`, the generation after it, are null if they do not
/// exist.
Requeued requeued(const DeliveryId& id, const DeliveryRecord* stored, const DeliveryRecord* next,
                  const std::optional<std::string>& tenant);
/// CONFIG.INVALID unless there is an audit event for each id, or none.
Status check_requeue(std::span<const DeliveryId> ids, std::span<const AuditEvent> audit);

/// The job after its lease has expired; unchanged if it has not.
JobRecord after_lost_lease(JobRecord job, WallTime now);

/// TX.INVALID_STATE if another secret would exceed the limit of valid secrets.
Status check_new_secret(const SubscriptionId& id, std::size_t live, Duration overlap);

/// REQUEST.NOT_FOUND
Error no_subscription(const SubscriptionId& id);
/// TX.INVALID_STATE for a subscription of another tenant.
Error other_tenant(const SubscriptionId& id);

bool fits(const SubscriptionRecord& record, const SubscriptionFilter& filter);
bool fits(const HubEvent& event, const EventFilter& filter);
bool fits(const DeliveryRecord& delivery, const DeliveryFilter& filter);
/// Checks all conditions except `requeued`, which depends on another row.
bool fits(const DeliveryRecord& delivery, const DeliveryList& request);

/// How long `DeliveryStore::subscriptions` shows disabled ones from the start.
inline constexpr WallTime::duration disabled_kept_for = std::chrono::hours(48);

/// Of these attempts that have ended.
EndpointHealth health_of(std::span<const JobRecord> ended);
inline constexpr double percentile_half = 0.5;
inline constexpr double percentile_most = 0.95;
/// The rank, from 1, of the percentile `part` in `values` ascending values; 0 if there are none.
std::uint64_t percentile_rank(std::uint64_t values, double part);
std::optional<Duration> percentile(std::span<const Duration> ascending, double part);

/// The result with a sanitized error, see `clean_error`, and a truncated answer.
JobResult bounded(JobResult result);

}  // namespace sagabox::spi
