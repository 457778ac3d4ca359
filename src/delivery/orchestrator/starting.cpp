#include "delivery/hub_log.hpp"
#include "delivery/orchestrator/orchestrator.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::delivery {
namespace {

/// Under constant load something is read after so many writes.
constexpr std::uint32_t writes_in_a_row_max = 4;

JobRecord job_of(const DeliveryRecord& delivery) {
  return {.delivery = delivery.id,
          .attempt = delivery.attempt,
          .shard = delivery.shard,
          .subscription = delivery.subscription};
}

spi::AttemptOf attempt_of(const JobRecord& job) {
  return {.delivery = job.delivery, .attempt = job.attempt};
}

std::vector<spi::AttemptOf> attempts_of(const std::vector<JobRecord>& jobs) {
  std::vector<spi::AttemptOf> attempts;
  attempts.reserve(jobs.size());
  for (const auto& job : jobs) attempts.push_back(attempt_of(job));
  return attempts;
}

}  // namespace

StartAnswer Orchestrator::perform(const StartStep& step) const {
  auto& store = parts_.store;
  struct Visitor {
    spi::DeliveryStore& store;
    StartAnswer operator()(const ReadSubscriptions& step) const {
      return store.subscriptions(step.after);
    }
    StartAnswer operator()(const ReadNamed& step) const { return store.named(step.subscriptions); }
    StartAnswer operator()(const ScanInProgress& step) const {
      return store.in_progress(step.tenure.shard, step.after, scan_rows_max);
    }
    StartAnswer operator()(const FindMissingJobs& step) const {
      return store.without_job(attempts_of(step.jobs));
    }
    StartAnswer operator()(const MakeJobs& step) const { return store.make_jobs(step.jobs); }
    StartAnswer operator()(const ScanOpen& step) const {
      return store.open(step.tenure.shard, step.after, open_rows_max);
    }
    StartAnswer operator()(const ReadDue& step) const { return store.due(step.pages); }
    StartAnswer operator()(const BeginAttempts& step) const {
      return store.begin({scope, step.fences.owner, step.fences.of}, step.attempts);
    }
    StartAnswer operator()(const ReleaseStrays& step) const {
      return store.release_strays({scope, step.fences.owner, step.fences.of}, step.page);
    }
  };
  return std::visit(Visitor{store}, step);
}

void Orchestrator::apply(const StartStep& step, StartAnswer answer, BootTime now) {
  const std::scoped_lock lock(mutex_);
  std::visit([&](const auto& one) { apply_one(one, answer, now); }, step);
}

void Orchestrator::start_failed(const Error& error, std::string_view what, BootTime now) {
  errors_.count(error.code);
  start_retry_.failed(now);
  parts_.log.log(LogLevel::warning, what,
                 {{"code", code_name(error.code)}, {"error", std::string_view(error.message)}});
}

std::optional<StartStep> Orchestrator::plan_start(BootTime now) {
  const std::scoped_lock lock(mutex_);
  show_gauges(now);
  if (!live(now) || now < start_retry_.at()) return std::nullopt;
  fire_timers(now);
  if (++writes_in_a_row_ <= writes_in_a_row_max) {
    if (auto step = plan_jobs()) return step;
    if (auto step = plan_begin(now)) return step;
  }
  writes_in_a_row_ = 0;
  if (auto step = plan_read(now)) return step;
  if (auto step = plan_jobs()) return step;
  return plan_begin(now);
}

std::optional<StartStep> Orchestrator::plan_jobs() {
  if (jobs_.empty()) return std::nullopt;
  MakeJobs step;
  while (!jobs_.empty() && step.jobs.size() < job_rows_max_) {
    step.jobs.push_back(std::move(jobs_.front()));
    jobs_.pop_front();
  }
  return step;
}

