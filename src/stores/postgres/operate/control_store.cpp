#include "stores/postgres/operate/control_store.hpp"

#include "observe/audit_events.hpp"
#include "stores/postgres/driver/unit_of_work.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace sagabox::postgres {
namespace {

using JobState = ReplayJob::State;

constexpr std::array job_states{JobState::running, JobState::stopped, JobState::finished,
                                JobState::failed};

Error no_table(const TableName& table) {
  return {Code::config_invalid,
          "there is no outbox table \"" + table.str() + "\"; call prepare() for it first"};
}

Error no_job(const TableName& table, ReplayJobId job) {
  return {Code::config_invalid, "there is no replay job " + std::to_string(job.value) +
                                    " in table \"" + table.str() + "\""};
}

JobState job_state_from(std::string_view name) {
  const auto found = std::ranges::find(job_states, name, job_state_name);
  return found == job_states.end() ? JobState::failed : *found;
}

ReplayJob job_from(const Rows& rows, int row, const TableName& table) {
  const auto text = [&](int column) -> std::optional<std::string> {
    if (rows.is_null(row, column)) return std::nullopt;
    return std::string(rows.text(row, column));
  };
  const auto sequence = [&](int column) -> std::optional<Sequence> {
    if (rows.is_null(row, column)) return std::nullopt;
    return Sequence{rows.uint8(row, column)};
  };
  ReplayJob job;
  job.id = ReplayJobId{rows.uint8(row, 0)};
  job.table = table.str();
  job.state = job_state_from(rows.text(row, 1));
  job.from = state_from_name(rows.text(row, 2)).value_or(MessageState::dead);
  job.filter.tenant = text(3);
  job.filter.topic = text(4);
  job.filter.aggregate_type = text(5);
  job.filter.key = text(6);
  if (const auto code = text(7)) job.filter.code = code_from_name(*code);
  job.filter.from = rows.maybe_timestamptz(row, 8);
  job.filter.until = rows.maybe_timestamptz(row, 9);
  job.filter.first = sequence(10);
  job.filter.last = sequence(11);
  job.filter.retrying = rows.boolean(row, 12);
  job.cursor = Sequence{rows.uint8(row, 13)};
  job.last = Sequence{rows.uint8(row, 14)};
  job.rate_max = static_cast<std::uint32_t>(rows.int8(row, 15));
  job.matched = rows.uint8(row, 16);
  job.replayed = rows.uint8(row, 17);
  job.actor = rows.text(row, 18);
  job.error = rows.text(row, 19);
  job.created_at = rows.timestamptz(row, 20);
  job.changed_at = rows.timestamptz(row, 21);
  job.skipped = rows.uint8(row, 22);
  return job;
}

Params job_params(const TableName& table, ReplayJobId job) {
  Params params;
  params.text(table.str()).int8(static_cast<std::int64_t>(job.value));
  return params;
}

Params create_params(const spi::NewReplayJob& request, const Extent& extent) {
  Params params;
  const auto text = [&](const std::optional<std::string>& value) {
    value ? params.text(*value) : params.null(Type::text);
  };
  const auto sequence = [&](const std::optional<Sequence>& value) {
    value ? params.int8(static_cast<std::int64_t>(value->value)) : params.null(Type::int8);
  };
  const auto& filter = request.filter;
  params.text(request.table.str()).text(state_name(request.from));
  text(filter.tenant);
  text(filter.topic);
  text(filter.aggregate_type);
  text(filter.key);
  text(filter.code ? std::optional<std::string>(code_name(*filter.code)) : std::nullopt);
  params.timestamptz(filter.from).timestamptz(filter.until);
  sequence(filter.first);
  sequence(filter.last);
  params.boolean(filter.retrying)
      .int8(static_cast<std::int64_t>(extent.last.value))
      .int8(request.rate_max)
      .int8(static_cast<std::int64_t>(extent.rows))
      .text(request.actor);
  return params;
}

}  // namespace

PostgresControl::PostgresControl(Context& context, const AuditChain& audit, PostgresAdmin& admin,
                                 Wake& wake)
    : context_(context), audit_(audit), admin_(admin), wake_(wake), statements_(context.names) {}

