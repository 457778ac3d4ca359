#include "spi/hub_rules.hpp"
#include "stores/memory/database.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace sagabox::memory {
namespace {

using State = DeliveryState;

bool all_held(const std::vector<bool>& held) {
  return std::ranges::find(held, false) == held.end();
}

bool is_unsent(const DeliveryRecord& delivery) {
  return delivery.state == State::pending || delivery.state == State::waiting;
}

/// What is stored, not what its owner has read.
bool is_disabled(const HubRows& hub, const SubscriptionId& subscription) {
  const auto known = hub.subscriptions.find(subscription);
  return known == hub.subscriptions.end() || known->second.state == SubscriptionState::disabled;
}

void add_due(const HubDeliveryRows& rows, const spi::PendingPage& page, WallTime now,
             std::vector<DeliveryRecord>& found) {
  const auto* pending = rows.pending(page.shard);
  if (pending == nullptr) return;
  const auto of_one = pending->find(page.subscription);
  if (of_one == pending->end()) return;
  const auto& due = of_one->second;
  std::uint32_t count = 0;
  for (auto at = due.upper_bound({page.after_due, page.after});
       at != due.end() && at->first <= now && count < page.rows_max; ++at, ++count) {
    found.push_back(rows.at(at->second));
  }
}

}  // namespace

Result<std::uint64_t> HubDeliveries::add(std::span<const DeliveryRecord> deliveries) {
  auto added = database_.faulty(Operation::hub_add, [&]() -> Result<std::uint64_t> {
    std::uint64_t count = 0;
    const std::lock_guard lock(database_.mutex_);
    auto& rows = database_.state_.hub.deliveries;
    for (const auto& delivery : deliveries) {
      if (rows.find(delivery.id) != nullptr) continue;
      auto row = delivery;
      row.state = State::pending;
      row.created_at = database_.now();
      row.next_attempt_at = row.created_at;
      rows.add(std::move(row));
      ++count;
    }
    return count;
  });
  if (added.ok() && *added > 0) database_.notify_if_told(hub_deliveries_signal);
  return added;
}

Result<std::vector<spi::OpenSubscription>> HubDeliveries::open(Shard shard,
                                                               const SubscriptionId& after,
                                                               std::uint32_t rows_max) {
  using Open = std::vector<spi::OpenSubscription>;
  return database_.faulty(Operation::hub_look, [&]() -> Result<Open> {
    Open found;
    const std::lock_guard lock(database_.mutex_);
    const auto* pending = database_.state_.hub.deliveries.pending(shard);
    if (pending == nullptr) return found;
    for (auto at = pending->upper_bound(after); at != pending->end() && found.size() < rows_max;
         ++at) {
      found.push_back({.subscription = at->first, .due = at->second.begin()->first});
    }
    return found;
  });
}

Result<std::vector<DeliveryRecord>> HubDeliveries::due(std::span<const spi::PendingPage> pages) {
  using Records = std::vector<DeliveryRecord>;
  return database_.faulty(Operation::hub_look, [&]() -> Result<Records> {
    Records found;
    const std::lock_guard lock(database_.mutex_);
    const auto now = database_.now();
    for (const auto& page : pages) {
      add_due(database_.state_.hub.deliveries, page, now, found);
    }
    return found;
  });
}

Result<std::vector<DeliveryRecord>> HubDeliveries::in_progress(Shard shard, const DeliveryId& after,
                                                               std::uint32_t rows_max) {
  using Records = std::vector<DeliveryRecord>;
  return database_.faulty(Operation::hub_look, [&]() -> Result<Records> {
    std::map<DeliveryId, DeliveryRecord> by_id;
    const std::lock_guard lock(database_.mutex_);
    for (const auto& [sequence, row] : database_.state_.hub.deliveries.all()) {
      if (row.shard == shard && row.state == State::in_progress && row.id > after) {
        by_id.emplace(row.id, row);
      }
    }
    Records found;
    for (auto& [id, row] : by_id) {
      if (found.size() < rows_max) found.push_back(std::move(row));
    }
    return found;
  });
}

Result<spi::DeliveryStore::BeginReply> HubDeliveries::begin(
    const spi::Fencing& fencing, std::span<const spi::AttemptOf> attempts) {
  return database_.faulty(Operation::hub_begin, [&]() -> Result<BeginReply> {
    const std::lock_guard lock(database_.mutex_);
    BeginReply reply{.held = database_.held(fencing), .begun = {}, .waiting = {}};
    if (!all_held(reply.held)) return reply;
    auto& rows = database_.state_.hub.deliveries;
    for (const auto& of : attempts) {
      const auto* stored = rows.find(of.delivery);
      if (stored == nullptr || !spi::is_fenced(fencing, stored->shard)) continue;
      if (stored->state == State::in_progress && stored->attempt == of.attempt) {
        reply.begun.push_back(of);
      }
      if (!is_unsent(*stored) || stored->attempt + 1 != of.attempt) continue;
      if (stored->state == State::waiting) {
        reply.waiting.push_back(of);
        continue;
      }
      auto row = *stored;
      if (rows.is_turn_of_key(row)) {
        row.state = State::in_progress;
        row.attempt = of.attempt;
        reply.begun.push_back(of);
      } else {
        row.state = State::waiting;
        reply.waiting.push_back(of);
      }
      rows.change(row);
    }
    return reply;
  });
}

