#include "spi/barrier_rules.hpp"

#include "core/text.hpp"

#include <array>
#include <string>
#include <utility>

namespace sagabox {

std::string_view barrier_direction_name(BarrierDirection direction) noexcept {
  return direction == BarrierDirection::action ? "action" : "compensation";
}

std::string_view barrier_answer_name(BarrierAnswer answer) noexcept {
  constexpr std::array<std::string_view, barrier_answer_count> names{"run", "repeated", "too_late",
                                                                     "nothing_to_undo"};
  return names[static_cast<std::size_t>(answer)];
}

namespace spi {

BarrierStep decide_barrier(std::optional<BarrierState> known, BarrierDirection direction) noexcept {
  const bool action = direction == BarrierDirection::action;
  if (!known) {
    return action ? BarrierStep{BarrierAnswer::run, BarrierState::acted}
                  : BarrierStep{BarrierAnswer::nothing_to_undo, BarrierState::refused};
  }
  switch (*known) {
    case BarrierState::acted:
      return action ? BarrierStep{BarrierAnswer::repeated, BarrierState::acted}
                    : BarrierStep{BarrierAnswer::run, BarrierState::undone};
    case BarrierState::undone:
      return {action ? BarrierAnswer::too_late : BarrierAnswer::repeated, BarrierState::undone};
    case BarrierState::refused:
      break;
  }
  return {action ? BarrierAnswer::too_late : BarrierAnswer::nothing_to_undo, BarrierState::refused};
}

Status check_barrier(const BarrierCall& call) {
  using Key = IdempotencyKey;
  struct Part {
    const char* field;
    const std::string& text;
    std::size_t length_max;
  };
  for (const auto& part : {Part{"tenant", call.tenant, Key::tenant_length_max},
                           Part{"saga", call.saga, Key::consumer_length_max},
                           Part{"step", call.step, Key::consumer_length_max}}) {
    auto problem = name_problem(part.text, part.length_max);
    if (problem.empty()) continue;
    return Error{Code::schema_validation_failed, std::string(part.field) + ": " + problem};
  }
  if (call.deadline == WallTime{}) {
    return Error{Code::schema_validation_failed, "deadline: missing; give that of the saga"};
  }
  if (call.retention < Duration::zero()) {
    return Error{Code::schema_validation_failed, "retention: below zero; give a time of 0 or more"};
  }
  // Limits that the time types of all databases can store.
  constexpr auto longest = std::chrono::hours(24 * 365 * 100);
  constexpr WallTime latest{std::chrono::hours(24 * 365 * 1000)};
  if (call.deadline > latest || call.retention > longest) {
    return Error{Code::schema_validation_failed,
                 "deadline and retention: give a time before the year 2969 and at most 100 years"};
  }
  return {};
}

}  // namespace spi
}  // namespace sagabox
