#include "cli/exit_codes.hpp"
#include "cli/signals.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/views/operator_view.hpp"
#include "cli/views/view_json.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sagabox::cli {
namespace {

Purged count_first(Session& session, const TableName& table, PurgeOrder order) {
  order.dry_run = true;
  auto found = session.operations().purge(table, order, {});
  if (!found.ok() && found.error().code == Code::request_invalid) {
    throw WrongUse(found.error().text());
  }
  return std::move(found).value();
}

Purged purged(Session& session, const TableName& table, const PurgeOrder& order,
              std::uint64_t whole) {
  StopSignals signals;
  const bool draws = session.out().interactive() && !session.json();
  return session.operations()
      .purge(table, order,
             [&](std::uint64_t rows) {
               if (draws) {
                 session.out().draw({Line("purge  ")
                                         .add(progress_bar(rows, whole), Style::good)
                                         .add(fmt::format("  {}/{}", grouped(rows),
                                                          grouped(std::max(rows, whole))))});
               }
               return signals.wait({}) != StopSignals::Woken::stop;
             })
      .value();
}

}  // namespace

int run_purge(const PurgeArguments& arguments) {
  if (!arguments.older_than) {
    throw WrongUse("how old must they be? say --older-than 7d; 0 is all of them");
  }
  StopSignals signals;
  Session session(arguments);
  const auto table = session.table(arguments.table);
  PurgeOrder order{.state = arguments.state,
                   .older_than = arguments.older_than,
                   .dry_run = arguments.act.dry_run,
                   .force_pending = arguments.force_pending};
  if (order.state == MessageState::pending && !order.force_pending) {
    throw WrongUse(
        "pending messages have not been delivered and would be lost; say --force-pending "
        "if that is meant, or quarantine them");
  }
  const auto found = count_first(session, table, order);
  const auto what =
      fmt::format("{} {} of {} older than {}", grouped(found.rows),
                  found.rows == 1 ? std::string(state_name(order.state)) + " message"
                                  : std::string(state_name(order.state)) + " messages",
                  table.str(), age_text(*order.older_than));
  if (order.dry_run || found.rows == 0) {
    session.out().print(session.json() ? purged_json(table, order, found)
                                       : what + (found.rows == 0 ? ": nothing to purge"
                                                                 : " would be deleted for good"));
    return exit_fine;
  }
  signals.unblock();  // Ctrl-C at the question ends it
  if (!confirmed("Delete " + what + " for good?", arguments.act.yes)) return nothing_done();
  const auto done = purged(session, table, order, found.rows);
  session.out().print(
      session.json()
          ? purged_json(table, order, done)
          : messages_text(done.rows) + " purged" +
                (done.stopped ? "; stopped before its end, the rest is still there" : ""));
  return done.stopped ? exit_failed : exit_fine;
}

}  // namespace sagabox::cli
