#include "spi/hub_rules.hpp"

#include "core/error_text.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

namespace sagabox::spi {
namespace {

Error refused_field(std::string_view field, std::string_view problem) {
  return {Code::schema_validation_failed, std::string(field) + ": " + std::string(problem)};
}

/// Like `name_problem`, for a text that may be empty.
std::string optional_name_problem(std::string_view text, std::size_t length_max) {
  return text.empty() ? std::string() : name_problem(text, length_max);
}

Error wrong_state(const DeliveryChange& change, std::string_view allowed) {
  return {Code::tx_invalid_state, "delivery " + change.of.delivery.str() + " cannot become " +
                                      std::string(delivery_state_name(change.state)) + " here; " +
                                      std::string(allowed)};
}

}  // namespace

Shard event_shard(const HubEvent& event, std::uint16_t shards) {
  const auto& message = *event.message;
  const auto hash = message.has_key() ? message.key_hash() : stable_hash(event.id.view());
  return Shard{static_cast<std::uint16_t>(hash % shards)};
}

Shard delivery_shard(const SubscriptionId& subscription, std::uint16_t shards) {
  return Shard{static_cast<std::uint16_t>(stable_hash(subscription.view()) % shards)};
}

bool is_fenced(const Fencing& fencing, Shard shard) {
  return std::ranges::any_of(fencing.fences,
                             [&](const Fence& fence) { return fence.shard == shard; });
}

Status check_foreign(const HubEvent& event) {
  if (event.source == own_source) {
    return refused_field("source", "\"hub\" is the hub itself; name who publishes the event");
  }
  if (event.message && event.message->topic().starts_with(own_types)) {
    return refused_field("type",
                         "types that begin with \"hub.\" are of the hub itself; choose another");
  }
  return {};
}

Status check_event(const HubEvent& event) {
  if (event.id.empty()) return refused_field("id", "an event needs an id; draw a new one");
  if (!event.message) return refused_field("message", "an event needs a message");
  if (event.message->not_before()) {
    return refused_field("not_before", "an event has happened; it cannot be delayed");
  }
  if (auto problem = optional_name_problem(event.source, HubBounds::source_length_max);
      !problem.empty()) {
    return refused_field("source", problem);
  }
  if (auto problem = optional_name_problem(event.external_id, HubBounds::external_id_length_max);
      !problem.empty()) {
    return refused_field("external_id", problem);
  }
  // Its own have both.
  const bool is_own = event.source == own_source && event.message->topic().starts_with(own_types);
  return is_own ? Status() : check_foreign(event);
}

Status check_subscription(const SubscriptionRecord& record) {
  if (record.id.empty()) return refused_field("id", "a subscription needs an id; draw a new one");
  if (auto problem = name_problem(record.tenant, MessageRules::tenant_length_max);
      !problem.empty()) {
    return refused_field("tenant", problem);
  }
  if (auto problem = optional_name_problem(record.name, HubBounds::name_length_max);
      !problem.empty()) {
    return refused_field("name", problem);
  }
  if (auto problem = name_problem(record.target, HubBounds::target_length_max); !problem.empty()) {
    return refused_field("target", problem);
  }
  if (record.types.empty()) return refused_field("types", "is empty");
  for (const auto& type : record.types) {
    if (auto problem = name_problem(type, MessageRules::topic_length_max); !problem.empty()) {
      return refused_field("types", problem);
    }
  }
  if (record.settings.size() > HubBounds::settings_bytes_max) {
    return refused_field("settings", std::to_string(record.settings.size()) +
                                         " bytes, the limit is " +
                                         std::to_string(HubBounds::settings_bytes_max));
  }
  if (!record.settings.empty()) {
    if (auto problem = json_problem(record.settings); !problem.empty()) {
      return refused_field("settings", problem);
    }
  }
  if (auto problem = optional_name_problem(record.reason, HubBounds::error_bytes_max);
      !problem.empty()) {
    return refused_field("reason", problem);
  }
  if (record.version == 0) {
    return Error{Code::tx_invalid_state,
                 "subscription " + record.id.str() + " has version 0; a new one has 1"};
  }
  return {};
}

Status check_moves(const Fencing& fencing, std::span<const RoutingPosition> positions) {
  std::set<Shard> seen;
  for (const auto& move : positions) {
    const bool fenced = std::ranges::any_of(
        fencing.fences, [&](const Fence& fence) { return fence.shard == move.shard; });
    const auto shard = "shard " + std::to_string(move.shard.value);
    if (!fenced) return Error{Code::config_invalid, shard + " has no fence in this call"};
    if (!seen.insert(move.shard).second) {
      return Error{Code::config_invalid, shard + " is named twice in this call"};
    }
  }
  return {};
}

Status check_changes(std::span<const DeliveryChange> changes) {
  for (const auto& change : changes) {
    if (change.state == DeliveryState::waiting || change.state == DeliveryState::in_progress) {
      return wrong_state(change, "an attempt ends as completed, pending or dead");
    }
  }
  return {};
}

Status check_deaths(std::span<const DeliveryChange> changes) {
  for (const auto& change : changes) {
    if (change.state != DeliveryState::dead) {
      return wrong_state(change, "what was not sent can only die");
    }
  }
  return {};
}

Status check_repeated(const HubEvent& event, const KnownEvent& known) {
  const auto& message = *event.message;
  const bool same = message.tenant() == known.tenant && event.source == known.source &&
                    event.external_id == known.external_id && message.topic() == known.type &&
                    message.digest() == known.digest;
  if (same) return {};
  const auto what = event.external_id.empty() ? "id " + quoted(event.id.str())
                                              : "external id " + quoted(event.external_id) +
                                                    " of source " + quoted(event.source);
  return Error{Code::tx_idempotent_mismatch,
               "an event with " + what +
                   " was published with another type or payload; another event needs another id"};
}

std::optional<WallTime> active_since_after(const SubscriptionRecord* stored,
                                           SubscriptionState state, WallTime now) {
  const auto before = stored == nullptr ? std::nullopt : stored->active_since;
  if (state != SubscriptionState::active) return before;
  const bool matched =
      stored != nullptr && before &&
      (stored->state == SubscriptionState::active || stored->state == SubscriptionState::paused);
  return matched ? before : now;
}

bool is_applied(const DeliveryRecord& stored, const DeliveryChange& change) {
  if (stored.attempt != change.of.attempt) return false;
  // A pending delivery may have become waiting since, behind an earlier one of its key.
  return stored.state == change.state ||
         (change.state == DeliveryState::pending && stored.state == DeliveryState::waiting);
}

DeliveryRecord changed(DeliveryRecord stored, const DeliveryChange& change, WallTime now) {
  stored.state = change.state;
  stored.failures = change.failures;
  const bool completed = change.state == DeliveryState::completed;
  stored.code = completed ? std::nullopt : change.code;
  stored.error = completed ? "" : clean_error(change.error, HubBounds::error_bytes_max);
  stored.status = change.status;
  if (has_ended(change.state)) {
    stored.ended_at = now;
  } else {
    stored.next_attempt_at = change.next_attempt_at;
  }
  return stored;
}

DeliveryRecord next_generation(const DeliveryRecord& dead, WallTime now) {
  const auto generation = dead.generation + 1;
  return {.id = delivery_id_of(dead.event, dead.subscription, generation),
          .event = dead.event,
          .subscription = dead.subscription,
          .generation = generation,
          .tenant = dead.tenant,
          .type = dead.type,
          .key = dead.key,
          .shard = dead.shard,
          .next_attempt_at = now,
          .created_at = now,
          .correlation_id = dead.correlation_id};
}

Requeued requeued(const DeliveryId& id, const DeliveryRecord* stored, const DeliveryRecord* next,
                  const std::optional<std::string>& tenant) {
  using Outcome = Requeued::Outcome;
  const bool is_theirs = stored != nullptr && (!tenant || stored->tenant == *tenant);
  if (!is_theirs || stored->state != DeliveryState::dead) {
    return {.from = id, .outcome = Outcome::not_dead};
  }
  // If the next generation is dead too, it must be requeued instead.
  if (next != nullptr && next->state == DeliveryState::dead) {
    return {.from = id, .outcome = Outcome::not_newest};
  }
  return {.from = id,
          .outcome = next == nullptr ? Outcome::made : Outcome::repeated,
          .made = delivery_id_of(stored->event, stored->subscription, stored->generation + 1)};
}

Status check_requeue(std::span<const DeliveryId> ids, std::span<const AuditEvent> audit) {
  if (audit.empty() || audit.size() == ids.size()) return {};
  return Error{Code::config_invalid, "give one audit event for each delivery, or none"};
}

JobRecord after_lost_lease(JobRecord job, WallTime now) {
  if (job.state != HubJobState::leased || !job.lease_until || *job.lease_until > now) return job;
  ++job.resets;
  job.lease_until.reset();
  if (job.resets < job_resets_max) {
    job.state = HubJobState::pending;
    job.worker.clear();
    return job;
  }
  job.state = HubJobState::failed;
  job.ended_at = now;
  job.result = {};
  job.result.code = Code::tx_lease_lost;
  job.result.error = "its workers were lost " + std::to_string(job.resets) + " times";
  return job;
}

Status check_new_secret(const SubscriptionId& id, std::size_t live, Duration overlap) {
  // Without an overlap, earlier secrets expire now.
  if (live < live_secrets_max || overlap <= Duration{}) return {};
  return Error{Code::tx_invalid_state,
               "requests of subscription " + id.str() + " are signed with " + std::to_string(live) +
                   " secrets already, and " + std::to_string(live_secrets_max) +
                   " is the most; wait until one expires, or give an overlap of 0, which ends "
                   "them all"};
}

Error no_subscription(const SubscriptionId& id) {
  return {Code::request_not_found, "there is no subscription " + quoted(id.str())};
}

Error other_tenant(const SubscriptionId& id) {
  return {Code::tx_invalid_state,
          "subscription " + id.str() + " belongs to another tenant, which never changes"};
}

bool fits(const SubscriptionRecord& record, const SubscriptionFilter& filter) {
  if (filter.tenant && record.tenant != *filter.tenant) return false;
  if (filter.state && record.state != *filter.state) return false;
  return !filter.name || record.name == *filter.name;
}

bool fits(const HubEvent& event, const EventFilter& filter) {
  const auto& message = *event.message;
  if (filter.tenant && message.tenant() != *filter.tenant) return false;
  if (filter.type && message.topic() != *filter.type) return false;
  if (filter.key && message.key() != *filter.key) return false;
  if (filter.source && event.source != *filter.source) return false;
  if (filter.external_id && event.external_id != *filter.external_id) return false;
  if (filter.from && event.published_at < *filter.from) return false;
  return !filter.to || event.published_at < *filter.to;
}

bool fits(const DeliveryRecord& delivery, const DeliveryFilter& filter) {
  if (filter.tenant && delivery.tenant != *filter.tenant) return false;
  if (filter.subscription && delivery.subscription != *filter.subscription) return false;
  if (filter.event && delivery.event != *filter.event) return false;
  if (filter.state && delivery.state != *filter.state) return false;
  if (filter.type && delivery.type != *filter.type) return false;
  if (filter.code && delivery.code != *filter.code) return false;
  if (filter.from && delivery.created_at < *filter.from) return false;
  return !filter.to || delivery.created_at < *filter.to;
}

bool fits(const DeliveryRecord& delivery, const DeliveryList& request) {
  if (request.before && delivery.sequence >= *request.before) return false;
  if (!fits(delivery, request.filter)) return false;
  if (!request.ended_from && !request.ended_to) return true;
  if (!delivery.ended_at) return false;
  if (request.ended_from && *delivery.ended_at < *request.ended_from) return false;
  return !request.ended_to || *delivery.ended_at < *request.ended_to;
}

EndpointHealth health_of(std::span<const JobRecord> ended) {
  EndpointHealth health;
  std::vector<Duration> times;
  for (const auto& job : ended) {
    const auto& result = job.result;
    auto& last = result.completed ? health.last_completed_at : health.last_failed_at;
    ++(result.completed ? health.completed : health.failed);
    if (!last || *job.ended_at >= *last) {
      last = job.ended_at;
      if (!result.completed) health.last_error = result.error;
    }
    if (result.completed || result.status != 0) times.push_back(result.took);
  }
  std::ranges::sort(times);
  health.p50 = percentile(times, percentile_half);
  health.p95 = percentile(times, percentile_most);
  return health;
}

std::uint64_t percentile_rank(std::uint64_t values, double part) {
  if (values == 0) return 0;
  const auto rank = std::ceil(part * static_cast<double>(values));
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(rank), 1);
}

std::optional<Duration> percentile(std::span<const Duration> ascending, double part) {
  const auto rank = percentile_rank(ascending.size(), part);
  return rank == 0 ? std::nullopt : std::optional(ascending[rank - 1]);
}

JobResult bounded(JobResult result) {
  result.error = clean_error(result.error, HubBounds::error_bytes_max);
  if (result.answer.size() > job_answer_bytes_max) result.answer.resize(job_answer_bytes_max);
  return result;
}

}  // namespace sagabox::spi
