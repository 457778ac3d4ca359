#pragma once

#include "conformance/store_conformance.hpp"

#include <string>
#include <utility>

namespace sagabox::conformance {

/// What the inbox of every store must do.
class InboxConformance : public StoreConformance {
 protected:
  spi::InboxStore& inbox() { return *store().inbox(); }
  static IdempotencyKey key(std::string text) { return {"acme", "billing", std::move(text)}; }
  BarrierCall call(std::string step) {
    return {.tenant = "acme",
            .saga = "s1",
            .step = std::move(step),
            .deadline = stats().now + std::chrono::hours(1)};
  }
  BarrierCall undo(std::string step) {
    auto undone = call(std::move(step));
    undone.direction = BarrierDirection::compensation;
    return undone;
  }

  /// Each in a committed transaction of its own.
  bool first_time(const IdempotencyKey& key) {
    return store()
        .transaction([&](OwnedTransaction& tx) { return tx.inbox().first_time(key); })
        .value();
  }
  BarrierAnswer barrier(const BarrierCall& call) {
    return store()
        .transaction([&](OwnedTransaction& tx) { return tx.inbox().barrier(call); })
        .value();
  }
};

}  // namespace sagabox::conformance
