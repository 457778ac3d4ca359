#include "stores/sql/hub_admin.hpp"

#include "spi/hub_rules.hpp"
#include "stores/sql/hub_deliveries.hpp"

#include <array>
#include <chrono>
#include <map>
#include <set>

namespace sagabox::sql {
namespace {

std::int64_t micros_of(Duration age) {
  return std::chrono::floor<std::chrono::microseconds>(age).count();
}

template <class IdType>
std::optional<std::string_view> view_of(const std::optional<IdType>& id) {
  return id ? std::optional(id->view()) : std::nullopt;
}

/// Deliveries that were asked to be sent again, as they are stored.
struct Generations {
  std::map<DeliveryId, DeliveryRecord> stored;
  std::map<DeliveryId, DeliveryRecord> next;

  explicit Generations(const Rows& rows) {
    for (const auto row : rows) {
      auto delivery = hub_delivery(row, 0);
      if (!row.is_null(hub_delivery_columns)) {
        auto after = spi::next_generation(delivery, {});
        after.state =
            delivery_state_from_name(row.text(hub_delivery_columns)).value_or(DeliveryState::dead);
        next.emplace(delivery.id, std::move(after));
      }
      const auto id = delivery.id;
      stored.emplace(id, std::move(delivery));
    }
  }
  static const DeliveryRecord* find(const std::map<DeliveryId, DeliveryRecord>& in,
                                    const DeliveryId& id) {
    const auto at = in.find(id);
    return at == in.end() ? nullptr : &at->second;
  }
};

}  // namespace

HubAdminStatements::HubAdminStatements(Sections& sections)
    : events(sections.take("hub_events")),
      events_external(sections.take("hub_events_external")),
      event(sections.take("hub_event")),
      deliveries(sections.take("hub_deliveries")),
      deliveries_of(sections.take("hub_deliveries_of")),
      deliveries_in(sections.take("hub_deliveries_in")),
      deliveries_about(sections.take("hub_deliveries_about")),
      deliveries_dead(sections.take("hub_deliveries_dead")),
      deliveries_of_dead(sections.take("hub_deliveries_of_dead")),
      deliveries_in_dead(sections.take("hub_deliveries_in_dead")),
      delivery(sections.take("hub_delivery")),
      attempts(sections.take("hub_attempts")),
      dead(sections.take("hub_dead")),
      count(sections.take("hub_count")),
      count_of(sections.take("hub_count_of")),
      stats(sections.take("hub_stats")),
      unrouted(sections.take("hub_unrouted")),
      health(sections.take("hub_health")),
      failing_since(sections.take("hub_failing_since")),
      generations(sections.take("hub_generations")),
      add(sections.take("hub_requeue")),
      old_jobs(sections.take("hub_old_jobs")),
      drop_old_jobs(sections.take("hub_drop_old_jobs")),
      old_deliveries(sections.take("hub_old_deliveries")),
      old_events(sections.take("hub_old_events")),
      drop_events(sections.take("hub_drop_events")),
      old_dead(sections.take("hub_old_dead")),
      drop_jobs(sections.take("hub_drop_jobs")),
      drop_dead(sections.take("hub_drop_dead")),
      drop_deliveries(sections.take("hub_drop_deliveries")),
      drop_secrets(sections.take("hub_drop_secrets")) {}

Result<std::vector<HubEvent>> HubAdminStore::events(const spi::EventList& request) {
  const auto& filter = request.filter;
  const bool named = filter.external_id && !filter.external_id->empty();
  auto rows = parts_.read(named ? statements_.events_external : statements_.events,
                          {request.before, filter.tenant, filter.type, filter.key, filter.source,
                           filter.external_id, filter.from, filter.to, request.rows_max});
  if (!rows.ok()) return rows.error();
  std::vector<HubEvent> found;
  for (const auto row : *rows) {
    found.push_back(hub_event(row, 0));
    found.back().payload_bytes = row.natural(hub_event_columns);
  }
  return found;
}

Result<std::optional<HubEvent>> HubAdminStore::event(const EventId& id) {
  auto rows = parts_.read(statements_.event, {id.view()});
  if (!rows.ok()) return rows.error();
  return rows->empty() ? std::nullopt : std::optional(hub_event(rows->front(), 0));
}

/// What names an event, a subscription or a tenant is found by its index; so are the dead.
const Statement& HubAdminStore::deliveries_by(const spi::DeliveryFilter& filter) const {
  const bool dead = filter.state == DeliveryState::dead;
  if (filter.event) return statements_.deliveries_about;
  if (filter.subscription) {
    return dead ? statements_.deliveries_of_dead : statements_.deliveries_of;
  }
  if (filter.tenant) return dead ? statements_.deliveries_in_dead : statements_.deliveries_in;
  return dead ? statements_.deliveries_dead : statements_.deliveries;
}

Result<std::vector<DeliveryRecord>> HubAdminStore::deliveries(const spi::DeliveryList& request) {
  const auto& filter = request.filter;
  std::optional<std::string_view> state, code;
  if (filter.state) state = delivery_state_name(*filter.state);
  if (filter.code) code = code_name(*filter.code);
  auto rows =
      parts_.read(deliveries_by(filter),
                  {request.before, filter.tenant, view_of(filter.subscription),
                   view_of(filter.event), state, filter.type, code, filter.from, filter.to,
                   request.ended_from, request.ended_to, request.requeued, request.rows_max});
  if (!rows.ok()) return rows.error();
  std::vector<DeliveryRecord> found;
  for (const auto row : *rows) found.push_back(hub_delivery(row, 0));
  return found;
}

Result<std::optional<DeliveryRecord>> HubAdminStore::delivery(const DeliveryId& id) {
  auto rows = parts_.read(statements_.delivery, {id.view()});
  if (!rows.ok()) return rows.error();
  return rows->empty() ? std::nullopt : std::optional(hub_delivery(rows->front(), 0));
}

Result<std::vector<JobRecord>> HubAdminStore::attempts(const DeliveryId& id) {
  auto rows = parts_.read(statements_.attempts, {id.view()});
  if (!rows.ok()) return rows.error();
  std::vector<JobRecord> found;
  for (const auto row : *rows) found.push_back(hub_job(row, 0));
  return found;
}

Result<std::optional<DeadDelivery>> HubAdminStore::dead(const DeliveryId& id) {
  using Found = std::optional<DeadDelivery>;
  auto stored = delivery(id);
  if (!stored.ok()) return stored.error();
  if (!*stored || (*stored)->state != DeliveryState::dead) return Found();
  auto rows = parts_.read(statements_.dead, {id.view()});
  if (!rows.ok()) return rows.error();
  return Found({.delivery = std::move(**stored),
                .event = rows->empty() ? HubEvent{} : hub_event(rows->front(), 0)});
}

Result<std::vector<spi::DeliveryCount>> HubAdminStore::count(
    const spi::DeliveryCountRequest& request) {
  const auto rows_max = static_cast<std::int64_t>(request.rows_max);
  auto rows =
      request.subscription
          ? parts_.read(
                statements_.count_of,
                {request.subscription->view(),
                 spi::delivery_shard(*request.subscription, parts_.capabilities.shards).value,
                 rows_max, request.tenant})
          : parts_.read(statements_.count, {request.tenant, rows_max});
  if (!rows.ok()) return rows.error();
  std::vector<spi::DeliveryCount> counts;
  for (const auto row : *rows) {
    counts.push_back({.subscription = hub_id<SubscriptionId>(row.text(0)),
                      .state = delivery_state_from_name(row.text(1)).value_or(DeliveryState::dead),
                      .deliveries = row.natural(2),
                      .oldest = row.maybe_time(3),
                      .more = row.boolean(4)});
  }
  return counts;
}

Result<spi::HubStats> HubAdminStore::stats(std::uint64_t rows_max) {
  auto rows = parts_.read(statements_.stats, {static_cast<std::int64_t>(rows_max)});
  if (!rows.ok()) return rows.error();
  const auto row = rows->front();
  spi::HubStats stats;
  int column = 0;
  for (const auto state : {DeliveryState::pending, DeliveryState::waiting,
                           DeliveryState::in_progress, DeliveryState::dead}) {
    auto& of = stats.states.at(static_cast<std::size_t>(state));
    of.deliveries = row.natural(column++);
    of.estimated = row.boolean(column++);
  }
  stats.oldest = row.maybe_time(column);
  return stats;
}

Result<spi::UnroutedEvents> HubAdminStore::unrouted(std::uint64_t rows_max) {
  auto rows = parts_.read(statements_.unrouted, {static_cast<std::int64_t>(rows_max)});
  if (!rows.ok()) return rows.error();
  const auto row = rows->front();
  return spi::UnroutedEvents{.events = row.natural(0), .oldest = row.maybe_time(1)};
}

Result<spi::EndpointHealth> HubAdminStore::health(const SubscriptionId& id, Duration since,
                                                  std::uint32_t rows_max) {
  auto rows = parts_.read(statements_.health,
                          {id.view(), micros_of(since), parts_.now(), std::int64_t{rows_max}});
  if (!rows.ok()) return rows.error();
  const auto row = rows->front();
  const auto took = [&](int column) {
    return row.is_null(column) ? std::nullopt : std::optional(Duration(row.integer(column)));
  };
  spi::EndpointHealth health{.completed = row.natural(0),
                             .failed = row.natural(1),
                             .p50 = took(5),
                             .p95 = took(6),
                             .last_completed_at = row.maybe_time(2),
                             .last_failed_at = row.maybe_time(3),
                             .last_error = std::string(row.text(4))};
  if (health.completed + health.failed >= rows_max) health.sampled_from = row.maybe_time(7);
  return health;
}

Result<std::optional<WallTime>> HubAdminStore::failing_since(const SubscriptionId& id,
                                                             Duration within) {
  auto rows = parts_.read(statements_.failing_since, {id.view(), micros_of(within), parts_.now()});
  if (!rows.ok()) return rows.error();
  return rows->empty() ? std::nullopt : rows->front().maybe_time(0);
}

/// The dead deliveries whose next generation is new now, which are in the audit log. Another
/// transaction may have been first with some of them.
Result<std::set<DeliveryId>> HubAdminStore::make_next(Session& session,
                                                      std::span<const DeliveryRecord> dead,
                                                      const std::optional<std::string>& tenant,
                                                      std::span<const AuditEvent> audit) const {
  std::set<DeliveryId> made;
  if (parts_.requeue_audits) {
    std::vector<std::string> ids, details, actors;
    for (const auto& one : dead) ids.push_back(one.id.str());
    for (const auto& event : audit) {
      details.push_back(event.detail);
      actors.push_back(event.actor);
    }
    auto rows = session.run(statements_.add,
                            {std::move(ids), tenant, std::move(details), std::move(actors)});
    if (!rows.ok()) return rows.error();
    for (const auto row : *rows) made.insert(hub_id<DeliveryId>(row.text(0)));
    return made;
  }
  std::vector<DeliveryRecord> next;
  for (const auto& one : dead) next.push_back(spi::next_generation(one, {}));
  auto rows = session.run(statements_.add, values_of_deliveries(next, parts_.now()));
  if (!rows.ok()) return rows.error();
  std::set<DeliveryId> fresh;
  for (const auto row : *rows) fresh.insert(hub_id<DeliveryId>(row.text(0)));
  std::vector<AuditEvent> acts;
  for (std::size_t i = 0; i < dead.size(); ++i) {
    if (!fresh.contains(next[i].id) || !made.insert(dead[i].id).second) continue;
    if (!audit.empty()) acts.push_back(audit[i]);
  }
  if (auto noted = append_audit(parts_, session, acts); !noted.ok()) return noted.error();
  return made;
}

Result<std::vector<spi::Requeued>> HubAdminStore::requeue_in(
    Session& session, std::span<const DeliveryId> ids, const std::optional<std::string>& tenant,
    std::span<const AuditEvent> audit) const {
  using Outcome = spi::Requeued::Outcome;
  const auto look = [&](std::vector<spi::Requeued>& answers, std::vector<DeliveryRecord>& dead,
                        std::vector<AuditEvent>& acts) -> Status {
    auto rows = session.run(statements_.generations, {id_texts(ids)});
    if (!rows.ok()) return rows.error();
    const Generations known(*rows);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto* const stored = Generations::find(known.stored, ids[i]);
      const auto* const next = Generations::find(known.next, ids[i]);
      answers.push_back(spi::requeued(ids[i], stored, next, tenant));
      if (answers.back().outcome != Outcome::made) continue;
      dead.push_back(*stored);
      if (!audit.empty()) acts.push_back(audit[i]);
    }
    return {};
  };
  std::vector<spi::Requeued> answers;
  std::vector<DeliveryRecord> dead;
  std::vector<AuditEvent> acts;
  if (auto looked = look(answers, dead, acts); !looked.ok()) return looked.error();
  if (dead.empty()) return answers;
  auto made = make_next(session, dead, tenant, acts);
  if (!made.ok()) return made.error();
  // Twice in a call, it is made once, and so it is by two calls at once: the others find it.
  std::vector<spi::Requeued> found;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].outcome != Outcome::made || made->erase(ids[i]) > 0) continue;
    if (found.empty()) {
      if (auto looked = look(found, dead, acts); !looked.ok()) return looked.error();
    }
    answers[i] = found[i];
    if (answers[i].outcome == Outcome::made) answers[i].outcome = Outcome::not_dead;
  }
  return answers;
}

