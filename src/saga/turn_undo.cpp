#include "saga/turn.hpp"

#include <algorithm>

namespace sagabox::saga {

void Turn::turn_back(UndoReason reason) {
  set(SagaState::compensating);
  saga_.undo = reason;
  saga_.deadline.reset();
  saga_.timed_out = false;
  note(event::compensate, {}, std::move(Detail().text("reason", undo_reason_name(reason))));
  for (std::size_t i = 0; i < saga_.steps.size(); ++i) {
    auto& step = at(i);
    if (step.state == State::retrying) {
      give_up(i);
    } else if (step.state == State::waiting) {
      // A call that was accepted may have had its effect; a signal that did not come has none.
      const bool called = plan_.step(i).action.kind != Target::Kind::none;
      if (called) step.doubt = true;
      called ? give_up(i) : set(i, State::failed);
    } else if (step.state == State::held && reason == UndoReason::compensated) {
      set(i, State::unknown);
    }
    if (step.state != State::running) step.deadline.reset();
  }
}

bool Turn::back() {
  for (auto group = plan_.groups().rbegin(); group != plan_.groups().rend(); ++group) {
    bool finished = true;
    bool active = false;
    bool dead = false;
    bool moved = false;
    for (auto i = group->first; i < group->last; ++i) {
      auto& step = at(i);
      switch (step.state) {
        case State::succeeded:
        case State::unknown:
          // Not before its own call has ended: what comes late must find its compensation.
          if (!step.in_flight) {
            undo(i);
            moved = true;
          }
          [[fallthrough]];
        case State::running:
        case State::retrying:
        case State::waiting:
        case State::undoing:
        case State::undo_retrying:
        case State::undo_waiting:
          active = true;
          finished = false;
          break;
        case State::held:
        case State::undo_held:
          finished = false;
          break;
        case State::undo_failed:
          dead = true;
          finished = false;
          break;
        case State::pending:
        case State::failed:
        case State::undone:
        case State::skipped:
          if (!step.in_flight) break;
          active = true;
          finished = false;
          break;
      }
    }
    if (moved) return true;
    if (finished) continue;
    if (dead && !active) {
      end(SagaState::failed, event::failed);
      audit(AuditKind::tx_saga_failed, "a compensation cannot succeed");
    }
    return false;
  }
  end(SagaState::cancelled, event::cancelled);
  return false;
}

void Turn::undo(std::size_t step) {
  auto& state = at(step);
  const auto& planned = plan_.step(step);
  state.attempts = 0;
  state.earlier_calls = state.calls;
  state.undo_started_at = now_;
  state.deadline.reset();
  write_ = true;
  if (planned.compensation.kind != Target::Kind::none) return run_undo(step);
  const bool only_waited = planned.action.kind == Target::Kind::none;
  if (only_waited || planned.given.no_compensation == SagaNoCompensation::skip) {
    return undone(step, State::skipped);
  }
  state.error = "the step has no compensation; undo it by hand, then set its state";
  state.code = Code::tx_invalid_state;
  set(step, State::undo_held);
  note(event::undo_held, step, std::move(Detail().text("error", state.error)));
}

void Turn::run_undo(std::size_t step) {
  if (plan_.step(step).compensation.kind == Target::Kind::outbox) {
    emit(step, BarrierDirection::compensation);
  } else {
    call(step, BarrierDirection::compensation);
    write_ = true;
  }
}

void Turn::undone(std::size_t step, State state) {
  at(step).undone_at = now_;
  at(step).deadline.reset();
  set(step, state);
  note(state == State::undone ? event::step_undone : event::step_skipped, step,
       std::move(Detail().number("attempt", at(step).attempts)));
}

void Turn::stuck(std::size_t step) {
  const bool dead = plan_.definition().on_stuck == SagaOnStuck::dead;
  const auto& state = at(step);
  set(step, dead ? State::undo_failed : State::undo_held);
  note(dead ? event::undo_failed : event::undo_held, step,
       std::move(Detail()
                     .number("attempt", state.attempts)
                     .text("code", code_name(state.code))
                     .text("error", state.error)));
}

void Turn::undo_again(std::size_t step) {
  ++at(step).undo_round;
  set(step, at(step).doubt || at(step).output.empty() ? State::unknown : State::succeeded);
}

}  // namespace sagabox::saga
