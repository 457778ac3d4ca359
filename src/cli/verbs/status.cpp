#include "cli/exit_codes.hpp"
#include "cli/signals.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/views/facts.hpp"
#include "cli/views/status_view.hpp"
#include "cli/views/view_json.hpp"

#include <cstdint>
#include <optional>

namespace sagabox::cli {
namespace {

// Messages written between the two queries of a look must not count as delivered: the first look
// reads the last sequence after the statistics, the second before them.

TrafficLook look_of(const spi::TableStats& stats, const Result<Sequence>& last) {
  return {last.value(), stats.pending, stats.estimated, stats.now};
}

/// Returns false if the store cannot report it: rates are unknown then.
bool is_told(const Result<Sequence>& last) {
  return last.ok() || last.error().code != Code::tx_invalid_state;
}

std::optional<TrafficLook> first_look(Operations& operations, const TableName& table) {
  const auto stats = operations.stats(table).value();
  const auto last = operations.last_sequence(table);
  if (!is_told(last)) return std::nullopt;
  return look_of(stats, last);
}

TrafficLook second_look(Operations& operations, const TableName& table) {
  const auto last = operations.last_sequence(table);
  return look_of(operations.stats(table).value(), last);
}

/// The number of messages that ended since then. Nullopt if delivered messages are not retained:
/// they may have been deleted at once.
std::optional<std::uint64_t> ended_since(Operations& operations, const TableName& table,
                                         WallTime since) {
  if (operations.stats(table).value().done == 0) return std::nullopt;
  std::uint64_t ended = 0;
  for (const auto state : {MessageState::done, MessageState::dead, MessageState::quarantined}) {
    ended += operations.count(table, state, {.from = since}).value();
  }
  return ended;
}

Traffic traffic_since(Operations& operations, const TableName& table, const TrafficLook& before) {
  const auto now = second_look(operations, table);
  const bool estimated = before.estimated || now.estimated;
  return traffic_between(before, now,
                         estimated ? ended_since(operations, table, before.at) : std::nullopt);
}

}  // namespace

int run_status(const StatusArguments& arguments) {
  StopSignals signals;
  Session session(arguments);
  auto& operations = session.operations();
  const auto tables = session.tables(arguments.table);
  std::vector<std::optional<TrafficLook>> before;
  for (const auto& table : tables) before.push_back(first_look(operations, table));
  if (signals.wait(arguments.over) == StopSignals::Woken::stop) signals.quit();
  std::vector<TableStatus> all;
  for (std::size_t at = 0; at < tables.size(); ++at) {
    const auto& table = tables[at];
    TableStatus status;
    if (before[at]) status.traffic = traffic_since(operations, table, *before[at]);
    status.facts = facts_of(operations, table);
    if (status.facts.stats.waiting > 0) {
      status.retrying = operations.count(table, MessageState::pending, {.retrying = true}).value();
    }
    all.push_back(std::move(status));
  }
  const auto targets = operations.destinations().value();
  if (session.json()) {
    session.out().print(status_json(operations.name(), all, targets));
  } else {
    session.print(status_view(all, targets));
  }
  return exit_fine;
}

}  // namespace sagabox::cli
