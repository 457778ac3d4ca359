#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/hub_record.hpp>
#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <string>
#include <string_view>

/// Checks, masks and texts that all interfaces of the delivery hub share. Pure.
namespace sagabox::admin {

/// True if its endpoint can be verified, and requests to it are signed.
bool is_http_target(std::string_view target) noexcept;
/// REQUEST.INVALID: `target: …`. Never repeats the target, which may contain a token.
Status check_hub_target(std::string_view target);
/// Checks name, types, target and settings; each error names its field.
Status check_subscription_texts(const SubscriptionRecord& record);

/// Values of headers become ***. Settings that cannot be read are hidden completely.
std::string masked_settings(const std::string& settings);
/// REQUEST.INVALID if a header has *** as its value: the masked output is not what was stored.
Status check_not_masked(const std::string& settings);
/// The record as shown to callers that may not see payloads.
SubscriptionRecord masked(SubscriptionRecord record);

/// `whsec_` and 32 random bytes in base64, as in Standard Webhooks.
std::string new_webhook_secret(Random& random);

/// The event for an act on a subscription, which is named by its id.
AuditEvent subscription_event(AuditKind kind, const SubscriptionRecord& record,
                              const std::string& actor, std::string_view detail, WallTime at);
AuditEvent requeue_event(const DeliveryRecord& delivery, const std::string& actor,
                         std::string_view note, WallTime at);

}  // namespace sagabox::admin
