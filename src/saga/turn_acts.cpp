#include "core/json_quote.hpp"
#include "core/text.hpp"
#include "saga/turn.hpp"

#include <algorithm>
#include <string>

namespace sagabox::saga {
namespace {

std::string refused(const std::string& why) { return Error{Code::tx_invalid_state, why}.text(); }

std::string refused_as(SagaState state) {
  return refused("the saga is " + std::string(saga_state_name(state)));
}

Detail act_detail(const ActRequest& request) {
  return std::move(Detail().text("actor", request.actor).text("note", request.note));
}

}  // namespace

Turn::Refusal Turn::act(const SagaCommand& command) {
  const auto request = read_act(command);
  if (!request) return request.error().text();
  switch (command.kind) {
    case SagaCommandKind::approve:
      return approve(*request);
    case SagaCommandKind::pause:
      return pause(*request);
    case SagaCommandKind::resume:
      return resume(*request);
    case SagaCommandKind::set_step:
      return set_step(*request);
    case SagaCommandKind::replay:
      return replay(*request);
    case SagaCommandKind::quarantine:
      return set_quarantined(*request, true);
    case SagaCommandKind::release:
      return set_quarantined(*request, false);
    default:
      return go_back(*request, command.kind);
  }
}

Turn::Refusal Turn::approve(const ActRequest& request) {
  if (has_ended(saga_.state)) return refused_as(saga_.state);
  for (std::size_t i = 0; i < saga_.steps.size(); ++i) {
    const auto& given = plan_.step(i).given;
    const bool meant = request.step.empty() || request.step == given.name;
    if (given.wait != SagaWait::approval || !meant || at(i).state != State::waiting) continue;
    note(request.approved ? event::approved : event::denied, i, act_detail(request));
    audit(AuditKind::saga_approved, request.approved ? "approved" : "denied", request.actor,
          given.name);
    if (request.approved) {
      std::string output = "{\"approved\":true,\"by\":";
      append_json_string(output, request.actor);
      output += ",\"note\":";
      append_json_string(output, request.note);
      succeed(i, output + "}");
    } else {
      action_result(i, {.kind = Kind::fail,
                        .error = "denied" + (request.actor.empty() ? "" : " by " + request.actor),
                        .code = Code::provider_rejected});
    }
    return std::nullopt;
  }
  return refused(request.step.empty()
                     ? "no step waits for an approval"
                     : "step " + quoted(request.step) + " does not wait for an approval");
}

Turn::Refusal Turn::pause(const ActRequest& request) {
  if (has_ended(saga_.state) || paused()) return refused_as(saga_.state);
  saga_.paused_in = saga_.state;
  saga_.paused_at = now_;
  set(SagaState::paused);
  note(event::paused, {}, act_detail(request));
  audit(AuditKind::paused, request.note, request.actor);
  return std::nullopt;
}

Turn::Refusal Turn::resume(const ActRequest& request) {
  if (!paused()) return refused_as(saga_.state);
  unpause();
  note(event::resumed, {}, act_detail(request));
  audit(AuditKind::resumed, request.note, request.actor);
  return std::nullopt;
}

/// Timeouts of the saga and of its steps stood still; those of calls did not.
void Turn::unpause() {
  const auto stood_still = stands_still_for();
  if (saga_.deadline) *saga_.deadline += stood_still;
  for (auto& step : saga_.steps) {
    if (step.deadline) *step.deadline += stood_still;
  }
  saga_.paused_at.reset();
  set(saga_.paused_in);
}

Turn::Refusal Turn::go_back(const ActRequest& request, SagaCommandKind kind) {
  const bool compensate = kind == SagaCommandKind::compensate;
  if (has_ended(saga_.state)) return refused_as(saga_.state);
  if (mode() == SagaState::compensating && !compensate) return refused("it compensates already");
  if (past_pivot() || pivot_open()) {
    return refused("the pivot " + quoted(plan_.step(*plan_.pivot()).given.name) +
                   (past_pivot() ? " has succeeded" : " may have happened") +
                   "; from there the saga only goes forward");
  }
  if (mode() == SagaState::compensating) {
    bool any = false;
    for (std::size_t i = 0; i < saga_.steps.size(); ++i) {
      const auto state = at(i).state;
      any = any || state == State::held || state == State::undo_held;
      if (state == State::held) set(i, State::unknown);
      if (state == State::undo_held) undo_again(i);
    }
    if (!any) return refused("it compensates already, and no step waits for a person");
  }
  if (paused()) unpause();
  audit(compensate ? AuditKind::saga_compensated : AuditKind::saga_cancelled, request.note,
        request.actor);
  if (saga_.state == SagaState::running) {
    turn_back(compensate ? UndoReason::compensated : UndoReason::cancelled);
  } else {
    saga_.undo = UndoReason::compensated;
    note(event::compensate, {}, act_detail(request));
  }
  return std::nullopt;
}

Turn::Refusal Turn::set_step(const ActRequest& request) {
  const auto index = plan_.index_of(request.step);
  if (!index) return refused("there is no step " + quoted(request.step));
  if (saga_.state == SagaState::completed || saga_.state == SagaState::cancelled) {
    return refused_as(saga_.state);
  }
  auto& step = at(*index);
  if (step.in_flight) {
    return refused("a call of the step is under way; wait for its end, or pause the saga first");
  }
  const auto to = *request.state;
  const bool back = saga_.undo != UndoReason::none;
  const bool settable = to == State::succeeded || to == State::failed || to == State::skipped ||
                        to == (back ? State::undone : State::pending);
  if (!settable) {
    return refused(std::string("set it to succeeded, failed, skipped or ") +
                   (back ? "undone" : "pending") + ", not " +
                   std::string(saga_step_state_name(to)));
  }
  const auto group = plan_.step(*index).group;
  for (std::size_t i = 0; !back && i < saga_.steps.size(); ++i) {
    if (plan_.step(i).group > group && at(i).state != State::pending) {
      return refused("step " + quoted(plan_.step(i).given.name) +
                     " has started since; only the steps reached last can be set");
    }
  }
  if (back && step.state == State::pending) return refused("the step was never reached");

  note(event::step_set, *index,
       std::move(act_detail(request)
                     .text("from", saga_step_state_name(step.state))
                     .text("to", saga_step_state_name(to))));
  audit(AuditKind::saga_step_set,
        std::string(saga_step_state_name(step.state)) + " to " +
            std::string(saga_step_state_name(to)),
        request.actor, request.step);
  step.doubt = false;
  step.deadline.reset();
  step.error.clear();
  step.code = Code::unknown_internal;
  if (to == State::pending) {
    ++step.round;
    step.attempts = 0;
    step.earlier_calls = step.calls;
    step.output.clear();
  }
  if (to == State::succeeded) {
    if (back) ++step.undo_round;
    step.earlier_calls = step.calls;
    step.output = request.output.empty() ? "null" : request.output;
    if (plan_.pivot() == *index) saga_.deadline.reset();
  }
  if (to == State::undone || to == State::skipped) step.undone_at = now_;
  move(*index, to, true);
  step.due.reset();
  return std::nullopt;
}

Turn::Refusal Turn::replay(const ActRequest& request) {
  if (!waits_for_person(saga_)) {
    return refused("it is neither dead nor waits for a person: " +
                   std::string(saga_state_name(saga_.state)));
  }
  if (saga_.quarantined) return refused("it is quarantined; release it first");
  if (paused()) return refused("it is paused; resume it first");
  const bool back = saga_.undo != UndoReason::none;
  if (request.into_compensation && !back) {
    if (past_pivot() || pivot_open()) {
      return refused("the pivot " + quoted(plan_.step(*plan_.pivot()).given.name) +
                     " has happened, or may have; nothing before it is undone");
    }
  }
  Refusal refusal;
  if (back) {
    refusal = replay_back();
  } else if (request.into_compensation) {
    turn_back(UndoReason::compensated);
  } else {
    refusal = replay_forward();
  }
  if (refusal) return refusal;
  saga_.ended_at.reset();
  note(event::replayed, {}, act_detail(request));
  audit(AuditKind::replayed, request.into_compensation || back ? "into compensation" : "forward",
        request.actor);
  return std::nullopt;
}

Turn::Refusal Turn::replay_back() {
  for (std::size_t i = 0; i < saga_.steps.size(); ++i) {
    if (at(i).state == State::undo_held || at(i).state == State::undo_failed) undo_again(i);
    if (at(i).state == State::held) set(i, State::unknown);
  }
  set(SagaState::compensating);
  return std::nullopt;
}

Turn::Refusal Turn::replay_forward() {
  for (std::size_t i = 0; i < saga_.steps.size(); ++i) {
    const auto& step = at(i);
    const bool in_doubt = step.state == State::held || step.state == State::unknown;
    if (in_doubt && !plan_.step(i).given.idempotent) {
      return refused("step " + quoted(plan_.step(i).given.name) +
                     " may have happened and must not run twice; set its state first");
    }
  }
  for (std::size_t i = 0; i < saga_.steps.size(); ++i) {
    auto& step = at(i);
    const bool in_doubt = step.state == State::held || step.state == State::unknown;
    if (!in_doubt && step.state != State::failed) continue;
    step.attempts = 0;
    step.deadline.reset();
    // In doubt it is the same execution that goes on: a participant that did it answers so.
    if (!in_doubt) {
      ++step.round;
      step.earlier_calls = step.calls;
    }
    set(i, State::pending);
  }
  set(SagaState::running);
  return std::nullopt;
}

Turn::Refusal Turn::set_quarantined(const ActRequest& request, bool quarantined) {
  if (saga_.state != SagaState::failed) {
    return refused("only a dead saga can be quarantined or released; this one is " +
                   std::string(saga_state_name(saga_.state)));
  }
  if (saga_.quarantined == quarantined) {
    return refused(quarantined ? "it is quarantined already" : "it is not quarantined");
  }
  saga_.quarantined = quarantined;
  note(quarantined ? event::quarantined : event::released, {}, act_detail(request));
  audit(quarantined ? AuditKind::quarantined : AuditKind::released, request.note, request.actor);
  return std::nullopt;
}

}  // namespace sagabox::saga
