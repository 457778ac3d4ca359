#include "outbox/upkeep/replayer.hpp"

#include "core/error_text.hpp"
#include "observe/metric_names.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::outbox {
namespace {

constexpr Duration replay_retry_min = std::chrono::milliseconds(200);
constexpr Duration replay_retry_max = std::chrono::seconds(10);
constexpr std::uint32_t replay_doublings_max = 6;
constexpr Duration replay_ownership_poll = std::chrono::seconds(1);
/// The actor in the audit log if no operator acted.
constexpr std::string_view own_actor = "sagabox";

Duration retry_delay(std::uint32_t errors) {
  const auto doublings = std::min(errors == 0 ? 0 : errors - 1, replay_doublings_max);
  return std::min<Duration>(replay_retry_min * (1U << doublings), replay_retry_max);
}

}  // namespace

Replayer::Replayer(Parts parts, ReplayerOptions options)
    : parts_(std::move(parts)),
      scope_(scope_of(parts_.table)),
      options_(options),
      shard_(parts_.live),
      replayed_(
          parts_.metrics.counter(metric::outbox_replayed_total, {{"table", parts_.table.str()}})),
      replays_(parts_.metrics.counter(metric::replay_total, {{"kind", "outbox"}})) {}

std::optional<ReplayPlan> Replayer::plan(BootTime now) {
  const auto tenure = shard_.tenure(now);
  if (!tenure) return std::nullopt;
  if (tenure_ != tenure) {
    forget();
    tenure_ = tenure;
  }
  auto call = choose(now);
  if (!call || !shard_.begin_call(*tenure)) return std::nullopt;
  if (const auto* advance = std::get_if<ReplayPlan::Advance>(&*call)) {
    jobs_.at(advance->job).pace.spend(advance->rows_max);
    turn_ = advance->job;
  } else if (std::holds_alternative<ReplayPlan::Look>(*call)) {
    woken_.store(false, std::memory_order_release);
  }
  return ReplayPlan{*tenure, *std::move(call)};
}

std::optional<decltype(ReplayPlan::call)> Replayer::choose(BootTime now) {
  if (look_due(now)) return ReplayPlan::Look{};
  const auto ready = [&](Running& running) -> std::optional<decltype(ReplayPlan::call)> {
    if (running.in_question || now < running.retry_at) return std::nullopt;
    if (running.failures >= options_.attempts_max) {
      return ReplayPlan::Fail{running.job.id, running.error};
    }
    const auto rows = running.pace.allowed(now, options_.rows_max);
    if (rows == 0) return std::nullopt;
    return ReplayPlan::Advance{running.job.id, rows};
  };
  // Jobs take turns, beginning after the last one.
  const auto first = jobs_.upper_bound(turn_);
  for (auto at = first; at != jobs_.end(); ++at) {
    if (auto call = ready(at->second)) return call;
  }
  for (auto at = jobs_.begin(); at != first; ++at) {
    if (auto call = ready(at->second)) return call;
  }
  return std::nullopt;
}

bool Replayer::look_due(BootTime now) const {
  return now >= look_at_ || (looks_failed_ == 0 && woken_.load(std::memory_order_acquire));
}

BootTime Replayer::next(BootTime now) const {
  const auto tenure = shard_.tenure(now);
  if (!tenure) return now + replay_ownership_poll;
  if (tenure_ != tenure || look_due(now)) return now;
  auto first = look_at_;
  for (const auto& [id, running] : jobs_) first = std::min(first, due(running, now));
  return std::max(now, first);
}

BootTime Replayer::due(const Running& running, BootTime now) const {
  if (running.in_question) return BootTime::max();
  if (running.failures >= options_.attempts_max) return running.retry_at;
  return std::max(running.retry_at, running.pace.allowed_at(now, options_.rows_max));
}

ReplayAnswer Replayer::perform(const ReplayPlan& plan) const {
  if (const auto* advance = std::get_if<ReplayPlan::Advance>(&plan.call)) {
    const spi::Fence fence{.shard = Shard{0}, .epoch = plan.tenure.epoch};
    return parts_.store.advance_job({.table = parts_.table,
                                     .job = advance->job,
                                     .fencing = {scope_, plan.tenure.owner, {&fence, 1}},
                                     .rows_max = advance->rows_max});
  }
  if (const auto* fail = std::get_if<ReplayPlan::Fail>(&plan.call)) {
    return parts_.store.change_job({.table = parts_.table,
                                    .job = fail->job,
                                    .to = ReplayJob::State::failed,
                                    .actor = std::string(own_actor),
                                    .error = fail->error});
  }
  return parts_.store.jobs(parts_.table);
}

void Replayer::apply(const ReplayPlan& plan, ReplayAnswer answer, BootTime now) {
  const bool ours = shard_.end_call(plan.tenure);
  if (const auto* advance = std::get_if<ReplayPlan::Advance>(&plan.call)) {
    const auto& reply = std::get<Result<spi::JobAdvanceReply>>(answer);
    // Count replayed rows even if the scope has another owner now.
    if (reply.ok() && reply->rows > 0) {
      replayed_.add(reply->rows);
      replays_.add(reply->rows);
    }
    if (ours) advanced(plan, *advance, reply, now);
  } else if (const auto* fail = std::get_if<ReplayPlan::Fail>(&plan.call)) {
    if (ours) ended_as_failed(*fail, std::get<Result<ReplayJob>>(answer), now);
  } else if (ours) {
    looked(std::get<Result<std::vector<ReplayJob>>>(answer), now);
  }
}

