#include "spi/hub_rules.hpp"
#include "stores/memory/database.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace sagabox::memory {
namespace {

/// Rows with these times, the oldest first, at most so many.
template <class Key>
std::vector<Key> oldest(std::vector<std::pair<WallTime, Key>> rows, std::uint32_t rows_max) {
  std::ranges::sort(rows);
  if (rows.size() > rows_max) rows.erase(rows.begin() + rows_max, rows.end());
  std::vector<Key> keys;
  for (auto& [at, key] : rows) keys.push_back(std::move(key));
  return keys;
}

/// Attempts of a subscription that ended since then, the newest first.
std::vector<JobRecord> ended_of(const HubRows& hub, const SubscriptionId& id, WallTime from) {
  std::vector<JobRecord> ended;
  for (const auto& [of, job] : hub.jobs) {
    const auto& record = job.record;
    if (record.subscription == id && record.ended_at && *record.ended_at >= from) {
      ended.push_back(record);
    }
  }
  std::ranges::stable_sort(ended, std::ranges::greater{}, &JobRecord::ended_at);
  return ended;
}

bool has_jobs(const HubRows& hub, const DeliveryId& id) {
  const auto first = hub.jobs.lower_bound({id, 0});
  return first != hub.jobs.end() && first->first.delivery == id;
}

const DeliveryRecord* generation_of(const HubRows& hub, const DeliveryRecord& delivery,
                                    std::uint32_t generation) {
  return hub.deliveries.find(delivery_id_of(delivery.event, delivery.subscription, generation));
}

bool next_is_open(const HubRows& hub, const DeliveryRecord& delivery) {
  const auto* next = generation_of(hub, delivery, delivery.generation + 1);
  return next != nullptr && !has_ended(next->state);
}

/// It was made from a dead one that is still there.
bool answers_for_dead(const HubRows& hub, const DeliveryRecord& delivery) {
  return delivery.generation > 0 &&
         generation_of(hub, delivery, delivery.generation - 1) != nullptr;
}

std::uint64_t purge_jobs(HubRows& hub, WallTime until, std::uint32_t rows_max) {
  std::vector<std::pair<WallTime, spi::AttemptOf>> rows;
  for (const auto& [of, job] : hub.jobs) {
    if (!job.seen || *job.record.ended_at > until) continue;
    const auto* delivery = hub.deliveries.find(of.delivery);
    if (delivery == nullptr || delivery->state == DeliveryState::completed) {
      rows.emplace_back(*job.record.ended_at, of);
    }
  }
  const auto removed = oldest(std::move(rows), rows_max);
  for (const auto& of : removed) hub.jobs.erase(of);
  return removed.size();
}

std::uint64_t purge_deliveries(HubRows& hub, WallTime until, std::uint32_t rows_max) {
  std::vector<std::pair<WallTime, DeliveryId>> rows;
  for (const auto& [sequence, row] : hub.deliveries.all()) {
    if (row.state != DeliveryState::completed || *row.ended_at > until) continue;
    if (has_jobs(hub, row.id) || answers_for_dead(hub, row)) continue;
    rows.emplace_back(*row.ended_at, row.id);
  }
  const auto removed = oldest(std::move(rows), rows_max);
  for (const auto& id : removed) hub.deliveries.remove(id);
  return removed.size();
}

std::uint64_t purge_events(HubRows& hub, WallTime until, std::uint32_t rows_max) {
  std::vector<std::pair<WallTime, EventId>> rows;
  for (const auto& [sequence, id] : hub.events.all()) {
    const auto& event = *hub.events.find(id);
    const bool routed = sequence <= hub.events.position(event.shard);
    if (routed && event.published_at <= until && !hub.deliveries.has_event(id)) {
      rows.emplace_back(event.published_at, id);
    }
  }
  const auto removed = oldest(std::move(rows), rows_max);
  for (const auto& id : removed) hub.events.remove(id);
  return removed.size();
}

std::uint64_t purge_secrets(HubRows& hub, WallTime now, std::uint32_t rows_max) {
  std::uint64_t removed = 0;
  for (auto& [id, secrets] : hub.secrets) {
    std::erase_if(secrets, [&](const spi::SealedSecret& secret) {
      const bool goes = removed < rows_max && secret.expires_at && *secret.expires_at <= now;
      if (goes) ++removed;
      return goes;
    });
  }
  return removed;
}

}  // namespace

Result<std::vector<HubEvent>> HubAdmin::events(const spi::EventList& request) {
  using Events = std::vector<HubEvent>;
  return database_.faulty(Operation::hub_inspect, [&]() -> Result<Events> {
    Events found;
    const std::lock_guard lock(database_.mutex_);
    const auto& events = database_.state_.hub.events;
    for (auto at = events.all().rbegin(); at != events.all().rend(); ++at) {
      if (found.size() == request.rows_max) break;
      if (request.before && at->first >= *request.before) continue;
      const auto& event = *events.find(at->second);
      if (!spi::fits(event, request.filter)) continue;
      found.push_back(event);
      found.back().payload_bytes = event.message->payload().size();
    }
    return found;
  });
}

