#pragma once

#include "delivery/orchestrator/endpoint_flow.hpp"
#include "delivery/subscription.hpp"

#include <sagabox/hub_record.hpp>
#include <sagabox/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

namespace sagabox::delivery {

/// A delivery in the memory of its owner.
///
/// ready → beginning    its turn has come
/// beginning → making   it is in progress, and is to have a job
/// making → running     it has one
/// making, running → ending   the job's result is being written
struct Attempt {
  enum class Phase : std::uint8_t { ready, beginning, making, running, ending };

  DeliveryRecord delivery{};  ///< as it is stored, or will be once it has begun
  Phase phase = Phase::ready;
  bool retry = false;  ///< it was attempted before
  bool seen = false;   ///< the scan that goes on has found it in progress
  BootTime began{};
  /// Of its subscription when it began; 0: another owner has begun it.
  std::uint64_t change = 0;

  [[nodiscard]] bool under_way() const noexcept { return phase != Phase::ready; }
};

/// What its owner knows of a subscription.
struct Line {
  SubscriptionId id{};
  Shard shard{};
  std::shared_ptr<const Subscription> subscription{};  ///< null: not read yet
  EndpointFlow flow;
  /// Read, and waiting for their turn: those that were not attempted before, and retries.
  std::array<std::deque<DeliveryId>, 2> ready{};

  bool look = false;  ///< the store may have more that is due
  /// Where the next page begins; from the start again once it came to an end.
  WallTime after_due{};
  Sequence after{};
  bool looking = false;              ///< in the queue of those to be read
  bool in_turn = false;              ///< in the queue of those that may begin
  bool doom = false;                 ///< open deliveries of a disabled subscription are to be ended
  bool dooming = false;              ///< in the queue for it
  bool stopped = false;              ///< disabled by us; the change has not been read yet
  std::optional<BootTime> due_at{};  ///< when another delivery becomes due
  std::optional<BootTime> timer{};

  bool health_known = false;
  bool health_asked = false;
  /// When the first of the attempts ended that have all failed since.
  std::optional<WallTime> failing_since{};

  [[nodiscard]] SubscriptionState state() const {
    if (stopped) return SubscriptionState::disabled;
    const auto state = subscription->record.state;
    const bool waits = state == SubscriptionState::active && subscription->waits();
    return waits ? SubscriptionState::paused : state;
  }
  [[nodiscard]] bool goes() const {
    return subscription != nullptr && state() == SubscriptionState::active;
  }
  [[nodiscard]] std::size_t ready_count() const { return ready[0].size() + ready[1].size(); }
  /// Whether one of those that are ready may begin.
  [[nodiscard]] bool may_begin(BootTime now) const {
    return (!ready[0].empty() && flow.admits(false, now)) ||
           (!ready[1].empty() && flow.admits(true, now));
  }
  void look_from_start() {
    look = true;
    after_due = {};
    after = {};
  }
};

}  // namespace sagabox::delivery