void Replayer::looked(const Result<std::vector<ReplayJob>>& answer, BootTime now) {
  if (!answer.ok()) {
    ++looks_failed_;
    look_at_ = now + retry_delay(looks_failed_);
    // The store was not reachable, so the failure is not caused by a job.
    for (auto& [id, running] : jobs_) running.in_question = false;
    parts_.log.log(looks_failed_ == 1 ? LogLevel::warning : LogLevel::debug,
                   "replay jobs could not be listed, will be tried again",
                   {{"table", std::string_view(parts_.table.str())},
                    {"code", code_name(answer.error().code)},
                    {"error", std::string_view(answer.error().message)}});
    return;
  }
  looks_failed_ = 0;
  look_at_ = now + options_.look_interval;
  for (const auto& job : *answer) seen(job, now);
  // Remove jobs that the store does not list any more, after a fail-over.
  std::erase_if(jobs_, [&](const auto& known) {
    return std::ranges::none_of(*answer, [&](const auto& job) { return job.id == known.first; });
  });
}

void Replayer::seen(const ReplayJob& job, BootTime now) {
  const auto known = jobs_.find(job.id);
  if (job.state != ReplayJob::State::running) {
    if (known != jobs_.end()) ended(known, job);
    return;
  }
  if (known == jobs_.end()) {
    jobs_.emplace(job.id, Running{.job = job, .pace = flow::Pace(job.rate_max, now)});
    parts_.log.log(LogLevel::info, "replay runs",
                   {{"table", std::string_view(parts_.table.str())},
                    {"job", job.id.value},
                    {"from", state_name(job.from)},
                    {"matched", job.matched},
                    {"replayed", job.replayed},
                    {"rate_max", std::uint64_t{job.rate_max}}});
    return;
  }
  auto& running = known->second;
  if (running.in_question) {
    running.in_question = false;
    // If the cursor has moved, only the reply was lost.
    const bool moved = job.cursor != running.job.cursor;
    running.failures = moved ? 0 : running.failures + 1;
    if (moved) running.errors = 0;
  }
  running.job = job;
}

void Replayer::advanced(const ReplayPlan& plan, const ReplayPlan::Advance& advance,
                        const Result<spi::JobAdvanceReply>& answer, BootTime now) {
  const auto at = jobs_.find(advance.job);
  auto& running = at->second;
  if (!answer.ok()) return batch_failed(running, answer.error(), now);
  if (!answer->held) {
    parts_.log.log(LogLevel::warning, "replay is in other hands; nothing was replayed",
                   {{"table", std::string_view(parts_.table.str())},
                    {"job", advance.job.value},
                    {"epoch", plan.tenure.epoch.value}});
    shard_.broken(plan.tenure);
    return parts_.fence_broken(plan.tenure.epoch);
  }
  running.errors = running.failures = 0;
  running.pace.refund(advance.rows_max - std::min(advance.rows_max, answer->rows));
  if (answer->job.state != ReplayJob::State::running) return ended(at, answer->job);
  // If there were no rows and no progress, calling again at once would loop.
  const bool stands = answer->rows == 0 && answer->job.cursor == running.job.cursor;
  running.retry_at = stands ? now + options_.look_interval : BootTime::min();
  running.job = answer->job;
}

void Replayer::batch_failed(Running& running, const Error& error, BootTime now) {
  running.error = clean_error(error.text());
  running.in_question = true;
  back_off(running, now);
  look_at_ = std::min(look_at_, running.retry_at);
  parts_.log.log(LogLevel::warning, "a batch of a replay failed, will be tried again",
                 {{"table", std::string_view(parts_.table.str())},
                  {"job", running.job.id.value},
                  {"error", std::string_view(running.error)},
                  {"failures", std::uint64_t{running.errors}}});
}

void Replayer::back_off(Running& running, BootTime now) {
  ++running.errors;
  running.retry_at = now + retry_delay(running.errors);
}

void Replayer::ended_as_failed(const ReplayPlan::Fail& fail, const Result<ReplayJob>& answer,
                               BootTime now) {
  const auto at = jobs_.find(fail.job);
  if (answer.ok()) return ended(at, *answer);
  // The change is in doubt, or the job does not run any more: read the jobs again.
  look_at_ = now;
  back_off(at->second, now);
}

void Replayer::ended(Jobs::iterator at, const ReplayJob& job) {
  const bool failed = job.state == ReplayJob::State::failed;
  parts_.log.log(failed ? LogLevel::error : LogLevel::info, "replay ended",
                 {{"table", std::string_view(parts_.table.str())},
                  {"job", job.id.value},
                  {"state", job_state_name(job.state)},
                  {"replayed", job.replayed},
                  {"skipped", job.skipped},
                  {"matched", job.matched},
                  {"error", std::string_view(job.error)}});
  jobs_.erase(at);
}

void Replayer::forget() {
  jobs_.clear();
  turn_ = {};
  look_at_ = BootTime::min();
  looks_failed_ = 0;
}

}  // namespace sagabox::outbox
