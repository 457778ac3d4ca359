#include "saga/decide.hpp"

#include <array>

namespace sagabox::saga {
namespace {

using enum SagaState;

constexpr std::array saga_moves_allowed{
    SagaTransition{running, compensating}, SagaTransition{running, paused},
    SagaTransition{running, completed},    SagaTransition{running, failed},
    SagaTransition{compensating, paused},  SagaTransition{compensating, cancelled},
    SagaTransition{compensating, failed},  SagaTransition{paused, running},
    SagaTransition{paused, compensating},  SagaTransition{failed, running},
    SagaTransition{failed, compensating},
};

using S = SagaStepState;

constexpr std::array step_moves_allowed{
    StepTransition{S::pending, S::running},
    StepTransition{S::pending, S::waiting},
    StepTransition{S::pending, S::succeeded},
    StepTransition{S::pending, S::failed},
    StepTransition{S::running, S::retrying},
    StepTransition{S::running, S::waiting},
    StepTransition{S::running, S::succeeded},
    StepTransition{S::running, S::failed},
    StepTransition{S::running, S::unknown},
    StepTransition{S::running, S::held},
    StepTransition{S::retrying, S::running},
    StepTransition{S::retrying, S::waiting},
    StepTransition{S::retrying, S::succeeded},
    StepTransition{S::retrying, S::failed},
    StepTransition{S::retrying, S::unknown},
    StepTransition{S::retrying, S::held},
    StepTransition{S::waiting, S::succeeded},
    StepTransition{S::waiting, S::retrying},
    StepTransition{S::waiting, S::failed},
    StepTransition{S::waiting, S::unknown},
    StepTransition{S::waiting, S::held},
    StepTransition{S::held, S::succeeded},
    StepTransition{S::held, S::unknown},
    StepTransition{S::held, S::pending},
    StepTransition{S::succeeded, S::undoing},
    StepTransition{S::succeeded, S::undo_waiting},
    StepTransition{S::succeeded, S::undone},
    StepTransition{S::succeeded, S::skipped},
    StepTransition{S::succeeded, S::undo_held},
    StepTransition{S::succeeded, S::undo_failed},
    StepTransition{S::failed, S::pending},
    StepTransition{S::unknown, S::succeeded},
    StepTransition{S::unknown, S::pending},
    StepTransition{S::unknown, S::undoing},
    StepTransition{S::unknown, S::undo_waiting},
    StepTransition{S::unknown, S::undone},
    StepTransition{S::unknown, S::skipped},
    StepTransition{S::unknown, S::undo_held},
    StepTransition{S::unknown, S::undo_failed},
    StepTransition{S::undoing, S::undone},
    StepTransition{S::undoing, S::undo_retrying},
    StepTransition{S::undoing, S::undo_waiting},
    StepTransition{S::undoing, S::undo_held},
    StepTransition{S::undoing, S::undo_failed},
    StepTransition{S::undo_retrying, S::undoing},
    StepTransition{S::undo_retrying, S::undo_waiting},
    StepTransition{S::undo_retrying, S::undone},
    StepTransition{S::undo_waiting, S::undone},
    StepTransition{S::undo_waiting, S::undo_retrying},
    StepTransition{S::undo_waiting, S::undo_held},
    StepTransition{S::undo_waiting, S::undo_failed},
    StepTransition{S::undo_held, S::undone},
    StepTransition{S::undo_held, S::succeeded},
    StepTransition{S::undo_held, S::unknown},
    StepTransition{S::undo_failed, S::succeeded},
    StepTransition{S::undo_failed, S::unknown},
};

}  // namespace

std::span<const SagaTransition> saga_transitions() noexcept { return saga_moves_allowed; }

std::span<const StepTransition> step_transitions() noexcept { return step_moves_allowed; }

}  // namespace sagabox::saga
