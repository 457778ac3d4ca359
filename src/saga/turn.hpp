#pragma once

#include "saga/decide.hpp"
#include "saga/history.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace sagabox::saga {

/// One event and what follows from it. `decide` makes one, gives it the event and takes the result.
class Turn {
 public:
  Turn(const Plan& plan, Instance instance, WallTime now, Random& random);

  void begin(const SagaCommand& command);
  void on(const CommandArrived& event);
  void on(const CallEnded& event);
  void on(const TimePassed& event);
  void on(const TakenOver& event);
  [[nodiscard]] Decision finish() &&;

 private:
  using State = SagaStepState;
  using Kind = CallResult::Kind;

  // What is where.
  InstanceStep& at(std::size_t step) { return saga_.steps[step]; }
  [[nodiscard]] const InstanceStep& at(std::size_t step) const { return saga_.steps[step]; }
  [[nodiscard]] bool paused() const { return saga_.state == SagaState::paused; }
  /// The direction, also of a paused saga.
  [[nodiscard]] SagaState mode() const { return paused() ? saga_.paused_in : saga_.state; }
  [[nodiscard]] bool past_pivot() const;
  /// The pivot may have happened, or happen yet, without our knowing.
  [[nodiscard]] bool pivot_open() const;

  // What is written.
  void note(std::string_view event, std::optional<std::size_t> step = {}, Detail detail = {});
  void set(SagaState state);
  void set(std::size_t step, State state);
  /// Without a write: what is stored allows it already.
  void move(std::size_t step, State state, bool by_hand = false);
  void audit(AuditKind kind, std::string_view detail, const std::string& actor = {},
             std::string_view step = {});
  void end(SagaState state, std::string_view event);
  void keep_error(InstanceStep& step, const CallResult& result);
  /// The step's own deadline, as it would be if the saga were resumed now.
  [[nodiscard]] std::optional<WallTime> deadline_of(std::size_t step) const;
  /// How long the saga has been paused.
  [[nodiscard]] WallTime::duration stands_still_for() const;

  // Forward.
  /// Does what the present state allows.
  void advance();
  bool forward();
  bool cannot_start(const Group& group);
  bool group_failed(const Group& group);
  void start(std::size_t step);
  void begin_wait(std::size_t step);
  void run_action(std::size_t step);
  void call(std::size_t step, BarrierDirection direction);
  void emit(std::size_t step, BarrierDirection direction);
  Call next_call(std::size_t step, BarrierDirection direction);
  Result<std::string> input_of(std::size_t step, BarrierDirection direction) const;
  [[nodiscard]] std::optional<std::string_view> value_of(const Reference& reference) const;
  void succeed(std::size_t step, std::string output);

  // Back.
  void turn_back(UndoReason reason);
  bool back();
  void undo(std::size_t step);
  void run_undo(std::size_t step);
  void undone(std::size_t step, State state);
  void stuck(std::size_t step);
  /// A compensation that cannot go on is tried again, as a new request.
  void undo_again(std::size_t step);

  // Results.
  void take(std::size_t step, BarrierDirection direction, const CallResult& result);
  void action_result(std::size_t step, const CallResult& result);
  void action_retry(std::size_t step, const CallResult& result);
  void action_unreachable(std::size_t step, const CallResult& result);
  /// No further attempt: what the step is now depends on whether one may have had an effect.
  void give_up(std::size_t step);
  void undo_result(std::size_t step, const CallResult& result);
  void undo_retry(std::size_t step, const CallResult& result);

  // Time.
  void deadlines_of_calls();
  void times_of_steps();
  void time_out(std::size_t step);
  void time_out_saga();
  void repeat_calls();
  void lose_calls(std::size_t step, bool clean);
  void call_again(std::size_t step);
  [[nodiscard]] bool called_here(std::size_t step) const;

  // Commands.
  using Refusal = std::optional<std::string>;
  Refusal apply(const SagaCommand& command);
  Refusal repeated_start(const SagaCommand& command);
  Refusal reply(const SagaCommand& command);
  Refusal signal(const SagaCommand& command);
  Refusal act(const SagaCommand& command);
  Refusal approve(const ActRequest& request);
  Refusal pause(const ActRequest& request);
  Refusal resume(const ActRequest& request);
  Refusal go_back(const ActRequest& request, SagaCommandKind kind);
  Refusal set_step(const ActRequest& request);
  Refusal replay(const ActRequest& request);
  Refusal replay_back();
  Refusal replay_forward();
  Refusal set_quarantined(const ActRequest& request, bool quarantined);
  void unpause();
  void answer(const SagaCommand& command, const Refusal& refusal);
  void remember_refused(std::uint64_t id);

  const Plan& plan_;
  WallTime now_;
  Random& random_;
  Decision decision_;
  Instance& saga_;
  bool write_ = false;
};

}  // namespace sagabox::saga
