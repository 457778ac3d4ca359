#include "core/text.hpp"
#include "saga/turn.hpp"

#include <algorithm>

namespace sagabox::saga {
namespace {

/// Clocks of two owners may differ by so much.
constexpr auto skew_max = std::chrono::seconds(5);

CallResult no_answer(Duration after) {
  return {.kind = CallResult::Kind::in_doubt,
          .error = "no answer within " + duration_text(after),
          .code = Code::tx_timeout};
}

}  // namespace

void Turn::on(const TimePassed&) {
  if (has_ended(saga_.state)) return;
  deadlines_of_calls();
  if (!paused()) {
    time_out_saga();
    // First what ends steps: after a failure nothing is called again.
    times_of_steps();
    advance();
    repeat_calls();
  }
  advance();
}

void Turn::deadlines_of_calls() {
  for (std::size_t i = 0; i < saga_.steps.size(); ++i) {
    auto& step = at(i);
    if (!step.in_flight || step.in_flight->deadline > now_) continue;
    const auto call = *step.in_flight;
    decision_.abandoned.push_back({.step = i, .direction = call.direction, .call = call.call});
    step.in_flight.reset();
    write_ = true;
    take(i, call.direction, no_answer(plan_.step(i).attempt_timeout));
  }
}

void Turn::times_of_steps() {
  for (std::size_t i = 0; i < saga_.steps.size(); ++i) {
    auto& step = at(i);
    const bool late = step.deadline && *step.deadline <= now_;
    const bool due = step.due && *step.due <= now_;
    if (step.state == State::waiting && due && plan_.step(i).given.wait == SagaWait::timer) {
      succeed(i, "null");
    } else if ((step.state == State::waiting || step.state == State::retrying) && late) {
      time_out(i);
    } else if (step.state == State::waiting && due) {
      action_result(i, no_answer(plan_.step(i).attempt_timeout));
    } else if (step.state == State::undo_waiting && (late || due)) {
      undo_result(i, no_answer(plan_.step(i).given.timeout));
    }
  }
}

void Turn::repeat_calls() {
  for (std::size_t i = 0; i < saga_.steps.size(); ++i) {
    const auto& step = at(i);
    if (!step.due || *step.due > now_) continue;
    if (step.state == State::retrying) run_action(i);
    if (step.state == State::undo_retrying) run_undo(i);
  }
}

void Turn::time_out(std::size_t step) {
  auto& state = at(step);
  const auto& planned = plan_.step(step);
  // A call that was accepted and not answered may have had its effect.
  if (state.state == State::waiting && planned.action.kind != Target::Kind::none) {
    state.doubt = true;
  }
  state.error = "not done within " + duration_text(planned.given.timeout);
  state.code = Code::tx_timeout;
  give_up(step);
}

void Turn::time_out_saga() {
  if (!saga_.deadline || *saga_.deadline > now_ || saga_.state != SagaState::running) return;
  saga_.deadline.reset();
  note(event::timed_out);
  // While the pivot is in doubt, its outcome decides.
  if (pivot_open()) {
    saga_.timed_out = true;
  } else if (!past_pivot()) {
    turn_back(UndoReason::timeout);
  }
}

void Turn::on(const TakenOver& event) {
  if (has_ended(saga_.state)) return;
  note(event::taken_over, {}, std::move(Detail().text("clean", event.clean ? "yes" : "no")));
  // First what ends steps: after a failure nothing is called again.
  for (std::size_t i = 0; i < saga_.steps.size(); ++i) lose_calls(i, event.clean);
  advance();
  for (std::size_t i = 0; i < saga_.steps.size(); ++i) call_again(i);
  advance();
}

/// What may be under way is in doubt now. Steps that may not be called again end.
void Turn::lose_calls(std::size_t index, bool clean) {
  auto& step = at(index);
  const auto& planned = plan_.step(index);
  const bool action = step.state == State::running;
  if (step.state == State::retrying && planned.given.idempotent && step.due &&
      *step.due <= now_ + skew_max) {
    step.doubt = true;  // its former owner may have begun it: that needs no write
    return;
  }
  if (!action && step.state != State::undoing) return;
  if (action) step.doubt = true;
  if (clean && step.attempts > 0) --step.attempts;
  const auto& policy = action ? planned.given.retry : planned.compensation_retry;
  const bool never_again = action && !planned.given.idempotent;
  const auto deadline = deadline_of(index);
  const bool late = action && deadline && *deadline <= now_;
  if (!never_again && !late && step.attempts < policy.attempts_max) return;
  // A sibling that is only waited for ends with its call's deadline.
  if (action && mode() == SagaState::compensating) return;
  keep_error(step, {.kind = Kind::in_doubt,
                    .error = "its process ended before the call did",
                    .code = Code::tx_lease_lost});
  // It is compensated when the deadline of that call has passed.
  action ? give_up(index) : stuck(index);
}

void Turn::call_again(std::size_t index) {
  auto& step = at(index);
  const bool action = step.state == State::running;
  const bool begun = step.state == State::retrying && step.doubt && step.due &&
                     *step.due <= now_ + skew_max && !paused();
  if (begun) return run_action(index);
  if (!action && step.state != State::undoing) return;
  if (action && mode() == SagaState::compensating) return;
  if (!called_here(index)) {
    if (!paused()) return action ? run_action(index) : run_undo(index);
    set(index, action ? State::retrying : State::undo_retrying);
    step.due = now_;
    step.in_flight.reset();
  }
}

/// Whether this decision makes the call that is in flight.
bool Turn::called_here(std::size_t step) const {
  const auto& in_flight = at(step).in_flight;
  return in_flight && std::ranges::any_of(decision_.calls, [&](const Call& call) {
           return call.key.step == step && call.key.call == in_flight->call;
         });
}

}  // namespace sagabox::saga