Result<std::optional<HubEvent>> HubAdmin::event(const EventId& id) {
  using Found = std::optional<HubEvent>;
  return database_.faulty(Operation::hub_inspect, [&]() -> Result<Found> {
    const std::lock_guard lock(database_.mutex_);
    const auto* event = database_.state_.hub.events.find(id);
    return event == nullptr ? Found() : Found(*event);
  });
}

Result<std::vector<DeliveryRecord>> HubAdmin::deliveries(const spi::DeliveryList& request) {
  using Records = std::vector<DeliveryRecord>;
  return database_.faulty(Operation::hub_inspect, [&]() -> Result<Records> {
    Records found;
    const std::lock_guard lock(database_.mutex_);
    const auto& hub = database_.state_.hub;
    const auto& rows = hub.deliveries.all();
    for (auto at = rows.rbegin(); at != rows.rend() && found.size() < request.rows_max; ++at) {
      const auto& row = at->second;
      if (!spi::fits(row, request)) continue;
      const bool requeued = generation_of(hub, row, row.generation + 1) != nullptr;
      if (!request.requeued || *request.requeued == requeued) found.push_back(row);
    }
    return found;
  });
}

Result<std::optional<DeliveryRecord>> HubAdmin::delivery(const DeliveryId& id) {
  using Found = std::optional<DeliveryRecord>;
  return database_.faulty(Operation::hub_inspect, [&]() -> Result<Found> {
    const std::lock_guard lock(database_.mutex_);
    const auto* delivery = database_.state_.hub.deliveries.find(id);
    return delivery == nullptr ? Found() : Found(*delivery);
  });
}

Result<std::vector<JobRecord>> HubAdmin::attempts(const DeliveryId& id) {
  using Records = std::vector<JobRecord>;
  return database_.faulty(Operation::hub_inspect, [&]() -> Result<Records> {
    Records found;
    const std::lock_guard lock(database_.mutex_);
    const auto& jobs = database_.state_.hub.jobs;
    for (auto at = jobs.lower_bound({id, 0}); at != jobs.end() && at->first.delivery == id; ++at) {
      found.push_back(at->second.record);
    }
    return found;
  });
}

Result<std::optional<DeadDelivery>> HubAdmin::dead(const DeliveryId& id) {
  using Found = std::optional<DeadDelivery>;
  return database_.faulty(Operation::hub_inspect, [&]() -> Result<Found> {
    const std::lock_guard lock(database_.mutex_);
    const auto& rows = database_.state_.hub.deliveries;
    const auto* delivery = rows.find(id);
    if (delivery == nullptr || delivery->state != DeliveryState::dead) return Found();
    const auto snapshot = rows.snapshots.find(id);
    return Found({.delivery = *delivery,
                  .event = snapshot == rows.snapshots.end() ? HubEvent{} : snapshot->second});
  });
}

Result<std::vector<spi::DeliveryCount>> HubAdmin::count(const spi::DeliveryCountRequest& request) {
  using Counts = std::vector<spi::DeliveryCount>;
  return database_.faulty(Operation::hub_inspect, [&]() -> Result<Counts> {
    std::map<std::pair<SubscriptionId, DeliveryState>, spi::DeliveryCount> counts;
    const std::lock_guard lock(database_.mutex_);
    for (const auto& [sequence, row] : database_.state_.hub.deliveries.all()) {
      if (row.state == DeliveryState::completed) continue;
      if (request.tenant && row.tenant != *request.tenant) continue;
      if (request.subscription && row.subscription != *request.subscription) continue;
      auto& count = counts[{row.subscription, row.state}];
      count.subscription = row.subscription;
      count.state = row.state;
      count.more = count.deliveries == request.rows_max;
      if (count.more) continue;
      ++count.deliveries;
      count.oldest = std::min(count.oldest.value_or(row.created_at), row.created_at);
    }
    Counts all;
    for (const auto& [key, count] : counts) all.push_back(count);
    return all;
  });
}

Result<spi::HubStats> HubAdmin::stats(std::uint64_t rows_max) {
  return database_.faulty(Operation::hub_inspect, [&]() -> Result<spi::HubStats> {
    spi::HubStats stats;
    const std::lock_guard lock(database_.mutex_);
    for (const auto& [sequence, row] : database_.state_.hub.deliveries.all()) {
      if (row.state == DeliveryState::completed) continue;
      auto& of = stats.states.at(static_cast<std::size_t>(row.state));
      if (of.deliveries < rows_max) ++of.deliveries;
      of.estimated = of.deliveries >= rows_max;
      if (has_ended(row.state)) continue;
      stats.oldest = std::min(stats.oldest.value_or(row.created_at), row.created_at);
    }
    return stats;
  });
}

