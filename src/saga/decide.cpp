#include "saga/decide.hpp"

#include "saga/turn.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::saga {

Turn::Turn(const Plan& plan, Instance instance, WallTime now, Random& random)
    : plan_(plan), now_(now), random_(random), saga_(decision_.instance) {
  saga_ = std::move(instance);
}

Decision Turn::finish() && {
  decision_.write = write_;
  if (write_) saga_.changed_at = now_;
  decision_.changed = write_ || !decision_.calls.empty();
  return std::move(decision_);
}

bool Turn::past_pivot() const {
  const auto pivot = plan_.pivot();
  return pivot && at(*pivot).state == State::succeeded;
}

bool Turn::pivot_open() const {
  const auto pivot = plan_.pivot();
  if (!pivot) return false;
  const auto& step = at(*pivot);
  switch (step.state) {
    case State::running:
    case State::held:
      return true;
    case State::waiting:
      return plan_.step(*pivot).action.kind != Target::Kind::none;
    case State::retrying:
    case State::pending:
      return step.doubt;
    default:
      return step.in_flight.has_value();
  }
}

void Turn::note(std::string_view event, std::optional<std::size_t> step, Detail detail) {
  write_ = true;
  SagaHistoryEntry entry{.number = ++saga_.history_number,
                         .at = now_,
                         .event = std::string(event),
                         .step = step ? plan_.step(*step).given.name : std::string(),
                         .detail = std::move(detail).take()};
  entry.hash = history_hash(entry, saga_.history_hash);
  saga_.history_hash = entry.hash;
  decision_.history.push_back(std::move(entry));
}

void Turn::set(SagaState state) {
  if (saga_.state != state) decision_.saga_moves.push_back({.from = saga_.state, .to = state});
  saga_.state = state;
  write_ = true;
}

void Turn::set(std::size_t step, State state) {
  move(step, state);
  if (state != State::retrying && state != State::waiting && state != State::undo_retrying &&
      state != State::undo_waiting) {
    at(step).due.reset();
  }
  write_ = true;
}

void Turn::move(std::size_t step, State state, bool by_hand) {
  auto& from = at(step).state;
  if (from != state) {
    decision_.step_moves.push_back(
        {.step = step, .transition = {.from = from, .to = state}, .by_hand = by_hand});
  }
  from = state;
}

void Turn::audit(AuditKind kind, std::string_view detail, const std::string& actor,
                 std::string_view step) {
  decision_.audit.push_back({.kind = kind,
                             .at = now_,
                             .table = "saga:" + saga_.definition,
                             .tenant = saga_.tenant,
                             .topic = std::string(step),
                             .message_id = saga_.id.str(),
                             .digest = saga_.history_hash,
                             .traceparent = saga_.traceparent,
                             .detail = std::string(detail.substr(0, error_bytes_max)),
                             .actor = actor});
}

void Turn::end(SagaState state, std::string_view event) {
  set(state);
  saga_.ended_at = now_;
  saga_.deadline.reset();
  // A reply made them needless; their ends no longer matter.
  for (auto& step : saga_.steps) step.in_flight.reset();
  note(event);
}

void Turn::keep_error(InstanceStep& step, const CallResult& result) {
  step.error = result.error.substr(0, error_bytes_max);
  step.code = result.code;
}

WallTime::duration Turn::stands_still_for() const {
  if (!paused() || !saga_.paused_at) return {};
  return std::max(now_ - *saga_.paused_at, WallTime::duration());
}

std::optional<WallTime> Turn::deadline_of(std::size_t step) const {
  auto deadline = at(step).deadline;
  if (deadline) *deadline += stands_still_for();
  return deadline;
}

Decision decide_start(const Plan& plan, const SagaCommand& command, WallTime now, Random& random) {
  Turn turn(plan, {}, now, random);
  turn.begin(command);
  return std::move(turn).finish();
}

Decision decide(const Plan& plan, Instance instance, const Event& event, WallTime now,
                Random& random) {
  Turn turn(plan, std::move(instance), now, random);
  std::visit([&](const auto& happened) { turn.on(happened); }, event);
  return std::move(turn).finish();
}

}  // namespace sagabox::saga
