#include "assembly/saga_file.hpp"
#include "cli/exit_codes.hpp"
#include "cli/signals.hpp"
#include "cli/verbs/saga_arguments.hpp"
#include "cli/views/saga_view.hpp"
#include "cli/views/view_json.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

namespace sagabox::cli {
namespace {

Failure no_such_saga(Session& session, const SagaId& id) {
  return Failure({Code::request_not_found,
                  fmt::format("there is no saga {} in {}; sagabox saga list shows those that are",
                              id.view(), session.operations().name())});
}

SagaView found_saga(Session& session, const SagaId& id,
                    Admin::PayloadToo payload = Admin::PayloadToo::no) {
  auto saga = session.operations().sagas().show(id, payload).value();
  if (!saga) throw no_such_saga(session, id);
  return *std::move(saga);
}

std::string text_of(std::istream& in) {
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string input_text(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  auto text = text_of(file);
  if (!file) throw WrongUse("cannot read " + name);
  return text;
}

std::string json_typed(const std::string& text) { return text == "-" ? text_of(std::cin) : text; }

/// An error in a typed value is reported as wrong use.
template <class Value>
Value answer_of(Result<Value> result) {
  if (!result.ok() && result.error().code == Code::schema_validation_failed) {
    throw WrongUse(result.error().text());
  }
  return std::move(result).value();
}

void say_pending(Session& session, const SagaReceipt& answer) {
  session.out().print(fmt::format("pending: no process has taken it yet; sagabox saga explain {}",
                                  answer.saga.view()));
}

std::string act_name(const SagaOrder& order) {
  const bool denies = order.kind == SagaCommandKind::approve && !order.approved;
  return denies ? "deny" : std::string(saga_command_name(order.kind));
}

std::string question_of(const SagaOrder& order, const SagaView& saga) {
  const auto name = fmt::format("{} {}", saga.definition, saga.id.view());
  if (order.kind == SagaCommandKind::set_step) {
    return fmt::format("Set step {} of {} to {}?", order.step, name,
                       saga_step_state_name(order.state.value_or(SagaStepState::pending)));
  }
  return fmt::format("Compensate what {} has done, and end it as cancelled?", name);
}

void show_now(Session& session, const SagaView& saga) {
  if (session.json()) {
    session.out().print(saga_json(saga));
  } else {
    session.print(saga_details(saga));
  }
}

/// If lines cannot be redrawn: prints the whole saga as JSON, or a line for each change.
void print_change(Session& session, const SagaView* before, const SagaView& saga) {
  if (before != nullptr && before->version == saga.version) return;
  if (session.json()) {
    session.out().print(saga_json(saga));
  } else {
    session.print(saga_changes(before, saga));
  }
}

int watch(const SagaShowArguments& arguments, Admin::PayloadToo payload) {
  StopSignals signals;
  Session session(arguments);
  const bool draws = session.out().interactive() && !session.json();
  std::optional<SagaView> before;
  for (;;) {
    auto saga = found_saga(session, arguments.id, payload);
    if (draws) {
      session.out().draw(saga_details(saga));
    } else {
      print_change(session, before ? &*before : nullptr, saga);
    }
    if (has_ended(saga.state)) return exit_fine;
    before = std::move(saga);
    if (signals.wait(arguments.every) == StopSignals::Woken::stop) return exit_fine;
  }
}

}  // namespace

int run_saga_define(const SagaDefineArguments& arguments) {
  std::vector<SagaDefinition> definitions;
  for (const auto& file : arguments.files) {
    auto definition = assembly::read_saga_file(file);
    if (!definition.ok()) throw WrongUse(definition.error().message);
    definitions.push_back(*std::move(definition));
  }
  Session session(arguments);
  std::vector<SagaDefinitionRecord> stored;
  for (const auto& definition : definitions) {
    stored.push_back(arguments.dry_run ? definition.record(system_clock().wall_now())
                                       : session.operations().sagas().define(definition).value());
  }
  if (session.json()) {
    session.out().print(saga_definitions_json(stored));
    return exit_fine;
  }
  for (const auto& one : stored) {
    session.out().print(
        fmt::format("{} v{} {}", one.name, one.version,
                    arguments.dry_run ? "is right; nothing was stored" : "is stored"));
  }
  return exit_fine;
}

int run_saga_definitions(const SagaDefinitionsArguments& arguments) {
  Session session(arguments);
  const auto definitions = session.operations().sagas().definitions(arguments.name).value();
  if (session.json()) {
    session.out().print(saga_definitions_json(definitions));
  } else {
    session.print(saga_definition_list(definitions));
  }
  return exit_fine;
}

int run_saga_start(const SagaStartArguments& arguments) {
  if (!arguments.input.empty() && !arguments.input_file.empty()) {
    throw WrongUse("give the input as --input or as --input-file, not both");
  }
  auto order = arguments.order;
  order.input =
      arguments.input_file.empty() ? json_typed(arguments.input) : input_text(arguments.input_file);
  Session session(arguments);
  const auto answer = answer_of(session.operations().sagas().start(order, arguments.wait));
  if (session.json()) {
    session.out().print(saga_receipt_json(answer));
    return exit_fine;
  }
  session.out().print(fmt::format("{} {}", order.definition, answer.saga.view()));
  if (!answer.applied) say_pending(session, answer);
  return exit_fine;
}

int run_saga_list(const SagaListArguments& arguments) {
  auto query = arguments.query;
  const auto now = system_clock().wall_now();
  if (arguments.since) query.started_from = arguments.since->by(now);
  if (arguments.until) query.started_to = arguments.until->by(now);
  if (arguments.quarantined) query.quarantined = true;
  Session session(arguments);
  const auto page = session.operations().sagas().list(query).value();
  if (session.json()) {
    session.out().print(saga_page_json(page));
    return exit_fine;
  }
  session.print(saga_list(page.rows));
  if (!page.next.empty()) {
    session.out().print(Line().add("more: --after " + page.next, Style::faint));
  }
  return exit_fine;
}

int run_saga_count(const SagaListArguments& arguments) {
  Session session(arguments);
  const auto counts = session.operations().sagas().count().value();
  if (session.json()) {
    session.out().print(saga_counts_json(counts));
  } else {
    session.print(saga_count_list(counts));
  }
  return exit_fine;
}

int run_saga_show(const SagaShowArguments& arguments) {
  const auto payload = arguments.payload ? Admin::PayloadToo::yes : Admin::PayloadToo::no;
  if (arguments.watch) return watch(arguments, payload);
  Session session(arguments);
  show_now(session, found_saga(session, arguments.id, payload));
  return exit_fine;
}

int run_saga_explain(const SagaShowArguments& arguments) {
  Session session(arguments);
  const auto explanation = session.operations().sagas().explain(arguments.id).value();
  if (!explanation) throw no_such_saga(session, arguments.id);
  session.out().print(session.json() ? saga_explanation_json(arguments.id, *explanation)
                                     : explanation->text());
  return exit_fine;
}

int run_saga_history(const SagaHistoryArguments& arguments) {
  Session session(arguments);
  const auto history =
      session.operations()
          .sagas()
          .history(arguments.id, arguments.after, arguments.entries_max, arguments.verify)
          .value();
  if (!history) throw no_such_saga(session, arguments.id);
  const bool broken = history->problem && !history->problem->empty();
  if (session.json()) {
    session.out().print(saga_history_json(arguments.id, *history));
    return broken ? exit_failed : exit_fine;
  }
  session.print(saga_history_list(*history));
  if (history->more) {
    session.out().print(
        Line().add(fmt::format("more: --after {}", history->entries.back().number), Style::faint));
  }
  if (broken) {
    session.out().print(
        Line().add("the history is not intact: ", Style::bad).add(*history->problem));
  } else if (history->problem) {
    session.out().print(Line().add("the history is intact", Style::good));
  }
  return broken ? exit_failed : exit_fine;
}

int run_saga_act(const SagaActArguments& arguments) {
  auto order = arguments.order;
  order.payload = json_typed(arguments.payload);
  Session session(arguments);
  if (arguments.destroys) {
    const auto saga = found_saga(session, order.saga);
    if (!session.json()) session.print(saga_details(saga));
    if (arguments.act.dry_run) {
      session.out().print(session.json() ? saga_json(saga) : std::string("nothing was changed"));
      return exit_fine;
    }
    if (!confirmed(question_of(order, saga), arguments.act.yes)) return nothing_done();
  }
  const auto answer = answer_of(session.operations().sagas().act(order, arguments.wait));
  if (session.json()) {
    session.out().print(saga_receipt_json(answer));
  } else if (answer.applied) {
    session.out().print(fmt::format("applied: {} {}", act_name(order), answer.saga.view()));
  } else {
    say_pending(session, answer);
  }
  return exit_fine;
}

int run_saga_purge(const SagaPurgeArguments& arguments) {
  if (!arguments.older_than) throw WrongUse("how old? say --older-than 7d; 0 is all of them");
  Session session(arguments);
  auto& sagas = session.operations().sagas();
  std::uint64_t ended = 0;
  for (const auto& count : sagas.count().value()) {
    const bool goes = count.definition == arguments.definition &&
                      (count.state == SagaState::completed || count.state == SagaState::cancelled);
    if (goes) ended += count.sagas;
  }
  if (arguments.act.dry_run) {
    session.out().print(session.json()
                            ? saga_purged_json(0)
                            : fmt::format("at most {} sagas of {} that completed or were cancelled "
                                          "would be removed",
                                          grouped(ended), arguments.definition));
    return exit_fine;
  }
  const auto question =
      fmt::format("Remove sagas of {} that ended longer ago, with their history? At most {}.",
                  arguments.definition, grouped(ended));
  if (!confirmed(question, arguments.act.yes)) return nothing_done();
  const auto purged = sagas.purge(arguments.definition, *arguments.older_than).value();
  session.out().print(session.json() ? saga_purged_json(purged)
                                     : fmt::format("{} {} removed", grouped(purged),
                                                   purged == 1 ? "saga" : "sagas"));
  return exit_fine;
}

}  // namespace sagabox::cli
