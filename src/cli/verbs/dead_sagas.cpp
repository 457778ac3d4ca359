#include "cli/exit_codes.hpp"
#include "cli/verbs/hub_arguments.hpp"
#include "cli/verbs/saga_arguments.hpp"
#include "cli/views/saga_view.hpp"
#include "cli/views/view_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::cli {
namespace {

constexpr std::size_t sagas_shown_max = 10;
constexpr std::size_t sagas_selected_max = 100'000;

struct DeadAct {
  SagaCommandKind kind;
  std::string_view ask;  ///< "Replay 3 sagas?"
  std::string_view becomes;
};

constexpr DeadAct replay_sagas{SagaCommandKind::replay, "Replay", "go on where they failed"};
constexpr DeadAct quarantine_sagas{SagaCommandKind::quarantine, "Quarantine",
                                   "be set aside until released"};
constexpr DeadAct release_sagas{SagaCommandKind::release, "Release", "be dead letters again"};

std::string sagas_text(std::uint64_t count) {
  return fmt::format("{} {}", grouped(count), count == 1 ? "saga" : "sagas");
}

/// Refuses filters that only messages have.
void check_filter(const MessagesArguments& messages) {
  if (messages.topic || messages.key || messages.aggregate_type || messages.code ||
      !messages.table.empty()) {
    throw WrongUse("dead sagas are narrowed by --tenant, --since and --until");
  }
}

SagaQuery query_of(const MessagesArguments& messages, bool quarantined) {
  check_filter(messages);
  const auto now = system_clock().wall_now();
  SagaQuery query{
      .tenant = messages.tenant, .state = SagaState::failed, .quarantined = quarantined};
  if (messages.since) query.started_from = messages.since->by(now);
  if (messages.until) query.started_to = messages.until->by(now);
  return query;
}

std::vector<SagaView> fitting_sagas(Session& session, SagaQuery query) {
  query.rows_max = SagaAdmin::rows_max;
  std::vector<SagaView> sagas;
  do {
    auto page = session.operations().sagas().list(query).value();
    std::ranges::move(page.rows, std::back_inserter(sagas));
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty() && sagas.size() < sagas_selected_max);
  if (!query.cursor.empty()) {
    std::cerr << "sagabox: more sagas fit than are taken at once: these are the first "
              << grouped(sagas.size()) << "; say it again for the others\n";
  }
  return sagas;
}

std::vector<SagaView> named_sagas(Session& session, std::span<const MessageId> ids,
                                  const std::optional<std::string>& tenant) {
  std::vector<SagaView> sagas;
  for (const auto& id : ids) {
    const auto saga = SagaId::parse(id.view()).value();
    auto found = session.operations().sagas().show(saga, Admin::PayloadToo::no).value();
    if (!found || (tenant && found->tenant != *tenant)) {
      throw Failure({Code::request_not_found, fmt::format("there is no saga {} in {}; nothing was "
                                                          "changed",
                                                          id.view(), session.operations().name())});
    }
    if (found->state != SagaState::failed) {
      throw Failure(
          {Code::tx_invalid_state, fmt::format("saga {} is {}, not dead; nothing was changed",
                                               id.view(), saga_state_name(found->state))});
    }
    sagas.push_back(*std::move(found));
  }
  return sagas;
}

void print_sagas(Session& session, const DeadAct& act, bool dry_run,
                 std::span<const SagaView> sagas) {
  if (session.json()) return;
  if (sagas.empty()) {
    session.out().print(Line().add("no dead saga fits", Style::faint));
    return;
  }
  session.out().print(
      fmt::format("{} {} {}:", sagas_text(sagas.size()), dry_run ? "would" : "will", act.becomes));
  session.print(saga_list(sagas.first(std::min(sagas.size(), sagas_shown_max))));
  if (sagas.size() > sagas_shown_max) {
    session.out().print(Line().add(
        fmt::format("  and {} more", grouped(sagas.size() - sagas_shown_max)), Style::faint));
  }
}

/// Acts on one saga after the other: each has its own owner, which may refuse.
int act_on(Session& session, const MoveArguments& arguments, const DeadAct& act,
           std::span<const SagaView> sagas) {
  std::vector<SagaActed> results;
  for (const auto& saga : sagas) {
    const SagaOrder order{.saga = saga.id,
                          .kind = act.kind,
                          .note = arguments.note,
                          .into_compensation = arguments.into_compensation};
    const auto answer = session.operations().sagas().act(order, SagaAdmin::answer_wait);
    results.push_back({saga.id, answer.ok() && answer->applied,
                       answer.ok() ? (answer->applied ? "" : "pending") : answer.error().message});
    if (!session.json()) session.out().print(saga_acted_line(results.back(), act.kind));
  }
  if (session.json()) session.out().print(sagas_acted_json(act.kind, results));
  return std::ranges::all_of(results, &SagaActed::applied) ? exit_fine : exit_failed;
}

int act_on_dead(const MoveArguments& arguments, const DeadAct& act) {
  if (arguments.rate_max != 0 || arguments.detach || arguments.as_new) {
    throw WrongUse("--rate, --detach and --as-new are for messages");
  }
  check_choice(arguments);
  const auto query = query_of(arguments.messages, act.kind == SagaCommandKind::release);
  Session session(arguments);
  const auto sagas = arguments.ids.empty()
                         ? fitting_sagas(session, query)
                         : named_sagas(session, arguments.ids, arguments.messages.tenant);
  print_sagas(session, act, arguments.act.dry_run, sagas);
  if (arguments.act.dry_run && session.json()) session.out().print(saga_page_json({sagas, {}}));
  if (arguments.act.dry_run || (sagas.empty() && !session.json())) return exit_fine;
  const auto question = fmt::format("{} {}?", act.ask, sagas_text(sagas.size()));
  if (!sagas.empty() && !confirmed(question, arguments.act.yes)) return nothing_done();
  return act_on(session, arguments, act, sagas);
}

/// "3 dead deliveries: sagabox dead list --kind delivery"
void add_dead_of(std::vector<Line>& lines, std::uint64_t count, std::string_view kind,
                 std::string_view kinds, bool more = false) {
  if (count == 0) return;
  lines.push_back(
      Line().add(fmt::format("{}{} dead {}: sagabox dead list --kind {}", grouped(count),
                             more ? " or more" : "", count == 1 ? kind : kinds, kind),
                 Style::faint));
}

/// The dead sagas and deliveries, which a list of messages does not show. Omits kinds that do not
/// exist or cannot be read.
std::vector<Line> dead_of_other_kinds(Session& session) {
  std::vector<Line> lines;
  try {
    std::uint64_t sagas = 0;
    for (const auto& counted : session.operations().sagas().count().value()) {
      if (counted.state == SagaState::failed) sagas += counted.sagas;
    }
    add_dead_of(lines, sagas, "saga", "sagas");
  } catch (const Failure&) {
  }
  try {
    std::uint64_t deliveries = 0;
    bool more = false;
    for (const auto& counted : session.operations().hub().count().value()) {
      if (counted.state != DeliveryState::dead) continue;
      deliveries += counted.deliveries;
      more = more || counted.more;
    }
    add_dead_of(lines, deliveries, "delivery", "deliveries", more);
  } catch (const Failure&) {
  }
  return lines;
}

}  // namespace

