#pragma once

#include "feed/reader.hpp"
#include "saga/calls/caller.hpp"
#include "saga/decide.hpp"
#include "saga/instance.hpp"
#include "saga/plan.hpp"

#include <sagabox/saga_record.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::saga {

/// Something that happened to a saga and has not been decided on.
struct Incoming {
  Event event;
  std::optional<feed::RowPlace> place{};  ///< of a command

  [[nodiscard]] const SagaCommand* command() const noexcept {
    const auto* const arrived = std::get_if<CommandArrived>(&event);
    return arrived == nullptr ? nullptr : &arrived->command;
  }
};

/// A saga in the memory of its owner.
///
/// loading → present | absent      once it has been read
/// absent → present                a start has been written
/// present → loading               the store had another version
/// loading, present → parked       the store refuses what became of it, or it cannot be read
/// parked → loading                after a while
struct Entry {
  enum class Phase : std::uint8_t { loading, absent, present, parked };

  SagaId id{};
  Shard shard{};
  std::uint32_t tenure = 0;  ///< of the shard
  Phase phase = Phase::loading;
  std::optional<Instance> instance{};  ///< present only
  const Plan* plan = nullptr;
  std::deque<Incoming> events{};
  std::vector<std::pair<CallKey, CallTicket>> calls{};  ///< made, and not ended
  std::uint32_t single_calls = 0;                       ///< of these, not idempotent
  bool in_batch = false;
  bool ready = false;   ///< in the queue of those to decide on
  bool wanted = false;  ///< in the queue of those to load
  /// Differs from what is stored, in ways that need not be stored.
  bool unsaved = false;
  bool gone = false;  ///< to be removed once reads that began before have been looked at
  std::optional<WallTime> timer{};
  /// A write of it met an isolation key that another saga has, or another version; in words of the
  /// store. Empty: not since it was loaded last.
  std::string conflict{};
  bool reloaded = false;  ///< because of that

  [[nodiscard]] bool idle() const noexcept {
    return events.empty() && calls.empty() && !in_batch && !ready && !wanted;
  }
};

}  // namespace sagabox::saga
