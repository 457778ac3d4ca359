#include "core/text.hpp"
#include "saga/turn.hpp"

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
    times_of_steps();
    time_out_saga();
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
    switch (step.state) {
      case State::retrying:
        if (late) {
          time_out(i);
        } else if (due) {
          run_action(i);
        }
        break;
      case State::waiting:
        if (due && plan_.step(i).given.wait == SagaWait::timer) {
          succeed(i, "null");
        } else if (late) {
          time_out(i);
        } else if (due) {
          action_result(i, no_answer(plan_.step(i).attempt_timeout));
        }
        break;
      case State::undo_retrying:
        if (due) run_undo(i);
        break;
      case State::undo_waiting:
        if (late || due) undo_result(i, no_answer(plan_.step(i).given.timeout));
        break;
      default:
        break;
    }
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
  for (std::size_t i = 0; i < saga_.steps.size(); ++i) take_over(i, event.clean);
  advance();
}

void Turn::take_over(std::size_t index, bool clean) {
  auto& step = at(index);
  const auto& planned = plan_.step(index);
  const bool action = step.state == State::running;
  if (step.state == State::retrying && planned.given.idempotent && step.due &&
      *step.due <= now_ + skew_max) {
    // Its former owner may have begun it: that needs no write.
    step.doubt = true;
    if (!paused()) run_action(index);
    return;
  }
  if (!action && step.state != State::undoing) return;
  if (action) step.doubt = true;
  if (clean && step.attempts > 0) --step.attempts;
  const CallResult lost{.kind = Kind::in_doubt,
                        .error = "its process ended before the call did",
                        .code = Code::tx_lease_lost};
  if (action && !planned.given.idempotent) {
    keep_error(step, lost);
    return give_up(index);  // it is compensated when the deadline of that call has passed
  }
  // A step that will not run again is compensated, but not before the call's deadline has passed.
  if (action && mode() == SagaState::compensating) return;
  const auto& policy = action ? planned.given.retry : planned.compensation_retry;
  if (step.attempts >= policy.attempts_max) {
    keep_error(step, lost);
    return action ? give_up(index) : stuck(index);
  }
  if (paused()) {
    keep_error(step, lost);
    set(index, action ? State::retrying : State::undo_retrying);
    step.due = now_;
    step.in_flight.reset();
    return;
  }
  if (action && step.deadline && *step.deadline <= now_) return time_out(index);
  action ? run_action(index) : run_undo(index);
}

}  // namespace sagabox::saga