Result<spi::Controls> PostgresControl::controls(const TableName& table) {
  auto connection = context_.relay.take();
  if (!connection.ok()) return connection.error();
  Params params;
  params.text(table.str());
  const std::array calls{Call{&statements_.known, &params}, Call{&statements_.pauses, &params}};
  auto answers = (*connection)->run(calls, Effect::none);
  if (!answers.ok()) return answers.error();
  const auto& known = answers->at(0);
  if (known.empty()) return no_table(table);
  spi::Controls controls;
  controls.taken = known.uint8(0, 0);
  const auto& pauses = answers->at(1);
  for (int row = 0; row < pauses.size(); ++row) {
    controls.pauses.push_back({std::string(pauses.text(row, 0)), std::string(pauses.text(row, 1)),
                               std::string(pauses.text(row, 2)), pauses.timestamptz(row, 3)});
  }
  return controls;
}

Result<bool> PostgresControl::pause_in(Connection& connection, const spi::PauseRequest& request) {
  Params table;
  table.text(request.table.str());
  auto known = connection.run(statements_.known, table, Effect::none);
  if (!known.ok()) return known.error();
  if (known->empty()) return no_table(request.table);
  Params params;
  params.text(request.table.str()).text(request.topic);
  if (request.paused) params.text(request.actor).text(request.note);
  auto changed =
      connection.run(request.paused ? statements_.pause : statements_.resume, params, Effect::none);
  if (!changed.ok()) return changed.error();
  if (changed->empty()) return false;
  const auto event = pause_event(request.table, request.topic, request.paused, request.actor,
                                 request.note, changed->timestamptz(0, 0));
  auto head = audit_.append(connection, std::span(&event, 1));
  if (!head.ok()) return head.error();
  return true;
}

Result<bool> PostgresControl::set_pause(const spi::PauseRequest& request) {
  return in_transaction(context_.relay,
                        [&](Connection& connection) { return pause_in(connection, request); });
}

Result<ReplayJob> PostgresControl::create_in(Connection& connection,
                                             const spi::NewReplayJob& request) {
  auto extent =
      extent_of(connection, admin_.statements(request.table), request.from, request.filter);
  if (!extent.ok()) return extent.error();
  auto rows = connection.run(statements_.create_job, create_params(request, *extent), Effect::none);
  if (!rows.ok()) return rows.error();
  if (rows->empty()) return no_table(request.table);
  auto job = job_from(*rows, 0, request.table);
  const auto event = job_event(AuditKind::tx_replay_requested, job, request.actor, job.created_at);
  auto head = audit_.append(connection, std::span(&event, 1));
  if (!head.ok()) return head.error();
  return job;
}

Result<ReplayJob> PostgresControl::create_job(const spi::NewReplayJob& request) {
  if (request.from == MessageState::pending) {
    return Error{Code::config_invalid,
                 "pending messages are delivered without a replay; ask for dead, quarantined or "
                 "done ones"};
  }
  return in_transaction(context_.relay,
                        [&](Connection& connection) { return create_in(connection, request); });
}

Result<std::vector<ReplayJob>> PostgresControl::jobs(const TableName& table) {
  auto connection = context_.relay.take();
  if (!connection.ok()) return connection.error();
  Params params;
  params.text(table.str());
  const std::array calls{Call{&statements_.known, &params}, Call{&statements_.jobs, &params}};
  auto answers = (*connection)->run(calls, Effect::none);
  if (!answers.ok()) return answers.error();
  if (answers->at(0).empty()) return no_table(table);
  std::vector<ReplayJob> jobs;
  const auto& rows = answers->at(1);
  for (int row = 0; row < rows.size(); ++row) jobs.push_back(job_from(rows, row, table));
  return jobs;
}

Result<ReplayJob> PostgresControl::lock_job(Connection& connection, const TableName& table,
                                            ReplayJobId job) {
  auto rows = connection.run(statements_.lock_job, job_params(table, job), Effect::none);
  if (!rows.ok()) return rows.error();
  if (rows->empty()) return no_job(table, job);
  return job_from(*rows, 0, table);
}

