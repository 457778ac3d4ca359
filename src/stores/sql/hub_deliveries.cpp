#include "stores/sql/hub_deliveries.hpp"

#include "spi/hub_rules.hpp"

#include <algorithm>
#include <set>

namespace sagabox::sql {
namespace {

Status status_of(const Result<Rows>& done) { return done.ok() ? Status() : done.error(); }

Values values_of_changes(std::span<const spi::DeliveryChange> changes, std::optional<WallTime> now,
                         const std::string& shards) {
  AttemptLists of;
  std::vector<std::string> states, codes, errors, fenced;
  std::vector<std::int64_t> failures, statuses;
  std::vector<WallTime> next;
  for (const auto& change : changes) {
    // As all stores keep it.
    const auto after = spi::changed(DeliveryRecord{}, change, {});
    of.add(change.of);
    states.emplace_back(delivery_state_name(after.state));
    failures.push_back(after.failures);
    next.push_back(after.next_attempt_at);
    codes.emplace_back(after.code ? code_name(*after.code) : std::string_view());
    errors.push_back(after.error);
    statuses.push_back(after.status);
  }
  return {std::move(of.deliveries),
          std::move(of.attempts),
          std::move(states),
          std::move(failures),
          std::move(next),
          std::move(codes),
          std::move(errors),
          std::move(statuses),
          now,
          shards,
          by_element(changes.size())};
}

/// Of those that were asked for, in their order.
std::vector<spi::AttemptOf> in_order(std::span<const spi::AttemptOf> asked,
                                     const std::set<spi::AttemptOf>& found) {
  std::vector<spi::AttemptOf> attempts;
  std::ranges::copy_if(asked, std::back_inserter(attempts),
                       [&](const spi::AttemptOf& of) { return found.contains(of); });
  return attempts;
}

}  // namespace

HubDeliveryStatements::HubDeliveryStatements(Sections& sections)
    : add(sections.take("hub_add")),
      open(sections.take("hub_open")),
      due(sections.take("hub_due")),
      in_progress(sections.take("hub_in_progress")),
      begin(sections.take("hub_begin")),
      change(sections.take("hub_change")),
      doomed(sections.take("hub_doomed")),
      end_unsent(sections.take("hub_end_unsent")),
      waiting_page(sections.take("hub_waiting_page")),
      release_strays(sections.take("hub_release_strays")),
      bury(sections.take("hub_bury")),
      make_jobs(sections.take("hub_make_jobs")),
      without_job(sections.take("hub_without_job")),
      ended(sections.take("hub_ended")),
      seen(sections.take("hub_seen")),
      disable(sections.take("hub_disable")),
      changed(sections.take("hub_changed")),
      named(sections.take("hub_named")) {}

Values values_of_deliveries(std::span<const DeliveryRecord> deliveries,
                            std::optional<WallTime> now) {
  std::vector<std::string> ids, events, subscriptions, tenants, types, keys, correlations;
  std::vector<std::int64_t> generations, shards;
  for (const auto& delivery : deliveries) {
    ids.push_back(delivery.id.str());
    events.push_back(delivery.event.str());
    subscriptions.push_back(delivery.subscription.str());
    generations.push_back(delivery.generation);
    tenants.push_back(delivery.tenant);
    types.push_back(delivery.type);
    keys.push_back(delivery.key);
    shards.push_back(delivery.shard.value);
    correlations.push_back(delivery.correlation_id);
  }
  return {std::move(ids),
          std::move(events),
          std::move(subscriptions),
          std::move(generations),
          std::move(tenants),
          std::move(types),
          std::move(keys),
          std::move(shards),
          std::move(correlations),
          now,
          by_element(deliveries.size())};
}

Result<std::uint64_t> HubDeliveryStore::add(std::span<const DeliveryRecord> deliveries) {
  if (deliveries.empty()) return std::uint64_t{0};
  auto rows = parts_.write(statements_.add, values_of_deliveries(deliveries, parts_.now()));
  if (!rows.ok()) return rows.error();
  if (!rows->empty()) parts_.wake(hub_deliveries_feed);
  return std::uint64_t{rows->size()};
}

Result<std::vector<spi::OpenSubscription>> HubDeliveryStore::open(Shard shard,
                                                                  const SubscriptionId& after,
                                                                  std::uint32_t rows_max) {
  auto rows = parts_.read(statements_.open, {shard.value, after.view(), rows_max});
  if (!rows.ok()) return rows.error();
  std::vector<spi::OpenSubscription> found;
  for (const auto row : *rows) {
    found.push_back({.subscription = hub_id<SubscriptionId>(row.text(0)), .due = row.time(1)});
  }
  return found;
}

Result<std::vector<DeliveryRecord>> HubDeliveryStore::deliveries(const Statement& statement,
                                                                 Values values) {
  auto rows = parts_.read(statement, std::move(values));
  if (!rows.ok()) return rows.error();
  std::vector<DeliveryRecord> records;
  for (const auto row : *rows) records.push_back(hub_delivery(row, 0));
  return records;
}

Result<std::vector<DeliveryRecord>> HubDeliveryStore::due(std::span<const spi::PendingPage> pages) {
  if (pages.empty()) return std::vector<DeliveryRecord>();
  std::vector<std::int64_t> shards, after, rows_max;
  std::vector<std::string> subscriptions;
  std::vector<WallTime> after_due;
  for (const auto& page : pages) {
    shards.push_back(page.shard.value);
    subscriptions.push_back(page.subscription.str());
    after_due.push_back(page.after_due);
    after.push_back(static_cast<std::int64_t>(page.after.value));
    rows_max.push_back(page.rows_max);
  }
  auto found =
      deliveries(statements_.due,
                 {std::move(shards), std::move(subscriptions), std::move(after_due),
                  std::move(after), std::move(rows_max), parts_.now(), by_element(pages.size())});
  if (found.ok()) parts_.tell_found(hub_deliveries_feed, found->size());
  return found;
}

Result<std::vector<DeliveryRecord>> HubDeliveryStore::in_progress(Shard shard,
                                                                  const DeliveryId& after,
                                                                  std::uint32_t rows_max) {
  return deliveries(statements_.in_progress, {shard.value, after.view(), rows_max});
}

Result<spi::DeliveryStore::BeginReply> HubDeliveryStore::begin(
    const spi::Fencing& fencing, std::span<const spi::AttemptOf> attempts) {
  BeginReply reply;
  std::set<spi::AttemptOf> begun, waiting;
  auto held = fences_.run(parts_, fencing, [&](Session& session) -> Status {
    if (attempts.empty() || fencing.fences.empty()) return {};
    auto of = lists_of(attempts);
    auto rows = session.run(statements_.begin,
                            {std::move(of.deliveries), std::move(of.attempts),
                             HubFences::shards_text(fencing), by_element(attempts.size())});
    if (!rows.ok()) return rows.error();
    for (const auto row : *rows) (row.boolean(2) ? begun : waiting).insert(attempt_from(row));
    return {};
  });
  if (!held.ok()) return held.error();
  reply.held = std::move(held).value();
  reply.begun = in_order(attempts, begun);
  reply.waiting = in_order(attempts, waiting);
  return reply;
}

Result<spi::DeliveryStore::ChangeReply> HubDeliveryStore::apply(
    const Statement& statement, const spi::Fencing& fencing,
    std::span<const spi::DeliveryChange> changes) {
  ChangeReply reply;
  std::set<spi::AttemptOf> done;
  auto held = fences_.run(parts_, fencing, [&](Session& session) -> Status {
    if (changes.empty() || fencing.fences.empty()) return {};
    auto rows = session.run(
        statement, values_of_changes(changes, parts_.now(), HubFences::shards_text(fencing)));
    if (!rows.ok()) return rows.error();
    for (const auto row : *rows) done.insert(attempt_from(row));
    return {};
  });
  if (!held.ok()) return held.error();
  reply.held = std::move(held).value();
  for (const auto& change : changes) {
    if (done.contains(change.of)) reply.changed.push_back(change.of);
  }
  return reply;
}

Result<spi::DeliveryStore::ChangeReply> HubDeliveryStore::change(
    const spi::Fencing& fencing, std::span<const spi::DeliveryChange> changes) {
  if (auto valid = spi::check_changes(changes); !valid.ok()) return valid.error();
  return apply(statements_.change, fencing, changes);
}

Result<std::vector<DeliveryRecord>> HubDeliveryStore::doomed(Shard shard,
                                                             const SubscriptionId& subscription,
                                                             std::uint32_t rows_max) {
  return deliveries(statements_.doomed, {shard.value, subscription.view(), rows_max});
}

Result<spi::DeliveryStore::ChangeReply> HubDeliveryStore::end_unsent(
    const spi::Fencing& fencing, std::span<const spi::DeliveryChange> changes) {
  if (auto valid = spi::check_deaths(changes); !valid.ok()) return valid.error();
  return apply(statements_.end_unsent, fencing, changes);
}

Result<spi::DeliveryStore::StraysReply> HubDeliveryStore::release_strays(
    const spi::Fencing& fencing, const spi::WaitingPage& page) {
  StraysReply reply;
  auto held = fences_.run(parts_, fencing, [&](Session& session) -> Status {
    const Values of_page{page.shard.value, page.subscription.view(), page.after, page.rows_max};
    auto last = session.run(statements_.waiting_page, of_page);
    if (!last.ok()) return last.error();
    auto rows = session.run(statements_.release_strays, of_page);
    if (!rows.ok()) return rows.error();
    reply.released = rows->size();
    if (!last->empty()) {
      const auto row = last->front();
      reply.next = {page.shard, hub_id<SubscriptionId>(row.text(0)), Sequence{row.natural(1)},
                    page.rows_max};
    }
    return {};
  });
  if (!held.ok()) return held.error();
  return reply;
}

Status HubDeliveryStore::bury(std::span<const DeliveryId> ids) {
  if (ids.empty()) return {};
  return status_of(parts_.write(statements_.bury, {id_texts(ids)}));
}

Status HubDeliveryStore::make_jobs(std::span<const JobRecord> jobs) {
  if (jobs.empty()) return {};
  AttemptLists of;
  std::vector<std::string> subscriptions;
  std::vector<std::int64_t> shards;
  for (const auto& job : jobs) {
    of.add({job.delivery, job.attempt});
    subscriptions.push_back(job.subscription.str());
    shards.push_back(job.shard.value);
  }
  auto done = parts_.write(statements_.make_jobs, {std::move(of.deliveries), std::move(of.attempts),
                                                   std::move(subscriptions), std::move(shards),
                                                   parts_.now(), by_element(jobs.size())});
  if (done.ok()) parts_.wake(hub_jobs_feed);
  return status_of(done);
}

Result<std::vector<spi::AttemptOf>> HubDeliveryStore::without_job(
    std::span<const spi::AttemptOf> attempts) {
  if (attempts.empty()) return std::vector<spi::AttemptOf>();
  auto of = lists_of(attempts);
  auto rows =
      parts_.read(statements_.without_job,
                  {std::move(of.deliveries), std::move(of.attempts), by_element(attempts.size())});
  if (!rows.ok()) return rows.error();
  std::set<spi::AttemptOf> missing;
  for (const auto row : *rows) missing.insert(attempt_from(row));
  return in_order(attempts, missing);
}

Result<std::vector<spi::EndedJob>> HubDeliveryStore::ended(Shard shard, std::uint32_t rows_max) {
  auto rows = parts_.read(statements_.ended, {shard.value, rows_max});
  if (!rows.ok()) return rows.error();
  std::vector<spi::EndedJob> found;
  for (const auto row : *rows) {
    auto job = hub_job(row, 0);
    found.push_back({.of = {job.delivery, job.attempt},
                     .subscription = job.subscription,
                     .result = std::move(job.result),
                     .ended_at = job.ended_at.value_or(WallTime{})});
  }
  parts_.tell_found(hub_deliveries_feed, found.size());
  return found;
}

Status HubDeliveryStore::seen(std::span<const spi::AttemptOf> jobs) {
  if (jobs.empty()) return {};
  auto of = lists_of(jobs);
  return status_of(parts_.write(statements_.seen, {std::move(of.deliveries), std::move(of.attempts),
                                                   by_element(jobs.size())}));
}

Result<spi::DeliveryStore::DisableReply> HubDeliveryStore::disable(
    const spi::Fencing& fencing, const SubscriptionId& subscription, std::uint64_t change,
    std::string_view reason, std::span<const AuditEvent> audit) {
  DisableReply reply;
  const auto shard = spi::delivery_shard(subscription, parts_.capabilities.shards);
  auto held = fences_.run(parts_, fencing, [&](Session& session) -> Status {
    if (!spi::is_fenced(fencing, shard)) return {};
    auto rows = session.run(statements_.disable, {subscription.view(), reason,
                                                  static_cast<std::int64_t>(change), parts_.now()});
    if (!rows.ok()) return rows.error();
    reply.disabled = !rows->empty();
    return reply.disabled ? append_audit(parts_, session, audit) : Status();
  });
  if (!held.ok()) return held.error();
  reply.held = std::move(held).value();
  if (reply.disabled) parts_.wake(hub_deliveries_feed);
  return reply;
}

Result<std::vector<SubscriptionRecord>> HubDeliveryStore::subscriptions(std::uint64_t after) {
  auto rows = parts_.read(statements_.changed, {after, parts_.now()});
  if (!rows.ok()) return rows.error();
  std::vector<SubscriptionRecord> records;
  for (const auto row : *rows) records.push_back(hub_subscription(row));
  return records;
}

Result<std::vector<SubscriptionRecord>> HubDeliveryStore::named(
    std::span<const SubscriptionId> ids) {
  auto rows = parts_.read(statements_.named, {id_texts(ids)});
  if (!rows.ok()) return rows.error();
  std::vector<SubscriptionRecord> records;
  for (const auto row : *rows) records.push_back(hub_subscription(row));
  return records;
}

}  // namespace sagabox::sql
