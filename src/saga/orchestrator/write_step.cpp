#include "saga/orchestrator/write_step.hpp"

#include <algorithm>

namespace sagabox::saga {

void WriteStep::flatten() {
  writes.clear();
  taken.clear();
  results.clear();
  messages.clear();
  audit.clear();
  std::vector<spi::Fence> used;
  for (const auto& item : items) {
    if (item.write) writes.push_back(*item.write);
    for (const auto& event : item.events) {
      if (event.place) taken.push_back({event.place->shard, event.place->sequence});
    }
    results.insert(results.end(), item.results.begin(), item.results.end());
    messages.insert(messages.end(), item.messages.begin(), item.messages.end());
    audit.insert(audit.end(), item.audit.begin(), item.audit.end());
    const auto fence = std::ranges::find(fences, item.shard, &spi::Fence::shard);
    const bool known = std::ranges::find(used, item.shard, &spi::Fence::shard) != used.end();
    if (fence != fences.end() && !known) used.push_back(*fence);
  }
  fences = std::move(used);
}

}  // namespace sagabox::saga