Result<std::vector<spi::Requeued>> HubAdminStore::requeue(std::span<const DeliveryId> ids,
                                                          const std::optional<std::string>& tenant,
                                                          std::span<const AuditEvent> audit) {
  if (auto valid = spi::check_requeue(ids, audit); !valid.ok()) return valid.error();
  auto done = in_transaction(
      parts_.sessions, [&](Session& session) { return requeue_in(session, ids, tenant, audit); });
  if (done.ok()) parts_.wake(hub_deliveries_feed);
  return done;
}

Status HubAdminStore::drop(const Statement& statement, Values values, std::uint64_t& count) const {
  auto rows = parts_.write(statement, std::move(values));
  if (!rows.ok()) return rows.error();
  count += rows->size();
  return {};
}

/// What is older than any of them, and stays, is not looked at again before the end was reached:
/// there may be millions that dead deliveries hold.
Result<std::vector<std::string>> HubAdminStore::look_at_ended(const Statement& statement,
                                                              const spi::HubPurge& request,
                                                              EndedPlace& place,
                                                              spi::HubPurged& purged) const {
  const auto rows_max = request.rows_max * place.widened;
  auto rows =
      parts_.read(statement, {micros_of(request.older_than), place.from, rows_max, parts_.now()});
  if (!rows.ok()) return rows.error();
  std::vector<std::string> going;
  for (const auto row : *rows) {
    if (row.boolean(2)) going.emplace_back(row.text(0));
  }
  if (rows->size() < rows_max) {
    place = {};
    return going;
  }
  purged.more = true;
  const auto last = (*rows)[rows->size() - 1].time(1);
  // All of them ended at once, and stay: look further.
  const bool stands = going.empty() && place.from == last;
  place = {.from = last, .widened = stands ? place.widened * 2 : 1};
  return going;
}

