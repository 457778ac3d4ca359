#include "stores/sql/control_store.hpp"

#include "observe/audit_events.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace sagabox::sql {
namespace {

using JobState = ReplayJob::State;

constexpr std::array job_states{JobState::running, JobState::stopped, JobState::finished,
                                JobState::failed};

Error no_job(const TableName& table, ReplayJobId job) {
  return {Code::config_invalid, "there is no replay job " + std::to_string(job.value) +
                                    " in table \"" + table.str() + "\""};
}

JobState job_state_from(std::string_view name) {
  const auto found = std::ranges::find(job_states, name, job_state_name);
  return found == job_states.end() ? JobState::failed : *found;
}

std::optional<Sequence> maybe_sequence(const Row& row, int column) {
  const auto number = row.maybe_natural(column);
  return number ? std::optional(Sequence{*number}) : std::nullopt;
}

ReplayJob job_from(const Row& row, const TableName& table) {
  ReplayJob job;
  job.id = ReplayJobId{row.natural(0)};
  job.table = table.str();
  job.state = job_state_from(row.text(1));
  job.from = state_from_name(row.text(2)).value_or(MessageState::dead);
  job.filter.tenant = row.maybe_text(3);
  job.filter.topic = row.maybe_text(4);
  job.filter.aggregate_type = row.maybe_text(5);
  job.filter.key = row.maybe_text(6);
  if (const auto code = row.maybe_text(7)) job.filter.code = code_from_name(*code);
  job.filter.from = row.maybe_time(8);
  job.filter.until = row.maybe_time(9);
  job.filter.first = maybe_sequence(row, 10);
  job.filter.last = maybe_sequence(row, 11);
  job.filter.retrying = row.boolean(12);
  job.cursor = Sequence{row.natural(13)};
  job.last = Sequence{row.natural(14)};
  job.rate_max = row.natural32(15);
  job.matched = row.natural(16);
  job.replayed = row.natural(17);
  job.actor = row.text(18);
  job.error = row.text(19);
  job.created_at = row.time(20);
  job.changed_at = row.time(21);
  job.skipped = row.natural(22);
  job.as_new = row.boolean(23);
  return job;
}

Values job_values(const spi::NewReplayJob& request, const Extent& extent, WallTime now) {
  const auto& filter = request.filter;
  std::optional<std::string_view> code;
  if (filter.code) code = code_name(*filter.code);
  return {request.table.str(),
          state_name(request.from),
          filter.tenant,
          filter.topic,
          filter.aggregate_type,
          filter.key,
          code,
          filter.from,
          filter.until,
          filter.first,
          filter.last,
          filter.retrying,
          extent.last,
          request.rate_max,
          extent.rows,
          request.actor,
          now,
          request.as_new};
}

/// For the one shard of the scope that runs replays.
Values fence_values(const spi::JobAdvance& request) {
  const auto& [scope, owner, fences] = request.fencing;
  return {scope, fences.front().shard.value, owner.view(), fences.front().epoch.value};
}

}  // namespace

ControlStatements::ControlStatements(Sections& sections)
    : pauses(sections.take("pauses")),
      pause(sections.take("pause")),
      resume(sections.take("resume")),
      create_job(sections.take("job_create")),
      jobs(sections.take("jobs")),
      lock_job(sections.take("job_lock")),
      change_job(sections.take("job_change")),
      advance_job(sections.take("job_advance")),
      hold(sections.take("fence_hold")) {}

Status ControlStore::audit(Session& session, const AuditEvent& event) {
  auto head = parts_.audit.append(session, std::span(&event, 1));
  if (!head.ok()) return head.error();
  return {};
}

Result<spi::Controls> ControlStore::controls(const TableName& table) {
  auto session = parts_.sessions.reader();
  if (!session.ok()) return session.error();
  const std::array calls{Call{&parts_.known.statement(), {table.str()}},
                         Call{&statements_.pauses, {table.str()}}};
  auto answers = (*session)->run(calls);
  if (!answers.ok()) return answers.error();
  if (answers->at(0).empty()) return KnownOutbox::no_table(table);
  spi::Controls controls;
  controls.taken = answers->at(0).front().natural(0);
  for (const auto row : answers->at(1)) {
    controls.pauses.push_back({std::string(row.text(0)), std::string(row.text(1)),
                               std::string(row.text(2)), row.time(3)});
  }
  return controls;
}

Result<bool> ControlStore::pause_in(Session& session, const spi::PauseRequest& request) {
  if (auto known = parts_.known.check(session, request.table); !known.ok()) return known.error();
  const auto now = session.now();
  if (!now.ok()) return now.error();
  auto changed =
      session.run(request.paused ? statements_.pause : statements_.resume,
                  {request.table.str(), request.topic, request.actor, request.note, *now});
  if (!changed.ok()) return changed.error();
  if (changed->empty()) return false;
  auto audited = audit(session, pause_event(request.table, request.topic, request.paused,
                                            request.actor, request.note, *now));
  if (!audited.ok()) return audited.error();
  return true;
}

Result<bool> ControlStore::set_pause(const spi::PauseRequest& request) {
  return in_transaction(parts_.sessions,
                        [&](Session& session) { return pause_in(session, request); });
}

