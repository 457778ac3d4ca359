#include "wire/sagas.hpp"

#include "core/text.hpp"
#include "wire/field_reading.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace sagabox::wire {
namespace {

template <class IdType>
IdType saga_part_id_in(Fields& fields, std::string_view name) {
  auto id = IdType::parse(text_in(fields, name));
  if (id.ok()) return *id;
  fields.wrong(name, id.error().message);
  return {};
}

SagaState saga_state_in(Fields& fields, std::string_view name) {
  const auto text = text_in(fields, name);
  const auto state = saga_state_from_name(text);
  if (!state) fields.wrong(name, quoted(text) + " is unknown");
  return state.value_or(SagaState::running);
}

SagaStepState step_state_in(Fields& fields, std::string_view name) {
  const auto text = text_in(fields, name);
  const auto state = saga_step_state_from_name(text);
  if (!state) fields.wrong(name, quoted(text) + " is unknown");
  return state.value_or(SagaStepState::pending);
}

SagaWait saga_wait_in(Fields& fields, std::string_view name) {
  const auto text = text_in(fields, name);
  for (std::size_t index = 0; index < saga_wait_count; ++index) {
    const auto wait = static_cast<SagaWait>(index);
    if (saga_wait_name(wait) == text) return wait;
  }
  fields.wrong(name, quoted(text) + " is unknown");
  return SagaWait::none;
}

SagaWhy saga_why_in(Fields& fields, std::string_view name) {
  const auto text = text_in(fields, name);
  const auto why = saga_why_from_name(text);
  if (!why) fields.wrong(name, quoted(text) + " is unknown");
  return why.value_or(SagaWhy::with_owner);
}

/// JSON text, unchanged; empty if it is missing.
std::string json_in(Fields& fields, std::string_view name) {
  return std::string(fields.raw(name).value_or(""));
}

void put_json_if(JsonOut& json, std::string_view name, std::string_view text) {
  if (!text.empty()) json.name(name).raw(text);
}

void put_labels(JsonOut& json, const std::vector<SagaLabel>& labels) {
  json.name("labels").begin_object();
  for (const auto& label : labels) json.field(label.name, label.value);
  json.end_object();
}

std::vector<SagaLabel> labels_in(Fields& fields) {
  std::vector<SagaLabel> labels;
  for (auto& [name, value] : fields.texts_by_name("labels")) {
    labels.push_back({std::move(name), std::move(value)});
  }
  return labels;
}

SagaStepView read_saga_step(Fields& fields) {
  return {.name = text_in(fields, "name"),
          .state = step_state_in(fields, "state"),
          .wait = saga_wait_in(fields, "wait"),
          .waits_for = fields.text("waits_for"),
          .tag = fields.text("tag"),
          .pivot = flag_in(fields, "pivot"),
          .has_action = flag_in(fields, "has_action"),
          .attempts = small_in<std::uint32_t>(fields, "attempts"),
          .attempts_max = small_in<std::uint32_t>(fields, "attempts_max"),
          .started_at = fields.time("started_at"),
          .ended_at = fields.time("ended_at"),
          .undo_started_at = fields.time("undo_started_at"),
          .undone_at = fields.time("undone_at"),
          .due = fields.time("due"),
          .deadline = fields.time("deadline"),
          .code = maybe_code_in(fields, "code"),
          .error = fields.text("error"),
          .output = json_in(fields, "output")};
}

SagaHistoryEntry read_history_entry(Fields& fields) {
  return {.number = small_in<std::uint32_t>(fields, "number"),
          .at = time_in(fields, "at"),
          .event = text_in(fields, "event"),
          .step = fields.text("step"),
          .detail = json_in(fields, "detail"),
          .hash = digest_in(fields, "hash")};
}

SagaReason read_saga_reason(Fields& fields) {
  return {saga_why_in(fields, "why"), fields.text("step"), text_in(fields, "text")};
}

SagaCommand read_saga_command(Fields& fields) {
  SagaCommand command{.id = saga_part_id_in<CommandId>(fields, "command"),
                      .saga = saga_part_id_in<SagaId>(fields, "saga"),
                      .definition = text_in(fields, "definition"),
                      .tenant = text_in(fields, "tenant")};
  const auto kind = text_in(fields, "kind");
  const auto known = saga_command_from_name(kind);
  if (!known) fields.wrong("kind", quoted(kind) + " is unknown");
  command.kind = known.value_or(SagaCommandKind::start);
  command.written_at = time_in(fields, "written_at");
  return command;
}

SagaCounted read_saga_count(Fields& fields) {
  return {.definition = text_in(fields, "definition"),
          .state = saga_state_in(fields, "state"),
          .sagas = number_in(fields, "sagas"),
          .oldest = fields.time("oldest")};
}

}  // namespace

