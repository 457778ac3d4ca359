#include "cli/views/facts.hpp"

#include "core/refused_note.hpp"

#include <utility>

namespace sagabox::cli {
namespace {

/// Counts among the first of the quarantined messages.
admin::QuarantinedFacts quarantined_results_of(Operations& operations, const TableName& table) {
  constexpr std::uint32_t rows_max = 100;
  auto page =
      operations.list(table, {.state = MessageState::quarantined, .rows_max = rows_max}).value();
  admin::QuarantinedFacts facts{.more = !page.next.empty()};
  for (auto& row : page.rows) {
    if (!tells_of_refused_result(row.note)) continue;
    if (++facts.count == 1) facts.first = std::move(row);
  }
  return facts;
}

}  // namespace

admin::TableFacts facts_of(Operations& operations, const TableName& table) {
  constexpr std::uint32_t keys_max = 10;
  admin::TableFacts facts;
  facts.table = table.str();
  facts.stats = operations.stats(table).value();
  facts.pauses = operations.pauses(table).value();
  facts.owners = operations.owners(table).value().relays.shards;
  if (facts.stats.waiting > 0) {
    auto blocked = operations.blocked_keys(table, keys_max).value();
    facts.more_blocked = !blocked.next.empty();
    facts.blocked = std::move(blocked.keys);
  }
  facts.jobs = operations.jobs(table).value();
  facts.refused = operations.refused(table).value();
  facts.unrouted = operations.unrouted(table).value();
  if (facts.stats.quarantined > 0)
    facts.quarantined_results = quarantined_results_of(operations, table);
  return facts;
}

}  // namespace sagabox::cli