Result<ReplayJob> PostgresControl::change_in(Connection& connection, const spi::JobChange& change) {
  auto locked = lock_job(connection, change.table, change.job);
  if (!locked.ok()) return locked.error();
  if (auto wrong = change_problem(*locked, change.to)) return *std::move(wrong);
  auto params = job_params(change.table, change.job);
  params.text(job_state_name(change.to))
      .text(change.to == JobState::failed ? change.error : std::string());
  auto rows = connection.run(statements_.change_job, params, Effect::none);
  if (!rows.ok()) return rows.error();
  auto job = job_from(*rows, 0, change.table);
  const auto event = job_event(audit_kind(change.to), job, change.actor, job.changed_at);
  auto head = audit_.append(connection, std::span(&event, 1));
  if (!head.ok()) return head.error();
  return job;
}

Result<ReplayJob> PostgresControl::change_job(const spi::JobChange& change) {
  return in_transaction(context_.relay,
                        [&](Connection& connection) { return change_in(connection, change); });
}

Result<spi::JobAdvanceReply> PostgresControl::replay_next(Connection& connection,
                                                          const spi::JobAdvance& request,
                                                          const ReplayJob& job) {
  const auto& statements = admin_.statements(request.table);
  auto next = filter_params(job.filter);
  next.int8(static_cast<std::int64_t>(job.cursor.value))
      .int8(static_cast<std::int64_t>(job.last.value))
      .int8(request.rows_max);
  const bool from_archive = job.from == MessageState::done;
  if (!from_archive) next.text(state_name(job.from));
  auto found = connection.run(from_archive ? statements.next_done : statements.next_ended, next,
                              Effect::none);
  if (!found.ok()) return found.error();
  const auto rows = std::min(static_cast<std::uint32_t>(found->size()), request.rows_max);
  const bool exhausted = std::cmp_less_equal(found->size(), request.rows_max);
  auto sequences = sequences_of(*found);
  sequences.resize(rows);
  std::vector<Sequence> replayed;
  if (rows > 0) {
    auto answer = connection.run(statements.replay, sequence_params(sequences), Effect::none);
    if (!answer.ok()) return answer.error();
    replayed = sequences_of(*answer);
  }
  auto advance = job_params(request.table, request.job);
  advance.int8(static_cast<std::int64_t>(replayed.size()))
      .int8(static_cast<std::int64_t>((rows > 0 ? sequences.back() : job.cursor).value))
      .boolean(exhausted)
      .int8(static_cast<std::int64_t>(rows - replayed.size()));
  auto advanced = connection.run(statements_.advance_job, advance, Effect::none);
  if (!advanced.ok()) return advanced.error();
  spi::JobAdvanceReply reply{true, static_cast<std::uint32_t>(replayed.size()),
                             job_from(*advanced, 0, request.table)};
  std::vector<AuditEvent> events;
  if (!replayed.empty()) {
    events.push_back(batch_event(reply.job, replayed.size(), replayed.front(), replayed.back(),
                                 reply.job.changed_at));
  }
  if (exhausted) {
    events.push_back(
        job_event(AuditKind::replay_finished, reply.job, reply.job.actor, reply.job.changed_at));
  }
  if (auto head = audit_.append(connection, events); !head.ok()) return head.error();
  return reply;
}

Result<spi::JobAdvanceReply> PostgresControl::advance_in(Connection& connection,
                                                         const spi::JobAdvance& request) {
  Params fence;
  fence.text(request.fencing.scope)
      .text(request.fencing.owner.view())
      .int8(static_cast<std::int64_t>(request.fencing.fences.front().epoch.value));
  auto held = connection.run(statements_.hold, fence, Effect::none);
  if (!held.ok()) return held.error();
  auto job = lock_job(connection, request.table, request.job);
  if (!job.ok()) return job.error();
  if (held->empty() || job->state != JobState::running) {
    return spi::JobAdvanceReply{!held->empty(), 0, *job};
  }
  return replay_next(connection, request, *job);
}

Result<spi::JobAdvanceReply> PostgresControl::advance_job(const spi::JobAdvance& request) {
  auto reply = in_transaction(
      context_.relay, [&](Connection& connection) { return advance_in(connection, request); });
  if (reply.ok() && reply->rows > 0) wake_.ring(request.table);
  return reply;
}

}  // namespace sagabox::postgres
