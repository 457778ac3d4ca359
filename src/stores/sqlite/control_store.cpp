#include "stores/sqlite/control_store.hpp"

#include "observe/audit_events.hpp"
#include "stores/sqlite/places.hpp"
#include "stores/sqlite/unit_of_work.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace sagabox::sqlite {
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

ReplayJob job_from(const Run& run, const TableName& table) {
  const auto sequence = [&](int column) -> std::optional<Sequence> {
    if (run.is_null(column)) return std::nullopt;
    return Sequence{run.natural(column)};
  };
  ReplayJob job;
  job.id = ReplayJobId{run.natural(0)};
  job.table = table.str();
  job.state = job_state_from(run.text(1));
  job.from = state_from_name(run.text(2)).value_or(MessageState::dead);
  job.filter.tenant = run.maybe_text(3);
  job.filter.topic = run.maybe_text(4);
  job.filter.aggregate_type = run.maybe_text(5);
  job.filter.key = run.maybe_text(6);
  if (const auto code = run.maybe_text(7)) job.filter.code = code_from_name(*code);
  job.filter.from = run.maybe_time(8);
  job.filter.until = run.maybe_time(9);
  job.filter.first = sequence(10);
  job.filter.last = sequence(11);
  job.filter.retrying = run.boolean(12);
  job.cursor = Sequence{run.natural(13)};
  job.last = Sequence{run.natural(14)};
  job.rate_max = static_cast<std::uint32_t>(run.integer(15));
  job.matched = run.natural(16);
  job.replayed = run.natural(17);
  job.actor = run.text(18);
  job.error = run.text(19);
  job.created_at = run.time(20);
  job.changed_at = run.time(21);
  job.skipped = run.natural(22);
  return job;
}

/// The one job that a statement answers with; the statement has run to its end then.
Result<std::optional<ReplayJob>> job_of(Run& run, const TableName& table) {
  auto row = run.step();
  if (!row.ok()) return row.error();
  if (!*row) return std::optional<ReplayJob>();
  auto job = job_from(run, table);
  if (auto ended = run.finish(); !ended.ok()) return ended.error();
  return std::optional(std::move(job));
}

void bind_new_job(Run& run, const spi::NewReplayJob& request, const Extent& extent, WallTime now) {
  const auto sequence = [&](const std::optional<Sequence>& value) {
    value ? run.with(value->value) : run.with_null();
  };
  const auto& filter = request.filter;
  run.with(request.table.str()).with(state_name(request.from));
  run.with(filter.tenant).with(filter.topic).with(filter.aggregate_type).with(filter.key);
  filter.code ? run.with(code_name(*filter.code)) : run.with_null();
  run.with(filter.from).with(filter.until);
  sequence(filter.first);
  sequence(filter.last);
  run.with(filter.retrying).with(extent.last.value).with(request.rate_max).with(extent.rows);
  run.with(request.actor).with(now);
}

/// What a batch takes, and whether nothing is left behind it.
struct Next {
  std::vector<Sequence> sequences;
  bool exhausted = true;
};

Result<Next> next_of(Connection& connection, const AdminStatements& statements,
                     const ReplayJob& job, std::uint32_t rows_max) {
  const bool archived = job.from == MessageState::done;
  auto run = connection.run(archived ? statements.next_done : statements.next_ended);
  bind_filter(run, job.filter);
  run.with(job.cursor.value).with(job.last.value).with(rows_max);
  if (!archived) run.with(state_name(job.from));
  Next next;
  for (;;) {
    auto row = run.step();
    if (!row.ok()) return row.error();
    next.exhausted = !*row;
    if (!*row || next.sequences.size() == rows_max) return next;
    next.sequences.push_back(Sequence{run.natural(0)});
  }
}

}  // namespace

Status SqliteControl::audit(Connection& connection, const AuditEvent& event) {
  auto head = audit_.append(connection, std::span(&event, 1));
  if (!head.ok()) return head.error();
  return {};
}

Result<spi::Controls> SqliteControl::controls(const TableName& table) {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  auto counts = counts_of(**reader, context_.control, table);
  if (!counts.ok()) return counts.error();
  spi::Controls controls;
  controls.taken = static_cast<std::uint64_t>(counts->taken);
  auto run = (*reader)->run(context_.control.pauses);
  run.with(table.str());
  for (;;) {
    auto row = run.step();
    if (!row.ok()) return row.error();
    if (!*row) return controls;
    controls.pauses.push_back({std::string(run.text(0)), std::string(run.text(1)),
                               std::string(run.text(2)), run.time(3)});
  }
}

Result<bool> SqliteControl::pause_in(Connection& connection, const spi::PauseRequest& request) {
  if (auto known = counts_of(connection, context_.control, request.table); !known.ok()) {
    return known.error();
  }
  const auto now = context_.clock.wall_now();
  auto run = connection.run(request.paused ? context_.control.pause : context_.control.resume);
  run.with(request.table.str()).with(request.topic);
  if (request.paused) run.with(request.actor).with(request.note).with(now);
  if (auto done = run.finish(); !done.ok()) return done.error();
  if (connection.changes() == 0) return false;
  auto audited = audit(connection, pause_event(request.table, request.topic, request.paused,
                                               request.actor, request.note, now));
  if (!audited.ok()) return audited.error();
  return true;
}

Result<bool> SqliteControl::set_pause(const spi::PauseRequest& request) {
  return in_transaction(*context_.writer,
                        [&](Connection& connection) { return pause_in(connection, request); });
}

