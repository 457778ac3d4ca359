#include "delivery/hub_log.hpp"

#include <vector>

namespace sagabox::delivery {

std::string job_name(const DeliveryId& delivery, std::uint32_t attempt) {
  return attempt == 0 ? std::string() : delivery.str() + '/' + std::to_string(attempt);
}

void log_delivery(Logger& log, LogLevel level, std::string_view what,
                  const DeliveryRecord& delivery, std::initializer_list<LogField> more) {
  if (!log.enabled(level)) return;
  const auto job = job_name(delivery.id, delivery.attempt);
  std::vector<LogField> fields{{"correlation_id", std::string_view(delivery.correlation_id)},
                               {"event_id", delivery.event.view()},
                               {"subscription_id", delivery.subscription.view()},
                               {"delivery_id", delivery.id.view()},
                               {"job_id", std::string_view(job)},
                               {"delivery_status", delivery_state_name(delivery.state)},
                               {"tenant", std::string_view(delivery.tenant)}};
  fields.insert(fields.end(), more.begin(), more.end());
  log.write(level, what, fields);
}

void log_event(Logger& log, LogLevel level, std::string_view what, const HubEvent& event,
               std::initializer_list<LogField> more) {
  if (!log.enabled(level)) return;
  const auto& message = *event.message;
  std::vector<LogField> fields{{"correlation_id", std::string_view(message.trace().correlation_id)},
                               {"event_id", event.id.view()},
                               {"tenant", std::string_view(message.tenant())},
                               {"type", std::string_view(message.topic())},
                               {"source", std::string_view(event.source)},
                               {"external_id", std::string_view(event.external_id)}};
  fields.insert(fields.end(), more.begin(), more.end());
  log.write(level, what, fields);
}

void log_published(Logger& log, std::span<const HubEvent> events,
                   std::span<const Published> published) {
  if (!log.enabled(LogLevel::debug)) return;
  for (std::size_t at = 0; at < events.size() && at < published.size(); ++at) {
    // A repetition is the event that was there before.
    auto event = events[at];
    event.id = published[at].id;
    log_event(log, LogLevel::debug, "an event is published", event,
              {{"duplicate", published[at].duplicate}});
  }
}

}  // namespace sagabox::delivery