Result<spi::DeliveryStore::ChangeReply> HubDeliveries::change(
    const spi::Fencing& fencing, std::span<const spi::DeliveryChange> changes) {
  if (auto valid = spi::check_changes(changes); !valid.ok()) return valid.error();
  return database_.faulty(Operation::hub_change, [&]() -> Result<ChangeReply> {
    const std::lock_guard lock(database_.mutex_);
    ChangeReply reply{.held = database_.held(fencing), .changed = {}};
    if (!all_held(reply.held)) return reply;
    auto& rows = database_.state_.hub.deliveries;
    for (const auto& change : changes) {
      const auto* stored = rows.find(change.of.delivery);
      if (stored == nullptr || !spi::is_fenced(fencing, stored->shard)) continue;
      const bool goes = stored->state == State::in_progress && stored->attempt == change.of.attempt;
      if (goes) rows.change(spi::changed(*stored, change, database_.now()));
      if (goes || spi::is_applied(*stored, change)) reply.changed.push_back(change.of);
    }
    return reply;
  });
}

Result<std::vector<DeliveryRecord>> HubDeliveries::doomed(Shard shard,
                                                          const SubscriptionId& subscription,
                                                          std::uint32_t rows_max) {
  using Records = std::vector<DeliveryRecord>;
  return database_.faulty(Operation::hub_look, [&]() -> Result<Records> {
    Records found;
    const std::lock_guard lock(database_.mutex_);
    const auto& hub = database_.state_.hub;
    if (!is_disabled(hub, subscription)) return found;
    for (const auto& [sequence, row] : hub.deliveries.all()) {
      if (found.size() == rows_max) break;
      if (row.shard == shard && row.subscription == subscription && is_unsent(row)) {
        found.push_back(row);
      }
    }
    return found;
  });
}

Result<spi::DeliveryStore::ChangeReply> HubDeliveries::end_unsent(
    const spi::Fencing& fencing, std::span<const spi::DeliveryChange> changes) {
  if (auto valid = spi::check_deaths(changes); !valid.ok()) return valid.error();
  return database_.faulty(Operation::hub_change, [&]() -> Result<ChangeReply> {
    const std::lock_guard lock(database_.mutex_);
    ChangeReply reply{.held = database_.held(fencing), .changed = {}};
    if (!all_held(reply.held)) return reply;
    auto& rows = database_.state_.hub.deliveries;
    for (const auto& change : changes) {
      const auto* stored = rows.find(change.of.delivery);
      if (stored == nullptr || !spi::is_fenced(fencing, stored->shard)) continue;
      const bool goes = is_unsent(*stored) && stored->attempt == change.of.attempt &&
                        is_disabled(database_.state_.hub, stored->subscription);
      if (goes) rows.change(spi::changed(*stored, change, database_.now()));
      if (goes || spi::is_applied(*stored, change)) reply.changed.push_back(change.of);
    }
    return reply;
  });
}

Result<spi::DeliveryStore::StraysReply> HubDeliveries::release_strays(
    const spi::Fencing& fencing, const spi::WaitingPage& page) {
  return database_.faulty(Operation::hub_change, [&]() -> Result<StraysReply> {
    using Place = std::pair<SubscriptionId, Sequence>;
    const std::lock_guard lock(database_.mutex_);
    StraysReply reply;
    if (!all_held(database_.held(fencing))) return reply;
    auto& rows = database_.state_.hub.deliveries;
    std::map<Place, DeliveryRecord> waiting;
    for (const auto& [sequence, row] : rows.all()) {
      const Place place{row.subscription, sequence};
      if (row.state == State::waiting && row.shard == page.shard &&
          place > Place{page.subscription, page.after}) {
        waiting.emplace(place, row);
      }
    }
    std::uint32_t looked_at = 0;
    for (auto& [place, row] : waiting) {
      if (++looked_at == page.rows_max) {
        reply.next = {page.shard, place.first, place.second, page.rows_max};
      }
      if (looked_at > page.rows_max) break;
      if (!rows.is_turn_of_key(row)) continue;
      row.state = State::pending;
      rows.change(row);
      ++reply.released;
    }
    return reply;
  });
}

Status HubDeliveries::bury(std::span<const DeliveryId> ids) {
  return database_.faulty(Operation::hub_bury, [&]() -> Status {
    const std::lock_guard lock(database_.mutex_);
    auto& hub = database_.state_.hub;
    for (const auto& id : ids) {
      const auto* delivery = hub.deliveries.find(id);
      const auto* event = delivery == nullptr ? nullptr : hub.events.find(delivery->event);
      if (event != nullptr) hub.deliveries.snapshots.try_emplace(id, *event);
    }
    return {};
  });
}

