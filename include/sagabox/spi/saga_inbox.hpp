#pragma once

#include <sagabox/result.hpp>
#include <sagabox/saga_record.hpp>

#include <span>

namespace sagabox {

/// The role of a transaction that writes to the saga inbox. Owned by the transaction.
class SagaInbox {
 public:
  virtual ~SagaInbox() = default;
  /// Appends all in one round trip, or none. SCHEMA.VALIDATION_FAILED for ids, names or a body that
  /// cannot be stored. The commands are not checked against stored sagas: the owner does that.
  virtual Status append(std::span<const SagaCommand> commands) = 0;

 protected:
  SagaInbox() = default;
  SagaInbox(const SagaInbox&) = default;
  SagaInbox& operator=(const SagaInbox&) = default;
};

}  // namespace sagabox
