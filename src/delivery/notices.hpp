#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <string_view>

/// Events that the hub itself tells.
namespace sagabox::delivery {

inline constexpr std::string_view subscription_disabled_type = "hub.subscription.disabled.v1";

/// That this subscription was disabled, and why: `record` as it is afterwards. The same event for
/// the same change, so that it may be published again. For subscriptions of its tenant.
Result<HubEvent> subscription_disabled(const SubscriptionRecord& record, UlidSource& ids,
                                       const Clock& clock);

}  // namespace sagabox::delivery
