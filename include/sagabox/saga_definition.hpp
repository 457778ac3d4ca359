#pragma once

#include <sagabox/payload.hpp>
#include <sagabox/result.hpp>
#include <sagabox/retry.hpp>
#include <sagabox/saga_record.hpp>
#include <sagabox/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox {

/// The condition that a step waits for before it counts as succeeded.
enum class SagaWait : std::uint8_t {
  none,
  callback,  ///< a reply to this step; with an `outbox:` action, to the message it sent
  signal,    ///< a named event
  approval,  ///< a person's yes or no
  timer,     ///< `delay`, counted from when the step is reached
};
inline constexpr std::size_t saga_wait_count = 5;

/// How to handle a step that is not idempotent if it is unknown whether its call took effect.
enum class SagaInDoubt : std::uint8_t { compensate, wait };
/// How to handle a saga whose compensation cannot succeed: it waits for a person, or becomes dead.
enum class SagaOnStuck : std::uint8_t { wait, dead };
/// How to handle a step with `compensation: none` that has to be compensated.
enum class SagaNoCompensation : std::uint8_t { skip, wait };

/// "none", "callback", "signal", "approval", "timer".
std::string_view saga_wait_name(SagaWait wait) noexcept;

/// One step of a saga.
///
/// `action` and `compensation` are "fn:NAME", "http://…", "https://…" or "outbox:TOPIC". Inputs are
/// JSON in which "${…}" is replaced by a value that is known when the step starts: docs/sagas.md.
struct SagaStep {
  std::string name{};
  std::string action{};  ///< empty: the step only waits
  /// Required, "none" if there is none. Not allowed for a pivot or a step without an action.
  std::optional<std::string> compensation{};
  /// False: a call in doubt is never repeated. Compensations are always repeated.
  bool idempotent = true;
  /// After its success the saga only continues forward and is not compensated.
  bool pivot = false;
  std::string tag{};  ///< adjacent steps with the same tag start together
  SagaWait wait = SagaWait::none;
  std::string signal{};        ///< the name of the signal it waits for; empty: the step's name
  Duration delay{};            ///< of a timer
  Duration timeout{};          ///< from its first call, including repetitions and waits; 0: none
  Duration attempt_timeout{};  ///< of one call; 0: 30 s
  RetryPolicy retry = RetryPolicy::saga();
  std::optional<RetryPolicy> compensation_retry{};  ///< null: `retry`
  SagaInDoubt in_doubt = SagaInDoubt::compensate;
  SagaNoCompensation no_compensation = SagaNoCompensation::skip;
  std::string table{};  ///< of an `outbox:` action or compensation; empty: "default"
  std::string input{};  ///< JSON template; empty: the saga's input
  /// JSON template; empty: {"input": the action's input, "output": the action's output, or null}.
  std::string compensation_input{};
};

/// A process of several steps. A name and version always identify the same content.
struct SagaDefinition {
  static constexpr std::size_t name_length_max = 48;  ///< of definitions and steps
  static constexpr std::size_t steps_max = 200;
  static constexpr std::size_t labels_max = 16;
  static constexpr Duration attempt_timeout_default = std::chrono::seconds(30);

  std::string name{};
  std::uint32_t version = 1;
  Duration timeout{};  ///< then it is compensated, unless past the pivot; 0: none
  SagaOnStuck on_stuck = SagaOnStuck::wait;
  std::string isolate{};            ///< template of a text; empty: not isolated
  std::vector<SagaLabel> labels{};  ///< values are templates of a text
  std::vector<SagaStep> steps{};

  /// Checks everything that can be known before a saga starts. CONFIG.INVALID names the step and
  /// what would be right.
  [[nodiscard]] Status check() const;
  /// Returns canonical JSON: the same content always gives the same bytes. Defaults are left out.
  [[nodiscard]] std::string text() const;
  /// The digest of `text`.
  [[nodiscard]] Digest digest() const;
  /// The record that a store keeps.
  [[nodiscard]] SagaDefinitionRecord record(WallTime registered_at) const;
  /// Parses JSON and calls `check`. CONFIG.INVALID lists every problem, one per line, as
  /// "travel.json:4: …".
  static Result<SagaDefinition> from_json(std::string_view json, std::string_view file_name);
};

/// The state of a step. docs/saga-states.md lists the transitions.
enum class SagaStepState : std::uint8_t {
  pending,    ///< not reached
  running,    ///< its action may be called now
  retrying,   ///< its action is called again at `due`
  waiting,    ///< for a reply, signal, approval or timer
  held,       ///< in doubt, not called again: a person decides
  succeeded,  ///< done
  failed,     ///< ended without effect
  unknown,    ///< may have taken effect: compensated like a succeeded step
  undoing,    ///< its compensation may be called now
  undo_retrying,
  undo_waiting,  ///< for the reply to its compensation
  undo_held,     ///< its compensation cannot succeed, or there is none: a person decides
  undo_failed,   ///< the same, and the saga is dead
  undone,        ///< compensated
  skipped,       ///< there was nothing to compensate
};
inline constexpr std::size_t saga_step_state_count = 15;

/// "pending", …: the names of the enumerators.
std::string_view saga_step_state_name(SagaStepState state) noexcept;
std::optional<SagaStepState> saga_step_state_from_name(std::string_view name) noexcept;

}  // namespace sagabox
