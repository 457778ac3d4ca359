#include "cli/facts.hpp"

#include <utility>

namespace sagabox::cli {

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
  return facts;
}

}  // namespace sagabox::cli
