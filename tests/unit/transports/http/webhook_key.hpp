#pragma once

namespace sagabox::http {

/// The symmetric key in the examples of Standard Webhooks.
inline constexpr auto webhook_key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

}  // namespace sagabox::http
