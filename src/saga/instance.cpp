#include "saga/instance.hpp"

#include <algorithm>
#include <array>

namespace sagabox::saga {
namespace {

using State = SagaStepState;

constexpr std::array<std::string_view, undo_reason_count> undo_reason_names{
    "none", "failure", "timeout", "cancelled", "compensated"};

void earlier(std::optional<WallTime>& best, const std::optional<WallTime>& other) {
  if (other && (!best || *other < *best)) best = other;
}

/// Whether the step's own timeout may end it now.
bool is_timed(State state) noexcept {
  return state == State::running || state == State::retrying || state == State::waiting ||
         state == State::undo_waiting;
}

bool has_due(State state) noexcept {
  return state == State::retrying || state == State::waiting || state == State::undo_retrying ||
         state == State::undo_waiting;
}

bool may_run(const InstanceStep& step) noexcept {
  return step.in_flight || step.state == State::running || step.state == State::undoing;
}

void add_times(const Instance& instance, std::optional<WallTime>& best) {
  if (has_ended(instance.state) || instance.state == SagaState::paused) return;
  earlier(best, instance.deadline);
  for (const auto& step : instance.steps) {
    if (has_due(step.state)) earlier(best, step.due);
    if (is_timed(step.state)) earlier(best, step.deadline);
  }
}

}  // namespace

std::string_view undo_reason_name(UndoReason reason) noexcept {
  return undo_reason_names[static_cast<std::size_t>(reason)];
}

std::optional<WallTime> next_time(const Instance& instance) {
  std::optional<WallTime> best;
  add_times(instance, best);
  for (const auto& step : instance.steps) {
    if (step.in_flight) earlier(best, step.in_flight->deadline);
  }
  return best;
}

std::optional<WallTime> stored_due(const Instance& instance) {
  if (has_ended(instance.state)) return std::nullopt;
  if (has_calls(instance)) return instance.changed_at;
  std::optional<WallTime> best;
  add_times(instance, best);
  return best;
}

bool has_calls(const Instance& instance) noexcept {
  return std::ranges::any_of(instance.steps, may_run);
}

bool waits_for_person(const Instance& instance) noexcept {
  if (instance.state == SagaState::failed) return true;
  if (has_ended(instance.state)) return false;
  return std::ranges::any_of(instance.steps, [](const InstanceStep& step) {
    return step.state == State::held || step.state == State::undo_held;
  });
}

bool is_stray(const Instance& instance) noexcept {
  if (has_ended(instance.state) || instance.state == SagaState::paused) return false;
  return std::ranges::none_of(instance.steps, [](const InstanceStep& step) {
    return may_run(step) || has_due(step.state) || step.state == State::held ||
           step.state == State::undo_held;
  });
}

}  // namespace sagabox::saga
