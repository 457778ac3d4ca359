#include "stores/postgres/own_settles.hpp"

#include <algorithm>

namespace sagabox::postgres {

void OwnSettles::remove_from(spi::Horizon& horizon, std::uint64_t connection) const {
  if (horizon.in_progress.empty()) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(horizon.in_progress, [&](TransactionId id) {
    return std::any_of(latest_.begin(), latest_.end(), [&](const Settle& settle) {
      return settle.id == id && settle.last_connection >= connection;
    });
  });
}

}  // namespace sagabox::postgres
