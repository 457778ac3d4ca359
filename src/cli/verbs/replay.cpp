#include "admin/replay_notes.hpp"
#include "cli/exit_codes.hpp"
#include "cli/signals.hpp"
#include "cli/verbs/hub_arguments.hpp"
#include "cli/verbs/saga_arguments.hpp"
#include "cli/views/message_view.hpp"
#include "cli/views/operator_view.hpp"
#include "cli/views/view_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <utility>

namespace sagabox::cli {
namespace {

constexpr std::size_t shown_max = 10;
constexpr std::size_t selected_max = 100'000;
constexpr Duration look_interval = std::chrono::milliseconds(250);

struct Act {
  spi::Move move;
  std::string_view name;     ///< in JSON
  std::string_view ask;      ///< "Replay 3 messages of orders?"
  std::string_view becomes;  ///< "go back to pending (…)"
  std::string_view takes;    ///< the allowed states of named messages
};

constexpr Act replay_act{spi::Move::replay, "replay", "Replay",
                         "go back to pending (new sequence, attempts 0)", "dead and quarantined"};
constexpr Act quarantine_act{spi::Move::quarantine, "quarantine", "Quarantine",
                             "be set aside until released", "pending and dead"};
constexpr Act release_act{spi::Move::release, "release", "Release",
                          "go back to pending (own sequence, attempts 0)", "quarantined"};

/// Only `sagabox replay`, whose text says so, delivers delivered messages again.
bool takes(const Act& act, MessageState state) {
  return state != MessageState::done && spi::allows(act.move, state);
}

void print_selection(Session& session, const TableName& table, const Act& act, bool dry_run,
                     std::span<const MessageRecord> first, std::uint64_t matched,
                     const std::string& states = {}) {
  if (session.json()) return;
  if (matched == 0) {
    session.out().print(Line().add("no message fits", Style::faint));
    return;
  }
  session.out().print(fmt::format("{} of {}{} {} {}:", messages_text(matched), table.str(), states,
                                  dry_run ? "would" : "will", act.becomes));
  const auto now = session.operations().now(table).value();
  for (const auto& line : message_list(first, now)) {
    session.out().print(Line("  ").add(line.render(std::string::npos, false)));
  }
  if (matched > first.size()) {
    session.out().print(
        Line().add(fmt::format("  and {} more", grouped(matched - first.size())), Style::faint));
  }
}

void print_notes(Session& session, std::span<const std::string> notes) {
  if (session.json()) return;
  for (const auto& note : notes) {
    session.out().print(Line("  ").add("note: " + note, Style::warning));
  }
}

/// The notes for named messages, which have no preview.
std::vector<std::string> notes_of(Session& session, const TableName& table,
                                  const MoveArguments& arguments,
                                  std::span<const MessageRecord> records) {
  if (records.empty()) return {};
  const auto oldest_kept = session.operations().now(table).value() -
                           std::chrono::floor<WallTime::duration>(spi::inbox_window_default);
  const auto older = std::ranges::count_if(records, [&](const MessageRecord& record) {
    return record.ended_at && *record.ended_at < oldest_kept;
  });
  return admin::replay_notes({.from = arguments.state, .as_new = arguments.as_new}, records.size(),
                             static_cast<std::uint64_t>(older));
}

bool asked(const MoveArguments& arguments, const Act& act, const TableName& table,
           std::uint64_t count) {
  return confirmed(fmt::format("{} {} of {}?", act.ask, messages_text(count), table.str()),
                   arguments.act.yes);
}

Failure not_taken(const TableName& table, const Act& act, const MessageRecord& record) {
  const auto instead =
      act.move == spi::Move::replay && record.state == MessageState::done
          ? fmt::format("; to deliver it again: sagabox replay --table {0} --from {1} --to {1}",
                        table.str(), record.sequence.value)
          : "";
  return Failure(
      {Code::tx_invalid_state,
       fmt::format("message {} is {}: dead {} takes only {} messages{}; nothing was "
                   "changed",
                   record.id.view(), state_name(record.state), act.name, act.takes, instead)});
}

std::vector<MessageRecord> named(Session& session, const TableName& table, const Act& act,
                                 const MoveArguments& arguments) {
  std::vector<MessageRecord> records;
  for (const auto& id : arguments.ids) {
    auto record = session.operations()
                      .inspect(table, id, Admin::PayloadToo::no, arguments.messages.tenant, {})
                      .value();
    if (!record) {
      throw Failure({Code::request_not_found, "there is no message " + id.str() + " in " +
                                                  table.str() + "; nothing was changed"});
    }
    if (!takes(act, record->state)) throw not_taken(table, act, *record);
    records.push_back(*std::move(record));
  }
  return records;
}

/// Reads them page by page, before any is moved. Reports if there are more than its maximum.
std::vector<MessageRecord> fitting(Session& session, const TableName& table,
                                   const MoveArguments& arguments) {
  const auto now = session.operations().now(table).value();
  ListQuery query{.state = arguments.state,
                  .filter = arguments.messages.filter(now),
                  .rows_max = Admin::page_rows_max};
  std::vector<MessageRecord> records;
  do {
    auto page = session.operations().list(table, query).value();
    std::ranges::move(page.rows, std::back_inserter(records));
    query.cursor = page.next;
  } while (!query.cursor.empty() && records.size() < selected_max);
  if (!query.cursor.empty()) {
    std::cerr << "sagabox: more messages fit than are taken at once: these are the first "
              << grouped(records.size()) << "; say it again for the others\n";
  }
  return records;
}

void print_moved(Session& session, const TableName& table, const Act& act,
                 std::span<const Moved> moved) {
  if (session.json()) {
    session.out().print(moved_json(table, act.name, moved));
  } else {
    session.print(moved_list(moved));
  }
}

/// " (1 dead, 2 quarantined)" if some are not in the verb's usual state.
std::string states_text(std::span<const MessageRecord> records, MessageState usual) {
  std::string text;
  bool plain = true;
  for (const auto state : {MessageState::pending, MessageState::dead, MessageState::quarantined}) {
    const auto count = std::ranges::count(records, state, &MessageRecord::state);
    if (count == 0) continue;
    plain = plain && state == usual;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        grouped(static_cast<std::uint64_t>(count)), state_name(state));
  }
  return plain ? "" : " (" + text + ")";
}

/// The rows of one act: all of one tenant, each id once. Sequences are included, because an id
/// alone could mean another row than the selected one.
struct Part {
  Admin::Whose tenant{};
  std::vector<MessageId> ids{};
  std::vector<Sequence> sequences{};
};

/// Splits them into parts of at most `ids_max`. A tenant and id that occur twice are in separate
/// parts.
std::vector<Part> parts_of(const std::vector<MessageRecord>& records) {
  std::vector<Part> parts;
  std::map<Admin::Whose, std::size_t> open;  // the part that a tenant's next id goes to
  std::set<std::pair<std::size_t, MessageId>> named;
  for (const auto& record : records) {
    const auto tenant = tenant_of(record);
    auto [at, first] = open.try_emplace(tenant, parts.size());
    const bool full = !first && (parts[at->second].ids.size() == Admin::ids_max ||
                                 named.contains({at->second, record.id}));
    if (full) at->second = parts.size();
    if (first || full) parts.push_back({tenant, {}, {}});
    parts[at->second].ids.push_back(record.id);
    parts[at->second].sequences.push_back(record.sequence);
    named.emplace(at->second, record.id);
  }
  return parts;
}

/// Moves the messages that were named by their ids, in one call.
int move_named(Session& session, const TableName& table, const MoveArguments& arguments,
               const Act& act, const std::vector<MessageRecord>& records) {
  const auto first = std::span(records).first(std::min(records.size(), shown_max));
  print_selection(session, table, act, arguments.act.dry_run, first, records.size(),
                  states_text(records, arguments.state));
  if (act.move == spi::Move::replay) {
    print_notes(session, notes_of(session, table, arguments, records));
  }
  if (arguments.act.dry_run && session.json()) {
    session.out().print(messages_json(table, {records, {}}));
  }
  if (arguments.act.dry_run) return exit_fine;
  if (records.empty()) {
    if (session.json()) print_moved(session, table, act, {});
    return exit_fine;
  }
  if (!asked(arguments, act, table, records.size())) return nothing_done();
  std::vector<Moved> moved;
  for (const auto& part : parts_of(records)) {
    auto batch = session.operations().move(table, act.move, part.ids, arguments.note, part.tenant,
                                           part.sequences, arguments.as_new);
    if (!batch.ok()) {
      if (moved.empty()) throw Failure(batch.error());
      print_moved(session, table, act, moved);
      throw Failure(
          {batch.error().code, fmt::format("{} (after {} of {})", batch.error().message,
                                           grouped(moved.size()), messages_text(records.size()))});
    }
    std::ranges::move(*std::move(batch), std::back_inserter(moved));
  }
  print_moved(session, table, act, moved);
  const bool all = std::ranges::all_of(moved, [](const Moved& one) { return one.moved; });
  return all ? exit_fine : exit_failed;
}

/// The named table, or the one with the first of the messages.
TableName table_for(Session& session, const MoveArguments& arguments) {
  if (arguments.ids.empty()) return session.table(arguments.messages.table);
  const auto found =
      session.table_of(arguments.ids.front(), arguments.messages.table, arguments.messages.tenant);
  if (found) return *found;
  throw Failure({Code::request_not_found, "there is no message " + arguments.ids.front().str() +
                                              " in " + session.operations().name() +
                                              "; nothing was changed"});
}

int move_some(const MoveArguments& arguments, const Act& act) {
  check_choice(arguments);
  Session session(arguments);
  const auto table = table_for(session, arguments);
  const auto records = arguments.ids.empty() ? fitting(session, table, arguments)
                                             : named(session, table, act, arguments);
  return move_named(session, table, arguments, act, records);
}

ReplayOrder order_of(Session& session, const TableName& table, const MoveArguments& arguments) {
  const auto now = session.operations().now(table).value();
  ReplayOrder order{.from = arguments.state,
                    .filter = arguments.messages.filter(now),
                    .rate_max = arguments.rate_max,
                    .as_new = arguments.as_new};
  if (arguments.from) {
    order.filter.first = arguments.from->sequence;
    if (arguments.from->when) order.filter.from = arguments.from->when->by(now);
  }
  if (arguments.to) {
    order.filter.last = arguments.to->sequence;
    if (arguments.to->when) order.filter.until = arguments.to->when->by(now);
  }
  return order;
}

std::string how_to_look(const ReplayJob& job) {
  return fmt::format(
      "look at it: sagabox replay show {0} --table {1}; stop it: sagabox replay stop "
      "{0} --table {1}",
      job.id.value, job.table);
}

/// Returns false if unknown: a key that is bound to a tenant may not ask.
bool nobody_replays(Session& session, const TableName& table) {
  const auto owners = session.operations().owners(table);
  return owners.ok() && !owners->replayer;
}

/// Shows the job until it ends. Ctrl-C leaves it running.
int follow(Session& session, StopSignals& signals, const TableName& table, ReplayJob job,
           bool detach) {
  const bool shows = !session.json();
  bool left = detach;
  bool waits = false;
  while (job.state == ReplayJob::State::running && !left && !waits) {
    if (shows && session.out().interactive()) session.out().draw({replay_bar(job)});
    left = signals.wait(look_interval) == StopSignals::Woken::stop;
    auto looked = session.operations().job(table, job.id);
    if (!looked.ok()) {
      throw Failure(Error{looked.error().code,
                          fmt::format("replay job {} was started and goes on, but it could not be "
                                      "looked at: {}; {}",
                                      job.id.value, looked.error().message, how_to_look(job))});
    }
    job = std::move(*looked);
    waits = job.state == ReplayJob::State::running && nobody_replays(session, table);
  }
  if (!shows) {
    session.out().print(job_json(job));
  } else if (session.out().interactive() && !left) {
    session.out().draw({replay_bar(job)});
  } else {
    session.out().print(replay_bar(job));
  }
  const bool broken_off =
      job.state == ReplayJob::State::failed || job.state == ReplayJob::State::stopped;
  if (broken_off && shows) {
    session.out().print(
        fmt::format("it did not get to its end; go on: sagabox replay resume {} "
                    "--table {}",
                    job.id.value, table.str()));
  }
  if (broken_off) return exit_failed;
  if (!shows || job.state != ReplayJob::State::running) return exit_fine;
  session.out().print(fmt::format(
      "replay job {} {}; {}", job.id.value,
      waits ? "waits: no relay delivers " + table.str() + ", it goes on when one does" : "goes on",
      how_to_look(job)));
  return exit_fine;
}

void refuse_deliveries(const MoveArguments& arguments) {
  if (arguments.kind != DeadKind::delivery) return;
  throw WrongUse("a dead delivery stays as it is for ever: it can only be requeued (dead replay)");
}

}  // namespace