std::optional<StartStep> Orchestrator::plan_begin(BootTime now) {
  while (!begin_again_.empty()) {
    auto again = std::move(begin_again_.front());
    begin_again_.pop_front();
    BeginAttempts step;
    BeginAttempts rest;
    for (const auto& of : again.attempts) {
      const auto known = attempts_.find(of.delivery);
      if (known == attempts_.end() || known->second.phase != Attempt::Phase::beginning) continue;
      // One owner a call: of a worker that has started over there may be two.
      const bool mine = add_fence(step.fences, known->second.delivery.shard);
      (mine ? step : rest).attempts.push_back(of);
    }
    if (!rest.attempts.empty()) begin_again_.push_back(std::move(rest));
    if (!step.attempts.empty()) return step;
  }
  BeginAttempts step;
  while (!turns_.empty() && under_way_ < options_.in_progress_max &&
         step.attempts.size() < options_.batch_rows_max) {
    auto* const line = find_line(turns_.front());
    turns_.pop_front();
    if (line == nullptr) continue;
    line->in_turn = false;
    if (!works_on(line->shard) || !owned(line->shard).scanned || !line->goes()) continue;
    begin_turn(*line, step, now);
    consider(*line, now);
  }
  if (step.attempts.empty()) return std::nullopt;
  return step;
}

void Orchestrator::begin_turn(Line& line, BeginAttempts& step, BootTime now) {
  const auto endpoint = Endpoint::of(*line.subscription, line.failing_since);
  std::uint32_t begun = 0;
  for (const bool retry : {true, false}) {
    auto& lane = line.ready[retry ? 1 : 0];
    while (!lane.empty() && begun < options_.turn_rows && under_way_ < options_.in_progress_max &&
           line.flow.admits(retry, now)) {
      const auto known = attempts_.find(lane.front());
      lane.pop_front();
      if (known == attempts_.end() || known->second.under_way()) continue;
      auto& attempt = known->second;
      // The store has said that it is due, by its own clock.
      const auto wall = std::max(parts_.clock.wall_now(), attempt.delivery.next_attempt_at);
      auto decision = parts_.decide(attempt.delivery, Due{}, endpoint, wall, parts_.random);
      if (!decision.make_job || !add_fence(step.fences, line.shard)) {
        attempts_.erase(known);
        continue;
      }
      attempt.delivery = std::move(decision.delivery);
      attempt.phase = Attempt::Phase::beginning;
      attempt.began = now;
      attempt.change = line.subscription->record.change;
      line.flow.began(retry, now);
      ++under_way_;
      ++begun;
      step.attempts.push_back({attempt.delivery.id, attempt.delivery.attempt});
    }
  }
}

/// It is not under way after all, or any more.
void Orchestrator::drop(const DeliveryId& id) {
  const auto known = attempts_.find(id);
  if (known == attempts_.end()) return;
  const auto& attempt = known->second;
  auto* const line = find_line(attempt.delivery.subscription);
  if (attempt.under_way()) {
    --under_way_;
    const bool counted = attempt.phase != Attempt::Phase::ending;
    if (line != nullptr && counted) line->flow.dropped(attempt.retry);
  }
  attempts_.erase(known);
  if (line != nullptr) consider(*line, parts_.clock.boot_now());
}

void Orchestrator::apply_one(const BeginAttempts& step, StartAnswer& answer, BootTime now) {
  auto& reply = std::get<Result<spi::DeliveryStore::BeginReply>>(answer);
  if (!reply.ok()) return begin_failed(step, reply.error(), now);
  start_retry_.succeeded();
  fences_broken(step.fences, reply->held);
  if (std::ranges::find(reply->held, false) != reply->held.end()) {
    begin_again_.push_front(step);
    return;
  }
  for (const auto& of : reply->begun) {
    const auto known = attempts_.find(of.delivery);
    if (known == attempts_.end() || known->second.phase != Attempt::Phase::beginning) continue;
    known->second.phase = Attempt::Phase::making;
    // A scan that went past it before may have found it pending still.
    known->second.began = now;
    log_about(LogLevel::debug, "attempt of a delivery begins", known->second.delivery);
    jobs_.push_back(job_of(known->second.delivery));
  }
  // The rest waits for its key, or is not as it was when it was read.
  for (const auto& of : step.attempts) {
    const auto known = attempts_.find(of.delivery);
    if (known == attempts_.end() || known->second.phase != Attempt::Phase::beginning) continue;
    drop(of.delivery);
  }
}