int run_dead_sagas(const ListArguments& arguments) {
  auto query = query_of(arguments.messages, false);
  query.rows_max = arguments.rows_max;
  query.cursor = arguments.cursor;
  Session session(arguments);
  const auto page = session.operations().sagas().list(query).value();
  if (session.json()) {
    session.out().print(saga_page_json(page));
    return exit_fine;
  }
  if (page.rows.empty()) {
    session.out().print(Line().add("no dead sagas", Style::faint));
    return exit_fine;
  }
  session.print(saga_list(page.rows));
  if (!page.next.empty()) {
    session.out().print(
        Line().add("there are more: --after " + page.next + ", or --limit", Style::faint));
  }
  return exit_fine;
}

int run_dead_list(const ListArguments& arguments) {
  if (arguments.kind == DeadKind::delivery) return run_dead_deliveries(arguments);
  if (arguments.kind == DeadKind::saga) return run_dead_sagas(arguments);
  Session session(arguments);
  const bool all = !session.json() && !arguments.messages.narrowed();
  const auto others = all ? dead_of_other_kinds(session) : std::vector<Line>();
  // With only a hub, or only sagas, there is no outbox to ask.
  if (others.empty() || !arguments.messages.table.empty() ||
      !session.operations().tables().value().empty()) {
    list_messages(session, arguments);
  }
  session.print(others);
  return exit_fine;
}

int run_dead_show(const MessageArguments& arguments) {
  if (arguments.kind == DeadKind::message) return run_show(arguments);
  if (arguments.kind == DeadKind::delivery) return run_dead_delivery_show(arguments);
  SagaShowArguments show;
  static_cast<OperatorArguments&>(show) = arguments;
  show.id = SagaId::parse(arguments.id.view()).value();
  show.payload = arguments.payload;
  return run_saga_show(show);
}

int run_replay_sagas(const MoveArguments& arguments) {
  return act_on_dead(arguments, replay_sagas);
}

int run_quarantine_sagas(const MoveArguments& arguments) {
  return act_on_dead(arguments, quarantine_sagas);
}

int run_release_sagas(const MoveArguments& arguments) {
  return act_on_dead(arguments, release_sagas);
}

}  // namespace sagabox::cli
