#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/log.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

/// Whom a log line of the hub is about, in the same fields whichever role writes it; docs/hub.md
/// has the list.
namespace sagabox::delivery {

/// "DELIVERY/ATTEMPT"; empty before the first attempt.
std::string job_name(const DeliveryId& delivery, std::uint32_t attempt);

/// One line about a delivery, at its present attempt. `more` goes behind the fields of every line.
void log_delivery(Logger& log, LogLevel level, std::string_view what,
                  const DeliveryRecord& delivery, std::initializer_list<LogField> more = {});

/// One line about an event.
void log_event(Logger& log, LogLevel level, std::string_view what, const HubEvent& event,
               std::initializer_list<LogField> more = {});

/// One line for each of several events that were just published.
void log_published(Logger& log, std::span<const HubEvent> events,
                   std::span<const Published> published);

}  // namespace sagabox::delivery
