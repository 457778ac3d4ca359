#include "delivery/orchestrator/orchestrator.hpp"
#include "spi/hub_rules.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::delivery {
namespace {

/// Disabled subscriptions that changed longer ago have been told about.
constexpr WallTime::duration disabled_told_for = std::chrono::hours(24);
constexpr std::size_t disabled_kept_max = 10'000;
/// Between two pages of waiting deliveries: nothing hurries.
constexpr Duration strays_page_interval = std::chrono::milliseconds(100);

}  // namespace

std::optional<StartStep> Orchestrator::plan_read(BootTime now) {
  if (now >= subscriptions_at_) {
    subscriptions_at_ = now + options_.subscriptions_interval;
    return ReadSubscriptions{.after = now >= reread_at_ ? 0 : book_.change()};
  }
  if (auto step = plan_named(now)) return step;
  if (!jobs_to_check_.empty()) return FindMissingJobs{.jobs = std::exchange(jobs_to_check_, {})};
  // Where the store is slow, both are always due.
  shards_next_ = !shards_next_;
  if (shards_next_) {
    if (auto step = plan_shards(now)) return step;
    return plan_due();
  }
  if (auto step = plan_due()) return step;
  return plan_shards(now);
}

std::optional<StartStep> Orchestrator::plan_named(BootTime now) {
  if (!subscriptions_missing_ || now < reread_missing_at_) return std::nullopt;
  reread_missing_at_ = now + options_.subscriptions_interval;
  subscriptions_missing_ = false;
  ReadNamed step;
  for (const auto& [id, line] : lines_) {
    if (line.subscription) continue;
    if (step.subscriptions.size() == named_max) {
      subscriptions_missing_ = true;
      break;
    }
    step.subscriptions.push_back(id);
  }
  if (step.subscriptions.empty()) return std::nullopt;
  return step;
}

std::optional<StartStep> Orchestrator::plan_due() {
  ReadDue step;
  while (!looks_.empty() && step.pages.size() < due_pages_max) {
    auto* const line = find_line(looks_.front());
    looks_.pop_front();
    if (line == nullptr || !std::exchange(line->looking, false)) continue;
    if (!works_on(line->shard) || !line->look || !line->goes()) continue;
    step.tenures.push_back(tenure_of(line->shard));
    step.pages.push_back({.shard = line->shard,
                          .subscription = line->id,
                          .after_due = line->after_due,
                          .after = line->after,
                          .rows_max = page_rows()});
  }
  if (step.pages.empty()) return std::nullopt;
  return step;
}

std::optional<StartStep> Orchestrator::plan_shards(BootTime now) {
  for (std::size_t looks = shards_.size(); looks > 0; --looks) {
    shard_turn_ = (shard_turn_ + 1) % shards_.size();
    const Shard shard{static_cast<std::uint16_t>(shard_turn_)};
    auto& one = shards_[shard.value];
    if (!works_on(shard)) continue;
    if (one.scanning || now >= one.scan_at) {
      if (!std::exchange(one.scanning, true)) {
        one.scan_after = {};
        one.scan_began = now;
        for (auto& [id, attempt] : attempts_) {
          if (attempt.delivery.shard == shard) attempt.seen = false;
        }
      }
      scan_out_ = true;
      return ScanInProgress{.tenure = tenure_of(shard), .after = one.scan_after};
    }
    if (now >= one.open_at) {
      one.open_at = now + options_.look_interval;
      return ScanOpen{.tenure = tenure_of(shard), .after = one.open_after};
    }
    if (now >= one.strays_at) {
      one.strays_at = now + options_.scan_interval;
      ReleaseStrays step{.tenure = tenure_of(shard), .fences = {}, .page = one.strays_after};
      step.page.shard = shard;
      step.page.rows_max = stray_rows_max;
      (void)add_fence(step.fences, shard);
      return step;
    }
  }
  return std::nullopt;
}

void Orchestrator::apply_one(const ReadSubscriptions& step, StartAnswer& answer, BootTime now) {
  auto& read = std::get<Result<std::vector<SubscriptionRecord>>>(answer);
  if (!read.ok()) {
    subscriptions_at_ = now;
    return start_failed(read.error(), "subscriptions could not be read", now);
  }
  start_retry_.succeeded();
  if (step.after != 0 && step.after != book_.change()) {
    // The book was begun anew meanwhile: what lies before would be missing.
    subscriptions_at_ = now;
    return;
  }
  if (step.after == 0) {
    book_.replace(*read);
    reread_at_ = now + options_.reread_interval;
  } else {
    book_.apply(*read);
  }
  if (!read->empty() || step.after == 0) {
    for (auto& [id, line] : lines_) update_line(line, now);
  }
  const auto wall = parts_.clock.wall_now();
  for (const auto& record : *read) {
    const bool told = record.changed_at + disabled_told_for < wall;
    if (told || !is_disabled_by_owner(record)) continue;
    if (disabled_.size() < disabled_kept_max) disabled_.push_back(record);
  }
}

