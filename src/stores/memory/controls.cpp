#include "stores/memory/controls.hpp"

#include "observe/audit_events.hpp"
#include "stores/memory/database.hpp"

#include <algorithm>

namespace sagabox::memory {
namespace {

using JobState = ReplayJob::State;

Error no_job(const TableName& table, ReplayJobId job) {
  return {Code::config_invalid, "there is no replay job " + std::to_string(job.value) +
                                    " in table \"" + table.str() + "\""};
}

}  // namespace

Result<spi::Controls> Database::controls(const TableName& table) {
  return faulty(Operation::controls, [&]() -> Result<spi::Controls> {
    const std::lock_guard lock(mutex_);
    if (find(table) == nullptr) return no_table(table);
    const auto known = state_.controls.find(table.str());
    if (known == state_.controls.end()) return spi::Controls{};
    return spi::Controls{known->second.pauses, known->second.taken};
  });
}

Result<bool> Database::set_pause(const spi::PauseRequest& request) {
  return faulty(Operation::set_pause, [&]() -> Result<bool> {
    const std::lock_guard lock(mutex_);
    if (find(request.table) == nullptr) return no_table(request.table);
    auto& pauses = state_.controls[request.table.str()].pauses;
    const auto place = std::ranges::lower_bound(pauses, request.topic, {}, &Pause::topic);
    const bool paused = place != pauses.end() && place->topic == request.topic;
    if (paused == request.paused) return false;
    const WallTime at = now();
    if (paused) {
      pauses.erase(place);
    } else {
      pauses.insert(place, {request.topic, request.actor, request.note, at});
    }
    state_.audit.append(
        pause_event(request.table, request.topic, request.paused, request.actor, request.note, at));
    return true;
  });
}

Result<ReplayJob> Database::create_job(const spi::NewReplayJob& request) {
  return faulty(Operation::create_job, [&]() -> Result<ReplayJob> {
    if (request.from == MessageState::pending) {
      return Error{Code::config_invalid,
                   "pending messages are delivered without a replay; ask for dead, quarantined or "
                   "done ones"};
    }
    const std::lock_guard lock(mutex_);
    const Table* rows = find(request.table);
    if (rows == nullptr) return no_table(request.table);
    auto& jobs = state_.controls[request.table.str()].jobs;
    const auto extent = rows->extent(request.from, request.filter);
    ReplayJob job;
    job.id = ReplayJobId{jobs.size() + 1};
    job.table = request.table.str();
    job.from = request.from;
    job.filter = request.filter;
    job.last = extent.last;
    job.matched = extent.rows;
    job.rate_max = request.rate_max;
    job.as_new = request.as_new;
    job.actor = request.actor;
    job.created_at = job.changed_at = now();
    state_.audit.append(
        job_event(AuditKind::tx_replay_requested, job, request.actor, job.created_at));
    jobs.push_back(job);
    return job;
  });
}

Result<std::vector<ReplayJob>> Database::jobs(const TableName& table) {
  return faulty(Operation::look, [&]() -> Result<std::vector<ReplayJob>> {
    const std::lock_guard lock(mutex_);
    if (find(table) == nullptr) return no_table(table);
    const auto known = state_.controls.find(table.str());
    return known == state_.controls.end() ? std::vector<ReplayJob>{} : known->second.jobs;
  });
}

Result<ReplayJob> Database::change_job(const spi::JobChange& change) {
  return faulty(Operation::change_job, [&]() -> Result<ReplayJob> {
    const std::lock_guard lock(mutex_);
    if (find(change.table) == nullptr) return no_table(change.table);
    ReplayJob* job = state_.controls[change.table.str()].find(change.job);
    if (job == nullptr) return no_job(change.table, change.job);
    if (auto wrong = change_problem(*job, change.to)) return *std::move(wrong);
    job->state = change.to;
    job->error = change.to == JobState::failed ? change.error : std::string();
    job->changed_at = now();
    state_.audit.append(job_event(audit_kind(change.to), *job, change.actor, job->changed_at));
    return *job;
  });
}

bool Database::runs_replays(const spi::JobAdvance& request) const {
  const auto& [scope, owner, fences] = request.fencing;
  const auto owners = state_.ownership.owners(scope);
  return !owners.empty() && owners[0].owner == owner && owners[0].epoch == fences.front().epoch;
}

Result<std::uint32_t> Database::replay_next(Table& rows, ReplayJob& job, std::uint32_t rows_max) {
  MessageFilter filter = job.filter;
  filter.last = job.last;
  const auto selection = rows.select(job.from, filter, job.cursor, rows_max);
  if (!selection.rows.empty()) {
    if (auto busy = other_writer(nullptr)) return *std::move(busy);
  }
  const WallTime at = now();
  const TransactionId writer{state_.next_transaction.value++};
  std::vector<Sequence> replayed;
  for (const auto sequence : selection.rows) {
    if (rows.is_pending_again(sequence)) continue;
    rows.replay(sequence, writer, at, job.as_new);
    replayed.push_back(sequence);
  }
  job.changed_at = at;
  job.replayed += replayed.size();
  job.skipped += selection.rows.size() - replayed.size();
  if (!selection.rows.empty()) job.cursor = selection.rows.back();
  if (!replayed.empty()) {
    state_.audit.append(batch_event(job, replayed.size(), replayed.front(), replayed.back(), at));
  }
  if (selection.exhausted) {
    job.cursor = job.last;
    job.state = JobState::finished;
    state_.audit.append(job_event(AuditKind::replay_finished, job, job.actor, at));
  }
  return static_cast<std::uint32_t>(replayed.size());
}

Result<spi::JobAdvanceReply> Database::advance_job(const spi::JobAdvance& request) {
  return faulty(Operation::advance_job, [&]() -> Result<spi::JobAdvanceReply> {
    spi::JobAdvanceReply reply;
    {
      const std::lock_guard lock(mutex_);
      Table* rows = find(request.table);
      if (rows == nullptr) return no_table(request.table);
      ReplayJob* job = state_.controls[request.table.str()].find(request.job);
      if (job == nullptr) return no_job(request.table, request.job);
      reply.held = runs_replays(request);
      if (reply.held && job->state == JobState::running) {
        auto replayed = replay_next(*rows, *job, request.rows_max);
        if (!replayed.ok()) return replayed.error();
        reply.rows = *replayed;
      }
      reply.job = *job;
    }
    if (reply.rows > 0 && options_.notifies) signal(request.table.str()).notify();
    return reply;
  });
}

}  // namespace sagabox::memory