Status HubDeliveries::make_jobs(std::span<const JobRecord> jobs) {
  auto made = database_.faulty(Operation::hub_make_jobs, [&]() -> Status {
    const std::lock_guard lock(database_.mutex_);
    for (const auto& job : jobs) {
      HubJobRow row;
      row.record.delivery = job.delivery;
      row.record.attempt = job.attempt;
      row.record.shard = job.shard;
      row.record.subscription = job.subscription;
      row.record.attempt_at = database_.now();
      database_.state_.hub.jobs.try_emplace({job.delivery, job.attempt}, row);
    }
    return {};
  });
  if (made.ok() && !jobs.empty()) database_.notify_if_told(hub_jobs_signal);
  return made;
}

Result<std::vector<spi::AttemptOf>> HubDeliveries::without_job(
    std::span<const spi::AttemptOf> attempts) {
  using Attempts = std::vector<spi::AttemptOf>;
  return database_.faulty(Operation::hub_look, [&]() -> Result<Attempts> {
    Attempts missing;
    const std::lock_guard lock(database_.mutex_);
    for (const auto& of : attempts) {
      if (!database_.state_.hub.jobs.contains(of)) missing.push_back(of);
    }
    return missing;
  });
}

Result<std::vector<spi::EndedJob>> HubDeliveries::ended(Shard shard, std::uint32_t rows_max) {
  using Jobs = std::vector<spi::EndedJob>;
  return database_.faulty(Operation::hub_look, [&]() -> Result<Jobs> {
    Jobs found;
    const std::lock_guard lock(database_.mutex_);
    for (const auto& [of, job] : database_.state_.hub.jobs) {
      const auto& record = job.record;
      if (record.shard != shard || job.seen || !record.ended_at) continue;
      found.push_back({.of = of,
                       .subscription = record.subscription,
                       .result = record.result,
                       .ended_at = *record.ended_at});
    }
    std::ranges::stable_sort(found, {}, &spi::EndedJob::ended_at);
    if (found.size() > rows_max) found.erase(found.begin() + rows_max, found.end());
    return found;
  });
}

Status HubDeliveries::seen(std::span<const spi::AttemptOf> jobs) {
  return database_.faulty(Operation::hub_seen, [&]() -> Status {
    const std::lock_guard lock(database_.mutex_);
    for (const auto& of : jobs) {
      const auto known = database_.state_.hub.jobs.find(of);
      if (known == database_.state_.hub.jobs.end()) continue;
      const auto* delivery = database_.state_.hub.deliveries.find(of.delivery);
      // Its result counts still, whatever its owner takes it for.
      const bool counts = delivery != nullptr && delivery->attempt == of.attempt &&
                          delivery->state == DeliveryState::in_progress;
      if (known->second.record.ended_at && !counts) known->second.seen = true;
    }
    return {};
  });
}

Result<spi::DeliveryStore::DisableReply> HubDeliveries::disable(const spi::Fencing& fencing,
                                                                const SubscriptionId& subscription,
                                                                std::uint64_t change,
                                                                std::string_view reason,
                                                                std::span<const AuditEvent> audit) {
  auto done = database_.faulty(Operation::hub_disable, [&]() -> Result<DisableReply> {
    const std::lock_guard lock(database_.mutex_);
    DisableReply reply{.held = database_.held(fencing)};
    const auto shard = spi::delivery_shard(subscription, database_.options_.shards);
    if (!all_held(reply.held) || !spi::is_fenced(fencing, shard)) return reply;
    auto& hub = database_.state_.hub;
    const auto known = hub.subscriptions.find(subscription);
    if (known == hub.subscriptions.end()) return reply;
    auto& record = known->second;
    if (record.state == SubscriptionState::disabled || record.change != change) return reply;
    record.state = SubscriptionState::disabled;
    record.reason = std::string(reason);
    record.changed_at = database_.now();
    record.change = ++hub.last_change;
    ++record.version;
    for (const auto& event : audit) database_.state_.audit.append(event);
    reply.disabled = true;
    return reply;
  });
  if (done.ok() && done->disabled) database_.notify_if_told(hub_deliveries_signal);
  return done;
}

Result<std::vector<SubscriptionRecord>> HubDeliveries::subscriptions(std::uint64_t after) {
  using Records = std::vector<SubscriptionRecord>;
  return database_.faulty(Operation::hub_look, [&]() -> Result<Records> {
    const std::lock_guard lock(database_.mutex_);
    return database_.state_.hub.changed_after(after, database_.now() - spi::disabled_kept_for);
  });
}

Result<std::vector<SubscriptionRecord>> HubDeliveries::named(std::span<const SubscriptionId> ids) {
  using Records = std::vector<SubscriptionRecord>;
  return database_.faulty(Operation::hub_look, [&]() -> Result<Records> {
    Records records;
    const std::lock_guard lock(database_.mutex_);
    const auto& all = database_.state_.hub.subscriptions;
    for (const auto& id : ids) {
      const auto known = all.find(id);
      if (known != all.end()) records.push_back(known->second);
    }
    return records;
  });
}

void HubDeliveries::wait(Duration timeout) {
  database_.signal(hub_deliveries_signal).wait(timeout);
}
void HubDeliveries::wake() { database_.signal(hub_deliveries_signal).notify(); }

}  // namespace sagabox::memory
