#include "saga/turn.hpp"

#include <sagabox/payload.hpp>

#include <algorithm>

namespace sagabox::saga {
namespace {

using State = SagaStepState;

/// An answer to the action can still change the step.
bool takes_answer(State state, BarrierDirection direction) noexcept {
  if (direction == BarrierDirection::compensation) {
    return state == State::undoing || state == State::undo_retrying ||
           state == State::undo_waiting || state == State::undo_held;
  }
  return state == State::running || state == State::retrying || state == State::waiting ||
         state == State::held || state == State::unknown;
}

WallTime after(WallTime now, Duration delay) {
  return now + std::chrono::ceil<WallTime::duration>(delay);
}

Detail failure_detail(const InstanceStep& step) {
  return std::move(Detail()
                       .number("attempt", step.attempts)
                       .text("code", code_name(step.code))
                       .text("error", step.error));
}

}  // namespace

void Turn::on(const CallEnded& event) {
  const auto& key = event.key;
  if (key.step >= saga_.steps.size()) return;
  auto& step = at(key.step);
  const bool current = step.in_flight && step.in_flight->call == key.call &&
                       step.in_flight->direction == key.direction;
  if (current) {
    step.in_flight.reset();
    write_ = true;
  } else if (event.result.kind != Kind::ok || key.call <= step.earlier_calls ||
             key.call > step.calls) {
    return;
  }
  if (has_ended(saga_.state)) return;
  take(key.step, key.direction, event.result);
  advance();
}

/// A success counts whenever it comes; what says less only for the call that the step waits for.
void Turn::take(std::size_t step, BarrierDirection direction, const CallResult& result) {
  const bool action = direction == BarrierDirection::action;
  const auto state = at(step).state;
  const bool its_own = state == (action ? State::running : State::undoing);
  const bool late = result.kind == Kind::ok && takes_answer(state, direction);
  if (!its_own && !late) return;
  action ? action_result(step, result) : undo_result(step, result);
}

void Turn::action_result(std::size_t step, const CallResult& result) {
  auto& state = at(step);
  const auto& given = plan_.step(step).given;
  state.doubt = state.doubt || result.doubt;
  switch (result.kind) {
    case Kind::ok:
      return succeed(step, result.output);
    case Kind::retry:
      return action_retry(step, result);
    case Kind::fail:
      keep_error(state, result);
      return give_up(step);
    case Kind::wait:
      if (mode() != SagaState::running) {
        state.doubt = true;
        return give_up(step);
      }
      set(step, State::waiting);
      return note(event::step_waiting, step, std::move(Detail().text("for", "reply")));
    case Kind::in_doubt:
      state.doubt = true;
      if (given.idempotent) return action_retry(step, result);
      keep_error(state, result);
      return give_up(step);
    case Kind::unreachable:
      return action_unreachable(step, result);
  }
}

void Turn::action_retry(std::size_t step, const CallResult& result) {
  auto& state = at(step);
  const auto& policy = plan_.step(step).given.retry;
  keep_error(state, result);
  if (mode() != SagaState::running || state.attempts >= policy.attempts_max) return give_up(step);
  const auto due =
      after(now_, result.retry_after ? *result.retry_after : policy.delay(state.attempts, random_));
  if (const auto deadline = deadline_of(step); deadline && due >= *deadline) return give_up(step);
  set(step, State::retrying);
  state.due = due;
  note(event::step_retry, step, failure_detail(state));
}

void Turn::action_unreachable(std::size_t step, const CallResult& result) {
  auto& state = at(step);
  const auto& policy = plan_.step(step).given.retry;
  keep_error(state, result);
  if (state.attempts > 0) --state.attempts;
  if (mode() != SagaState::running) return give_up(step);
  auto due = after(now_, result.retry_after ? *result.retry_after : policy.delay(1, random_));
  // It is tried up to its timeout, but not given up before.
  if (const auto deadline = deadline_of(step)) due = std::min(due, *deadline);
  set(step, State::retrying);
  state.due = due;
}

void Turn::give_up(std::size_t step) {
  auto& state = at(step);
  const auto& given = plan_.step(step).given;
  state.ended_at = now_;
  if (!state.doubt) {
    set(step, State::failed);
    return note(event::step_failed, step, failure_detail(state));
  }
  const bool by_policy = !given.idempotent && given.in_doubt == SagaInDoubt::wait;
  const bool by_person = mode() == SagaState::compensating && saga_.undo == UndoReason::compensated;
  if (given.pivot || (by_policy && !by_person)) {
    set(step, State::held);
    return note(event::step_held, step, failure_detail(state));
  }
  set(step, State::unknown);
  note(event::step_unknown, step, failure_detail(state));
}

void Turn::undo_result(std::size_t step, const CallResult& result) {
  auto& state = at(step);
  switch (result.kind) {
    case Kind::ok:
      if (state.in_flight) {
        decision_.abandoned.push_back(
            {.step = step, .direction = state.in_flight->direction, .call = state.in_flight->call});
      }
      state.error.clear();
      state.code = Code::unknown_internal;
      return undone(step, State::undone);
    case Kind::retry:
    case Kind::in_doubt:
      return undo_retry(step, result);
    case Kind::fail:
      keep_error(state, result);
      return stuck(step);
    case Kind::wait: {
      const auto timeout = plan_.step(step).given.timeout;
      set(step, State::undo_waiting);
      if (timeout != Duration{}) state.deadline = after(now_, timeout);
      return note(event::undo_waiting, step, std::move(Detail().text("for", "reply")));
    }
    case Kind::unreachable:
      keep_error(state, result);
      if (state.attempts > 0) --state.attempts;
      set(step, State::undo_retrying);
      state.due =
          after(now_, result.retry_after ? *result.retry_after
                                         : plan_.step(step).compensation_retry.delay(1, random_));
      return;
  }
}

void Turn::undo_retry(std::size_t step, const CallResult& result) {
  auto& state = at(step);
  const auto& policy = plan_.step(step).compensation_retry;
  keep_error(state, result);
  state.deadline.reset();
  if (state.attempts >= policy.attempts_max) return stuck(step);
  set(step, State::undo_retrying);
  state.due =
      after(now_, result.retry_after ? *result.retry_after : policy.delay(state.attempts, random_));
  note(event::undo_retry, step, failure_detail(state));
}

}  // namespace sagabox::saga