Status HubAdminStore::purge_jobs(const spi::HubPurge& request, spi::HubPurged& purged) {
  auto going = look_at_ended(statements_.old_jobs, request, purge_places_.jobs, purged);
  if (!going.ok()) return going.error();
  if (going->empty()) return {};
  return drop(statements_.drop_old_jobs,
              {*std::move(going), micros_of(request.older_than), parts_.now()}, purged.jobs);
}

Status HubAdminStore::purge_deliveries(const spi::HubPurge& request, spi::HubPurged& purged) {
  auto going = look_at_ended(statements_.old_deliveries, request, purge_places_.deliveries, purged);
  if (!going.ok()) return going.error();
  if (going->empty()) return {};
  std::uint64_t snapshots = 0;
  if (auto done = drop(statements_.drop_dead, {*going}, snapshots); !done.ok()) return done;
  return drop(statements_.drop_deliveries, {*std::move(going)}, purged.deliveries);
}

/// Shard by shard, each up to the first event that is too young.
Status HubAdminStore::purge_events(const spi::HubPurge& request, spi::HubPurged& purged) {
  auto& place = purge_places_.events;
  std::vector<std::string> going;
  for (std::uint32_t left = request.rows_max; left > 0;) {
    auto rows = parts_.read(statements_.old_events, {micros_of(request.older_than), place.shard,
                                                     place.after, left, parts_.now()});
    if (!rows.ok()) return rows.error();
    bool young = false;
    for (const auto row : *rows) {
      young = !row.boolean(2);
      if (young) break;
      place.after = row.integer(1);
      if (row.boolean(3)) going.emplace_back(row.text(0));
    }
    if (!young && rows->size() == left) {
      purged.more = true;
      break;
    }
    left -= static_cast<std::uint32_t>(rows->size());
    const bool was_last = ++place.shard == parts_.capabilities.shards;
    place = {.shard = was_last ? std::uint16_t{0} : place.shard, .after = 0};
    if (was_last) break;
    purged.more = purged.more || left == 0;
  }
  if (going.empty()) return {};
  return drop(statements_.drop_events, {std::move(going)}, purged.events);
}