// An empty shell variable must not select everything.
void check_choice(const MoveArguments& arguments) {
  const bool filtered = arguments.messages.narrowed();
  // With ids, the tenant says whose messages are meant.
  auto others = arguments.messages;
  others.tenant.reset();
  if (!arguments.ids.empty() && (others.narrowed() || arguments.all)) {
    throw WrongUse(
        "ids and a filter (or --all) do not go together: name the messages, or say which "
        "they are");
  }
  if (arguments.all && filtered) {
    throw WrongUse("--all and a filter do not go together: leave one of them out");
  }
  if (arguments.ids.empty() && !filtered && !arguments.all) {
    throw WrongUse("which messages? name their ids, give a filter (--code, --since), or say --all");
  }
}

int run_replay(const MoveArguments& arguments) {
  if (arguments.state == MessageState::pending) {
    throw WrongUse("pending messages are delivered anyway; say --state done, dead or quarantined");
  }
  const bool bounded =
      arguments.from || arguments.to || arguments.messages.since || arguments.messages.until;
  if (arguments.state == MessageState::done && !bounded) {
    throw WrongUse("which of the delivered messages? say --from and --to: sequences, or times");
  }
  StopSignals signals;
  Session session(arguments);
  const auto table = session.table(arguments.messages.table);
  const auto order = order_of(session, table, arguments);
  const auto preview = session.operations().preview_replay(table, order);
  if (!preview.ok() && preview.error().code == Code::request_invalid) {
    throw WrongUse(preview.error().text());
  }
  print_selection(session, table, replay_act, arguments.act.dry_run, preview->first,
                  preview->matched);
  print_notes(session, preview->notes);
  if (arguments.act.dry_run || preview->matched == 0) {
    if (session.json()) session.out().print(preview_json(table, order, *preview));
    return exit_fine;
  }
  signals.unblock();  // Ctrl-C at the question ends it
  if (!asked(arguments, replay_act, table, preview->matched)) return nothing_done();
  StopSignals again;
  return follow(session, again, table, session.operations().start_replay(table, order).value(),
                arguments.detach);
}

