#include "stores/sqlite/durable.hpp"

#include <algorithm>

namespace sagabox::sqlite {

void Durable::reached(const TableName& table, Sequence last) {
  const std::lock_guard lock(mutex_);
  auto& known = last_[table.str()];
  known = std::max(known, last);
}

Status Durable::require(const TableName& table, Sequence last) {
  if (!writer_.is_durable()) return {};
  {
    const std::lock_guard lock(mutex_);
    if (last <= last_[table.str()]) return {};
  }
  if (auto synced = writer_.sync(); !synced.ok()) return synced;
  reached(table, last);
  return {};
}

}  // namespace sagabox::sqlite
