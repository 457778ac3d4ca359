#pragma once

#include "saga/orchestrator/entry.hpp"

#include <sagabox/spi/saga_store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::saga {

/// What was decided for one saga and is written together.
struct BatchItem {
  SagaId saga{};
  Shard shard{};
  std::uint32_t tenure = 0;
  std::vector<Incoming> events{};  ///< that led to it
  std::optional<spi::SagaWrite> write{};
  std::vector<SagaCommandResult> results{};
  std::vector<spi::SagaMessage> messages{};
  std::vector<AuditEvent> audit{};
  std::vector<Call> calls{};  ///< to make once it is written
  std::vector<CallKey> abandoned{};
  bool starts = false;  ///< the saga was not stored before
  bool ends = false;
  std::vector<std::pair<std::size_t, Duration>> steps_done{};  ///< how long they took
  std::vector<StepMove> moves{};
  std::vector<Duration> undone{};  ///< how long compensations took
  bool replayed = false;
  std::size_t bytes = 0;
};

/// One batch, in the form that a store takes. May be performed again as it is.
struct WriteStep {
  WorkerId owner{};
  std::vector<spi::Fence> fences{};
  std::vector<BatchItem> items{};
  std::uint32_t failures = 0;

  std::vector<spi::SagaWrite> writes{};
  std::vector<spi::SagaBatch::Taken> taken{};
  std::vector<SagaCommandResult> results{};
  std::vector<spi::SagaMessage> messages{};
  std::vector<AuditEvent> audit{};

  /// Fills the vectors that go to the store from `items`.
  void flatten();
  /// Those items that fit, as a step of their own; the others stay here.
  template <class Fits>
  WriteStep take(Fits&& fits);
};

template <class Fits>
WriteStep WriteStep::take(Fits&& fits) {
  WriteStep out;
  out.owner = owner;
  out.fences = fences;
  out.failures = failures;
  std::vector<BatchItem> rest;
  for (auto& item : items) (fits(item) ? out.items : rest).push_back(std::move(item));
  items = std::move(rest);
  out.flatten();
  flatten();
  return out;
}

}  // namespace sagabox::saga