void Orchestrator::apply_one(const ReadNamed& step, StartAnswer& answer, BootTime now) {
  auto& read = std::get<Result<std::vector<SubscriptionRecord>>>(answer);
  if (!read.ok()) {
    subscriptions_missing_ = true;
    return start_failed(read.error(), "subscriptions could not be read", now);
  }
  start_retry_.succeeded();
  book_.add(*read);
  for (const auto& id : step.subscriptions) {
    if (auto* const line = find_line(id)) update_line(*line, now);
  }
}

void Orchestrator::apply_one(const ScanInProgress& step, StartAnswer& answer, BootTime now) {
  auto& page = std::get<Result<std::vector<DeliveryRecord>>>(answer);
  scan_out_ = false;
  const auto ended = std::exchange(ended_meanwhile_, {});
  if (!is_ours(step.tenure)) return;
  if (!page.ok()) {
    return start_failed(page.error(), "deliveries in progress could not be read", now);
  }
  start_retry_.succeeded();
  auto& owned = shards_[step.tenure.shard.value];
  const bool last = page->size() < scan_rows_max;
  if (!last) owned.scan_after = page->back().id;
  for (auto& delivery : *page) {
    if (!ended.contains(delivery.id)) adopt(std::move(delivery), now);
  }
  if (last) end_scan(step.tenure.shard, now);
}

/// A delivery is in progress: this process knows that, or another one has begun it.
void Orchestrator::adopt(DeliveryRecord delivery, BootTime now) {
  using Phase = Attempt::Phase;
  const auto id = delivery.id;
  auto known = attempts_.find(id);
  if (known != attempts_.end()) {
    auto& attempt = known->second;
    attempt.seen = true;
    const bool same = attempt.delivery.attempt == delivery.attempt;
    if (attempt.phase == Phase::beginning || attempt.phase == Phase::making ||
        attempt.phase == Phase::ending || (attempt.phase == Phase::running && same)) {
      if (attempt.phase == Phase::running) {
        jobs_to_check_.push_back({.delivery = id,
                                  .attempt = delivery.attempt,
                                  .shard = delivery.shard,
                                  .subscription = delivery.subscription});
      }
      return;
    }
    // What was in memory is not what is stored: the database has lost its newest writes.
    drop(id);
  }
  auto& line = line_for(delivery.subscription, delivery.shard, now);
  const bool retry = delivery.attempt > 1;
  line.flow.began(retry, now);
  ++under_way_;
  jobs_to_check_.push_back({.delivery = id,
                            .attempt = delivery.attempt,
                            .shard = delivery.shard,
                            .subscription = delivery.subscription});
  attempts_.emplace(id, Attempt{.delivery = std::move(delivery),
                                .phase = Phase::running,
                                .retry = retry,
                                .seen = true,
                                .began = now});
}

void Orchestrator::end_scan(Shard shard, BootTime now) {
  auto& owned = shards_[shard.value];
  owned.scanning = false;
  owned.scan_at = now + options_.scan_interval;
  owned.ended_at = std::min(owned.ended_at, now);
  std::vector<DeliveryId> gone;
  for (const auto& [id, attempt] : attempts_) {
    if (attempt.delivery.shard == shard && attempt.phase == Attempt::Phase::running &&
        !attempt.seen && attempt.began < owned.scan_began) {
      gone.push_back(id);
    }
  }
  for (const auto& id : gone) {
    log_about(LogLevel::warning,
              "a delivery is not in progress any more: the database has lost its newest writes",
              attempts_.at(id).delivery);
    drop(id);
  }
  if (!std::exchange(owned.scanned, true)) {
    for (auto& [id, line] : lines_) {
      if (line.shard == shard) consider(line, now);
    }
  }
  parts_.wake_ender();
}

