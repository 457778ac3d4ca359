#pragma once

#include <sagabox/hub_admin.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Rows of the hub as shown to operators. Pure.
namespace sagabox::admin {

EventView event_view(const HubEvent& event, Admin::PayloadToo payload);
SubscriptionView subscription_view(const SubscriptionRecord& record, Admin::PayloadToo payload);

/// A cursor of events and deliveries is the last sequence of the page before, in decimal.
Result<std::optional<Sequence>> sequence_cursor(std::string_view text);
Status check_times(std::string_view field, const std::optional<WallTime>& from,
                   const std::optional<WallTime>& to);
/// Checks a note that may be omitted.
Status check_hub_note(const std::string& note);

}  // namespace sagabox::admin
