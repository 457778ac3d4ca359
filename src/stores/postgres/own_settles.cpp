#include "stores/postgres/own_settles.hpp"

#include <algorithm>

namespace sagabox::postgres {

void OwnSettles::remove_from(spi::Horizon& horizon) const {
  if (horizon.in_progress.empty()) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(horizon.in_progress, [&](TransactionId id) {
    return std::find(latest_.begin(), latest_.end(), id) != latest_.end();
  });
}

}  // namespace sagabox::postgres