/// Nothing signs with them any more; what is sealed by a key that is to go must not keep it.
Status HubAdminStore::purge_secrets(const spi::HubPurge& request, spi::HubPurged& purged) const {
  return drop(statements_.drop_secrets, {request.rows_max, parts_.now()}, purged.secrets);
}

Result<spi::HubPurged> HubAdminStore::purge(const spi::HubPurge& request) {
  const std::lock_guard lock(purge_mutex_);
  spi::HubPurged purged;
  // Each table for itself, in an order that lets the next one find what is free; what is wrong with
  // one does not keep the others.
  const std::array done{purge_jobs(request, purged), purge_deliveries(request, purged),
                        purge_events(request, purged), purge_secrets(request, purged)};
  for (const auto& one : done) {
    if (!one.ok()) return one.error();
  }
  return purged;
}

Result<spi::HubPurged> HubAdminStore::purge_dead(const spi::HubPurge& request) {
  spi::HubPurged purged;
  auto old = parts_.read(statements_.old_dead,
                         {micros_of(request.older_than), request.rows_max, parts_.now()});
  if (!old.ok()) return old.error();
  std::vector<std::string> ids;
  for (const auto row : *old) ids.emplace_back(row.text(0));
  if (ids.empty()) return purged;
  // The delivery last: what a crash leaves is found again by it.
  auto done = drop(statements_.drop_jobs, {ids}, purged.jobs);
  if (done.ok()) done = drop(statements_.drop_dead, {ids}, purged.dead);
  if (done.ok()) done = drop(statements_.drop_deliveries, {ids}, purged.deliveries);
  if (!done.ok()) return done.error();
  return purged;
}

}  // namespace sagabox::sql