void put_members(JsonOut& json, const SagaStepView& step) {
  json.field("name", step.name)
      .field("state", saga_step_state_name(step.state))
      .field("wait", saga_wait_name(step.wait))
      .field_if("waits_for", step.waits_for)
      .field_if("tag", step.tag)
      .field("pivot", step.pivot)
      .field("has_action", step.has_action)
      .field("attempts", step.attempts)
      .field("attempts_max", step.attempts_max)
      .field_if("started_at", step.started_at)
      .field_if("ended_at", step.ended_at)
      .field_if("undo_started_at", step.undo_started_at)
      .field_if("undone_at", step.undone_at)
      .field_if("due", step.due)
      .field_if("deadline", step.deadline);
  if (step.code) json.field("code", code_name(*step.code));
  json.field_if("error", step.error);
  put_json_if(json, "output", step.output);
}

void put_members(JsonOut& json, const SagaView& saga) {
  json.field("id", saga.id.view())
      .field("tenant", saga.tenant)
      .field("definition", saga.definition)
      .field("definition_version", saga.definition_version)
      .field("definition_stored", saga.definition_stored)
      .field("state", saga_state_name(saga.state))
      .field("quarantined", saga.quarantined)
      .field("version", saga.version)
      .field_if("key", saga.key)
      .field_if("isolate", saga.isolate);
  put_labels(json, saga.labels);
  json.field("started_at", saga.started_at)
      .field("changed_at", saga.changed_at)
      .field_if("ended_at", saga.ended_at)
      .field_if("deadline", saga.deadline)
      .field_if("due", saga.due)
      .field_if("paused_at", saga.paused_at)
      .field_if("undo", saga.undo)
      .field_if("unreadable", saga.unreadable)
      .field("seen_at", saga.seen_at);
  put_json_if(json, "input", saga.input);
  if (saga.steps.empty()) return;
  put_array(json, "steps", saga.steps);
}

SagaView read_saga(Fields& fields) {
  SagaView saga{.id = saga_part_id_in<SagaId>(fields, "id"),
                .tenant = text_in(fields, "tenant"),
                .definition = text_in(fields, "definition"),
                .definition_version = small_in<std::uint32_t>(fields, "definition_version"),
                .state = saga_state_in(fields, "state"),
                .quarantined = flag_in(fields, "quarantined"),
                .version = number_in(fields, "version"),
                .key = fields.text("key"),
                .isolate = fields.text("isolate"),
                .labels = labels_in(fields),
                .started_at = time_in(fields, "started_at"),
                .changed_at = time_in(fields, "changed_at"),
                .ended_at = fields.time("ended_at"),
                .deadline = fields.time("deadline"),
                .due = fields.time("due"),
                .paused_at = fields.time("paused_at"),
                .undo = fields.text("undo"),
                .input = json_in(fields, "input"),
                .unreadable = fields.text("unreadable"),
                .definition_stored = flag_in(fields, "definition_stored"),
                .seen_at = time_in(fields, "seen_at")};
  if (fields.has("steps")) saga.steps = list_in(fields, "steps", read_saga_step);
  return saga;
}

void put_members(JsonOut& json, const SagaPage& page) {
  put_array(json, "sagas", page.rows);
  json.field_if("next", page.next);
}

SagaPage read_saga_page(Fields& fields) {
  return {.rows = list_in(fields, "sagas", read_saga), .next = fields.text("next")};
}

void put_members(JsonOut& json, const SagaHistoryEntry& entry) {
  json.field("number", entry.number)
      .field("at", entry.at)
      .field("event", entry.event)
      .field_if("step", entry.step);
  put_json_if(json, "detail", entry.detail);
  json.field("hash", hex(entry.hash));
}

