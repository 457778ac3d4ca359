#include "delivery/cleaner/cleaner.hpp"

#include "delivery/hub_log.hpp"
#include "observe/hub_metric_names.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sagabox::delivery {

Cleaner::Cleaner(CleanerParts parts, CleanerOptions options)
    : parts_(std::move(parts)),
      options_(options),
      errors_(parts_.metrics),
      reset_(parts_.metrics.counter(metric::hub_lost_leases_total, {{"result", "pending"}})),
      failed_(parts_.metrics.counter(metric::hub_lost_leases_total, {{"result", "failed"}})) {}

bool Cleaner::step() {
  const auto now = parts_.clock.boot_now();
  if (now < next(now)) return false;
  if (!parts_.may_reset()) {
    due_ = now + options_.interval;
    return false;
  }
  const auto reply = parts_.jobs.reset(options_.rows_max);
  if (!reply.ok()) {
    retry_.failed(now);
    errors_.count(reply.error().code);
    parts_.log.log(LogLevel::warning, "leases of jobs were not looked at, will be tried again",
                   {{"code", code_name(reply.error().code)},
                    {"error", std::string_view(reply.error().message)}});
    return true;
  }
  retry_.succeeded();
  const auto found = reply->reset + reply->failed;
  if (found < options_.rows_max) due_ = now + options_.interval;
  if (found == 0) return true;
  reset_.add(static_cast<double>(reply->reset));
  failed_.add(static_cast<double>(reply->failed));
  for (const auto& lost : reply->jobs) {
    const DeliveryRecord delivery{.id = lost.of.delivery,
                                  .event = lost.event,
                                  .subscription = lost.subscription,
                                  .tenant = lost.tenant,
                                  .state = lost.delivery_state,
                                  .attempt = lost.of.attempt,
                                  .correlation_id = lost.correlation_id};
    log_delivery(parts_.log, LogLevel::warning,
                 lost.failed ? "a job has lost its worker too often, and failed"
                             : "a job has lost its worker, and goes to another",
                 delivery, {{"worker", std::string_view(lost.worker)}});
  }
  return true;
}

BootTime Cleaner::next(BootTime now) const { return std::max({due_, retry_.at(), now}); }

}  // namespace sagabox::delivery
