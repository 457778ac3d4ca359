#pragma once

#include "delivery/subscription.hpp"
#include "delivery/worker/targets.hpp"

#include <sagabox/hub_record.hpp>
#include <sagabox/spi/job_store.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/time.hpp>

#include <memory>
#include <string>
#include <string_view>

/// How an event goes out, and what its answer means. docs/hub.md has both for receivers.
namespace sagabox::delivery {

namespace header {
inline constexpr std::string_view delivery = "Hub-Delivery";
inline constexpr std::string_view attempt = "Hub-Attempt";  ///< 1 is the first
}  // namespace header

/// The event's message as this attempt sends it: with the attempt's headers, which no author can
/// write, and those of the subscription where its transport has no headers of addresses. Its id,
/// `webhook-id`, is the event's: the same in every attempt and generation, so that receivers know
/// an event again. `traceparent` stands for the event's, unless it is empty.
std::shared_ptr<const Message> message_of(const spi::LeasedJob& leased,
                                          const Subscription& subscription,
                                          std::string traceparent = {});

/// A parcel of the hub, without ticket, address and deadline. `source` may be empty.
spi::Parcel hub_parcel(std::shared_ptr<const Message> message, std::string_view source);
/// The one of this attempt.
spi::Parcel parcel_of(const spi::LeasedJob& leased, const Subscription& subscription,
                      std::string traceparent = {});

/// What became of an attempt. Its texts have neither the payload nor a secret.
JobResult result_of(const spi::SendResult& sent, Duration took, std::string_view payload);
/// Of an attempt that was not made.
JobResult not_sent(Code code, std::string error);

}  // namespace sagabox::delivery