Result<ReplayJob> ControlStore::create_in(Session& session, const spi::NewReplayJob& request) {
  if (auto known = parts_.known.check(session, request.table); !known.ok()) return known.error();
  auto extent = parts_.replay.extent(session, request.table, request.from, request.filter);
  if (!extent.ok()) return extent.error();
  const auto now = session.now();
  if (!now.ok()) return now.error();
  auto rows = session.run(statements_.create_job, job_values(request, *extent, *now));
  if (!rows.ok()) return rows.error();
  if (rows->empty()) return KnownOutbox::no_table(request.table);
  auto job = job_from(rows->front(), request.table);
  auto audited =
      audit(session, job_event(AuditKind::tx_replay_requested, job, request.actor, job.created_at));
  if (!audited.ok()) return audited.error();
  return job;
}

Result<ReplayJob> ControlStore::create_job(const spi::NewReplayJob& request) {
  if (request.from == MessageState::pending) {
    return Error{Code::config_invalid,
                 "pending messages are delivered without a replay; ask for dead, quarantined or "
                 "done ones"};
  }
  return in_transaction(parts_.sessions,
                        [&](Session& session) { return create_in(session, request); });
}

Result<std::vector<ReplayJob>> ControlStore::jobs(const TableName& table) {
  auto session = parts_.sessions.reader();
  if (!session.ok()) return session.error();
  const std::array calls{Call{&parts_.known.statement(), {table.str()}},
                         Call{&statements_.jobs, {table.str()}}};
  auto answers = (*session)->run(calls);
  if (!answers.ok()) return answers.error();
  if (answers->at(0).empty()) return KnownOutbox::no_table(table);
  std::vector<ReplayJob> jobs;
  for (const auto row : answers->at(1)) jobs.push_back(job_from(row, table));
  return jobs;
}

Result<ReplayJob> ControlStore::lock_job(Session& session, const TableName& table,
                                         ReplayJobId job) {
  auto rows = session.run(statements_.lock_job, {table.str(), job.value});
  if (!rows.ok()) return rows.error();
  if (rows->empty()) return no_job(table, job);
  return job_from(rows->front(), table);
}

Result<ReplayJob> ControlStore::change_in(Session& session, const spi::JobChange& change) {
  auto before = lock_job(session, change.table, change.job);
  if (!before.ok()) return before.error();
  if (auto wrong = change_problem(*before, change.to)) return *std::move(wrong);
  const auto now = session.now();
  if (!now.ok()) return now.error();
  const auto error = change.to == JobState::failed ? change.error : std::string();
  auto rows = session.run(statements_.change_job, {change.table.str(), change.job.value,
                                                   job_state_name(change.to), error, *now});
  if (!rows.ok()) return rows.error();
  auto job = job_from(rows->front(), change.table);
  auto audited =
      audit(session, job_event(audit_kind(change.to), job, change.actor, job.changed_at));
  if (!audited.ok()) return audited.error();
  return job;
}

Result<ReplayJob> ControlStore::change_job(const spi::JobChange& change) {
  return in_transaction(parts_.sessions,
                        [&](Session& session) { return change_in(session, change); });
}

Result<spi::JobAdvanceReply> ControlStore::replay_next(Session& session,
                                                       const spi::JobAdvance& request,
                                                       const ReplayJob& job) {
  auto next = parts_.replay.next(session, request.table, job, request.rows_max);
  if (!next.ok()) return next.error();
  const auto now = session.now();
  if (!now.ok()) return now.error();
  const auto& asked = next->sequences;
  auto replayed = parts_.replay.replay(session, request.table, asked, *now, job.as_new);
  if (!replayed.ok()) return replayed.error();
  auto advanced = session.run(statements_.advance_job,
                              {request.table.str(), request.job.value, replayed->size(),
                               asked.empty() ? job.cursor : asked.back(), next->exhausted,
                               asked.size() - replayed->size(), *now});
  if (!advanced.ok()) return advanced.error();
  spi::JobAdvanceReply reply{true, static_cast<std::uint32_t>(replayed->size()),
                             job_from(advanced->front(), request.table)};
  std::vector<AuditEvent> events;
  if (!replayed->empty()) {
    events.push_back(batch_event(reply.job, replayed->size(), replayed->front(), replayed->back(),
                                 reply.job.changed_at));
  }
  if (next->exhausted) {
    events.push_back(
        job_event(AuditKind::replay_finished, reply.job, reply.job.actor, reply.job.changed_at));
  }
  if (auto head = parts_.audit.append(session, events); !head.ok()) return head.error();
  return reply;
}

Result<spi::JobAdvanceReply> ControlStore::advance_in(Session& session,
                                                      const spi::JobAdvance& request) {
  auto held = session.run(statements_.hold, fence_values(request));
  if (!held.ok()) return held.error();
  auto job = lock_job(session, request.table, request.job);
  if (!job.ok()) return job.error();
  if (held->empty() || job->state != JobState::running) {
    return spi::JobAdvanceReply{!held->empty(), 0, *job};
  }
  return replay_next(session, request, *job);
}

Result<spi::JobAdvanceReply> ControlStore::advance_job(const spi::JobAdvance& request) {
  auto reply = in_transaction(parts_.sessions,
                              [&](Session& session) { return advance_in(session, request); });
  if (reply.ok() && reply->rows > 0) parts_.notify(request.table);
  return reply;
}

}  // namespace sagabox::sql
