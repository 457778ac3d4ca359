#pragma once

#include "delivery/worker/targets.hpp"

#include <sagabox/hub_record.hpp>
#include <sagabox/random.hpp>
#include <sagabox/spi/subscription_store.hpp>
#include <sagabox/time.hpp>

#include <span>
#include <string>
#include <string_view>

/// Requests to an endpoint that belong to no event: nothing of them is in a table.
namespace sagabox::delivery {

inline constexpr std::string_view verification_type = "hub.subscription.verification.v1";
inline constexpr std::string_view ping_type = "hub.subscription.ping.v1";

/// What a probe works with; all of it outlives the call.
struct ProbeParts {
  const Transports& transports;
  const SecretBox* box = nullptr;  ///< null: secrets cannot be opened
  const Clock& clock;
  Random& random;  ///< fit for secrets: `secret_random()` outside of tests
};

/// What came of a probe. Its texts may be shown to who administers the subscription.
struct Probed {
  bool passed = false;
  int status = 0;  ///< 0: no answer, or a transport without statuses
  Duration took{};
  std::string error{};   ///< why it did not pass, and what to do
  std::string answer{};  ///< the first 1,024 bytes of the body; untrusted
};

/// Whether a new subscription to this target is inactive until it has proved itself.
bool needs_proof(std::string_view target) noexcept;

/// Asks the endpoint for a proof that it wants the events: a signed event of `verification_type`
/// with a random `challenge`, which has to be in the answer, as JSON {"challenge": "…"} or as the
/// whole text. Blocks at most as long as the subscription's `timeout`. Passes at once for targets
/// that need no proof.
Probed prove(const ProbeParts& parts, const Subscription& subscription,
             std::span<const spi::SealedSecret> secrets);

/// Sends a signed event of `ping_type`; passes if the answer is a success. Blocks as `prove` does.
Probed ping(const ProbeParts& parts, const Subscription& subscription,
            std::span<const spi::SealedSecret> secrets);

}  // namespace sagabox::delivery
