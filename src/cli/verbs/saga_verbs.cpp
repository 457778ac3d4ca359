#include "cli/option.hpp"
#include "cli/verbs/operator_verbs.hpp"
#include "cli/verbs/saga_arguments.hpp"
#include "core/text.hpp"

#include <limits>
#include <string>
#include <utility>

namespace sagabox::cli {
namespace {

Result<std::string> given_text(std::string_view text) {
  if (!text.empty()) return std::string(text);
  return Error{Code::config_invalid, "it is empty: say which, or leave the option out"};
}

Result<SagaLabel> parse_label(std::string_view text) {
  const auto equals = text.find('=');
  if (equals != 0 && equals != std::string_view::npos) {
    return SagaLabel{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
  }
  return Error{Code::config_invalid, quoted(text) + "; write NAME=VALUE"};
}

Result<std::optional<SagaState>> parse_saga_state(std::string_view text) {
  if (const auto state = saga_state_from_name(text)) return std::optional(*state);
  return Error{
      Code::config_invalid,
      quoted(text) + "; give running, compensating, paused, completed, cancelled or failed"};
}

Result<std::optional<SagaStepState>> parse_step_state(std::string_view text) {
  if (const auto state = saga_step_state_from_name(text)) return std::optional(*state);
  return Error{Code::config_invalid,
               quoted(text) + "; give pending, succeeded, failed, undone or skipped"};
}

Result<Duration> parse_wait(std::string_view text) {
  if (text == "0") return Duration{};
  auto wait = parse_duration(text);
  if (wait.ok() && *wait > SagaAdmin::answer_wait) {
    return Error{Code::config_invalid, quoted(text) + " is too long; give at most 5s"};
  }
  return wait;
}

void add_saga_id(CLI::App& verb, SagaId& id) {
  add_option(verb, "ID", "", id, SagaId::parse, "of the saga")->required();
}

void add_wait(CLI::App& verb, Duration& wait) {
  add_option(verb, "--wait", "DURATION", wait, parse_wait,
             "how long to wait until it is applied, 5s unless told, which is the most; 0: not");
}

void add_note(CLI::App& verb, SagaOrder& order) {
  verb.add_option("--note", order.note, "why, for its history and the audit log")
      ->type_name("TEXT");
}

void add_define(CLI::App& saga, Chosen& run) {
  {
    auto [define, arguments] =
        add_verb(saga, "define", "Checks definitions and stores them", run, run_saga_define);
    define->add_option("FILE", arguments->files, "YAML or JSON")->type_name("")->required();
    define->add_flag("--dry-run", arguments->dry_run, "only checks them");
  }
  auto [definitions, arguments] =
      add_verb(saga, "definitions", "Definitions that are stored, with their versions", run,
               run_saga_definitions);
  definitions->add_option("NAME", arguments->name, "only this one")->type_name("");
}

void add_start(CLI::App& saga, Chosen& run) {
  auto [start, given] =
      add_verb(saga, "start", "Starts a saga, once for a key", run, run_saga_start);
  const auto& arguments = given;
  start->footer(R"(Examples:
  sagabox saga start travel --key trip-77 --input '{"customer":17}'
  sagabox saga start travel --label order=77 --input-file trip.json)");
  auto& order = arguments->order;
  start->add_option("DEFINITION", order.definition, "its name")->type_name("")->required();
  start->add_option("--input", arguments->input, "JSON; - reads it from standard input")
      ->type_name("JSON");
  start->add_option("--input-file", arguments->input_file, "JSON")->type_name("FILE");
  add_option(*start, "--key", "KEY", order.key, given_text,
             "whoever starts it again by this key gets the same saga");
  add_option(*start, "--tenant", "TENANT", order.tenant, given_text,
             "\"default\" unless told, or the one that the API key is bound to");
  add_option(*start, "--isolate", "KEY", order.isolate, given_text,
             "no other active saga of the definition has it; instead of the definition's");
  start
      ->add_option_function<std::vector<std::string>>(
          "--label",
          [arguments](const std::vector<std::string>& texts) {
            for (const auto& text : texts) {
              auto label = parse_label(text);
              if (!label.ok()) throw CLI::ValidationError("--label", label.error().message);
              arguments->order.labels.push_back(*std::move(label));
            }
          },
          "to find it by; may be given again")
      ->type_name("NAME=VALUE");
  add_option(*start, "--saga-timeout", "DURATION", order.timeout, parse_duration,
             "then it is compensated; instead of the definition's");
  add_option(
      *start, "--definition-version", "N", order.version,
      [](std::string_view text) {
        return parse_count("version", text, 1, std::numeric_limits<std::uint32_t>::max());
      },
      "of the definition, the newest unless told");
  add_wait(*start, arguments->wait);
}

void add_saga_looks(CLI::App& saga, Chosen& run) {
  {
    auto [list, arguments] = add_verb(saga, "list", "Sagas, by id", run, run_saga_list);
    auto& query = arguments->query;
    add_option(*list, "--definition", "NAME", query.definition, given_text, "only of this one");
    add_option(
        *list, "--state",
        one_of("STATE", {"running", "compensating", "paused", "completed", "cancelled", "failed"}),
        query.state, parse_saga_state,
        "only running, compensating, paused, completed, cancelled or failed ones");
    add_option(*list, "--label", "NAME=VALUE", query.label, parse_label, "only with this label");
    add_option(*list, "--key", "KEY", query.key, given_text, "only started by this key");
    add_option(*list, "--tenant", "TENANT", query.tenant, given_text, "only of this tenant");
    list->add_flag("--quarantined", arguments->quarantined, "only those that are set aside");
    add_option(*list, "--since", "WHEN", arguments->since, parse_when,
               "only those started since then: 2h, 7d, or a time");
    add_option(*list, "--until", "WHEN", arguments->until, parse_when, "and before then");
    add_option(
        *list, "--limit", "N", query.rows_max,
        [](std::string_view text) { return parse_count("limit", text, 1, SagaAdmin::rows_max); },
        "at most so many, 20 unless told, up to 1000");
    list->add_option("--after", query.cursor, "go on behind the page before, which named this")
        ->type_name("CURSOR");
  }
  add_verb(saga, "count", "How many there are, by definition and state", run, run_saga_count);
  {
    auto [show, arguments] = add_verb(saga, "show", "One saga and its steps", run, run_saga_show);
    add_saga_id(*show, arguments->id);
    show->add_flag("--payload", arguments->payload, "its input and outputs, too");
    show->add_flag("--watch", arguments->watch, "draws it until it has ended, or Ctrl-C");
    add_option(*show, "--every", "DURATION", arguments->every, parse_duration,
               "with --watch: how often to look, 500ms unless told");
  }
  {
    auto [history, arguments] =
        add_verb(saga, "history", "What happened to a saga, in its order", run, run_saga_history);
    add_saga_id(*history, arguments->id);
    history->add_flag("--verify", arguments->verify,
                      "checks its hashes; exit code 1 when something was edited or removed");
    add_option(
        *history, "--after", "N", arguments->after,
        [](std::string_view text) {
          return parse_count("after", text, 0, std::numeric_limits<std::uint32_t>::max());
        },
        "only entries with a higher number");
    add_option(
        *history, "--limit", "N", arguments->entries_max,
        [](std::string_view text) { return parse_count("limit", text, 1, SagaAdmin::rows_max); },
        "at most so many, 100 unless told, up to 1000");
  }
  auto [explain, arguments] =
      add_verb(saga, "explain", "Why a saga does not move on", run, run_saga_explain);
  add_saga_id(*explain, arguments->id);
}

/// A command whose options the caller adds.
std::pair<CLI::App*, std::shared_ptr<SagaActArguments>> add_saga_act(
    CLI::App& saga, Chosen& run, const std::string& name, SagaCommandKind kind,
    const std::string& description) {
  auto [verb, arguments] = add_verb(saga, name, description, run, run_saga_act);
  arguments->order.kind = kind;
  add_saga_id(*verb, arguments->order.saga);
  if (kind != SagaCommandKind::signal) add_note(*verb, arguments->order);
  add_wait(*verb, arguments->wait);
  return {verb, arguments};
}

void add_saga_acts(CLI::App& saga, Chosen& run) {
  using Kind = SagaCommandKind;
  add_saga_act(saga, run, "pause", Kind::pause, "Nothing of it starts; results are recorded");
  add_saga_act(saga, run, "resume", Kind::resume, "A paused saga goes on");
  for (const bool cancels : {true, false}) {
    auto [verb, arguments] = add_saga_act(
        saga, run, cancels ? "cancel" : "compensate", cancels ? Kind::cancel : Kind::compensate,
        cancels ? "Compensates what was done; refused past the pivot"
                : "The same, also for one that waits for a decision");
    arguments->destroys = true;
    add_yes_options(*verb, arguments->act);
  }
  {
    auto [verb, arguments] =
        add_saga_act(saga, run, "signal", Kind::signal, "An event that a step waits for");
    verb->add_option("NAME", arguments->order.signal, "of the signal")->type_name("")->required();
    verb->add_option("--payload", arguments->payload, "JSON; - reads it from standard input")
        ->type_name("JSON");
  }
  for (const bool approves : {true, false}) {
    auto [verb, arguments] =
        add_saga_act(saga, run, approves ? "approve" : "deny", Kind::approve,
                     approves ? "Says yes to a step that waits for approval" : "Says no to it");
    arguments->order.approved = approves;
    add_option(*verb, "--step", "STEP", arguments->order.step, given_text,
               "the one that waits unless told");
  }
  {
    auto [verb, arguments] =
        add_saga_act(saga, run, "set-step", Kind::set_step, "Sets a step's state by hand");
    arguments->destroys = true;
    verb->add_option("STEP", arguments->order.step, "its name")->type_name("")->required();
    add_option(*verb, "STATE", "", arguments->order.state, parse_step_state,
               "pending, succeeded, failed, undone or skipped")
        ->required();
    verb->add_option("--output", arguments->order.output, "JSON, of one that succeeded")
        ->type_name("JSON");
    add_yes_options(*verb, arguments->act);
  }
  {
    auto [verb, arguments] = add_saga_act(saga, run, "replay", Kind::replay,
                                          "A failed saga goes on from its failed step");
    verb->add_flag("--into-compensation", arguments->order.into_compensation,
                   "back instead of forward");
  }
  add_saga_act(saga, run, "quarantine", Kind::quarantine,
               "Sets a failed saga aside until it is released");
  add_saga_act(saga, run, "release", Kind::release, "It is not set aside any more");
}

}  // namespace

void add_saga_verbs(CLI::App& app, Chosen& run) {
  auto* saga = app.add_subcommand(
      "saga", "Sagas: define, start, list, show, and what is done to them by hand");
  saga->group("Sagas")->require_subcommand(1);
  add_define(*saga, run);
  add_start(*saga, run);
  add_saga_looks(*saga, run);
  add_saga_acts(*saga, run);
  auto [purge, arguments] =
      add_verb(*saga, "purge", "Removes sagas that completed or were cancelled long ago", run,
               run_saga_purge);
  purge->add_option("DEFINITION", arguments->definition, "whose sagas")->type_name("")->required();
  add_option(*purge, "--older-than", "AGE", arguments->older_than, parse_age,
             "since they ended: 12h, 7d; 0 is all of them");
  add_yes_options(*purge, arguments->act);
}

}  // namespace sagabox::cli
