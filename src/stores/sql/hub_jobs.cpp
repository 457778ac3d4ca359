#include "stores/sql/hub_jobs.hpp"

#include "spi/hub_rules.hpp"

#include <chrono>
#include <map>
#include <set>
#include <utility>

namespace sagabox::sql {
namespace {

spi::LeasedJob leased_job(const Row& row) {
  constexpr int delivery_at = hub_job_columns;
  constexpr int event_at = hub_job_columns + hub_delivery_columns;
  spi::LeasedJob leased{.job = hub_job(row, 0), .delivery = {}, .event = {}};
  leased.delivery.id = leased.job.delivery;
  leased.delivery.subscription = leased.job.subscription;
  if (!row.is_null(delivery_at)) leased.delivery = hub_delivery(row, delivery_at);
  if (!row.is_null(event_at)) leased.event = hub_event(row, event_at);
  return leased;
}

}  // namespace

HubJobStore::HubJobStore(Sections& sections, const HubParts& parts)
    : parts_(parts),
      lease_(sections.take("hub_lease")),
      finish_(sections.take("hub_finish")),
      lost_(sections.take("hub_lost")),
      reset_(sections.take("hub_reset")) {}

Result<std::vector<spi::LeasedJob>> HubJobStore::lease(std::string_view worker,
                                                       const LeaseToken& token, Duration lease,
                                                       std::uint32_t rows_max,
                                                       std::size_t bytes_max) {
  const auto micros = std::chrono::ceil<std::chrono::microseconds>(lease).count();
  auto rows =
      parts_.write(lease_, {token.view(), worker, micros, rows_max, parts_.now(), bytes_max});
  if (!rows.ok()) return rows.error();
  std::vector<spi::LeasedJob> jobs;
  for (const auto row : *rows) jobs.push_back(leased_job(row));
  parts_.tell_found(hub_jobs_feed, jobs.size());
  return jobs;
}

Result<std::vector<bool>> HubJobStore::finish(const LeaseToken& token,
                                              std::span<const spi::FinishedJob> jobs) {
  if (jobs.empty()) return std::vector<bool>();
  AttemptLists of;
  std::vector<std::string> tokens, states, codes, errors;
  std::vector<std::int64_t> statuses, retry_after, took;
  std::vector<Bytes> answers;
  for (const auto& job : jobs) {
    const auto result = spi::bounded(job.result);
    of.add(job.of);
    tokens.push_back(token.str());
    states.emplace_back(
        hub_job_state_name(result.completed ? HubJobState::completed : HubJobState::failed));
    codes.emplace_back(result.code ? code_name(*result.code) : std::string_view());
    errors.push_back(result.error);
    statuses.push_back(result.status);
    answers.emplace_back(result.answer);
    retry_after.push_back(result.retry_after ? result.retry_after->count() : -1);
    took.push_back(result.took.count());
  }
  auto rows = parts_.write(
      finish_, {std::move(of.deliveries), std::move(of.attempts), std::move(tokens),
                std::move(states), std::move(codes), std::move(errors), std::move(statuses),
                std::move(answers), std::move(retry_after), std::move(took), parts_.now()});
  if (!rows.ok()) return rows.error();
  std::set<spi::AttemptOf> counted;
  for (const auto row : *rows) counted.insert(attempt_from(row));
  std::vector<bool> had_lease;
  for (const auto& job : jobs) had_lease.push_back(counted.contains(job.of));
  parts_.wake(hub_deliveries_feed);
  return had_lease;
}

namespace {

spi::JobStore::LostLease lost_lease(const JobRecord& job, const Row& row) {
  const auto text = [&](int at) { return row.text(hub_job_columns + at); };
  const auto state = delivery_state_from_name(text(3));
  return {.of = {job.delivery, job.attempt},
          .worker = job.worker,
          .subscription = job.subscription,
          .event = hub_id<EventId>(text(0)),
          .tenant = std::string(text(1)),
          .correlation_id = std::string(text(2)),
          .delivery_state = state.value_or(DeliveryState::in_progress)};
}

}  // namespace

Result<spi::JobStore::ResetReply> HubJobStore::reset_in(Session& session,
                                                        std::uint32_t rows_max) const {
  ResetReply reply;
  auto now = session.now();
  if (!now.ok()) return now.error();
  auto lost = session.run(lost_, {rows_max, *now});
  if (!lost.ok()) return lost.error();
  if (lost->empty()) return reply;
  AttemptLists of;
  std::vector<std::string> states, workers, codes, errors;
  std::vector<std::int64_t> resets;
  std::map<spi::AttemptOf, LostLease> leases;
  for (const auto row : *lost) {
    const auto before = hub_job(row, 0);
    leases.emplace(spi::AttemptOf{before.delivery, before.attempt}, lost_lease(before, row));
    const auto after = spi::after_lost_lease(before, *now);
    of.add({before.delivery, before.attempt});
    resets.push_back(before.resets);
    states.emplace_back(hub_job_state_name(after.state));
    workers.push_back(after.worker);
    codes.emplace_back(after.result.code ? code_name(*after.result.code) : std::string_view());
    errors.push_back(after.result.error);
  }
  const auto count = states.size();
  auto rows = session.run(reset_, {std::move(of.deliveries), std::move(of.attempts),
                                   std::move(resets), std::move(states), std::move(workers),
                                   std::move(codes), std::move(errors), *now, by_element(count)});
  if (!rows.ok()) return rows.error();
  for (const auto row : *rows) {
    auto lease = leases.extract(attempt_from(row));
    if (!lease) continue;
    lease.mapped().failed = row.text(2) != hub_job_state_name(HubJobState::pending);
    ++(lease.mapped().failed ? reply.failed : reply.reset);
    reply.jobs.push_back(std::move(lease.mapped()));
  }
  return reply;
}

Result<spi::JobStore::ResetReply> HubJobStore::reset(std::uint32_t rows_max) {
  auto done = in_transaction(parts_.sessions,
                             [&](Session& session) { return reset_in(session, rows_max); });
  if (done.ok() && done->reset > 0) parts_.wake(hub_jobs_feed);
  if (done.ok() && done->failed > 0) parts_.wake(hub_deliveries_feed);
  return done;
}

}  // namespace sagabox::sql
