#include "stores/postgres/wake.hpp"

namespace sagabox::postgres {

CommitBell& Wake::bell(const TableName& table) {
  const std::lock_guard lock(mutex_);
  auto& known = bells_[table.str()];
  if (!known) known = std::make_unique<CommitBell>();
  return *known;
}

}  // namespace sagabox::postgres
