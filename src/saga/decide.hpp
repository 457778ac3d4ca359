#pragma once

#include "saga/commands.hpp"
#include "saga/instance.hpp"
#include "saga/plan.hpp"

#include <sagabox/audit.hpp>
#include <sagabox/random.hpp>
#include <sagabox/saga_record.hpp>
#include <sagabox/time.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

/// What a saga does next, decided without clock, store, thread or lock. docs/saga-states.md has the
/// states and transitions, `transitions()` below the same as data.
namespace sagabox::saga {

/// Which call of a saga. Nothing in it is used twice: `call` rises with every call of the step.
struct CallKey {
  std::size_t step = 0;
  BarrierDirection direction = BarrierDirection::action;
  std::uint32_t call = 0;
  friend auto operator<=>(const CallKey&, const CallKey&) = default;
};

/// A call to make.
struct Call {
  CallKey key{};
  Target target{};
  std::string input{};              ///< JSON
  std::uint32_t attempt = 0;        ///< 1 is the first of its round
  std::uint32_t round = 0;          ///< of the direction: for the reply token
  std::uint32_t barrier_round = 0;  ///< of the action that is done or undone: for the barrier
  /// The same for all attempts of a round: "SAGA/STEP/action/0".
  std::string idempotency_key{};
  WallTime deadline{};
};

/// A message that a step emits, in the transaction that writes the instance.
struct Emission {
  Call call{};               ///< its target is an outbox topic; nothing ends it
  bool wants_reply = false;  ///< the message carries a reply token
};

struct CommandArrived {
  SagaCommand command;
};
struct CallEnded {
  CallKey key;
  CallResult result;
};
/// A time that `next_time` named has come; harmless when it has not.
struct TimePassed {};
/// The first event of an instance that carries another epoch: calls of its former owner may still
/// be on their way.
struct TakenOver {
  bool clean = false;  ///< handed over, not crashed: no attempt is spent
};
using Event = std::variant<CommandArrived, CallEnded, TimePassed, TakenOver>;

/// A state and one that may follow it.
struct SagaTransition {
  SagaState from = SagaState::running;
  SagaState to = SagaState::running;
  friend auto operator<=>(const SagaTransition&, const SagaTransition&) = default;
};
struct StepTransition {
  SagaStepState from = SagaStepState::pending;
  SagaStepState to = SagaStepState::pending;
  friend auto operator<=>(const StepTransition&, const StepTransition&) = default;
};
/// All there are, but for what `set_step` does.
std::span<const SagaTransition> saga_transitions() noexcept;
std::span<const StepTransition> step_transitions() noexcept;

/// A step that came into another state, by itself or by hand.
struct StepMove {
  std::size_t step = 0;
  StepTransition transition{};
  bool by_hand = false;
};

/// What follows from an event.
struct Decision {
  Instance instance;  ///< as it is afterwards
  /// Whether the instance, with everything below, must be durable before the calls are made and
  /// before anyone is told. False: nothing but the calls happened, and the stored state allows
  /// them.
  bool write = false;
  /// Whether the instance differs from the one that was given. False: the event is ignored, or only
  /// answered by `result`.
  bool changed = false;
  std::vector<Call> calls{};  ///< once it is durable, if `write`
  std::vector<Emission> emissions{};
  /// Calls to stop. Their ends may still be reported: a late `ok` of the present round counts, and
  /// a step is not compensated before its call has ended or the call's deadline has passed.
  std::vector<CallKey> abandoned{};
  std::vector<SagaHistoryEntry> history{};
  std::vector<SagaTransition> saga_moves{};  ///< in their order; for metrics and spans
  std::vector<StepMove> step_moves{};
  std::optional<SagaCommandResult>
      result{};                     ///< of a command; null: applied before, nothing to say
  std::vector<AuditEvent> audit{};  ///< for the global chain: operators' acts, dead sagas
};

/// A start of a saga that is not stored. Refused ones have a result and no write.
Decision decide_start(const Plan& plan, const SagaCommand& command, WallTime now, Random& random);

/// The next step of a saga. Total: whatever comes, in whatever order, gives a decision.
Decision decide(const Plan& plan, Instance instance, const Event& event, WallTime now,
                Random& random);

/// History entries below this number stay; of those above, the last `history_last_max`.
inline constexpr std::uint32_t history_first_max = 100;
inline constexpr std::uint32_t history_last_max = 1000;
/// For `SagaWrite.history_removed_to`.
constexpr std::uint32_t history_removed_to(std::uint32_t last_number) noexcept {
  return last_number > history_first_max + history_last_max ? last_number - history_last_max : 0;
}

/// What is wrong with a saga's history as it is stored; empty: nothing. The instance says how it
/// ends, so that a cut tail is found. Entries that were removed by `history_removed_to` may be
/// missing.
std::string verify_history(const std::vector<SagaHistoryEntry>& entries, const Instance& instance);

}  // namespace sagabox::saga
