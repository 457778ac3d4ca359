#include "delivery/orchestrator/orchestrator.hpp"
#include "spi/hub_rules.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::delivery {
namespace {

/// Otherwise the fault may be ours: a worker that was lost, or that has no transport for it.
bool was_sent(const JobResult& result) {
  return result.took > Duration{} && result.code != Code::tx_lease_lost;
}

}  // namespace

void Orchestrator::next_batch() {
  EndBatch batch;
  while (!results_.empty() && batch.items.size() < options_.batch_rows_max) {
    const auto job = std::move(results_.front());
    results_.pop_front();
    take_result(job, batch);
  }
  if (!batch.empty()) batches_.push_back(std::move(batch));
}

void Orchestrator::take_result(const spi::EndedJob& job, EndBatch& batch) {
  using Phase = Attempt::Phase;
  const auto shard =
      spi::delivery_shard(job.subscription, static_cast<std::uint16_t>(shards_.size()));
  const auto later = [&] { known_results_.erase(job.of); };  // it is shown again
  if (!works_on(shard) || !owned(shard).scanned) return later();
  const auto known = attempts_.find(job.of.delivery);
  // All that is in progress is in memory.
  const auto stale = [&] { batch.stale.push_back({tenure_of(shard), job.of}); };
  if (known == attempts_.end()) return stale();
  auto& attempt = known->second;
  if (!attempt.under_way() || attempt.phase == Phase::beginning) return later();
  if (attempt.delivery.attempt < job.of.attempt) return later();
  if (attempt.delivery.attempt > job.of.attempt) return stale();
  if (attempt.phase == Phase::ending) return;
  auto* const line = find_line(attempt.delivery.subscription);
  if (line == nullptr || !line->subscription) {
    subscriptions_missing_ = true;
    return later();
  }
  if (asks_health(*line, job)) {
    deferred_.push_back(job);
    return;
  }
  decide_end(*line, attempt, job, batch);
}

/// Whether it must be found out first since when this endpoint fails.
bool Orchestrator::asks_health(Line& line, const spi::EndedJob& job) {
  const auto longest = line.subscription->settings.disable_after;
  // Since it was changed, somebody looks after it.
  const bool is_old = job.ended_at - line.subscription->record.changed_at >= longest;
  const bool is_open = !line.health_known && !line.failing_since;
  const bool failed = !job.result.completed && was_sent(job.result);
  const bool matters = failed && longest > Duration{} && is_old && is_open;
  if (matters && !std::exchange(line.health_asked, true)) {
    // What failed before that time is looked for, as far back as successes are kept.
    questions_.push_back(
        {.subscription = line.id, .within = std::min(2 * longest, options_.history)});
  }
  return matters;
}

/// Since when all attempts have failed, as far as that says something about the endpoint as it is
/// now: what was before its subscription was changed or enabled does not count.
std::optional<WallTime> Orchestrator::failing_since(const Line& line) {
  if (!line.failing_since) return std::nullopt;
  return std::max(*line.failing_since, line.subscription->record.changed_at);
}

void Orchestrator::decide_end(Line& line, Attempt& attempt, const spi::EndedJob& job,
                              EndBatch& batch) {
  const auto since = was_sent(job.result) ? failing_since(line) : std::nullopt;
  auto endpoint = Endpoint::of(*line.subscription, since);
  endpoint.state = line.state();
  // Of an attempt that another owner has begun, only its time tells which target it was sent to.
  endpoint.changed = attempt.change != 0
                         ? attempt.change != line.subscription->record.change
                         : job.ended_at - job.result.took < line.subscription->record.changed_at;
  auto decision =
      parts_.decide(attempt.delivery, AttemptEnded{.attempt = job.of.attempt, .result = job.result},
                    endpoint, job.ended_at, parts_.random);
  if (!decision.changed) return batch.stale.push_back({tenure_of(line.shard), job.of});
  if (job.result.completed) {
    line.health_known = true;
    line.failing_since.reset();
  } else if (!line.failing_since && was_sent(job.result)) {
    line.failing_since = job.ended_at;
  }
  line.flow.ended(job.result, attempt.retry, attempt.began, parts_.clock.boot_now());
  if (!job.result.completed) ++totals_.failed;
  attempt.phase = Attempt::Phase::ending;
  if (decision.disable) {
    // Nothing else of it goes out from now on.
    line.stopped = true;
    line.doom = true;
  }
  batch.items.push_back({.tenure = tenure_of(line.shard),
                         .delivery = std::move(decision.delivery),
                         .disable = decision.disable.value_or(""),
                         .disable_change = line.subscription->record.change,
                         .bury = decision.bury});
  consider(line, parts_.clock.boot_now());
  parts_.wake_starter();
}

