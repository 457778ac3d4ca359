#pragma once

#include "saga/calls/caller.hpp"

#include <sagabox/message.hpp>

#include <string>
#include <string_view>

namespace sagabox::saga {

/// Headers that say which call a request or message is: docs/sagas.md.
namespace header {
inline constexpr std::string_view saga_id = "Saga-Id";
inline constexpr std::string_view definition = "Saga-Definition";  ///< "travel/3"
inline constexpr std::string_view step = "Saga-Step";
inline constexpr std::string_view direction = "Saga-Direction";  ///< action, compensation
inline constexpr std::string_view attempt = "Saga-Attempt";      ///< 1 is the first of its round
/// Which execution of the step: the barrier of the participant goes by saga, step and round.
inline constexpr std::string_view round = "Saga-Round";
inline constexpr std::string_view epoch = "Saga-Epoch";
inline constexpr std::string_view deadline = "Saga-Deadline";  ///< RFC 3339
/// How long a participant keeps what it notes of the call. RFC 3339
inline constexpr std::string_view remember_until = "Saga-Remember-Until";
inline constexpr std::string_view tenant = "Saga-Tenant";
inline constexpr std::string_view reply_token = "Saga-Reply-Token";
inline constexpr std::string_view idempotency_key = "Idempotency-Key";
}  // namespace header

/// The id of a call's message, `webhook-id` where calls are signed: "c" and the first 32
/// hexadecimal digits of the SHA-256 of the idempotency key. The same for all attempts of a round,
/// so that a signature, which covers the id, covers which call it is.
std::string call_id(std::string_view idempotency_key);

/// All but the token. Of `order` only what they name is looked at.
Headers call_headers(const CallOrder& order);

}  // namespace sagabox::saga
