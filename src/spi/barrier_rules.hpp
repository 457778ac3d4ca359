#pragma once

#include <sagabox/spi/inbox.hpp>

#include <cstdint>
#include <optional>

/// What a participant of a saga does with a call, by what it noted of earlier ones. Pure.
namespace sagabox::spi {

/// Of one step in one round.
enum class BarrierState : std::uint8_t {
  acted,    ///< its action has run
  undone,   ///< and its compensation after it
  refused,  ///< its compensation came first: the action will not run
};

struct BarrierStep {
  BarrierAnswer answer = BarrierAnswer::run;
  BarrierState after = BarrierState::acted;
};

/// `known` nullopt: no call of it came yet.
[[nodiscard]] BarrierStep decide_barrier(std::optional<BarrierState> known,
                                         BarrierDirection direction) noexcept;

/// SCHEMA.VALIDATION_FAILED where a part of the call is empty, too long or not printable.
[[nodiscard]] Status check_barrier(const BarrierCall& call);

}  // namespace sagabox::spi