void Orchestrator::apply_one(const ReadEnded& step, EndAnswer& answer, BootTime now) {
  auto& jobs = std::get<Result<std::vector<spi::EndedJob>>>(answer);
  if (!is_ours(step.tenure)) return;
  auto& one = shards_[step.tenure.shard.value];
  if (!jobs.ok()) {
    one.ended_at = now;
    return end_failed(jobs.error(), "ended jobs could not be read", now);
  }
  end_retry_.succeeded();
  bool news = false;
  for (auto& job : *jobs) {
    if (!known_results_.insert(job.of).second) continue;
    results_.push_back(std::move(job));
    news = true;
  }
  const bool is_full = jobs->size() == step.rows_max;
  if (news && is_full) one.ended_at = now;
  // The oldest come first, and those whose result the store refuses stay: where they fill the page,
  // the next one is longer.
  if (!news && is_full) one.ended_rows = step.rows_max * 2;
  if (jobs->size() < ended_rows_max) one.ended_rows = ended_rows_max;
  found_something(news);
}

void Orchestrator::apply_one(const ReadDoomed& step, EndAnswer& answer, BootTime now) {
  auto& page = std::get<Result<std::vector<DeliveryRecord>>>(answer);
  auto* const line = find_line(step.subscription);
  if (line == nullptr || !is_ours(step.tenure)) return;
  if (!page.ok()) {
    consider(*line, now);
    return end_failed(page.error(), "deliveries of a disabled subscription could not be read", now);
  }
  end_retry_.succeeded();
  line->doom = page->size() == doomed_rows_max;
  if (!line->subscription || line->state() != SubscriptionState::disabled) return;
  auto endpoint = Endpoint::of(*line->subscription, line->failing_since);
  endpoint.state = SubscriptionState::disabled;
  EndBatch batch{.items = {}, .stale = {}, .unsent = true};
  for (auto& delivery : *page) {
    const auto known = attempts_.find(delivery.id);
    if (known != attempts_.end()) continue;  // it has begun meanwhile
    auto decision = parts_.decide(delivery, SubscriptionChanged{}, endpoint,
                                  parts_.clock.wall_now(), parts_.random);
    if (!decision.changed) continue;
    batch.items.push_back({.tenure = step.tenure,
                           .delivery = std::move(decision.delivery),
                           .disable = {},
                           .disable_change = 0,
                           .bury = decision.bury});
  }
  if (!batch.items.empty()) batches_.push_back(std::move(batch));
}

void Orchestrator::apply_one(const ReadFailing& step, EndAnswer& answer, BootTime now) {
  const auto& since = std::get<Result<std::optional<WallTime>>>(answer);
  // Results do not wait for long: without an answer the time begins with this failure.
  if (!since.ok()) end_failed(since.error(), "it is not known since when an endpoint fails", now);
  if (auto* const line = find_line(step.subscription)) {
    line->health_known = true;
    if (since.ok() && !line->failing_since) line->failing_since = *since;
  }
  questions_.pop_front();
  results_.insert(results_.end(), deferred_.begin(), deferred_.end());
  deferred_.clear();
}

}  // namespace sagabox::delivery
