#pragma once

#include "cli/terminal.hpp"

#include <sagabox/hub_admin.hpp>

#include <span>
#include <string>
#include <vector>

/// The delivery hub as lines. Pure.
namespace sagabox::cli {

/// A line for each, or one that there is none.
std::vector<Line> event_list(std::span<const EventView> events, WallTime now);
/// With headers and payload if the view has them.
std::vector<Line> event_details(const EventView& event);

std::vector<Line> subscription_list(std::span<const SubscriptionView> subscriptions);
std::vector<Line> subscription_details(const SubscriptionView& subscription, WallTime now);
/// A new secret, and a note that it is not shown again.
std::vector<Line> new_secret_lines(const NewSecret& secret);
Line probe_line(const ProbeReport& report);
std::vector<Line> health_lines(const SubscriptionHealth& health, WallTime now);

std::vector<Line> delivery_list(std::span<const DeliveryRecord> deliveries, WallTime now);
/// By subscription and state.
std::vector<Line> delivery_count_list(std::span<const spi::DeliveryCount> counts, WallTime now);
/// With a line for each attempt.
std::vector<Line> delivery_details(const DeliveryView& view);
Line requeued_line(const spi::Requeued& requeued);

/// "3 deliveries"
std::string deliveries_text(std::uint64_t count);

}  // namespace sagabox::cli