void Orchestrator::begin_failed(const BeginAttempts& step, const Error& error, BootTime now) {
  if (may_be_repeated(error.code)) {
    begin_again_.push_front(step);
    return start_failed(error, "deliveries could not be begun, will be tried again", now);
  }
  errors_.count(error.code);
  if (step.attempts.size() == 1) {
    const auto& id = step.attempts.front().delivery;
    findings_.add(id, error.code, "the store refuses to begin it: " + error.message,
                  parts_.clock.wall_now());
    const auto known = attempts_.find(id);
    log_delivery(parts_.log, LogLevel::error, "the store refuses to begin a delivery",
                 known == attempts_.end() ? DeliveryRecord{.id = id} : known->second.delivery,
                 {{"code", code_name(error.code)}, {"error", std::string_view(error.message)}});
    if (parked_begins_.size() < runtime::Findings<DeliveryId>::kept_max) {
      parked_begins_.insert_or_assign(id, now + options_.parked_interval);
    }
    return drop(id);
  }
  const auto half = step.attempts.begin() + static_cast<std::ptrdiff_t>(step.attempts.size() / 2);
  begin_again_.push_back({.fences = {}, .attempts = {step.attempts.begin(), half}});
  begin_again_.push_back({.fences = {}, .attempts = {half, step.attempts.end()}});
}

void Orchestrator::apply_one(const MakeJobs& step, StartAnswer& answer, BootTime now) {
  const auto& made = std::get<Status>(answer);
  if (!made.ok()) {
    const bool repeats = may_be_repeated(made.error().code);
    if (!repeats) job_rows_max_ = std::max(1U, job_rows_max_ / 2);
    if (repeats || step.jobs.size() > 1) {
      jobs_.insert(jobs_.begin(), step.jobs.begin(), step.jobs.end());
    } else {
      // The next scan finds it without a job and tries again.
      const auto known = attempts_.find(step.jobs.front().delivery);
      if (known != attempts_.end()) known->second.phase = Attempt::Phase::running;
      findings_.add(step.jobs.front().delivery, made.error().code,
                    "the store refuses its job: " + made.error().message, parts_.clock.wall_now());
    }
    return start_failed(made.error(), "jobs could not be made, will be tried again", now);
  }
  start_retry_.succeeded();
  job_rows_max_ = std::min(options_.batch_rows_max, job_rows_max_ * 2);
  parts_.made_jobs();
  for (const auto& job : step.jobs) {
    const auto known = attempts_.find(job.delivery);
    if (known == attempts_.end() || known->second.delivery.attempt != job.attempt) continue;
    if (known->second.phase == Attempt::Phase::making) {
      known->second.phase = Attempt::Phase::running;
    }
    findings_.remove(job.delivery);
  }
}

BootTime Orchestrator::next_start(BootTime now) const {
  const std::scoped_lock lock(mutex_);
  if (!live(now)) return now + options_.poll_interval;
  const bool may_begin = !turns_.empty() && under_way_ < options_.in_progress_max;
  if (may_begin || !begin_again_.empty() || !jobs_.empty() || !jobs_to_check_.empty() ||
      !looks_.empty()) {
    return std::max(now, start_retry_.at());
  }
  auto next = subscriptions_at_;
  if (!timers_.empty()) next = std::min(next, timers_.begin()->first);
  for (const auto& one : shards_) {
    if (!one.ours || one.draining) continue;
    next = std::min({next, one.scanning ? now : one.scan_at, one.open_at, one.strays_at});
  }
  return std::max(next, start_retry_.at());
}

}  // namespace sagabox::delivery
