#pragma once

#include <sagabox/spi/inbox.hpp>

#include <cstdint>
#include <optional>

/// Decides how a participant of a saga handles a call, from its notes of earlier calls. Pure.
namespace sagabox::spi {

/// The state of one step in one round.
enum class BarrierState : std::uint8_t {
  acted,    ///< its action has run
  undone,   ///< its action and then its compensation have run
  refused,  ///< its compensation came first, so the action will not run
};

struct BarrierStep {
  BarrierAnswer answer = BarrierAnswer::run;
  BarrierState after = BarrierState::acted;
};

/// `known`: nullopt if there was no call of the step yet.
[[nodiscard]] BarrierStep decide_barrier(std::optional<BarrierState> known,
                                         BarrierDirection direction) noexcept;

/// SCHEMA.VALIDATION_FAILED if a part of the call is empty, too long or not printable.
[[nodiscard]] Status check_barrier(const BarrierCall& call);

}  // namespace sagabox::spi
