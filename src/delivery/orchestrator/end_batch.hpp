#pragma once

#include "delivery/orchestrator/steps.hpp"

#include <sagabox/hub_record.hpp>
#include <sagabox/spi/delivery_store.hpp>
#include <sagabox/time.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::delivery {

/// What becomes of a delivery whose attempt has ended, or which will not be sent.
struct Ending {
  Tenure tenure;
  DeliveryRecord delivery{};         ///< as it is afterwards
  std::string disable{};             ///< why its subscription is disabled before; empty: it is not
  std::uint64_t disable_change = 0;  ///< of the subscription that this was decided by
  bool bury = false;
};

/// A result of an attempt that no delivery is at any more, as far as its owner knows: it is marked
/// as seen once a fenced write has shown that the owner was one.
struct StaleResult {
  Tenure tenure;
  spi::AttemptOf of;
};

/// Deliveries that end together: subscriptions are disabled, then snapshots of those that die are
/// kept, then their deaths are in the audit log, then the deliveries are changed. What a crash
/// interrupts is done once more: a death may be in the log twice, and is never missing.
struct EndBatch {
  enum class Stage : std::uint8_t { disable, bury, audit, change };

  std::vector<Ending> items{};
  std::vector<StaleResult> stale{};
  bool unsent = false;  ///< none of them is in progress
  Stage stage = Stage::disable;

  [[nodiscard]] bool empty() const noexcept { return items.empty() && stale.empty(); }
  /// The items that `wanted` says yes to, apart from the rest.
  template <class Wanted>
  EndBatch take(Wanted&& wanted) {
    EndBatch part{.items = {}, .stale = {}, .unsent = unsent, .stage = stage};
    std::vector<Ending> rest;
    for (auto& item : items) (wanted(item) ? part.items : rest).push_back(std::move(item));
    items = std::move(rest);
    return part;
  }
};

inline spi::DeliveryChange change_of(const DeliveryRecord& delivery) {
  return {.of = {.delivery = delivery.id, .attempt = delivery.attempt},
          .state = delivery.state,
          .failures = delivery.failures,
          .next_attempt_at = delivery.next_attempt_at,
          .code = delivery.code,
          .error = delivery.error,
          .status = delivery.status};
}

}  // namespace sagabox::delivery