void Orchestrator::apply_one(const FindMissingJobs& step, StartAnswer& answer, BootTime now) {
  auto& missing = std::get<Result<std::vector<spi::AttemptOf>>>(answer);
  if (!missing.ok()) {
    jobs_to_check_.insert(jobs_to_check_.end(), step.jobs.begin(), step.jobs.end());
    return start_failed(missing.error(), "missing jobs could not be looked for", now);
  }
  start_retry_.succeeded();
  for (const auto& of : *missing) {
    const auto known = attempts_.find(of.delivery);
    // It has ended meanwhile, or is in other hands.
    if (known == attempts_.end() || known->second.delivery.attempt != of.attempt ||
        known->second.phase != Attempt::Phase::running) {
      continue;
    }
    log_about(LogLevel::info, "a delivery in progress has no job, and gets one",
              known->second.delivery);
    jobs_.push_back({.delivery = of.delivery,
                     .attempt = of.attempt,
                     .shard = known->second.delivery.shard,
                     .subscription = known->second.delivery.subscription});
  }
}

void Orchestrator::apply_one(const ScanOpen& step, StartAnswer& answer, BootTime now) {
  auto& page = std::get<Result<std::vector<spi::OpenSubscription>>>(answer);
  if (!is_ours(step.tenure)) return;
  auto& owned = shards_[step.tenure.shard.value];
  if (!page.ok()) {
    owned.open_at = now;
    return start_failed(page.error(), "open deliveries could not be looked for", now);
  }
  start_retry_.succeeded();
  const bool last = page->size() < open_rows_max;
  owned.open_after = last ? SubscriptionId{} : page->back().subscription;
  if (!last) owned.open_at = now;
  bool news = false;
  for (const auto& open : *page) {
    auto& line = line_for(open.subscription, step.tenure.shard, now);
    news = news || (line.ready_count() == 0 && !line.look && line.goes());
    if (line.subscription && line.state() == SubscriptionState::disabled) line.doom = true;
    look_at(line, open.due, now);
  }
  found_something(news);
}

void Orchestrator::apply_one(const ReadDue& step, StartAnswer& answer, BootTime now) {
  auto& read = std::get<Result<std::vector<DeliveryRecord>>>(answer);
  if (read.ok()) {
    start_retry_.succeeded();
    std::erase_if(parked_begins_, [&](const auto& one) { return one.second <= now; });
  } else {
    start_failed(read.error(), "deliveries that are due could not be read", now);
  }
  auto rest = read.ok() ? std::span(*read) : std::span<DeliveryRecord>();
  for (std::size_t at = 0; at < step.pages.size(); ++at) {
    const auto& page = step.pages[at];
    std::size_t count = 0;
    while (count < rest.size() && rest[count].subscription == page.subscription) ++count;
    const auto rows = rest.first(count);
    rest = rest.subspan(count);
    auto* const line = find_line(page.subscription);
    if (line == nullptr || !is_ours(step.tenures[at])) continue;
    if (read.ok()) take_page(*line, page, rows);
    consider(*line, now);
  }
}

void Orchestrator::take_page(Line& line, const spi::PendingPage& page,
                             std::span<DeliveryRecord> rows) {
  if (rows.size() < page.rows_max) {
    line.look = false;
    line.after_due = {};
    line.after = {};
  } else {
    line.after_due = rows.back().next_attempt_at;
    line.after = rows.back().sequence;
  }
  if (!line.goes()) return;
  for (auto& delivery : rows) take_due(line, std::move(delivery));
}

void Orchestrator::take_due(Line& line, DeliveryRecord delivery) {
  const auto id = delivery.id;
  if (attempts_.contains(id) || parked_begins_.contains(id)) return;
  const bool retry = delivery.attempt > 0;
  if (delivery.created_at == WallTime{}) delivery.created_at = parts_.clock.wall_now();
  attempts_.emplace(id, Attempt{.delivery = std::move(delivery), .retry = retry});
  line.ready[retry ? 1 : 0].push_back(id);
}

void Orchestrator::apply_one(const ReleaseStrays& step, StartAnswer& answer, BootTime now) {
  const auto& reply = std::get<Result<spi::DeliveryStore::StraysReply>>(answer);
  if (!is_ours(step.tenure)) return;
  if (!reply.ok()) {
    return start_failed(reply.error(), "stray deliveries could not be released", now);
  }
  start_retry_.succeeded();
  auto& owned = shards_[step.tenure.shard.value];
  owned.strays_after = reply->next.value_or(spi::WaitingPage{});
  if (reply->next) owned.strays_at = now + strays_page_interval;
  if (reply->released > 0) {
    parts_.log.log(LogLevel::info, "deliveries that no other one of their key stands before go on",
                   {{"deliveries", reply->released}});
    owned.open_at = std::min(owned.open_at, now);
  }
}

}  // namespace sagabox::delivery
