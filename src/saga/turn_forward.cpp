#include "saga/json_text.hpp"
#include "saga/own_texts.hpp"
#include "saga/turn.hpp"

#include <sagabox/payload.hpp>

#include <algorithm>
#include <utility>

namespace sagabox::saga {
namespace {

/// Nothing more is to do for the step on the way forward.
bool is_done(SagaStepState state) noexcept {
  return state == SagaStepState::succeeded || state == SagaStepState::skipped;
}

}  // namespace

void Turn::advance() {
  while (saga_.state == SagaState::running || saga_.state == SagaState::compensating) {
    const bool moved = saga_.state == SagaState::running ? forward() : back();
    if (!moved) return;
  }
}

bool Turn::forward() {
  if (saga_.timed_out && !pivot_open()) {
    saga_.timed_out = false;
    if (!past_pivot()) {
      turn_back(UndoReason::timeout);
      return true;
    }
  }
  for (const auto& group : plan_.groups()) {
    bool done = true;
    bool failed = false;
    for (auto i = group.first; i < group.last; ++i) {
      done = done && is_done(at(i).state);
      failed = failed || at(i).state == State::failed || at(i).state == State::unknown;
    }
    if (done) continue;
    if (failed) return group_failed(group);
    if (cannot_start(group)) return true;
    bool started = false;
    for (auto i = group.first; i < group.last; ++i) {
      if (at(i).state != State::pending) continue;
      start(i);
      started = true;
    }
    return started;
  }
  end(SagaState::completed, event::completed);
  return false;
}

/// A step whose input cannot be made fails before its siblings are called for nothing.
bool Turn::cannot_start(const Group& group) {
  if (group.last - group.first == 1) return false;
  bool failed = false;
  for (auto i = group.first; i < group.last; ++i) {
    if (at(i).state != State::pending || plan_.step(i).action.kind == Target::Kind::none) continue;
    const auto input = input_of(i, BarrierDirection::action);
    if (input) continue;
    at(i).started_at = now_;
    keep_error(at(i), {.error = input.error().message, .code = input.error().code});
    give_up(i);
    failed = true;
  }
  return failed;
}

bool Turn::group_failed(const Group& group) {
  if (!past_pivot()) {
    turn_back(UndoReason::failure);
    return true;
  }
  for (auto i = group.first; i < group.last; ++i) {
    const auto& step = at(i);
    const bool goes_on = step.state == State::running || step.state == State::retrying;
    if (goes_on || step.in_flight) return false;
  }
  end(SagaState::failed, event::failed);
  audit(AuditKind::tx_saga_failed, "past the pivot");
  return false;
}

void Turn::start(std::size_t step) {
  auto& state = at(step);
  const auto& given = plan_.step(step).given;
  state.started_at = now_;
  state.ended_at.reset();
  if (given.timeout != Duration{}) {
    state.deadline = now_ + std::chrono::ceil<WallTime::duration>(given.timeout);
  }
  write_ = true;
  if (plan_.step(step).action.kind == Target::Kind::none) return begin_wait(step);
  run_action(step);
}

void Turn::begin_wait(std::size_t step) {
  const auto& given = plan_.step(step).given;
  set(step, State::waiting);
  if (given.wait == SagaWait::timer) {
    at(step).due = now_ + std::chrono::ceil<WallTime::duration>(given.delay);
  }
  if (given.wait == SagaWait::signal) {
    const auto& name = given.signal.empty() ? given.name : given.signal;
    const auto early = std::ranges::find(saga_.signals, name, &EarlySignal::name);
    if (early != saga_.signals.end()) {
      auto payload = std::move(early->payload);
      saga_.signals.erase(early);
      return succeed(step, std::move(payload));
    }
  }
  note(event::step_waiting, step, std::move(Detail().text("for", saga_wait_name(given.wait))));
}

void Turn::run_action(std::size_t step) {
  if (plan_.step(step).action.kind == Target::Kind::outbox) {
    emit(step, BarrierDirection::action);
  } else {
    call(step, BarrierDirection::action);
  }
}

Call Turn::next_call(std::size_t step, BarrierDirection direction) {
  auto& state = at(step);
  const auto& planned = plan_.step(step);
  const bool action = direction == BarrierDirection::action;
  ++state.calls;
  ++state.attempts;
  const auto round = action ? state.round : state.undo_round;
  auto deadline = now_ + std::chrono::ceil<WallTime::duration>(planned.attempt_timeout);
  if (action && state.deadline) deadline = std::min(deadline, *state.deadline);
  return {.key = {.step = step, .direction = direction, .call = state.calls},
          .target = action ? planned.action : planned.compensation,
          .attempt = state.attempts,
          .round = round,
          .barrier_round = state.round,
          .idempotency_key = saga_.id.str() + "/" + planned.given.name + "/" +
                             std::string(barrier_direction_name(direction)) + "/" +
                             std::to_string(round),
          .deadline = deadline};
}

void Turn::call(std::size_t step, BarrierDirection direction) {
  const bool action = direction == BarrierDirection::action;
  auto& state = at(step);
  auto input = input_of(step, direction);
  if (!input) {
    state.error = input.error().message;
    state.code = input.error().code;
    return action ? give_up(step) : stuck(step);
  }
  auto made = next_call(step, direction);
  made.input = std::move(input).value();
  state.in_flight = {.call = made.key.call, .direction = direction, .deadline = made.deadline};
  move(step, action ? State::running : State::undoing);
  state.due.reset();
  if (action && !plan_.step(step).given.idempotent) write_ = true;
  decision_.calls.push_back(std::move(made));
}

void Turn::emit(std::size_t step, BarrierDirection direction) {
  const bool action = direction == BarrierDirection::action;
  auto& state = at(step);
  const auto& given = plan_.step(step).given;
  auto input = input_of(step, direction);
  if (!input) {
    state.error = input.error().message;
    state.code = input.error().code;
    return action ? give_up(step) : stuck(step);
  }
  const bool wants_reply = given.wait == SagaWait::callback;
  auto made = next_call(step, direction);
  made.input = std::move(input).value();
  decision_.emissions.push_back({.call = std::move(made), .wants_reply = wants_reply});
  write_ = true;
  if (!wants_reply) return action ? succeed(step, "null") : undone(step, State::undone);
  set(step, action ? State::waiting : State::undo_waiting);
  if (given.attempt_timeout != Duration{}) {
    state.due = now_ + std::chrono::ceil<WallTime::duration>(given.attempt_timeout);
  }
  if (!action && given.timeout != Duration{}) {
    state.deadline = now_ + std::chrono::ceil<WallTime::duration>(given.timeout);
  }
  note(action ? event::step_waiting : event::undo_waiting, step,
       std::move(Detail().text("for", "reply").number("attempt", state.attempts)));
}

std::optional<std::string_view> Turn::value_of(const Reference& reference) const {
  switch (reference.root) {
    case Reference::Root::input:
      return saga_.input;
    case Reference::Root::step_output: {
      const auto step = plan_.index_of(reference.step);
      if (!step || at(*step).output.empty()) return std::nullopt;
      return at(*step).output;
    }
    default:
      return std::nullopt;
  }
}

Result<std::string> Turn::input_of(std::size_t step, BarrierDirection direction) const {
  const auto& planned = plan_.step(step);
  const bool action = direction == BarrierDirection::action;
  const auto& given = action ? planned.input : planned.compensation_input;
  if (given) {
    return given->fill([&, own = OwnTexts(saga_)](const Reference& reference) {
      const auto text = own.find(reference);
      return text ? text : value_of(reference);
    });
  }
  if (action) return saga_.input;
  const auto input = input_of(step, BarrierDirection::action);
  const auto& output = at(step).output;
  return "{\"input\":" + (input ? *input : std::string("null")) +
         ",\"output\":" + (output.empty() ? std::string("null") : output) + "}";
}

void Turn::succeed(std::size_t step, std::string output) {
  auto& state = at(step);
  if (output.empty()) output = "null";
  const auto problem = output.size() > output_bytes_max
                           ? std::to_string(output.size()) + " bytes, at most " +
                                 std::to_string(output_bytes_max) + " are kept"
                           : stored_json_problem(output);
  if (!problem.empty()) {
    // It had its effect, but what it gave cannot be used.
    state.error = "output: " + problem;
    state.code = Code::schema_validation_failed;
    state.doubt = true;
    return give_up(step);
  }
  if (state.in_flight) {
    decision_.abandoned.push_back(
        {.step = step, .direction = state.in_flight->direction, .call = state.in_flight->call});
  }
  state.output = std::move(output);
  state.ended_at = now_;
  state.deadline.reset();
  state.error.clear();
  state.code = Code::unknown_internal;
  state.doubt = false;
  set(step, State::succeeded);
  if (plan_.pivot() == step) saga_.deadline.reset();
  Detail detail;
  detail.number("attempt", state.attempts);
  if (state.output != "null") detail.digest_of("output_sha256", state.output);
  note(event::step_done, step, std::move(detail));
}

}  // namespace sagabox::saga