Result<ReplayJob> SqliteControl::create_in(Connection& connection,
                                           const spi::NewReplayJob& request) {
  if (auto known = counts_of(connection, context_.control, request.table); !known.ok()) {
    return known.error();
  }
  auto extent =
      extent_of(connection, admin_.statements(request.table), request.from, request.filter);
  if (!extent.ok()) return extent.error();
  auto run = connection.run(context_.control.create_job);
  bind_new_job(run, request, *extent, context_.clock.wall_now());
  auto job = sqlite::job_of(run, request.table);
  if (!job.ok()) return job.error();
  auto audited = audit(connection, job_event(AuditKind::tx_replay_requested, **job, request.actor,
                                             (*job)->created_at));
  if (!audited.ok()) return audited.error();
  return **job;
}

Result<ReplayJob> SqliteControl::create_job(const spi::NewReplayJob& request) {
  if (request.from == MessageState::pending) {
    return Error{Code::config_invalid,
                 "pending messages are delivered without a replay; ask for dead, quarantined or "
                 "done ones"};
  }
  return in_transaction(*context_.writer,
                        [&](Connection& connection) { return create_in(connection, request); });
}

Result<std::vector<ReplayJob>> SqliteControl::jobs(const TableName& table) {
  auto reader = context_.readers.take();
  if (!reader.ok()) return reader.error();
  if (auto known = counts_of(**reader, context_.control, table); !known.ok()) return known.error();
  auto run = (*reader)->run(context_.control.jobs);
  run.with(table.str());
  std::vector<ReplayJob> jobs;
  for (;;) {
    auto row = run.step();
    if (!row.ok()) return row.error();
    if (!*row) return jobs;
    jobs.push_back(job_from(run, table));
  }
}

Result<ReplayJob> SqliteControl::job_of(Connection& connection, const TableName& table,
                                        ReplayJobId job) {
  auto run = connection.run(context_.control.job);
  run.with(table.str()).with(job.value);
  auto found = sqlite::job_of(run, table);
  if (!found.ok()) return found.error();
  if (!*found) return no_job(table, job);
  return **found;
}

Result<ReplayJob> SqliteControl::change_in(Connection& connection, const spi::JobChange& change) {
  auto before = job_of(connection, change.table, change.job);
  if (!before.ok()) return before.error();
  if (auto wrong = change_problem(*before, change.to)) return *std::move(wrong);
  auto run = connection.run(context_.control.change_job);
  run.with(change.table.str()).with(change.job.value).with(job_state_name(change.to));
  run.with(change.to == JobState::failed ? std::string_view(change.error) : std::string_view());
  run.with(context_.clock.wall_now());
  auto job = sqlite::job_of(run, change.table);
  if (!job.ok()) return job.error();
  auto audited =
      audit(connection, job_event(audit_kind(change.to), **job, change.actor, (*job)->changed_at));
  if (!audited.ok()) return audited.error();
  return **job;
}

Result<ReplayJob> SqliteControl::change_job(const spi::JobChange& change) {
  return in_transaction(*context_.writer,
                        [&](Connection& connection) { return change_in(connection, change); });
}

Result<spi::JobAdvanceReply> SqliteControl::replay_next(Connection& connection,
                                                        const spi::JobAdvance& request,
                                                        const ReplayJob& job) {
  auto next = next_of(connection, admin_.statements(request.table), job, request.rows_max);
  if (!next.ok()) return next.error();
  std::vector<Sequence> sequences;
  for (const auto sequence : next->sequences) {
    auto replayed = admin_.replay(connection, request.table, job.from, sequence);
    if (!replayed.ok()) return replayed.error();
    if (*replayed) sequences.push_back(sequence);
  }
  const auto rows = static_cast<std::uint32_t>(sequences.size());
  Counts counts;
  counts.ended(job.from) = -std::int64_t{rows};
  if (auto counted = add_counts(connection, context_.control, request.table, counts);
      !counted.ok()) {
    return counted.error();
  }
  auto run = connection.run(context_.control.advance_job);
  run.with(request.table.str()).with(request.job.value).with(rows);
  run.with((next->sequences.empty() ? job.cursor : next->sequences.back()).value);
  run.with(next->exhausted).with(context_.clock.wall_now());
  run.with(std::uint64_t{next->sequences.size() - rows});
  auto advanced = sqlite::job_of(run, request.table);
  if (!advanced.ok()) return advanced.error();
  spi::JobAdvanceReply reply{true, rows, **advanced};
  std::vector<AuditEvent> events;
  if (rows > 0) {
    events.push_back(
        batch_event(reply.job, rows, sequences.front(), sequences.back(), reply.job.changed_at));
  }
  if (next->exhausted) {
    events.push_back(
        job_event(AuditKind::replay_finished, reply.job, reply.job.actor, reply.job.changed_at));
  }
  if (auto head = audit_.append(connection, events); !head.ok()) return head.error();
  return reply;
}

Result<spi::JobAdvanceReply> SqliteControl::advance_in(Connection& connection,
                                                       const spi::JobAdvance& request) {
  const auto& [scope, owner, fences] = request.fencing;
  auto fence = connection.run(context_.control.hold);
  fence.with(scope).with(0).with(owner.view()).with(fences.front().epoch.value);
  auto held = fence.step();
  if (!held.ok()) return held.error();
  auto job = job_of(connection, request.table, request.job);
  if (!job.ok()) return job.error();
  if (!*held || job->state != JobState::running) return spi::JobAdvanceReply{*held, 0, *job};
  return replay_next(connection, request, *job);
}

Result<spi::JobAdvanceReply> SqliteControl::advance_job(const spi::JobAdvance& request) {
  auto reply = in_transaction(
      *context_.writer, [&](Connection& connection) { return advance_in(connection, request); });
  if (reply.ok() && reply->rows > 0) context_.wake.ring(request.table);
  return reply;
}

}  // namespace sagabox::sqlite