void put_members(JsonOut& json, const SagaHistory& history) {
  put_array(json, "entries", history.entries);
  json.field("more", history.more);
  if (!history.problem) return;
  json.field("intact", history.problem->empty()).field_if("problem", *history.problem);
}

SagaHistory read_saga_history(Fields& fields) {
  SagaHistory history{.entries = list_in(fields, "entries", read_history_entry),
                      .more = flag_in(fields, "more")};
  if (fields.has_value("intact")) {
    history.problem = fields.text("problem");
    const bool intact = fields.flag("intact");
    if (!intact && history.problem->empty()) history.problem = "not said";
  }
  return history;
}

void put_members(JsonOut& json, const SagaReason& reason) {
  json.field("why", saga_why_name(reason.why))
      .field_if("step", reason.step)
      .field("text", reason.text);
}

void put_members(JsonOut& json, const SagaExplanation& explanation) {
  json.field("state", explanation.state);
  put_array(json, "reasons", explanation.reasons);
  json.field_if("owner", explanation.owner)
      .field_if("next", explanation.next)
      .field("text", explanation.text());
}

SagaExplanation read_saga_explanation(Fields& fields) {
  return {.state = text_in(fields, "state"),
          .reasons = list_in(fields, "reasons", read_saga_reason),
          .owner = fields.text("owner"),
          .next = fields.text("next")};
}

void put_members(JsonOut& json, const SagaCommand& command) {
  json.field("command", command.id.view())
      .field("saga", command.saga.view())
      .field("definition", command.definition)
      .field("tenant", command.tenant)
      .field("kind", saga_command_name(command.kind))
      .field("written_at", command.written_at);
}

void put_members(JsonOut& json, std::span<const SagaCommand> commands) {
  put_array(json, "commands", commands);
}

std::vector<SagaCommand> read_saga_commands(Fields& fields) {
  return list_in(fields, "commands", read_saga_command);
}

void put_members(JsonOut& json, const SagaCounted& count) {
  json.field("definition", count.definition)
      .field("state", saga_state_name(count.state))
      .field("sagas", count.sagas)
      .field_if("oldest", count.oldest);
}

void put_members(JsonOut& json, std::span<const SagaCounted> counts) {
  put_array(json, "counts", counts);
}

std::vector<SagaCounted> read_saga_counts(Fields& fields) {
  return list_in(fields, "counts", read_saga_count);
}

void put_members(JsonOut& json, const SagaDefinitionRecord& definition) {
  json.field("name", definition.name)
      .field("version", definition.version)
      .field("digest", hex(definition.digest))
      .field("registered_at", definition.registered_at);
  put_json_if(json, "definition", definition.text);
}

void put_members(JsonOut& json, std::span<const SagaDefinitionRecord> definitions) {
  put_array(json, "definitions", definitions);
}

SagaDefinitionRecord read_saga_definition(Fields& fields) {
  return {.name = text_in(fields, "name"),
          .version = small_in<std::uint32_t>(fields, "version"),
          .digest = digest_in(fields, "digest"),
          .text = json_in(fields, "definition"),
          .registered_at = time_in(fields, "registered_at")};
}

std::vector<SagaDefinitionRecord> read_saga_definitions(Fields& fields) {
  return list_in(fields, "definitions", read_saga_definition);
}

void put_members(JsonOut& json, const SagaReceipt& answer) {
  json.field("saga", answer.saga.view())
      .field("command", answer.command.view())
      .field("result", answer.applied ? "applied" : "pending");
}

SagaReceipt read_saga_receipt(Fields& fields) {
  SagaReceipt answer{.command = saga_part_id_in<CommandId>(fields, "command"),
                     .saga = saga_part_id_in<SagaId>(fields, "saga")};
  const auto result = text_in(fields, "result");
  answer.applied = result == "applied";
  if (!answer.applied && result != "pending") {
    fields.wrong("result", quoted(result) + " is neither applied nor pending");
  }
  return answer;
}

void put_members(JsonOut& json, const SagasPurged& purged) { json.field("purged", purged.purged); }

SagasPurged read_sagas_purged(Fields& fields) { return {number_in(fields, "purged")}; }

}  // namespace sagabox::wire
