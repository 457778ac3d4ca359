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
  /// All in one round trip, or none; one answer an event, in their order. An event is known by its
  /// id, or by tenant, source and external id if it has one; within a call too.
  /// TX.IDEMPOTENT_MISMATCH names the first that is known with another digest or type, and
  /// SCHEMA.VALIDATION_FAILED one that cannot be stored; nothing is written then, and the
  /// transaction goes on.
  virtual Result<std::vector<Published>> publish(std::span<const HubEvent> events) = 0;

 protected:
  EventWriter() = default;
  EventWriter(const EventWriter&) = default;
  EventWriter& operator=(const EventWriter&) = default;
};

}  // namespace sagabox