Result<spi::UnroutedEvents> HubAdmin::unrouted(std::uint64_t rows_max) {
  return database_.faulty(Operation::hub_inspect, [&]() -> Result<spi::UnroutedEvents> {
    spi::UnroutedEvents unrouted;
    const std::lock_guard lock(database_.mutex_);
    const auto& events = database_.state_.hub.events;
    for (const auto& [sequence, id] : events.all()) {
      const auto& event = *events.find(id);
      if (sequence <= events.position(event.shard)) continue;
      if (unrouted.events < rows_max) ++unrouted.events;
      unrouted.oldest = std::min(unrouted.oldest.value_or(event.published_at), event.published_at);
    }
    return unrouted;
  });
}

Result<spi::EndpointHealth> HubAdmin::health(const SubscriptionId& id, Duration since,
                                             std::uint32_t rows_max) {
  return database_.faulty(Operation::hub_inspect, [&]() -> Result<spi::EndpointHealth> {
    const std::lock_guard lock(database_.mutex_);
    const auto from = database_.now() - std::chrono::floor<WallTime::duration>(since);
    auto ended = ended_of(database_.state_.hub, id, from);
    const bool sampled = ended.size() >= rows_max;
    if (sampled) ended.resize(rows_max);
    auto health = spi::health_of(ended);
    if (sampled && !ended.empty()) health.sampled_from = ended.back().ended_at;
    return health;
  });
}

Result<std::optional<WallTime>> HubAdmin::failing_since(const SubscriptionId& id, Duration within) {
  using Found = std::optional<WallTime>;
  return database_.faulty(Operation::hub_inspect, [&]() -> Result<Found> {
    const std::lock_guard lock(database_.mutex_);
    const auto from = database_.now() - std::chrono::floor<WallTime::duration>(within);
    Found since;
    for (const auto& job : ended_of(database_.state_.hub, id, from)) {
      if (job.result.completed) break;
      const auto& result = job.result;
      if (result.took > Duration{} && result.code != Code::tx_lease_lost) since = job.ended_at;
    }
    return since;
  });
}

Result<std::vector<spi::Requeued>> HubAdmin::requeue(std::span<const DeliveryId> ids,
                                                     const std::optional<std::string>& tenant,
                                                     std::span<const AuditEvent> audit) {
  if (auto valid = spi::check_requeue(ids, audit); !valid.ok()) return valid.error();
  auto done = database_.faulty(Operation::hub_requeue, [&]() -> Result<std::vector<spi::Requeued>> {
    std::vector<spi::Requeued> answers;
    const std::lock_guard lock(database_.mutex_);
    auto& hub = database_.state_.hub;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto* dead = hub.deliveries.find(ids[i]);
      const auto* next =
          dead == nullptr ? nullptr : generation_of(hub, *dead, dead->generation + 1);
      auto& answer = answers.emplace_back(spi::requeued(ids[i], dead, next, tenant));
      if (answer.outcome != spi::Requeued::Outcome::made) continue;
      hub.deliveries.add_late(spi::next_generation(*dead, database_.now()));
      if (!audit.empty()) database_.state_.audit.append(audit[i]);
    }
    return answers;
  });
  if (done.ok()) database_.notify_if_told(hub_deliveries_signal);
  return done;
}

Result<spi::HubPurged> HubAdmin::purge(const spi::HubPurge& request) {
  return database_.faulty(Operation::hub_purge, [&]() -> Result<spi::HubPurged> {
    const std::lock_guard lock(database_.mutex_);
    auto& hub = database_.state_.hub;
    const auto until = database_.now() - std::chrono::floor<WallTime::duration>(request.older_than);
    return spi::HubPurged{.jobs = purge_jobs(hub, until, request.rows_max),
                          .deliveries = purge_deliveries(hub, until, request.rows_max),
                          .events = purge_events(hub, until, request.rows_max),
                          .secrets = purge_secrets(hub, database_.now(), request.rows_max)};
  });
}

Result<spi::HubPurged> HubAdmin::purge_dead(const spi::HubPurge& request) {
  return database_.faulty(Operation::hub_purge, [&]() -> Result<spi::HubPurged> {
    spi::HubPurged purged;
    const std::lock_guard lock(database_.mutex_);
    auto& hub = database_.state_.hub;
    const auto until = database_.now() - std::chrono::floor<WallTime::duration>(request.older_than);
    std::vector<std::pair<WallTime, DeliveryId>> rows;
    for (const auto& [sequence, row] : hub.deliveries.all()) {
      if (row.state != DeliveryState::dead || *row.ended_at > until) continue;
      if (!next_is_open(hub, row)) rows.emplace_back(*row.ended_at, row.id);
    }
    for (const auto& id : oldest(std::move(rows), request.rows_max)) {
      purged.jobs +=
          std::erase_if(hub.jobs, [&](const auto& job) { return job.first.delivery == id; });
      purged.dead += hub.deliveries.snapshots.erase(id);
      hub.deliveries.remove(id);
      ++purged.deliveries;
    }
    return purged;
  });
}

}  // namespace sagabox::memory
