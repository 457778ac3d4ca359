#pragma once

#include <sagabox/event_types.hpp>
#include <sagabox/log.hpp>
#include <sagabox/random.hpp>
#include <sagabox/result.hpp>
#include <sagabox/spi/transport.hpp>
#include <sagabox/store.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <memory>

/// Messages that become events of the delivery hub (`hub:`).
namespace sagabox::hub {

struct TransportOptions {
  /// Where the hub is. It outlives the transport. Null: addresses are checked and nothing is sent.
  Store* store = nullptr;
  std::uint32_t batch_max = 200;  ///< written in one transaction
  /// A message that does not fit is refused: SCHEMA.VALIDATION_FAILED, and no other attempt.
  EventTypes event_types{};
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
  Random* random = &system_random();
};

/// For `RouterOptions::transports`, under the name `hub`. A message becomes an event of its topic,
/// key, tenant and payload; its id is the event's external id, so that one that comes again is the
/// same event. Who tells it is the setting `source` of the address, or `outbox/TABLE`.
Result<std::unique_ptr<spi::Transport>> open(TransportOptions options);

}  // namespace sagabox::hub
