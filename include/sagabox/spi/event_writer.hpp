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
  /// Writes all events in one round trip, or none; returns one result for each event, in order. An
  /// event is a duplicate if its id, or its tenant, source and external id, exist already, also
  /// within the call. TX.IDEMPOTENT_MISMATCH names the first duplicate with another digest or type,
  /// and SCHEMA.VALIDATION_FAILED an event that cannot be stored; nothing is written then, and the
  /// transaction stays usable.
  virtual Result<std::vector<Published>> publish(std::span<const HubEvent> events) = 0;

 protected:
  EventWriter() = default;
  EventWriter(const EventWriter&) = default;
  EventWriter& operator=(const EventWriter&) = default;
};

}  // namespace sagabox
