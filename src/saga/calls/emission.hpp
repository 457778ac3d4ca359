#pragma once

#include "saga/decide.hpp"
#include "saga/instance.hpp"

#include <sagabox/id.hpp>
#include <sagabox/spi/saga_store.hpp>
#include <sagabox/time.hpp>

#include <string_view>

namespace sagabox::saga {

struct EmissionContext {
  const Instance& instance;
  const SagaStep& step;
  Epoch epoch{};
  std::string_view secret;         ///< empty: no reply token
  WallTime::duration reply_ttl{};  ///< of the token
  WallTime remember_until{};
};

/// The message of an `outbox:` action: its payload is the input, and headers say which call it is.
/// A new id each time, so that the idempotency key, which stays the same, is a header.
Result<spi::SagaMessage> build_emission(const EmissionContext& context, const Emission& emission,
                                        UlidSource& ids, const Clock& clock);

}  // namespace sagabox::saga
