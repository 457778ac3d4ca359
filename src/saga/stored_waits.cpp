#include "saga/stored_waits.hpp"

namespace sagabox::saga {
namespace {

using State = SagaStepState;

bool is_held(const InstanceStep& step) noexcept {
  return step.state == State::held || step.state == State::undo_held;
}

void keep_earlier(std::optional<WallTime>& first, const std::optional<WallTime>& time) {
  if (time && (!first || *time < *first)) first = time;
}

}  // namespace

SagaPersonWait person_wait(const Plan& plan, const Instance& instance) {
  auto wait = SagaPersonWait::none;
  if (has_ended(instance.state)) return wait;
  for (std::size_t step = 0; step < instance.steps.size(); ++step) {
    const auto& of = instance.steps[step];
    if (is_held(of)) return SagaPersonWait::decision;
    const bool approves = plan.step(step).given.wait == SagaWait::approval;
    if (approves && of.state == State::waiting) wait = SagaPersonWait::approval;
  }
  return wait;
}

std::optional<WallTime> overdue_from(const Plan& plan, const Instance& instance) {
  std::optional<WallTime> first;
  if (has_ended(instance.state)) return first;
  for (const auto& step : instance.steps) {
    if (step.in_flight) keep_earlier(first, step.in_flight->deadline);
  }
  if (instance.state == SagaState::paused) return first;
  keep_earlier(first, instance.deadline);
  for (std::size_t step = 0; step < instance.steps.size(); ++step) {
    const auto& of = instance.steps[step];
    const bool retries = of.state == State::retrying || of.state == State::undo_retrying;
    if (retries && of.due) {
      keep_earlier(
          first, *of.due + std::chrono::ceil<WallTime::duration>(plan.step(step).attempt_timeout));
    } else if (of.state == State::waiting || of.state == State::undo_waiting) {
      keep_earlier(first, of.due);
      keep_earlier(first, of.deadline);
    }
  }
  return first;
}

}  // namespace sagabox::saga
