#include "assembly/configuration.hpp"

#include <algorithm>

namespace sagabox::assembly {

Duration Configuration::longest_retention() const {
  Duration longest{};
  for (const auto& store : stores) {
    for (const auto& table : store.tables) longest = std::max(longest, table.options.retention);
  }
  return longest;
}

Duration Configuration::inbox_window() const {
  const auto enough = longest_retention() + std::chrono::hours(24);
  return idempotency.inbox_window.value_or(std::max(enough, spi::inbox_window_default));
}

}  // namespace sagabox::assembly
