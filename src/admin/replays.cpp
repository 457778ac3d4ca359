#include "admin/checks.hpp"
#include "admin/replay_notes.hpp"
#include "core/text.hpp"
#include "observe/audit_events.hpp"

#include <sagabox/admin.hpp>

#include <algorithm>
#include <utility>

namespace sagabox {
namespace {

std::string job_name(ReplayJobId id) { return "replay job " + std::to_string(id.value); }

/// Returns an error if the job cannot change to this state.
Status check_change(const ReplayJob& job, ReplayJob::State to) {
  const bool running = job.state == ReplayJob::State::running;
  const bool resumes = to == ReplayJob::State::running;
  const bool resumable =
      job.state == ReplayJob::State::stopped || job.state == ReplayJob::State::failed;
  if (resumes ? resumable : running) return {};
  return Error{Code::tx_invalid_state,
               job_name(job.id) + " is " + std::string(job_state_name(job.state)) +
                   (resumes ? ": only stopped and failed jobs can be resumed"
                            : ": only running jobs can be stopped")};
}

}  // namespace

Result<ReplayOrder> Admin::checked(const ReplayOrder& order) const {
  if (auto status = admin::check_replay(order.from, order.filter); !status.ok()) {
    return status.error();
  }
  auto filter = checked(order.filter);
  if (!filter.ok()) return filter.error();
  ReplayOrder limited = order;
  limited.filter = *std::move(filter);
  return limited;
}

Result<std::uint64_t> Admin::older_than_window(const TableName& table,
                                               const ReplayOrder& order) const {
  // By the database's clock, like the end times of its messages.
  const auto stats = store_->outbox_admin().stats(table);
  if (!stats.ok()) return stats.error();
  auto filter = order.filter;
  const auto oldest_kept =
      stats->now - std::chrono::floor<WallTime::duration>(options_.inbox_window);
  filter.until = std::min(filter.until.value_or(oldest_kept), oldest_kept);
  return store_->outbox_admin().count(table, order.from, filter);
}

Result<ReplayPreview> Admin::preview_replay(const TableName& table, const ReplayOrder& order,
                                            std::uint32_t rows_max) const {
  if (auto rows = admin::check_rows("rows_max", rows_max, page_rows_max); !rows.ok()) {
    return rows.error();
  }
  const auto limited = checked(order);
  if (!limited.ok()) return limited.error();
  const auto matched = store_->outbox_admin().count(table, limited->from, limited->filter);
  if (!matched.ok()) return matched.error();
  auto first = store_->outbox_admin().list(
      {.table = table, .state = limited->from, .filter = limited->filter, .rows_max = rows_max});
  if (!first.ok()) return first.error();
  const auto older = older_than_window(table, *limited);
  if (!older.ok()) return older.error();
  return ReplayPreview{.matched = *matched,
                       .older_than_window = *older,
                       .first = std::move(first->rows),
                       .notes = admin::replay_notes(*limited, *matched, *older)};
}

Result<ReplayJob> Admin::start_replay(const TableName& table, const ReplayOrder& order) {
  auto limited = checked(order);
  if (!limited.ok()) return limited.error();
  auto job = store_->control().create_job({.table = table,
                                           .from = limited->from,
                                           .filter = std::move(limited->filter),
                                           .rate_max = limited->rate_max,
                                           .as_new = limited->as_new,
                                           .actor = options_.actor});
  if (!job.ok()) return job;
  tell(job_event(AuditKind::tx_replay_requested, *job, options_.actor, options_.clock->wall_now()));
  options_.log->log(LogLevel::info, "replay requested",
                    {{"table", std::string_view(table.str())},
                     {"job", job->id.value},
                     {"actor", std::string_view(options_.actor)},
                     {"matched", job->matched}});
  return job;
}

Result<std::vector<ReplayJob>> Admin::jobs(const TableName& table) const {
  auto jobs = store_->control().jobs(table);
  if (jobs.ok() && options_.tenant) {
    std::erase_if(*jobs,
                  [&](const ReplayJob& job) { return job.filter.tenant != options_.tenant; });
  }
  return jobs;
}

Result<ReplayJob> Admin::job(const TableName& table, ReplayJobId id) const {
  auto jobs = this->jobs(table);
  if (!jobs.ok()) return jobs.error();
  const auto found =
      std::find_if(jobs->begin(), jobs->end(), [&](const ReplayJob& job) { return job.id == id; });
  if (found != jobs->end()) return std::move(*found);
  return Error{Code::request_not_found,
               job_name(id) + " is not there; " +
                   (jobs->empty() ? "table " + quoted(table.str()) + " has no replay jobs"
                                  : "the latest of table " + quoted(table.str()) + " is " +
                                        std::to_string(jobs->back().id.value))};
}

Result<ReplayJob> Admin::change_job(const TableName& table, ReplayJobId id, ReplayJob::State to) {
  const auto known = job(table, id);
  if (!known.ok()) return known.error();
  if (auto status = check_change(*known, to); !status.ok()) return status.error();
  auto changed =
      store_->control().change_job({.table = table, .job = id, .to = to, .actor = options_.actor});
  if (!changed.ok()) return changed;
  const bool resumed = to == ReplayJob::State::running;
  tell(job_event(resumed ? AuditKind::replay_resumed : AuditKind::replay_stopped, *changed,
                 options_.actor, options_.clock->wall_now()));
  options_.log->log(LogLevel::info, resumed ? "replay resumed" : "replay stopped",
                    {{"table", std::string_view(table.str())},
                     {"job", id.value},
                     {"actor", std::string_view(options_.actor)},
                     {"replayed", changed->replayed}});
  return changed;
}

Result<ReplayJob> Admin::stop_replay(const TableName& table, ReplayJobId id) {
  return change_job(table, id, ReplayJob::State::stopped);
}

Result<ReplayJob> Admin::resume_replay(const TableName& table, ReplayJobId id) {
  return change_job(table, id, ReplayJob::State::running);
}

}  // namespace sagabox
