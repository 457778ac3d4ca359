#include "cli/exit_codes.hpp"
#include "cli/facts.hpp"
#include "cli/signals.hpp"
#include "cli/status_view.hpp"
#include "cli/verbs.hpp"
#include "cli/view_json.hpp"

#include <algorithm>

namespace sagabox::cli {
namespace {

TrafficLook look_at(Operations& operations, const TableName& table) {
  const auto last = operations.last_sequence(table).value();
  const auto stats = operations.stats(table).value();
  return {last, stats.pending, stats.estimated, stats.now};
}

/// Messages that ended from then on.
std::uint64_t ended_since(Operations& operations, const TableName& table, WallTime since) {
  std::uint64_t ended = 0;
  for (const auto state : {MessageState::done, MessageState::dead, MessageState::quarantined}) {
    ended += operations.count(table, state, {.from = since}).value();
  }
  return ended;
}

}  // namespace

int run_status(const StatusArguments& arguments) {
  StopSignals signals;
  Session session(arguments);
  auto& operations = session.operations();
  const auto tables = session.tables(arguments.table);
  std::vector<TrafficLook> before;
  for (const auto& table : tables) before.push_back(look_at(operations, table));
  if (signals.wait(arguments.over) == StopSignals::Woken::stop) signals.quit();
  std::vector<TableStatus> all;
  for (std::size_t at = 0; at < tables.size(); ++at) {
    const auto& table = tables[at];
    const auto now = look_at(operations, table);
    const bool estimated = before[at].estimated || now.estimated;
    TableStatus status;
    status.traffic = traffic_between(
        before[at], now,
        estimated ? std::optional(ended_since(operations, table, before[at].at)) : std::nullopt);
    status.facts = facts_of(operations, table);
    if (status.facts.stats.waiting > 0) {
      status.retrying = operations.count(table, MessageState::pending, {.retrying = true}).value();
    }
    all.push_back(std::move(status));
  }
  if (session.json()) {
    session.out().print(status_json(operations.name(), all));
  } else {
    session.print(status_view(all));
  }
  return exit_fine;
}

}  // namespace sagabox::cli
