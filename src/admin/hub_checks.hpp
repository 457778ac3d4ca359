#pragma once

#include <sagabox/audit.hpp>
#include <sagabox/hub_record.hpp>
#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <string>
#include <string_view>

/// What the surfaces of the delivery hub check, hide and write down alike. Pure.
namespace sagabox::admin {

/// Its endpoint can prove itself, and requests to it are signed.
bool is_http_target(std::string_view target) noexcept;
/// REQUEST.INVALID: `target: …`. Never repeats the target, which may have a token in it.
Status check_hub_target(std::string_view target);
/// Name, types, target and settings; each error names its place.
Status check_subscription_texts(const SubscriptionRecord& record);

/// Values of headers become ***. Settings that cannot be read are hidden as a whole.
std::string masked_settings(const std::string& settings);
/// REQUEST.INVALID if a header has *** as its value: what was shown is not what was stored.
Status check_not_masked(const std::string& settings);
/// As those see it who may not see payloads.
SubscriptionRecord masked(SubscriptionRecord record);

/// `whsec_` and 32 random bytes in base64, as Standard Webhooks has them.
std::string new_webhook_secret(Random& random);

/// Of an act on a subscription, which its id names.
AuditEvent subscription_event(AuditKind kind, const SubscriptionRecord& record,
                              const std::string& actor, std::string_view detail, WallTime at);
AuditEvent requeue_event(const DeliveryRecord& delivery, const std::string& actor,
                         std::string_view note, WallTime at);

}  // namespace sagabox::admin
