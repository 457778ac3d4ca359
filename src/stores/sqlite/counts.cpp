#include "stores/sqlite/counts.hpp"

#include <algorithm>
#include <string>

namespace sagabox::sqlite {

void Counts::leave(Place last_place, std::int64_t rows) noexcept {
  gone += rows;
  waiting -= waits(last_place) ? rows : 0;
  last = std::max(last, sequence_of(last_place));
}

std::int64_t& Counts::ended(MessageState state) noexcept {
  if (state == MessageState::dead) return dead;
  return state == MessageState::quarantined ? quarantined : done;
}

Error no_table(std::string_view table) {
  return {Code::config_invalid,
          "there is no outbox table \"" + std::string(table) + "\"; call prepare() for it first"};
}

Status add_counts(Connection& connection, const SharedStatements& statements,
                  const TableName& table, const Counts& change) {
  if (change == Counts{}) return {};
  auto run = connection.run(statements.count);
  run.with(table.str()).with(change.gone).with(change.waiting).with(change.done);
  run.with(change.dead).with(change.quarantined).with(change.taken).with(change.last.value);
  return run.finish();
}

}  // namespace sagabox::sqlite