int run_dead_replay(const MoveArguments& arguments) {
  if (arguments.kind == DeadKind::saga) return run_replay_sagas(arguments);
  if (arguments.kind == DeadKind::delivery) return run_replay_deliveries(arguments);
  if (arguments.into_compensation) throw WrongUse("--into-compensation is for --kind saga");
  check_choice(arguments);
  if (arguments.ids.empty()) return run_replay(arguments);
  if (arguments.rate_max != 0 || arguments.detach) {
    throw WrongUse(
        "--rate and --detach are for replays by filter; messages that are named go at once");
  }
  return move_some(arguments, replay_act);
}

int run_quarantine(const MoveArguments& arguments) {
  refuse_deliveries(arguments);
  if (arguments.kind == DeadKind::saga) return run_quarantine_sagas(arguments);
  return move_some(arguments, quarantine_act);
}

int run_release(const MoveArguments& arguments) {
  refuse_deliveries(arguments);
  if (arguments.kind == DeadKind::saga) return run_release_sagas(arguments);
  return move_some(arguments, release_act);
}

int run_job_list(const JobArguments& arguments) {
  Session session(arguments);
  std::vector<ReplayJob> jobs;
  WallTime now{};
  for (const auto& table : session.tables(arguments.table)) {
    std::ranges::move(session.operations().jobs(table).value(), std::back_inserter(jobs));
    now = session.operations().now(table).value();
  }
  if (session.json()) {
    session.out().print(jobs_json(jobs));
  } else {
    session.print(job_list(jobs, now));
  }
  return exit_fine;
}

int run_job_show(const JobArguments& arguments) {
  Session session(arguments);
  const auto table = session.table(arguments.table);
  const auto job = session.operations().job(table, ReplayJobId{arguments.job}).value();
  if (session.json()) {
    session.out().print(job_json(job));
  } else {
    session.print(job_details(job, session.operations().now(table).value()));
  }
  return exit_fine;
}

int run_job_change(const JobArguments& arguments, ReplayJob::State to) {
  Session session(arguments);
  const auto table = session.table(arguments.table);
  const auto job = session.operations().change_job(table, ReplayJobId{arguments.job}, to).value();
  if (session.json()) {
    session.out().print(job_json(job));
  } else {
    session.out().print(replay_bar(job));
  }
  return exit_fine;
}

}  // namespace sagabox::cli
