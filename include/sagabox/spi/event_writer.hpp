#pragma once

#include <sagabox/hub_record.hpp>
#include <sagabox/result.hpp>

#include <span>
#include <vector>

namespace sagabox {

/// The role of a transaction that publishes events to the delivery hub. Owned by the transaction.
class EventWriter {
 public:
  virtual ~EventWriter() = default;
  /// All in one round trip, or none; one answer an event, in their order. TX.IDEMPOTENT_MISMATCH
  /// names the first whose external id is known with another digest.
  virtual Result<std::vector<Published>> publish(std::span<const HubEvent> events) = 0;

 protected:
  EventWriter() = default;
  EventWriter(const EventWriter&) = default;
  EventWriter& operator=(const EventWriter&) = default;
};

}  // namespace sagabox
