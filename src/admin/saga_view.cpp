#include "admin/saga_view.hpp"

#include "saga/instance.hpp"

#include <string>
#include <utility>

namespace sagabox::admin {
namespace {

/// Adds the definition's data for the step.
void describe(SagaStepView& view, const SagaStep& step) {
  view.name = step.name;
  view.wait = step.wait;
  view.tag = step.tag;
  view.pivot = step.pivot;
  view.has_action = !step.action.empty();
  const auto& policy =
      goes_back(view.state) && step.compensation_retry ? *step.compensation_retry : step.retry;
  view.attempts_max = policy.attempts_max;
  if (view.state == SagaStepState::waiting && step.wait == SagaWait::signal) {
    view.waits_for = step.signal.empty() ? step.name : step.signal;
  }
}

SagaStepView step_view(const saga::InstanceStep& step, Admin::PayloadToo payload) {
  SagaStepView view{.state = step.state,
                    .attempts = step.attempts,
                    .started_at = step.started_at,
                    .ended_at = step.ended_at,
                    .undo_started_at = step.undo_started_at,
                    .undone_at = step.undone_at,
                    .due = step.due,
                    .deadline = step.deadline,
                    .error = step.error};
  if (!step.error.empty()) view.code = step.code;
  if (payload == Admin::PayloadToo::yes) view.output = step.output;
  return view;
}

}  // namespace

std::optional<SagaDefinition> definition_of(std::span<const SagaDefinitionRecord> stored,
                                            const SagaRecord& record) {
  for (const auto& one : stored) {
    if (one.name != record.definition || one.version != record.definition_version) continue;
    auto definition = SagaDefinition::from_json(one.text, one.name);
    if (definition.ok()) return *std::move(definition);
  }
  return std::nullopt;
}

SagaView saga_summary(const SagaRecord& record, WallTime now) {
  return {.id = record.id,
          .tenant = record.tenant,
          .definition = record.definition,
          .definition_version = record.definition_version,
          .state = record.state,
          .quarantined = record.quarantined,
          .version = record.version,
          .key = record.key,
          .isolate = record.isolate,
          .labels = record.labels,
          .started_at = record.started_at,
          .changed_at = record.changed_at,
          .ended_at = record.ended_at,
          .due = record.due,
          .seen_at = now};
}

SagaView saga_view(const SagaRecord& record, const std::optional<SagaDefinition>& definition,
                   Admin::PayloadToo payload, WallTime now) {
  auto view = saga_summary(record, now);
  view.definition_stored = definition.has_value();
  const auto instance = saga::from_record(record);
  if (!instance.ok()) {
    view.unreadable = instance.error().message;
    return view;
  }
  view.deadline = instance->deadline;
  view.paused_at = instance->paused_at;
  if (instance->undo != saga::UndoReason::none) view.undo = saga::undo_reason_name(instance->undo);
  if (payload == Admin::PayloadToo::yes) view.input = instance->input;
  for (std::size_t index = 0; index < instance->steps.size(); ++index) {
    auto step = step_view(instance->steps[index], payload);
    step.name = "step " + std::to_string(index + 1);
    if (definition && index < definition->steps.size()) describe(step, definition->steps[index]);
    view.steps.push_back(std::move(step));
  }
  return view;
}

}  // namespace sagabox::admin
