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

/// Publishes messages as events of the delivery hub (`hub:`).
namespace sagabox::hub {

struct TransportOptions {
  /// The store of the hub. It outlives the transport. Null: addresses are checked and nothing is
  /// sent.
  Store* store = nullptr;
  std::uint32_t batch_max = 200;  ///< written in one transaction
  /// A message that does not fit is rejected with SCHEMA.VALIDATION_FAILED and not retried.
  EventTypes event_types{};
  Logger* log = &no_log();
  const Clock* clock = &system_clock();
  Random* random = &system_random();
};

/// For `RouterOptions::transports`, under the name `hub`. A message becomes an event with its
/// topic, key, tenant and payload; its id is the event's external id, so that a repeated message is
/// the same event. The source of the event is the setting `source` of the address, or
/// `outbox/TABLE`.
Result<std::unique_ptr<spi::Transport>> open(TransportOptions options);

}  // namespace sagabox::hub
