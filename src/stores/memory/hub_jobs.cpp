#include "spi/hub_rules.hpp"
#include "stores/memory/database.hpp"

#include <algorithm>

namespace sagabox::memory {

Result<std::vector<spi::LeasedJob>> HubJobs::lease(std::string_view worker, const LeaseToken& token,
                                                   Duration lease, std::uint32_t rows_max,
                                                   std::size_t bytes_max) {
  using Jobs = std::vector<spi::LeasedJob>;
  return database_.faulty(Operation::hub_lease, [&]() -> Result<Jobs> {
    const std::lock_guard lock(database_.mutex_);
    auto& hub = database_.state_.hub;
    std::vector<HubJobRow*> pending;
    for (auto& [of, job] : hub.jobs) {
      if (job.record.state == HubJobState::pending) pending.push_back(&job);
    }
    std::ranges::stable_sort(pending, {},
                             [](const HubJobRow* job) { return job->record.attempt_at; });
    if (pending.size() > rows_max) pending.resize(rows_max);
    Jobs leased;
    std::size_t bytes = 0;
    for (auto* job : pending) {
      const auto* delivery = hub.deliveries.find(job->record.delivery);
      const auto* event = delivery == nullptr ? nullptr : hub.events.find(delivery->event);
      if (event != nullptr) bytes += event->message->payload().size();
      if (!leased.empty() && bytes > bytes_max) break;
      job->token = token;
      job->record.state = HubJobState::leased;
      job->record.worker = std::string(worker);
      job->record.lease_until = database_.after(lease);
      auto& one = leased.emplace_back(spi::LeasedJob{.job = job->record});
      one.delivery.id = job->record.delivery;
      one.delivery.subscription = job->record.subscription;
      if (delivery == nullptr) continue;
      one.delivery = *delivery;
      if (event != nullptr) one.event = *event;
    }
    return leased;
  });
}

Result<std::vector<bool>> HubJobs::finish(const LeaseToken& token,
                                          std::span<const spi::FinishedJob> jobs) {
  auto finished = database_.faulty(Operation::hub_finish, [&]() -> Result<std::vector<bool>> {
    std::vector<bool> counted;
    const std::lock_guard lock(database_.mutex_);
    auto& all = database_.state_.hub.jobs;
    for (const auto& job : jobs) {
      const auto known = all.find(job.of);
      const bool mine = known != all.end() && known->second.token == token;
      counted.push_back(mine);
      if (!mine || known->second.record.state != HubJobState::leased) continue;
      auto& record = known->second.record;
      record.result = spi::bounded(job.result);
      record.state = job.result.completed ? HubJobState::completed : HubJobState::failed;
      record.lease_until.reset();
      record.ended_at = database_.now();
    }
    return counted;
  });
  if (finished.ok()) database_.notify_if_told(hub_deliveries_signal);
  return finished;
}

Result<spi::JobStore::ResetReply> HubJobs::reset(std::uint32_t rows_max) {
  auto done = database_.faulty(Operation::hub_reset, [&]() -> Result<ResetReply> {
    ResetReply reply;
    const std::lock_guard lock(database_.mutex_);
    const auto now = database_.now();
    std::vector<HubJobRow*> lost;
    for (auto& [of, job] : database_.state_.hub.jobs) {
      const auto& record = job.record;
      if (record.state == HubJobState::leased && *record.lease_until <= now) lost.push_back(&job);
    }
    std::ranges::stable_sort(lost, {},
                             [](const HubJobRow* job) { return *job->record.lease_until; });
    if (lost.size() > rows_max) lost.resize(rows_max);
    for (auto* job : lost) {
      LostLease lease{.of = {job->record.delivery, job->record.attempt},
                      .worker = job->record.worker,
                      .subscription = job->record.subscription};
      if (const auto* delivery = database_.state_.hub.deliveries.find(lease.of.delivery)) {
        lease.event = delivery->event;
        lease.tenant = delivery->tenant;
        lease.correlation_id = delivery->correlation_id;
        lease.delivery_state = delivery->state;
      }
      job->token = {};
      job->record = spi::after_lost_lease(std::move(job->record), now);
      lease.failed = !is_active(job->record.state);
      ++(lease.failed ? reply.failed : reply.reset);
      reply.jobs.push_back(std::move(lease));
    }
    return reply;
  });
  if (done.ok() && done->reset > 0) database_.notify_if_told(hub_jobs_signal);
  if (done.ok() && done->failed > 0) database_.notify_if_told(hub_deliveries_signal);
  return done;
}

void HubJobs::wait(Duration timeout) { database_.signal(hub_jobs_signal).wait(timeout); }
void HubJobs::wake() { database_.signal(hub_jobs_signal).notify(); }

}  // namespace sagabox::memory
