#include "wire/replays.hpp"

#include "core/text.hpp"
#include "server/api/arguments.hpp"
#include "server/api/json_response.hpp"
#include "server/api/operations.hpp"
#include "server/api/problem.hpp"
#include "wire/orders.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace sagabox::server::operations {
namespace {

constexpr std::uint32_t preview_rows_default = 10;

/// Nullopt if it is not a number, so that no job has it.
std::optional<ReplayJobId> job_from(const std::string& text) {
  ReplayJobId id;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, id.value);
  if (error != std::errc() || end != last) return std::nullopt;
  return id;
}

using Change = Result<ReplayJob> (*)(Admin& admin, const TableName& table, ReplayJobId id);

/// 404 if there is no such job, whatever the change.
Result<Response> with_job(const Call& call, Change change) {
  const auto id = job_from(call.names.at(0));
  auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto jobs = admin->jobs(call.table->table);
  if (!jobs.ok()) return jobs.error();
  const bool known = id && std::ranges::any_of(*jobs, [&](const auto& j) { return j.id == *id; });
  if (!known) {
    return not_found("replay " + quoted(call.names.at(0)) + " is not in table " +
                     quoted(call.table->table.str()));
  }
  const auto job = change(*admin, call.table->table, *id);
  if (!job.ok()) return job.error();
  return ok_with(*job);
}

}  // namespace

Result<Response> preview_replay(const Call& call) {
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  const auto order = wire::read_preview_order(*fields);
  const auto limit = fields->count("limit", 1, Admin::page_rows_max).value_or(preview_rows_default);
  if (auto status = fields->status(); !status.ok()) return status.error();
  const auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto preview =
      admin->preview_replay(call.table->table, order, static_cast<std::uint32_t>(limit));
  if (!preview.ok()) return preview.error();
  return ok_with(call.table->table, *preview);
}

Result<Response> start_replay(const Call& call) {
  auto fields = Fields::parse(call.request.body);
  if (!fields.ok()) return fields.error();
  const auto order = wire::read_replay_order(*fields);
  if (auto status = fields->status(); !status.ok()) return status.error();
  auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto job = admin->start_replay(call.table->table, order);
  if (!job.ok()) return job.error();
  auto response = ok_with(*job);
  response.status = 201;
  response.headers.emplace_back("Location", "/v1/tables/" + call.table->table.str() + "/replays/" +
                                                std::to_string(job->id.value));
  return response;
}

Result<Response> list_replays(const Call& call) {
  const Query query(call.request.target);
  if (auto status = query.status(); !status.ok()) return status.error();
  const auto admin = call.admin();
  if (!admin.ok()) return admin.error();
  const auto jobs = admin->jobs(call.table->table);
  if (!jobs.ok()) return jobs.error();
  return ok_with(*jobs);
}

Result<Response> get_replay(const Call& call) {
  return with_job(call, [](Admin& admin, const TableName& table, ReplayJobId id) {
    return admin.job(table, id);
  });
}

Result<Response> stop_replay(const Call& call) {
  if (auto status = no_fields(call.request.body); !status.ok()) return status.error();
  return with_job(call, [](Admin& admin, const TableName& table, ReplayJobId id) {
    return admin.stop_replay(table, id);
  });
}

Result<Response> resume_replay(const Call& call) {
  if (auto status = no_fields(call.request.body); !status.ok()) return status.error();
  return with_job(call, [](Admin& admin, const TableName& table, ReplayJobId id) {
    return admin.resume_replay(table, id);
  });
}

}  // namespace sagabox::server::operations
